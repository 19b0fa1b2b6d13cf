//! Turns a prompt into a stream of chunks. A model is asked through one trait and read through another, so the corridor
//! knows nothing of protocols.
//!
//! Invariant: a stream never ends quietly. `Ok(None)` comes only after [`Chunk::Finish`]; everything else is an error.

pub mod extractive;

use std::task::{Context, Poll};
use std::time::Duration;

use crate::answer::event::{Chunk, ErrorCode, Failure};
use crate::cite::source::Sources;
use crate::prompt::Message;

/// Everything a model may want to know about one call.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The model's name from the request, passed on as it is; `None`: the configured one.
    pub model: Option<String>,
    /// The rendered prompt, oldest first.
    pub messages: Vec<Message>,
    /// The bare question, for models that do not read prompts.
    pub question: String,
    /// The numbered sources, for models that do not read prompts.
    pub sources: Sources,
    /// The sentence that says "not in the sources".
    pub refusal: String,
    /// Sampling temperature, when the request names one.
    pub temperature: Option<f64>,
    /// Most tokens to write, when the request names one.
    pub max_tokens: Option<u32>,
}

/// A language model, or something that stands in for one.
pub trait Model: Send + Sync + 'static {
    /// The name shown to people and written into records.
    fn name(&self) -> &str;

    /// Starts a call. Returns at once; connecting and sending happen while the stream is polled.
    fn call(&self, request: ModelRequest) -> Box<dyn ModelStream>;
}

/// One running call. Dropping it ends the call and closes its connection at once.
pub trait ModelStream: Send {
    /// The next chunk, or `Ok(None)` once the stream has ended after its finish reason. Text that arrived in one read comes
    /// as one chunk. After `Ok(None)` or `Err` it is not polled again.
    ///
    /// # Errors
    /// Whatever keeps the answer from being whole; see [`ModelError`].
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, ModelError>>;

    /// Requests sent so far, the first and its transport retries.
    fn attempts(&self) -> u32 {
        1
    }
}

/// Why a model's answer is not whole.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The server answered with an error object, a 5xx status, or an error in the middle of the stream.
    #[error("the model server reported an error{}", status_suffix(*.status))]
    Failed {
        /// HTTP status, when the error came before the first byte.
        status: Option<u16>,
    },
    /// What came is not a stream of chat chunks.
    #[error("the model's stream is not valid: {what}")]
    Invalid {
        /// What was expected and what came, without any of the text.
        what: String,
    },
    /// The server asks to come back later.
    #[error("the model server is busy (429)")]
    RateLimited {
        /// Its `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The server does not want this request.
    #[error("the model server rejected the request with status {status}")]
    Rejected {
        /// HTTP status, 4xx.
        status: u16,
    },
    /// Nothing came in time.
    #[error("the model did not answer within {} s", .after.as_secs_f32())]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before a finish reason came.
    #[error("the model's stream ended without a finish reason")]
    Truncated,
    /// No connection could be made.
    #[error("the model server cannot be reached: {why}")]
    Unreachable {
        /// The operating system's or TLS library's reason.
        why: String,
    },
}

fn status_suffix(status: Option<u16>) -> String {
    status.map(|s| format!(" (status {s})")).unwrap_or_default()
}

impl ModelError {
    /// The client's view of it.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let code = match self {
            Self::Failed { .. } => ErrorCode::ModelError,
            Self::Invalid { .. } => ErrorCode::ModelStreamInvalid,
            Self::RateLimited { .. } => ErrorCode::ModelRateLimited,
            Self::Rejected { .. } => ErrorCode::ModelRejected,
            Self::Timeout { .. } => ErrorCode::ModelTimeout,
            Self::Truncated => ErrorCode::ModelTruncated,
            Self::Unreachable { .. } => ErrorCode::ModelUnreachable,
        };
        let retry_after = match self {
            Self::RateLimited { retry_after } => retry_after.map(|d| d.as_secs()),
            _ => None,
        };
        Failure { retry_after, ..Failure::new(code, self.to_string()) }
    }
}
