//! Keeps connections between two answers, so that most calls need no handshake.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::connection::Connection;

/// Connections kept per upstream: enough for a thousand streams that end and begin together. Each costs a file descriptor
/// and some 12 KiB; double would buy little, half would open hundreds of connections anew in every such wave.
const MAX_IDLE: usize = 1024;

/// Connections that were idle for longer are closed when the next one comes: most servers and balancers forget them
/// after 60 s, some without a word.
const MAX_IDLE_TIME: Duration = Duration::from_secs(55);

/// Idle connections, the one that was used last at the back.
#[derive(Default)]
pub(super) struct Pool(Mutex<VecDeque<Idle>>);

struct Idle {
    connection: Connection,
    since: Instant,
}

impl Pool {
    /// A connection that can take a request; those that the server closed meanwhile are dropped.
    pub(super) fn take(&self) -> Option<Connection> {
        loop {
            let Idle { mut connection, since } = self.lock().pop_back()?;
            if since.elapsed() <= MAX_IDLE_TIME && connection.is_idle() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer is over. Its last bytes may still be on their way; they are read when it is taken.
    pub(super) fn put(&self, connection: Connection) {
        if !connection.is_open() {
            return;
        }
        let since = Instant::now();
        let mut idle = self.lock();
        idle.push_back(Idle { connection, since });
        while idle.len() > MAX_IDLE || idle.front().is_some_and(|first| since - first.since > MAX_IDLE_TIME) {
            idle.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
