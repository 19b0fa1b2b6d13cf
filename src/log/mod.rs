//! Keeps the records of answers, so that every client follows a log and none follows a model.
//!
//! - [`tape`]: the records of one answer. *The log is the text*: for deltas it keeps one growing text and the end of each.
//! - [`live`]: one answer that can be followed, and driven by whoever follows it.
//! - [`memory`]: all answers of one node.
//!
//! Invariant: records are only ever appended, by the answer's driver; a follower that comes late, comes back or is slow reads
//! the same records as the first.

pub mod live;
pub mod memory;
pub mod tape;

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;

use live::{Live, Opening};

/// Where answers are kept while they run and for a while after.
pub trait AnswerLog: Send + Sync + 'static {
    /// Begins the log of a new answer.
    ///
    /// # Errors
    /// [`LogError::Full`] when as many answers are open as may be.
    fn open(&self, opening: Opening) -> Result<Arc<Live>, LogError>;

    /// The answer with this id, if it is still kept.
    ///
    /// # Errors
    /// When a log on another machine cannot say.
    fn find(&self, id: &AnswerId) -> BoxFuture<'_, Result<Option<Arc<Live>>, LogError>>;
}

/// Why a log does not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// As many answers are open as may be.
    #[error("{open} answers are open, as many as are allowed")]
    Full {
        /// How many.
        open: usize,
    },
    /// As many clients follow this answer as may.
    #[error("{followers} clients follow this answer, as many as are allowed")]
    Followers {
        /// How many.
        followers: usize,
    },
}

/// The unguessable name of an answer: `ans_` and 26 characters of base 32, 128 random bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AnswerId(String);

/// RFC 4648 base 32 in lower case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

impl AnswerId {
    /// A new id. `None` when the operating system has no randomness to give.
    #[must_use]
    pub fn random() -> Option<Self> {
        Some(Self(format!("ans_{}", random_word()?)))
    }

    /// The id as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AnswerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AnswerId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let word = text.strip_prefix("ans_").ok_or(())?;
        let fits = word.len() == 26 && word.bytes().all(|b| ALPHABET.contains(&b));
        fits.then(|| Self(text.to_owned())).ok_or(())
    }
}

/// 128 random bits in base 32; also a fence that no source can guess.
#[must_use]
pub fn random_word() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    let mut bits = u128::from_be_bytes(bytes);
    let mut word = String::with_capacity(26);
    for _ in 0..26 {
        word.push(char::from(*ALPHABET.get((bits & 31) as usize)?));
        bits >>= 5;
    }
    Some(word)
}

/// Locks even if a holder panicked: what these locks guard is valid between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_and_others_do_not() {
        let id = AnswerId::random().unwrap();
        assert_eq!(id.as_str().parse(), Ok(id.clone()));
        for bad in ["", "ans_", "ans_../../etc", "x", &id.as_str().to_uppercase()] {
            assert_eq!(bad.parse::<AnswerId>(), Err(()), "{bad}");
        }
    }
}
