//! Judges a response's head: an answer to read, or an error.

use std::time::{Duration, SystemTime};

use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::chunk::invalid;
use super::reader::Format;
use crate::model::ModelError;

/// Longest wait that is believed. A server that asks for more means "not today".
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Characters of a foreign content type that an error shows.
const MAX_SHOWN: usize = 40;

/// How the body is to be read.
///
/// # Errors
/// The status, or a content type that no chat server sends.
pub(super) fn judge<B>(head: &Response<B>) -> Result<Format, ModelError> {
    match head.status() {
        status if status.is_success() => format(head.headers()),
        StatusCode::TOO_MANY_REQUESTS => {
            Err(ModelError::RateLimited { retry_after: retry_after(head.headers(), SystemTime::now()) })
        }
        status if status.is_server_error() => Err(ModelError::Failed { status: Some(status.as_u16()) }),
        // Redirects too: a request with a key in it is not carried elsewhere.
        status => Err(ModelError::Rejected { status: status.as_u16() }),
    }
}

/// Servers that say nothing, or plain text, are believed to stream.
fn format(headers: &HeaderMap) -> Result<Format, ModelError> {
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(invalid("a body as it is", "a compressed one, unasked"));
    }
    let value = headers.get(CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("something unreadable"));
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "" | "text/event-stream" | "text/plain" => Ok(Format::EventStream),
        "application/json" => Ok(Format::Json),
        other => Err(invalid("text/event-stream", &other.chars().take(MAX_SHOWN).collect::<String>())),
    }
}

fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match value.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => httpdate::parse_http_date(value).ok()?.duration_since(now).unwrap_or_default(),
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, headers: &[(&str, &str)], expected: &str) {
        let head =
            headers.iter().fold(Response::builder().status(status), |head, (name, value)| head.header(*name, *value));
        assert_eq!(format!("{:?}", judge(&head.body(()).unwrap())), expected, "{status} {headers:?}");
    }

    #[test]
    fn statuses() {
        check(200, &[], "Ok(EventStream)");
        check(201, &[], "Ok(EventStream)");
        for status in [301, 302, 307, 308, 304, 400, 401, 403, 404, 408, 413, 422] {
            check(status, &[("location", "/elsewhere")], &format!("Err(Rejected {{ status: {status} }})"));
        }
        for status in [500, 502, 503, 504, 529] {
            check(status, &[("retry-after", "1")], &format!("Err(Failed {{ status: Some({status}) }})"));
        }
        check(429, &[], "Err(RateLimited { retry_after: None })");
    }

    #[test]
    fn content_types() {
        for kind in ["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream;x", "text/plain", ""] {
            check(200, &[("content-type", kind)], "Ok(EventStream)");
        }
        check(200, &[("content-type", "application/json; charset=utf-8")], "Ok(Json)");
        check(200, &[("content-encoding", "identity")], "Ok(EventStream)");
        let compressed = "Err(Invalid { what: \"expected a body as it is, got a compressed one, unasked\" })";
        check(200, &[("content-encoding", "gzip")], compressed);
        for (kind, shown) in [("text/html; charset=utf-8", "text/html"), ("a/b", "a/b"), ("ü", "something unreadable")]
        {
            let invalid = format!("Err(Invalid {{ what: \"expected text/event-stream, got {shown}\" }})");
            check(200, &[("content-type", kind)], &invalid);
        }
    }

    #[test]
    fn how_long_to_wait() {
        let check = |value: &str, expected: Option<u64>| {
            let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_secs), "{value}");
        };
        check("7", Some(7));
        check(" 7 ", Some(7));
        check("0", Some(0));
        check("99999999999999", Some(86_400));
        check("Sun, 06 Nov 1994 08:50:37 GMT", Some(60));
        check("Sunday, 06-Nov-94 08:50:37 GMT", Some(60));
        check("Sun Nov  6 08:50:37 1994", Some(60));
        check("Sun, 06 Nov 1994 08:00:00 GMT", Some(0));
        check("-1", None);
        check("1.5", None);
        check("soon", None);
    }
}
