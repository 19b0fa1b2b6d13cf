//! Every way an answer can fail, as a closed list: whose fault it is, and whether trying again can help.

use serde::{Deserialize, Serialize};

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
    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        use ErrorCode as E;
        match self {
            E::Abandoned => "abandoned",
            E::AnswerTooLong => "answer_too_long",
            E::Conflict => "conflict",
            E::Internal => "internal",
            E::InvalidRequest => "invalid_request",
            E::LogUnavailable => "log_unavailable",
            E::MethodNotAllowed => "method_not_allowed",
            E::ModelError => "model_error",
            E::ModelRateLimited => "model_rate_limited",
            E::ModelRejected => "model_rejected",
            E::ModelStreamInvalid => "model_stream_invalid",
            E::ModelTimeout => "model_timeout",
            E::ModelTruncated => "model_truncated",
            E::ModelUnreachable => "model_unreachable",
            E::NotFound => "not_found",
            E::PayloadTooLarge => "payload_too_large",
            E::RateLimited => "rate_limited",
            E::RetrieverFailed => "retriever_failed",
            E::RetrieverTimeout => "retriever_timeout",
            E::ShuttingDown => "shutting_down",
            E::Stopped => "stopped",
            E::TooManyAnswers => "too_many_answers",
            E::Unauthorized => "unauthorized",
            E::UnsupportedMediaType => "unsupported_media_type",
        }
    }

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
