//! One answer that can be followed. *Whoever reads, drives*: a follower that finds nothing new polls the answer's driver with
//! its own waker, appends what came and wakes the other followers. No task and no channel stands in between.
//!
//! ```text
//!              follower polls                     model wakes it
//!   [ driven by a follower ] ◀───────────────────────────────────┐
//!       │ last follower goes, or the woken one does not           │
//!       │ poll for STALLED (its socket is full)                   │
//!       ▼                                   a follower polls      │
//!   [ driven by a background task ] ──────────────────────────────┘
//!       │ nobody follows for `abandon_after`
//!       ▼
//!   [ stopped: the driver is dropped, the model's connection closes ]
//! ```
//!
//! The driver lives inside the answer's mutex beside its tape and is never held across an await.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::time::Instant;

use super::tape::{Cursor, Item, Tape};
use super::{AnswerId, LogError, lock};
use crate::answer::event::{ErrorCode, Failure};

/// A driver that was woken and not polled for this long has lost its place to a background task. Half would take turns from
/// healthy readers on a busy machine; double lets a stalled reader delay the others twice as long.
pub const STALLED: Duration = Duration::from_millis(50);

/// What moves an answer on: reads from the model, appends to the tape.
pub trait Drive: Send {
    /// Appends what has come. `Pending`: the waker will be woken. `Ready`: the answer is over.
    fn drive(&mut self, cx: &mut Context<'_>, tape: &mut Tape) -> Poll<()>;

    /// Ends the answer now, in this failure.
    fn stop(&mut self, failure: Failure, tape: &mut Tape);

    /// Acts on a deadline that has passed; may end the answer.
    fn expire(&mut self, now: Instant, tape: &mut Tape);

    /// When [`Drive::expire`] must be called next.
    fn deadline(&self) -> Instant;
}

/// What a new answer begins with.
pub struct Opening {
    /// Its id.
    pub id: AnswerId,
    /// The question, for the record.
    pub question: String,
    /// The records so far, `start` at least.
    pub tape: Tape,
    /// What moves it on; `None`: the tape is complete already.
    pub driver: Option<Box<dyn Drive>>,
    /// How long it goes on when nobody follows; zero: it stops at once.
    pub abandon_after: Duration,
    /// How many may follow at once.
    pub max_followers: usize,
}

/// One answer in the log.
pub struct Live {
    id: AnswerId,
    question: String,
    abandon_after: Duration,
    max_followers: usize,
    state: Mutex<State>,
    nudge: Arc<Nudge>,
    /// `nudge` as a waker, made once.
    waker: Waker,
}

struct State {
    tape: Tape,
    driver: Option<Box<dyn Drive>>,
    /// One place per follower; its waker while it waits.
    followers: Vec<Option<Place>>,
    /// Bumped whenever the background task is to end; tells an old task that it is not the driver any more.
    turn: u64,
    in_background: bool,
    /// When the answer stops unless somebody follows.
    abandon_at: Option<Instant>,
}

#[derive(Default)]
struct Place {
    waker: Option<Waker>,
}

/// Passes the model's wake-up on to whoever drives, and remembers since when the driver has owed a poll.
struct Nudge {
    began: Instant,
    /// Milliseconds since `began`, plus one; 0: nothing is owed.
    woken: AtomicU64,
    driver: Mutex<Option<Waker>>,
}

impl Wake for Nudge {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = self.began.elapsed().as_millis() as u64 + 1;
        let _ = self.woken.compare_exchange(0, now, Ordering::AcqRel, Ordering::Relaxed);
        let driver = lock(&self.driver);
        if let Some(waker) = driver.as_ref() {
            waker.wake_by_ref();
        }
    }
}

impl Nudge {
    /// `waker` drives from now on; gives the one that did until now if it was another.
    fn handed_to(&self, waker: &Waker) -> Option<Waker> {
        self.woken.store(0, Ordering::Release);
        let mut driver = lock(&self.driver);
        match driver.as_ref() {
            Some(current) if current.will_wake(waker) => None,
            _ => driver.replace(waker.clone()),
        }
    }

