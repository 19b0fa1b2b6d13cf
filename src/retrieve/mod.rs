//! Turns a question into the passages that may answer it. Ranks, not scores, cross this boundary: the first passage is the
//! best one. Passage text is copied out, so an answer keeps its sources even when the corpus changes.

pub mod corpus;
pub mod handbook;
pub mod inline;
pub mod passage;

use futures::future::BoxFuture;

use crate::cite::source::Source;

/// Something that finds passages.
pub trait Retriever: Send + Sync + 'static {
    /// What it searches, for people: shown at start-up and on the page.
    fn name(&self) -> &str;

    /// Passages for `question`, best first, at most `top_k`; empty when nothing fits.
    ///
    /// # Errors
    /// [`RetrieveError`] when the search itself failed; finding nothing is not an error.
    fn retrieve(&self, question: &str, top_k: usize) -> BoxFuture<'_, Result<Vec<Source>, RetrieveError>>;
}

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub enum RetrieveError {
    /// The index cannot be read or searched.
    #[error("the document index failed: {why}")]
    Index {
        /// The library's reason, without any document text.
        why: String,
    },
    /// A folder or file cannot be read.
    #[error("cannot read {path}: {why}")]
    Read {
        /// Which one.
        path: String,
        /// The operating system's reason.
        why: std::io::Error,
    },
    /// The search took too long.
    #[error("the document search did not finish in time")]
    Timeout,
}
