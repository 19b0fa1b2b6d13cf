//! The demo page, embedded in the binary. The page gets what it needs to know as attributes of `<html>`.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::Shared;
use crate::answer::event::{ErrorCode, Failure};

const PAGE: &str = include_str!("../../web/index.html");

macro_rules! files {
    ($($name:literal),+ $(,)?) => { [$(($name, include_str!(concat!("../../web/", $name)))),+] };
}

/// Everything that the page loads.
const FILES: [(&str, &str); 9] =
    files!["app.js", "client.js", "dom.js", "prose.js", "sources.js", "status.js", "style.css", "view.js", "words.js"];

/// Scripts and styles from here only, so text that slipped through as markup could still do nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) async fn page(State(app): State<Shared>) -> Response {
    let gateway = &app.gateway;
    let facts = [
        ("{{model}}", gateway.model_name()),
        ("{{docs}}", gateway.docs_name().unwrap_or("none")),
        ("{{lab}}", if gateway.config().lab { "true" } else { "false" }),
        ("{{keys}}", "false"),
    ];
    // One pass over the page, so that no value can hold a place of its own.
    let mut html = String::with_capacity(PAGE.len() + 256);
    let mut rest = PAGE;
    while let Some((at, (place, value))) =
        facts.iter().filter_map(|fact| rest.find(fact.0).map(|at| (at, *fact))).min_by_key(|(at, _)| *at)
    {
        let (before, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        html.push_str(before);
        html.push_str(&escaped(value));
        rest = behind.strip_prefix(place).unwrap_or(behind);
    }
    html.push_str(rest);
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], html)
        .into_response()
}

pub(super) async fn file(
    name: Result<Path<String>, axum::extract::rejection::PathRejection>,
) -> Result<Response, Failure> {
    let name = name.map(|Path(name)| name).unwrap_or_default();
    let found = FILES.iter().find(|(file, _)| *file == name);
    let (_, text) = found.ok_or_else(|| Failure::new(ErrorCode::NotFound, "no such file"))?;
    let media_type = if name.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
    // The page and its modules belong together; a browser that kept one of an older binary would mix them.
    Ok(([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, "no-cache")], *text).into_response())
}

fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
