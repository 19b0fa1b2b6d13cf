//! The data of one answer's life: chunks that come in from a model, events that go out to a log.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// What a model sends, already taken out of its protocol.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// A piece of the answer's text.
    Text(String),
    /// Why the model stopped: from now on the text is complete. Usage may still follow.
    Finish(FinishReason),
    /// The model's notes to itself; passed on, never scanned for markers.
    Reasoning(String),
    /// A tool-call delta as the model sent it; passed on untouched.
    Tool(Box<RawValue>),
    /// Tokens counted by the model server; the last one counts.
    Usage(Usage),
}

/// Why a model stopped, by the official names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishReason {
    /// One of the five official reasons; `Stop` when the server sent a word of its own.
    pub reason: Finish,
    /// The word as it was sent.
    pub as_sent: String,
}

impl FinishReason {
    /// Reads the word that a model server sent.
    #[must_use]
    pub fn new(as_sent: &str) -> Self {
        let reason = match as_sent {
            "content_filter" => Finish::ContentFilter,
            "function_call" => Finish::FunctionCall,
            "length" => Finish::Length,
            "tool_calls" => Finish::ToolCalls,
            _ => Finish::Stop,
        };
        Self { reason, as_sent: as_sent.to_owned() }
    }
}

/// The five official finish reasons of the chat protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The provider's filter cut the answer.
    ContentFilter,
    /// The old form of `ToolCalls`.
    FunctionCall,
    /// The token limit cut the answer.
    Length,
    /// The model is done.
    Stop,
    /// The model wants tools to be called.
    ToolCalls,
}

/// Tokens as the model server counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Both.
    pub total_tokens: u64,
}

/// Every way an answer can fail, a closed list. Says whose fault it is and whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the contract's own words")]
pub enum ErrorCode {
    Abandoned,
    AnswerTooLong,
    Conflict,
    Internal,
    InvalidRequest,
    LogUnavailable,
    MethodNotAllowed,
    ModelError,
    ModelRateLimited,
    ModelRejected,
    ModelStreamInvalid,
    ModelTimeout,
    ModelTruncated,
    ModelUnreachable,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    RetrieverFailed,
    RetrieverTimeout,
    ShuttingDown,
    Stopped,
    TooManyAnswers,
    Unauthorized,
    UnsupportedMediaType,
}

/// Whose fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Fault {
    #[serde(rename = "citewire_error")]
    Citewire,
    #[serde(rename = "client_error")]
    Client,
    #[serde(rename = "model_error")]
    Model,
    #[serde(rename = "retriever_error")]
    Retriever,
}

impl ErrorCode {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(self) -> Fault {
        use ErrorCode as E;
        match self {
            E::AnswerTooLong
            | E::ModelError
            | E::ModelRateLimited
            | E::ModelRejected
            | E::ModelStreamInvalid
            | E::ModelTimeout
            | E::ModelTruncated
            | E::ModelUnreachable => Fault::Model,
            E::RetrieverFailed | E::RetrieverTimeout => Fault::Retriever,
            E::Internal | E::LogUnavailable | E::ShuttingDown | E::TooManyAnswers => Fault::Citewire,
            E::Abandoned
            | E::Conflict
            | E::InvalidRequest
            | E::MethodNotAllowed
            | E::NotFound
            | E::PayloadTooLarge
            | E::RateLimited
            | E::Stopped
            | E::Unauthorized
            | E::UnsupportedMediaType => Fault::Client,
        }
    }

    /// True when the same request may succeed later.
    #[must_use]
    pub fn retryable(self) -> bool {
        use ErrorCode as E;
        matches!(
            self,
            E::RateLimited
                | E::TooManyAnswers
                | E::RetrieverFailed
                | E::RetrieverTimeout
                | E::ModelUnreachable
                | E::ModelRateLimited
                | E::ModelTimeout
                | E::ModelError
                | E::ModelStreamInvalid
                | E::ModelTruncated
                | E::ShuttingDown
                | E::LogUnavailable
        )
    }
}

/// An error as a client sees it, before the first byte or as the last event. Never holds a question, a source or a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which of the closed list.
    pub code: ErrorCode,
    /// One sentence for a person: what was expected and what came.
    pub message: String,
    /// The request field that is wrong, as a path such as `sources[0].text`.
    pub param: Option<String>,
    /// Seconds to wait before trying again, when somebody said so.
    pub retry_after: Option<u64>,
}

impl Failure {
    /// An error that no request field caused.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), param: None, retry_after: None }
    }
}
