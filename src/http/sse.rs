//! A follower as a response body: whatever one poll brings leaves as one frame, and a comment keeps a silent connection open.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::cite::source::Sources;
use crate::log::live::{Follower, Progress};
use crate::log::tape::Item;
use crate::wire::native;

/// Silence after which a comment is sent. Proxies close connections that are silent for 30 to 60 s; at double, one lost comment
/// would be enough.
const PING_EVERY: Duration = Duration::from_secs(10);

/// A response that streams the follower's records as native events.
pub(super) fn response(follower: Follower) -> Response {
    let mut response = Response::new(Body::new(EventStream::new(follower).boxed_unsync()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct EventStream {
    follower: Follower,
    sources: Sources,
    /// The first frame carries a comment, so that the head leaves at once even while the model is silent.
    greeted: bool,
    last_frame: Instant,
    timer: Pin<Box<Sleep>>,
}

impl EventStream {
    fn new(follower: Follower) -> Self {
        let now = Instant::now();
        let sources = follower.live().with_tape(|tape| tape.start().map(|s| s.sources.clone())).unwrap_or_default();
        Self { follower, sources, greeted: false, last_frame: now, timer: Box::pin(sleep_until(now + PING_EVERY)) }
    }

    /// Registers for the next comment; `true` when it is due.
    fn ping_is_due(&mut self, cx: &mut Context<'_>) -> bool {
        while self.timer.as_mut().poll(cx).is_ready() {
            let due = self.last_frame + PING_EVERY;
            if due <= Instant::now() {
                return true;
            }
            self.timer.as_mut().reset(due);
        }
        false
    }
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        let mut out = Vec::new();
        if !this.greeted {
            this.greeted = true;
            out.extend_from_slice(native::PING);
        }
        let sources = &this.sources;
        let progress = this.follower.poll_records(cx, |seq, item| match item {
            Item::Delta(text) => native::delta(seq, text, &mut out),
            Item::Event(event) => native::encode(seq, event, sources, &mut out),
        });
        match progress {
            Poll::Ready(Progress::End) if out.is_empty() => return Poll::Ready(None),
            Poll::Pending if out.is_empty() => {
                if !this.ping_is_due(cx) {
                    return Poll::Pending;
                }
                out.extend_from_slice(native::PING);
                this.last_frame = Instant::now();
                // The timer is registered anew by the poll that follows this frame.
                this.timer.as_mut().reset(this.last_frame + PING_EVERY);
            }
            Poll::Ready(_) | Poll::Pending => this.last_frame = Instant::now(),
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(out)))))
    }
}
