//! Reads a JSON request body within its ceiling, and says which field is wrong.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::error::invalid;
use crate::answer::event::{ErrorCode, Failure};

/// How long a body may take to come. A slow line needs seconds for 4 MiB; a client that takes longer holds a place for nothing.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the body as JSON.
pub(super) async fn json<T: DeserializeOwned>(headers: &HeaderMap, body: Body, limit: usize) -> Result<T, Failure> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        let message = format!("expected content-type application/json, got {}", quoted(given));
        return Err(Failure::new(ErrorCode::UnsupportedMediaType, message));
    }
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        let message = "expected a body as it is, got a compressed one";
        return Err(Failure::new(ErrorCode::UnsupportedMediaType, message));
    }
    let read = tokio::time::timeout(READ_TIMEOUT, Limited::new(body, limit).collect()).await;
    let bytes = match read {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
            let message = format!("the body is longer than {limit} bytes");
            return Err(Failure::new(ErrorCode::PayloadTooLarge, message));
        }
        Ok(Err(_)) => return Err(invalid("", "the body could not be read to its end")),
        Err(_) => return Err(invalid("", format!("the body did not come within {} s", READ_TIMEOUT.as_secs()))),
    };
    // A struct could also be read from a list, field by field; nobody means that.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(match serde_json::from_slice::<serde::de::IgnoredAny>(&bytes) {
            Ok(_) => invalid("", "expected a JSON object"),
            Err(error) => not_json(&error),
        });
    }
    let mut reader = serde_json::Deserializer::from_slice(&bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, last) = shown(error.path());
        let inner = error.into_inner();
        if inner.is_data() { misfit(&path, &last, &inner.to_string()) } else { not_json(&inner) }
    })?;
    reader.end().map_err(|error| not_json(&error))?;
    Ok(value)
}

fn not_json(error: &serde_json::Error) -> Failure {
    invalid("", format!("not valid JSON: {error}"))
}

/// The path with only plain words in it, and its last name as it came.
fn shown(path: &serde_path_to_error::Path) -> (String, String) {
    use serde_path_to_error::Segment;
    let (mut out, mut last) = (String::new(), String::new());
    for segment in path {
        match segment {
            Segment::Seq { index } => out.push_str(&format!("[{index}]")),
            Segment::Map { key } | Segment::Enum { variant: key } => {
                out.push_str(if out.is_empty() { "" } else { "." });
                out.push_str(plain(key));
                last.clone_from(key);
            }
            Segment::Unknown => {}
        }
    }
    (out, last)
}

/// Reads a word of a closed list; anything but a string is a value of the wrong type.
pub(super) fn word<'de, D: serde::Deserializer<'de>, T: serde::Deserialize<'de>>(d: D) -> Result<Option<T>, D::Error> {
    use serde::de::{Error as _, IntoDeserializer as _};
    let Some(word) = <Option<String> as serde::Deserialize>::deserialize(d)? else { return Ok(None) };
    T::deserialize(word.into_deserializer()).map(Some).map_err(|e: serde::de::value::Error| D::Error::custom(e))
}

/// What is wrong with a field, from the reader's words. These may quote what the client sent, a question or a key; an error
/// never does, beyond short plain words.
fn misfit(path: &str, last: &str, said: &str) -> Failure {
    let said = said.rfind(" at line ").and_then(|at| said.get(..at)).unwrap_or(said);
    for (kind, what) in [
        ("unknown field `", "unknown field"),
        ("missing field `", "missing field"),
        ("duplicate field `", "given twice:"),
    ] {
        let Some((name, _)) = said.strip_prefix(kind).and_then(|rest| rest.split_once('`')) else { continue };
        let rest = said.strip_prefix(kind).unwrap_or_default();
        let whole = !last.is_empty() && rest.strip_prefix(last).is_some_and(|rest| rest.starts_with('`'));
        let name = plain(if whole { last } else { name });
        // The reader reports these at the object around the field, or at the field.
        let param = match path {
            "" => name.to_owned(),
            path if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
            path => format!("{path}.{name}"),
        };
        return invalid(param, format!("{what} {name}"));
    }
    if let Some((given, expected)) =
        said.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        return invalid(path, format!("expected {}, got {}", expected.replace('`', ""), plain(given)));
    }
    let got =
        said.split_once(": ").and_then(|(_, rest)| rest.split([' ', ',', '`']).next()).unwrap_or("something else");
    match said.rsplit_once(", expected ") {
        Some((_, expected)) => invalid(path, format!("expected {}, got {}", in_words(expected), in_words(got))),
        None => invalid(path, "this value does not fit"),
    }
}

/// A short plain word as it is, anything else unnamed.
fn plain(word: &str) -> &str {
    let is_plain =
        word.len() <= 40 && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    if is_plain { word } else { "(another word)" }
}

/// The reader's names of types, as people say them.
fn in_words(kind: &str) -> &str {
    match kind {
        "usize" | "u32" | "u64" => "a whole number from 0",
        "f64" => "a number",
        "integer" => "an integer",
        "floating" => "a fraction or a very large number",
        "string" => "a string",
        "boolean" => "a boolean",
        "map" => "an object",
        "sequence" | "a sequence" => "a list",
        kind if kind.starts_with("struct ") => "an object",
        kind => kind,
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { format!("{:?}", text.chars().take(80).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_field_and_quote_nothing_long() {
        for (path, said, param, message) in [
            (".", "unknown field `quest`, expected one of `a` at line 1 column 8", "quest", "unknown field quest"),
            (
                "sources[0].txt",
                "unknown field `txt`, expected `id` at line 1 column 2",
                "sources[0].txt",
                "unknown field txt",
            ),
            ("sources[0]", "missing field `text` at line 1 column 3", "sources[0].text", "missing field text"),
            (
                "question",
                "invalid type: integer `1`, expected a string at line 1 column 13",
                "question",
                "expected a string, got an integer",
            ),
            (
                "top_k",
                "invalid type: string \"a secret, expected nothing\", expected usize at line 1 column 2",
                "top_k",
                "expected a whole number from 0, got a string",
            ),
            (
                "on_problem",
                "unknown variant `retry`, expected one of `annotate`, `strip` at line 1 column 2",
                "on_problem",
                "expected one of annotate, strip, got retry",
            ),
            (
                "delivery",
                "unknown variant `a secret`, expected `hold` or `stream`",
                "delivery",
                "expected hold or stream, got (another word)",
            ),
            (
                "top_k",
                "invalid value: integer `-1`, expected usize",
                "top_k",
                "expected a whole number from 0, got an integer",
            ),
        ] {
            let failure = misfit(if path == "." { "" } else { path }, "", said);
            assert_eq!((failure.param.as_deref(), failure.message.as_str()), (Some(param), message));
        }
    }
}
