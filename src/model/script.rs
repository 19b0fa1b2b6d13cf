//! Turns a written script, from a file or a request, into a model: for tests, demonstrations and the lab. Nothing is made up:
//! chunks arrive as they are written, with the pauses that are written, and end in the way that is written.

mod play;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

pub use self::play::ScriptModel;
use crate::answer::event::{ErrorCode, FinishReason};

/// The fields of a call.
const FIELDS: [&str; 4] = ["chunks", "error", "finish", "gap_ms"];

/// The finish reasons that a script may name.
const FINISH_REASONS: [&str; 4] = ["content_filter", "length", "stop", "tool_calls"];

/// The errors that a script may name.
const MODEL_ERRORS: [ErrorCode; 7] = [
    ErrorCode::ModelError,
    ErrorCode::ModelRateLimited,
    ErrorCode::ModelRejected,
    ErrorCode::ModelStreamInvalid,
    ErrorCode::ModelTimeout,
    ErrorCode::ModelTruncated,
    ErrorCode::ModelUnreachable,
];

/// What the model says, call by call. Cheap to clone.
///
/// ```
/// use citewire::model::script::Script;
///
/// let script = Script::from_json_lines(r#"{"chunks": ["It is 25 dol", "lars [1]."], "gap_ms": 120, "finish": "stop"}"#)?;
/// let error = Script::from_json_lines(r#"{"chunks": ["Hi"], "gap": 120}"#).unwrap_err();
/// assert_eq!(error.to_string(), "line 1: unknown field `gap`");
/// # Ok::<(), citewire::model::script::ScriptError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The calls before the last.
    earlier: Arc<[Arc<Call>]>,
    /// Answers every call from there on.
    last: Arc<Call>,
}

/// One call's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    chunks: Vec<String>,
    /// Pause before each chunk.
    gap: Duration,
    end: End,
}

/// How a call ends after its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Error(ErrorCode),
    Finish(FinishReason),
    /// The stream stops without a finish reason.
    Silence,
}

/// Why a script cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// There is no call in it.
    #[error("the script is empty, expected at least one call")]
    Empty,
    /// A field is missing, has another type, or says a word that is not known.
    #[error("{place}: field `{field}`: expected {expected}")]
    Field {
        /// Which call.
        place: Place,
        /// The field's name, with an index when it is a list's item.
        field: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// A call is not an object.
    #[error("{place}: expected a JSON object such as {{\"chunks\": [\"…\"]}}")]
    NotAnObject {
        /// Which call.
        place: Place,
    },
    /// A field that no call has.
    #[error("{place}: unknown field `{field}`")]
    UnknownField {
        /// Which call.
        place: Place,
        /// The field's name.
        field: String,
    },
}

/// Where in a script something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A call in a list, from 0; an object that is no list is number 0.
    Item(usize),
    /// A line of a file, from 1.
    Line(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(index) => write!(f, "script[{index}]"),
            Self::Line(number) => write!(f, "line {number}"),
        }
    }
}

impl Script {
    /// Reads a file's text: one object per line, blank lines are skipped.
    ///
    /// # Errors
    /// [`ScriptError`], naming the line and the field.
    pub fn from_json_lines(text: &str) -> Result<Self, ScriptError> {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        Self::from_calls(lines.map(|(number, line)| {
            let place = Place::Line(number);
            let value = serde_json::from_str(line).map_err(|_| ScriptError::NotAnObject { place })?;
            Call::parse(place, &value)
        }))
    }

    /// Reads a request's field: one object, or a list of them.
    ///
    /// # Errors
    /// [`ScriptError`], naming the item and the field.
    pub fn from_value(value: &Value) -> Result<Self, ScriptError> {
        let calls = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        Self::from_calls((0..).zip(calls).map(|(index, call)| Call::parse(Place::Item(index), call)))
    }

    fn from_calls(calls: impl Iterator<Item = Result<Call, ScriptError>>) -> Result<Self, ScriptError> {
        let mut calls: Vec<_> = calls.map(|call| call.map(Arc::new)).collect::<Result<_, _>>()?;
        let last = calls.pop().ok_or(ScriptError::Empty)?;
        Ok(Self { earlier: calls.into(), last })
    }

    /// What answers the call with this number, from 0.
    fn call(&self, number: usize) -> Arc<Call> {
        Arc::clone(self.earlier.get(number).unwrap_or(&self.last))
    }
}

