//! The data of one answer's life: chunks that come in from a model, events that go out to a log.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use super::failure::{ErrorCode, Failure, Fault};
use crate::cite::check::{Citation, Problem};
use crate::cite::source::Sources;

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

/// What happens in an answer's life, in the order of the event grammar:
/// `start (delta | reasoning | tool)* (annotate | replace) done` or
/// `start (delta | reasoning | tool)* error`.
#[derive(Debug, Clone)]
pub enum Event {
    /// The text stands; here is what the checks found.
    Annotate(Judgement),
    /// A piece of the text, no marker cut.
    Delta(String),
    /// The end of an answer that was settled.
    Done(Done),
    /// The end of an answer that was not.
    Error(Failure),
    /// The model's notes to itself.
    Reasoning(String),
    /// The text is replaced by this one, and this is what the checks found.
    Replace(String, Judgement),
    /// Sources are known, the model is about to be asked.
    Start(Start),
    /// A tool-call delta as the model sent it.
    Tool(Box<RawValue>),
}

/// The fixed facts of an answer.
#[derive(Debug, Clone)]
pub struct Start {
    /// Its unguessable id, `ans_…`.
    pub answer: String,
    /// What the answer looks like.
    pub format: Format,
    /// When text is shown.
    pub delivery: Delivery,
    /// The model's name.
    pub model: String,
    /// The numbered sources.
    pub sources: Sources,
    /// They were found by a retriever, so the client does not have their text yet.
    pub retrieved: bool,
}

/// What an answer looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Text with markers.
    #[default]
    Prose,
}

/// When text is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Nothing before the answer is settled.
    Hold,
    /// As it comes.
    #[default]
    Stream,
}

/// What happens when a check of severity error failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnProblem {
    /// Keep the text, send the problems.
    #[default]
    Annotate,
    /// Replace the answer by the refusal.
    Refuse,
    /// Take the invalid numbers out of the text.
    Strip,
}

/// What was decided about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Errors or warnings are listed; the text stands.
    Annotated,
    /// Nothing is wrong.
    Clean,
    /// The text was corrected.
    Corrected,
    /// There is no answer: a state, not a phrase.
    Refused,
    /// No sources were given and none is cited.
    Unchecked,
}

/// Why an answer was corrected or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A check failed and `on_problem` is `refuse`.
    CheckFailed,
    /// The model wrote the refusal sentence.
    ModelRefused,
    /// Nothing was found, so no model was asked.
    NoSources,
    /// Invalid numbers were taken out.
    Strip,
}

/// The judgement of a complete answer.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// What was decided.
    pub verdict: Verdict,
    /// Why, for corrected and refused answers.
    pub reason: Option<Reason>,
    /// One per marker and valid number, placed in the text that stands.
    pub citations: Vec<Citation>,
    /// What the checks found. Fixed ones are placed in the first text, the others in the text that stands.
    pub problems: Vec<Problem>,
    /// A person should look at it.
    pub needs_human_review: bool,
}

/// The last event of a settled answer.
#[derive(Debug, Clone)]
pub struct Done {
    /// Why the model stopped; `None`: no model was asked.
    pub finish: Option<FinishReason>,
    /// Sum over all calls, when the server counted.
    pub usage: Option<Usage>,
    /// Calls made, transport retries not counted.
    pub model_calls: u32,
    /// How long things took.
    pub timings: Timings,
}

/// Durations since the request came, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    /// Finding sources; `None`: nobody searched.
    pub retrieve: Option<u64>,
    /// Until the first text was released.
    pub first_delta: Option<u64>,
    /// Until the end.
    pub total: u64,
}
