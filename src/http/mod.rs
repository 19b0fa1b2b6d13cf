//! The edge: turns HTTP requests into questions and records into response bodies. The only room that names axum.
//!
//! - `answers`: ask, follow, resume, look, stop. `ask`: the body of a question, checked field by field.
//! - `check`: a finished answer, judged without a model.
//! - `sse`: a follower as a response body. `error`: codes to statuses. `demo`: the page.
//! - `serve`: sockets, connections, the drain.

mod answers;
mod ask;
mod body;
mod check;
mod demo;
mod error;
mod serve;
mod sse;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::{get, post};

pub use serve::{Listening, Server};

use crate::answer::event::{ErrorCode, Failure};
use crate::gateway::Gateway;

/// What every handler shares.
pub(crate) struct App {
    gateway: Gateway,
    draining: AtomicBool,
}

type Shared = Arc<App>;

impl App {
    fn refuse_while_draining(&self) -> Result<(), Failure> {
        if self.draining.load(Ordering::Relaxed) {
            let failure = Failure::new(ErrorCode::ShuttingDown, "the server is restarting");
            return Err(Failure { retry_after: Some(1), ..failure });
        }
        Ok(())
    }
}

/// Every route.
fn router(app: Shared) -> Router {
    Router::new()
        .route("/v1/answers", post(answers::ask))
        .route("/v1/answers/{id}", get(answers::record).delete(answers::stop))
        .route("/v1/answers/{id}/events", get(answers::follow))
        .route("/v1/check", post(check::check))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/", get(demo::page))
        .route("/{file}", get(demo::file))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_route)
        .with_state(app)
}

async fn ready(app: axum::extract::State<Shared>) -> Result<&'static str, Failure> {
    app.refuse_while_draining()?;
    Ok("ready\n")
}

async fn wrong_method(method: Method) -> Failure {
    Failure::new(ErrorCode::MethodNotAllowed, format!("this route does not take {method}"))
}

async fn unknown_route(uri: Uri) -> Failure {
    // The path is the client's own; its length is not.
    let path: String = uri.path().chars().take(100).collect();
    Failure::new(ErrorCode::NotFound, format!("no such route: {path}"))
}