impl Call {
    fn parse(place: Place, value: &Value) -> Result<Self, ScriptError> {
        let fields = value.as_object().ok_or(ScriptError::NotAnObject { place })?;
        if let Some(field) = fields.keys().find(|key| !FIELDS.contains(&key.as_str())) {
            let is_plain = field.len() <= 40 && field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let field = if is_plain { field.as_str() } else { "(another word)" };
            return Err(ScriptError::UnknownField { place, field: field.to_owned() });
        }
        let wrong = |field: &str, expected| ScriptError::Field { place, field: field.to_owned(), expected };
        let chunks = parse_chunks(fields.get("chunks")).map_err(|field| wrong(&field, "text, as in [\"…\", \"…\"]"))?;
        let gap = parse_gap(fields.get("gap_ms")).ok_or_else(|| wrong("gap_ms", "milliseconds, 0 or more"))?;
        let finish = parse_finish(fields.get("finish"))
            .ok_or_else(|| wrong("finish", "\"stop\", \"length\", \"content_filter\", \"tool_calls\" or null"))?;
        let error = match fields.get("error") {
            None | Some(Value::Null) => None,
            Some(code) => {
                Some(parse_error(code).ok_or_else(|| wrong("error", "a code such as \"model_error\" or null"))?)
            }
        };
        Ok(Self { chunks, gap, end: error.map_or(finish, End::Error) })
    }
}

/// The texts, or the path of what is not text.
fn parse_chunks(value: Option<&Value>) -> Result<Vec<String>, String> {
    let list = value.and_then(Value::as_array).ok_or("chunks")?;
    let text = |(index, item): (usize, &Value)| item.as_str().map(str::to_owned).ok_or(format!("chunks[{index}]"));
    list.iter().enumerate().map(text).collect()
}

fn parse_gap(value: Option<&Value>) -> Option<Duration> {
    value.map_or(Some(0), Value::as_u64).map(Duration::from_millis)
}

fn parse_finish(value: Option<&Value>) -> Option<End> {
    match value {
        None => Some(End::Finish(FinishReason::new("stop"))),
        Some(Value::Null) => Some(End::Silence),
        Some(word) => {
            word.as_str().filter(|word| FINISH_REASONS.contains(word)).map(|word| End::Finish(FinishReason::new(word)))
        }
    }
}

fn parse_error(value: &Value) -> Option<ErrorCode> {
    ErrorCode::deserialize(value).ok().filter(|code| MODEL_ERRORS.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Script::from_json_lines(text).unwrap_err().to_string(), expected, "{text}");
        };
        check("", "the script is empty, expected at least one call");
        check(" \n\n", "the script is empty, expected at least one call");
        check("{\"chunks\": []}\nnonsense", r#"line 2: expected a JSON object such as {"chunks": ["…"]}"#);
        check("[]", r#"line 1: expected a JSON object such as {"chunks": ["…"]}"#);
        check("{}", r#"line 1: field `chunks`: expected text, as in ["…", "…"]"#);
        check(r#"{"chunks": "a"}"#, r#"line 1: field `chunks`: expected text, as in ["…", "…"]"#);
        check("\n{\"chunks\": [\"a\", 1]}", r#"line 2: field `chunks[1]`: expected text, as in ["…", "…"]"#);
        check(r#"{"chunks": [], "gap": 1}"#, "line 1: unknown field `gap`");
        for gap in ["-1", "1.5", "\"1\"", "null"] {
            let line = format!(r#"{{"chunks": [], "gap_ms": {gap}}}"#);
            check(&line, "line 1: field `gap_ms`: expected milliseconds, 0 or more");
        }
        for finish in ["\"error\"", "true"] {
            let line = format!(r#"{{"chunks": [], "finish": {finish}}}"#);
            check(
                &line,
                r#"line 1: field `finish`: expected "stop", "length", "content_filter", "tool_calls" or null"#,
            );
        }
        for error in ["\"internal\"", "\"retriever_failed\"", "\"x\"", "5"] {
            let line = format!(r#"{{"chunks": [], "error": {error}}}"#);
            check(&line, r#"line 1: field `error`: expected a code such as "model_error" or null"#);
        }
        let list = serde_json::json!([{"chunks": []}, {"chunks": [], "finish": 1}]);
        assert!(Script::from_value(&list).unwrap_err().to_string().starts_with("script[1]: field `finish`"));
        assert_eq!(Script::from_value(&serde_json::json!([])), Err(ScriptError::Empty));
    }
}
