//! The native routes: ask, follow or resume, look at the record, stop.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::error::invalid;
use super::{Shared, ask::AskBody, body, sse};
use crate::answer::event::{ErrorCode, Failure};
use crate::gateway::{self, log_failure};
use crate::log::live::{Live, Progress};

/// `POST /v1/answers`: native events, or the record when the client accepts JSON only.
pub(super) async fn ask(State(app): State<Shared>, headers: HeaderMap, body: Body) -> Result<Response, Failure> {
    app.refuse_while_draining()?;
    let config = app.gateway.config();
    let body: AskBody = body::json(&headers, body, config.ceilings.body_bytes).await?;
    let live = app.gateway.open(body.into_question(config)?).await?;
    let mut response = if wants_json(&headers) { whole(&live).await? } else { events(&live, 0)? };
    if let Ok(location) = HeaderValue::try_from(format!("/v1/answers/{}", live.id())) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// True when the client takes JSON and does not take an event stream.
fn wants_json(headers: &HeaderMap) -> bool {
    let accepts = |media: &str| {
        let values = headers.get_all(header::ACCEPT).into_iter().filter_map(|v| v.to_str().ok());
        values
            .flat_map(|v| v.split(','))
            .any(|v| v.split(';').next().is_some_and(|m| m.trim().eq_ignore_ascii_case(media)))
    };
    accepts("application/json") && !accepts("text/event-stream")
}

fn events(live: &Arc<Live>, after: u64) -> Result<Response, Failure> {
    let follower = live.follow(after).map_err(|e| log_failure(&e))?;
    if follower.is_at_end() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse::response(follower))
}

/// Waits for the end and gives the record; an answer that fails has its code's status.
async fn whole(live: &Arc<Live>) -> Result<Response, Failure> {
    let mut follower = live.follow(0).map_err(|e| log_failure(&e))?;
    while std::future::poll_fn(|cx| follower.poll_records(cx, |_, _| {})).await == Progress::Records {}
    match live.with_tape(|tape| tape.error().cloned()) {
        Some(failure) => Err(failure),
        None => written(live),
    }
}

fn written(live: &Live) -> Result<Response, Failure> {
    let body = gateway::record(live).ok_or_else(|| Failure::new(ErrorCode::Internal, "the answer has no beginning"))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `GET /v1/answers/{id}`: the record as it is now.
pub(super) async fn record(State(app): State<Shared>, id: Id) -> Result<Response, Failure> {
    written(&*find(&app, id).await?)
}

/// `DELETE /v1/answers/{id}`: stops the answer; may be repeated.
pub(super) async fn stop(State(app): State<Shared>, id: Id) -> Result<StatusCode, Failure> {
    let live = find(&app, id).await?;
    live.stop(Failure::new(ErrorCode::Stopped, "the answer was stopped on request"));
    Ok(StatusCode::NO_CONTENT)
}

/// Where to resume, in the query.
#[derive(Debug, Deserialize)]
pub(super) struct After {
    after: Option<String>,
}

/// `GET /v1/answers/{id}/events`: follows from behind `Last-Event-ID` or `?after=`; 204 when there is nothing more.
pub(super) async fn follow(
    State(app): State<Shared>,
    id: Id,
    query: Result<Query<After>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let Query(query) = query.map_err(|_| invalid("after", "expected one number"))?;
    let after = match headers.get("last-event-id") {
        Some(value) => Some(("Last-Event-ID", value.to_str().unwrap_or("?"))),
        None => query.after.as_deref().map(|after| ("after", after)),
    };
    let seq = match after {
        None | Some((_, "")) => 0,
        Some((name, text)) => {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            let seq = text.parse().ok().filter(|_| digits);
            seq.ok_or_else(|| invalid(name, "expected the number of the last event seen"))?
        }
    };
    events(&find(&app, id).await?, seq)
}

/// The id in the path, if it can be read.
type Id = Result<Path<String>, PathRejection>;

async fn find(app: &Shared, id: Id) -> Result<Arc<Live>, Failure> {
    let unknown = || Failure::new(ErrorCode::NotFound, "no answer has this id, or it is no longer kept");
    let Path(id) = id.map_err(|_| unknown())?;
    let id = id.parse().map_err(|()| unknown())?;
    app.gateway.log().find(&id).await.map_err(|e| log_failure(&e))?.ok_or_else(unknown)
}
