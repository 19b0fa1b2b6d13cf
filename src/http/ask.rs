//! The body of `POST /v1/answers`, checked field by field into a [`Question`].

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::error::invalid;
use crate::answer::event::{Delivery, Failure, Format, OnProblem};
use crate::cite::source::Source;
use crate::config::Config;
use crate::gateway::Question;
use crate::model::script::Script;
use crate::prompt::{Message, Role};

/// Bytes of a source's id: it is repeated in every citation.
const MAX_ID: usize = 256;

/// Bytes of a source's title: a line for people.
const MAX_TITLE: usize = 4096;

/// Bytes of a source's url: what browsers still take.
const MAX_URL: usize = 8192;

/// A native request as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskBody {
    question: Option<String>,
    messages: Option<Vec<Message>>,
    sources: Option<Vec<SourceBody>>,
    retrieve: Option<bool>,
    top_k: Option<usize>,
    items: Option<Vec<String>>,
    #[expect(dead_code, reason = "one value only; the type has checked it")]
    #[serde(default, deserialize_with = "super::body::word")]
    format: Option<Format>,
    schema: Option<Value>,
    #[serde(default, deserialize_with = "super::body::word")]
    on_problem: Option<OnProblem>,
    #[serde(default, deserialize_with = "super::body::word")]
    delivery: Option<Delivery>,
    model: Option<String>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    script: Option<Value>,
}

/// A source as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceBody {
    id: String,
    title: Option<String>,
    url: Option<String>,
    text: String,
    ocr: Option<bool>,
}

impl AskBody {
    /// Checks every field.
    pub(super) fn into_question(self, config: &Config) -> Result<Question, Failure> {
        if self.items.is_some() {
            return Err(invalid("items", "items belong to format select, which this version does not have"));
        }
        if self.schema.is_some() {
            return Err(invalid("schema", "a schema belongs to format json, which this version does not have"));
        }
        let sources = self.sources.map(|given| sources(given, config)).transpose()?;
        let (text, earlier) = conversation(self.question, self.messages)?;
        let most = config.ceilings.sources;
        if self.top_k.is_some_and(|k| k == 0 || k > most) {
            return Err(invalid("top_k", format!("expected 1 to {most}")));
        }
        if let Some(model) = &self.model {
            let allowed = config.models.is_empty() || config.models.contains(model);
            if model.trim().is_empty() || !allowed {
                return Err(invalid("model", "expected the name of a model that this gateway offers"));
            }
        }
        if self.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return Err(invalid("temperature", "expected a number from 0 to 2"));
        }
        if self.max_tokens == Some(0) {
            return Err(invalid("max_tokens", "expected at least 1"));
        }
        Ok(Question {
            text,
            earlier,
            sources,
            no_retrieval: self.retrieve == Some(false),
            top_k: self.top_k,
            on_problem: self.on_problem,
            delivery: self.delivery,
            model: self.model,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            script: self.script.map(|script| lab_script(&script, config)).transpose()?,
        })
    }
}

/// The question and the turns before it. Without `question`, the last message asks.
fn conversation(question: Option<String>, messages: Option<Vec<Message>>) -> Result<(String, Vec<Message>), Failure> {
    let mut earlier = messages.unwrap_or_default();
    let (text, param) = match question {
        Some(text) => (text, "question".to_owned()),
        None => match earlier.pop() {
            Some(Message { role: Role::User, content }) => (content, format!("messages[{}].content", earlier.len())),
            Some(_) => {
                return Err(invalid("messages", "the last message must be the user's when there is no question"));
            }
            None => return Err(invalid("question", "expected a question, or messages that end in one")),
        },
    };
    if text.trim().is_empty() {
        return Err(invalid(param, "the question must not be empty"));
    }
    Ok((text, earlier))
}

/// The request's own sources.
pub(super) fn sources(given: Vec<SourceBody>, config: &Config) -> Result<Vec<Source>, Failure> {
    let (most, most_bytes) = (config.ceilings.sources, config.ceilings.source_bytes);
    if given.len() > most {
        return Err(invalid("sources", format!("expected at most {most} sources, got {}", given.len())));
    }
    let mut ids = HashSet::new();
    for (i, source) in given.iter().enumerate() {
        if source.id.is_empty() {
            return Err(invalid(format!("sources[{i}].id"), "the id must not be empty"));
        }
        let [title, url] = [&source.title, &source.url].map(|field| field.as_ref().map_or(0, String::len));
        for (field, len, most) in [("id", source.id.len(), MAX_ID), ("title", title, MAX_TITLE), ("url", url, MAX_URL)]
        {
            if len > most {
                let message = format!("expected at most {most} bytes, got {len}");
                return Err(invalid(format!("sources[{i}].{field}"), message));
            }
        }
        if !ids.insert(source.id.as_str()) {
            return Err(invalid(format!("sources[{i}].id"), "two sources have this id; ids must be unique"));
        }
        if source.text.len() > most_bytes {
            let message = format!("expected at most {most_bytes} bytes, got {}", source.text.len());
            return Err(invalid(format!("sources[{i}].text"), message));
        }
    }
    let source =
        |s: SourceBody| Source { id: s.id, title: s.title, url: s.url, text: s.text, ocr: s.ocr == Some(true) };
    Ok(given.into_iter().map(source).collect())
}

fn lab_script(script: &Value, config: &Config) -> Result<Script, Failure> {
    if !config.lab {
        return Err(invalid("script", "a script is only played where the setting lab is on"));
    }
    Script::from_value(script).map_err(|error| invalid("script", error.to_string()))
}