    /// The answer is over: gives whoever drove it. A waker that was kept would keep its whole connection in memory, and a
    /// background task that is not woken once more would wait for ever.
    fn let_go(&self) -> Option<Waker> {
        lock(&self.driver).take()
    }

    fn owed_for(&self, now: Instant) -> Duration {
        let woken = self.woken.load(Ordering::Acquire);
        if woken == 0 {
            return Duration::ZERO;
        }
        now.saturating_duration_since(self.began + Duration::from_millis(woken - 1))
    }
}

impl Live {
    pub(super) fn new(opening: Opening) -> Arc<Self> {
        let began = Instant::now();
        let nudge = Arc::new(Nudge { began, woken: AtomicU64::new(0), driver: Mutex::new(None) });
        Arc::new(Self {
            id: opening.id,
            question: opening.question,
            abandon_after: opening.abandon_after,
            max_followers: opening.max_followers,
            waker: Waker::from(Arc::clone(&nudge)),
            nudge,
            state: Mutex::new(State {
                tape: opening.tape,
                driver: opening.driver,
                followers: Vec::new(),
                turn: 0,
                in_background: false,
                // An answer whose first follower never comes is abandoned as well.
                abandon_at: Some(began + opening.abandon_after.max(STALLED)),
            }),
        })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &AnswerId {
        &self.id
    }

    /// The question that it answers.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Looks at the tape as it is now.
    pub fn with_tape<T>(&self, look: impl FnOnce(&Tape) -> T) -> T {
        look(&lock(&self.state).tape)
    }

    /// Follows from behind record `after`; 0: from the start.
    ///
    /// # Errors
    /// [`LogError::Followers`] when as many follow as may.
    pub fn follow(self: &Arc<Self>, after: u64) -> Result<Follower, LogError> {
        let mut state = lock(&self.state);
        let following = state.followers.iter().flatten().count();
        if following >= self.max_followers {
            return Err(LogError::Followers { followers: following });
        }
        state.abandon_at = None;
        let cursor = state.tape.cursor_after(after);
        let free = state.followers.iter().position(Option::is_none).unwrap_or(state.followers.len());
        if free == state.followers.len() {
            state.followers.push(None);
        }
        if let Some(place) = state.followers.get_mut(free) {
            *place = Some(Place::default());
        }
        Ok(Follower { live: Arc::clone(self), cursor, place: free })
    }

    /// Ends the answer in `failure`, unless it is over already.
    pub fn stop(&self, failure: Failure) {
        let mut state = lock(&self.state);
        let State { tape, driver, .. } = &mut *state;
        if let Some(mut driver) = driver.take() {
            driver.stop(failure, tape);
        }
        self.nudge.let_go().into_iter().for_each(Waker::wake);
        state.wake_all_but(None);
    }

    /// True once nothing will be appended any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        lock(&self.state).driver.is_none()
    }

    /// What the sweeper does, a few times a second: deadlines, abandonment, drivers that stall.
    /// Says whether the answer is over. An answer that is being driven right now is left alone.
    pub(super) fn sweep(self: &Arc<Self>, now: Instant) -> bool {
        let Ok(mut state) = self.state.try_lock() else { return false };
        if state.driver.is_none() {
            return true;
        }
        if state.abandon_at.is_some_and(|at| at <= now) {
            drop(state);
            self.stop(Failure::new(ErrorCode::Abandoned, "nobody followed the answer"));
            return true;
        }
        if state.driver.as_ref().is_some_and(|d| d.deadline() <= now) {
            let State { tape, driver, .. } = &mut *state;
            if let Some(d) = driver {
                d.expire(now, tape);
            }
            if tape.is_over() {
                *driver = None;
                self.nudge.let_go().into_iter().for_each(Waker::wake);
            }
            state.wake_all_but(None);
        }
        if !state.in_background && state.driver.is_some() && self.nudge.owed_for(now) > STALLED {
            self.to_background(&mut state);
        }
        state.driver.is_none()
    }

