//! All answers of one node, in memory: the default log.
//!
//! Every answer is *open* until it is over, then *kept* for a while. Both have ceilings. One sweeper per process keeps the
//! deadlines of the open ones and lets go of the kept ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::live::{Live, Opening};
use super::{AnswerId, AnswerLog, LogError, lock};
use crate::answer::event::Failure;

/// How often the sweeper looks. Deadlines are kept to about this; half costs twice the idle time of a full node.
const SWEEP_EVERY: Duration = Duration::from_millis(25);

/// Ceilings of the log.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Answers open at once.
    pub max_open: usize,
    /// How long an answer is kept after its end.
    pub keep: Duration,
    /// Bytes of kept answers; the oldest go first.
    pub max_kept_bytes: usize,
}

/// The log in memory.
pub struct MemoryLog {
    limits: Limits,
    shelves: Mutex<Shelves>,
}

#[derive(Default)]
struct Shelves {
    answers: HashMap<AnswerId, Arc<Live>>,
    open: Vec<Arc<Live>>,
    /// Oldest first.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
}

struct Kept {
    id: AnswerId,
    since: Instant,
    bytes: usize,
}

impl MemoryLog {
    /// An empty log.
    #[must_use]
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self { limits, shelves: Mutex::default() })
    }

    /// Keeps deadlines and ceilings until it is dropped. Run it once beside the server.
    pub async fn sweep_forever(&self) {
        let mut tick = tokio::time::interval(SWEEP_EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            tick.tick().await;
            self.sweep(Instant::now());
        }
    }

    /// Answers that are not over.
    #[must_use]
    pub fn open_answers(&self) -> usize {
        lock(&self.shelves).open.iter().filter(|live| !live.is_over()).count()
    }

    /// Ends every open answer in `failure`; says how many there were.
    pub fn stop_all(&self, failure: &Failure) -> usize {
        let open: Vec<Arc<Live>> = lock(&self.shelves).open.iter().filter(|live| !live.is_over()).cloned().collect();
        open.iter().for_each(|live| live.stop(failure.clone()));
        open.len()
    }

    /// One round of the sweeper.
    fn sweep(&self, now: Instant) {
        let mut shelves = lock(&self.shelves);
        let mut over = Vec::new();
        shelves.open.retain(|live| {
            let is_over = live.sweep(now);
            if is_over {
                over.push(Kept {
                    id: live.id().clone(),
                    since: now,
                    bytes: live.question().len() + live.with_tape(super::tape::Tape::bytes),
                });
            }
            !is_over
        });
        for kept in over {
            shelves.kept_bytes += kept.bytes;
            shelves.kept.push_back(kept);
        }
        while let Some(oldest) = shelves.kept.front() {
            let expired = now.saturating_duration_since(oldest.since) >= self.limits.keep;
            if !expired && shelves.kept_bytes <= self.limits.max_kept_bytes {
                break;
            }
            if let Some(gone) = shelves.kept.pop_front() {
                shelves.kept_bytes -= gone.bytes;
                shelves.answers.remove(&gone.id);
            }
        }
    }
}

impl AnswerLog for MemoryLog {
    fn open(&self, opening: Opening) -> Result<Arc<Live>, LogError> {
        let mut shelves = lock(&self.shelves);
        if shelves.open.len() >= self.limits.max_open {
            // Those that ended since the last sweep are not open any more.
            let open = shelves.open.iter().filter(|live| !live.is_over()).count();
            if open >= self.limits.max_open {
                return Err(LogError::Full { open });
            }
        }
        let live = Live::new(opening);
        shelves.answers.insert(live.id().clone(), Arc::clone(&live));
        shelves.open.push(Arc::clone(&live));
        Ok(live)
    }

    fn find(&self, id: &AnswerId) -> BoxFuture<'_, Result<Option<Arc<Live>>, LogError>> {
        let found = lock(&self.shelves).answers.get(id).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}
