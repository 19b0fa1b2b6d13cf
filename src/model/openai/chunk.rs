//! The JSON of the chat protocol, as far as we read it. Unknown keys are dropped here, so nothing that a server adds
//! (`event`, `citewire`, `annotations`, `citations`) can reach a client.
//!
//! Strict where a mistake would lose text, lenient where it would only lose a remark.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::answer::event::Usage;
use crate::model::ModelError;

/// A `chat.completion.chunk` or a `chat.completion`.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow, default)]
    choices: Choices<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

/// The list of answers. We ask for one, number 0, and keep no other, however long the list is.
#[derive(Debug, Default)]
struct Choices<'a>(Option<Choice<'a>>);

/// A piece of one answer.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: i64,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    /// The whole answer. Some servers repeat what they sent so far in every chunk, so it is not parsed before it is wanted.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// A piece of the answer, or all of it.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
    /// What the model says instead of content when it declines: the answer's text as well.
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
}

/// A string, borrowed unless it has escapes.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(serde::Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    total_tokens: Option<u64>,
}

impl<'a> ChatChunk<'a> {
    /// Reads one object.
    ///
    /// # Errors
    /// [`ModelError::Invalid`], without any of the text.
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, ModelError> {
        let text = std::str::from_utf8(data).map_err(|_| invalid("a chat chunk", "bytes that are not UTF-8"))?;
        // Serde would take a list for a struct.
        if !text.trim_start().starts_with('{') {
            return Err(invalid("a chat chunk", "something that is not an object"));
        }
        parse(text)
    }

    /// What it says about our answer.
    pub(super) fn choice(&self) -> Option<&Choice<'a>> {
        self.choices.0.as_ref()
    }

    /// True for every shape in which servers report that they failed.
    pub(super) fn is_error(&self) -> bool {
        let object = lenient::<Text<'_>>(self.object);
        let reason = self.choice().and_then(|choice| choice.finish_reason.as_ref());
        self.error.is_some() || object.iter().chain(reason).any(|word| word.as_str() == "error")
    }

    /// The tokens counted so far, if this chunk has them.
    pub(super) fn usage(&self) -> Option<Usage> {
        let Tokens { prompt_tokens, completion_tokens, total_tokens } = lenient(self.usage)?;
        let total_tokens = total_tokens.unwrap_or_else(|| prompt_tokens.saturating_add(completion_tokens));
        Some(Usage { prompt_tokens, completion_tokens, total_tokens })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ChoicesVisitor)
    }
}

struct ChoicesVisitor;

impl<'de> Visitor<'de> for ChoicesVisitor {
    type Value = Choices<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of choices or null")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut ours = None;
        while let Some(choice) = list.next_element::<Choice<'de>>()? {
            if choice.index == 0 && ours.replace(choice).is_some() {
                return Err(A::Error::custom("two choices with the same index"));
            }
        }
        Ok(Choices(ours))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Choices(None))
    }
}

impl<'a> Choice<'a> {
    /// The whole answer of a server that does not stream.
    ///
    /// # Errors
    /// [`ModelError::Invalid`], without any of the text.
    pub(super) fn message(&self) -> Result<Option<Delta<'a>>, ModelError> {
        self.message.map(|message| parse(message.get())).transpose()
    }
}

impl Text<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> Delta<'a> {
    /// The model's notes to itself; servers that send both names send the same text twice.
    pub(super) fn reasoning(&self) -> Option<Text<'a>> {
        lenient(self.reasoning_content).or_else(|| lenient(self.reasoning))
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(text).map_err(|error| {
        // The error's own words would quote the text.
        let came = match error.classify() {
            Category::Data => "a field of another type",
            Category::Eof => "half an object",
            Category::Io | Category::Syntax => "malformed JSON",
        };
        invalid("a chat chunk", &format!("{came} (column {})", error.column()))
    })
}

/// The value, or nothing if it has another type.
fn lenient<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

/// An error that says what was expected and what came.
pub(super) fn invalid(expected: &str, came: &str) -> ModelError {
    ModelError::Invalid { what: format!("expected {expected}, got {came}") }
}