    /// Hands the driver to a task of its own, until a follower polls again.
    fn to_background(self: &Arc<Self>, state: &mut State) {
        // Outside a runtime (as it shuts down) nobody can drive; the answer ends with the process.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        state.in_background = true;
        state.turn += 1;
        let (live, turn) = (Arc::clone(self), state.turn);
        runtime.spawn(std::future::poll_fn(move |cx| live.poll_in_background(cx, turn)));
    }

    fn poll_in_background(&self, cx: &Context<'_>, turn: u64) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.turn != turn || state.driver.is_none() {
            return Poll::Ready(());
        }
        self.nudge.handed_to(cx.waker());
        let over = self.drive(&mut state, None);
        if over { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Polls the driver once and wakes those who wait for what it brought, all but the one at `place`, who asked. True when
    /// the answer is over.
    fn drive(&self, state: &mut State, place: Option<usize>) -> bool {
        let State { tape, driver, .. } = state;
        let Some(d) = driver else { return true };
        let before = tape.last_seq();
        let over = d.drive(&mut Context::from_waker(&self.waker), tape).is_ready();
        if over {
            *driver = None;
            self.nudge.let_go();
        }
        if tape.last_seq() > before {
            state.wake_all_but(place);
        }
        over
    }
}

impl State {
    fn wake_all_but(&mut self, place: Option<usize>) {
        for (i, follower) in self.followers.iter_mut().enumerate() {
            if Some(i) != place
                && let Some(waker) = follower.as_mut().and_then(|p| p.waker.take())
            {
                waker.wake();
            }
        }
    }
}

/// What a follower got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Everything has been given: nothing will follow.
    End,
    /// Something new was given.
    Records,
}

/// Reads one answer's records, from any place to the end. Dropping it lets the answer go on without it.
pub struct Follower {
    live: Arc<Live>,
    cursor: Cursor,
    place: usize,
}

impl Follower {
    /// The answer that it follows.
    #[must_use]
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// True when the answer is over and everything has been read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        let state = lock(&self.live.state);
        state.driver.is_none() && state.tape.is_read(self.cursor)
    }

    /// Gives new records to `each`, driving the answer if there are none. What is long comes in several calls.
    pub fn poll_records(&mut self, cx: &Context<'_>, each: impl FnMut(u64, Item<'_>)) -> Poll<Progress> {
        let mut state = lock(&self.live.state);
        if state.tape.is_read(self.cursor) && state.driver.is_some() {
            let before = self.live.nudge.handed_to(cx.waker());
            if state.in_background {
                state.in_background = false;
                state.turn += 1;
                // The task sees that its turn is over, and ends. Another follower need not be woken: it waits for records.
                before.into_iter().for_each(Waker::wake);
            }
            self.live.drive(&mut state, Some(self.place));
        }
        if !state.tape.is_read(self.cursor) {
            state.tape.read(&mut self.cursor, each);
            return Poll::Ready(Progress::Records);
        }
        if state.driver.is_none() {
            return Poll::Ready(Progress::End);
        }
        if let Some(Some(place)) = state.followers.get_mut(self.place)
            && !place.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker()))
        {
            place.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = lock(&self.live.state);
        if let Some(place) = state.followers.get_mut(self.place) {
            *place = None;
        }
        if state.driver.is_none() {
            return;
        }
        if let Some(other) = state.followers.iter_mut().flatten().find_map(|p| p.waker.take()) {
            // It may have been the driver: another one takes its place by polling.
            other.wake();
        } else if state.followers.iter().all(Option::is_none) {
            if self.live.abandon_after.is_zero() {
                drop(state);
                self.live.stop(Failure::new(ErrorCode::Abandoned, "nobody followed the answer"));
            } else {
                state.abandon_at = Some(Instant::now() + self.live.abandon_after);
                if !state.in_background {
                    self.live.to_background(&mut state);
                }
            }
        }
    }
}
