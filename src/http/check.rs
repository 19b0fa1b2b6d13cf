//! `POST /v1/check`: a finished answer and its sources in, the same judgement as after a stream out. No model is asked.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;

use super::ask::{SourceBody, sources};
use super::error::invalid;
use super::{Shared, body};
use crate::answer::event::{Failure, FinishReason, Format, OnProblem};
use crate::answer::settle::{Policy, settle};
use crate::cite::check::Rules;
use crate::cite::source::Sources;
use crate::wire::native;

/// The request as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckBody {
    sources: Vec<SourceBody>,
    text: String,
    #[expect(dead_code, reason = "one value only; the type has checked it")]
    #[serde(default, deserialize_with = "super::body::word")]
    format: Option<Format>,
    schema: Option<Value>,
}

pub(super) async fn check(State(app): State<Shared>, headers: HeaderMap, body: Body) -> Result<Response, Failure> {
    let config = app.gateway.config();
    let body: CheckBody = body::json(&headers, body, config.ceilings.body_bytes).await?;
    if body.schema.is_some() {
        return Err(invalid("schema", "a schema belongs to format json, which this version does not have"));
    }
    let most = config.ceilings.answer_bytes;
    if body.text.len() > most {
        return Err(invalid("text", format!("expected at most {most} bytes, got {}", body.text.len())));
    }
    let sources = Sources::new(sources(body.sources, config)?);
    let rules = Rules { grammar: &config.grammar, refusal: &config.refusal };
    let policy = Policy { rules, on_problem: OnProblem::Annotate };
    let settlement = settle(body.text, &FinishReason::new("stop"), &sources, policy);
    let json = native::checked(&settlement.text, &settlement.judgement, &sources);
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}
