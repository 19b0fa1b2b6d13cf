//! One call: connect or take an idle connection, send, judge the head, read the body.
//!
//! ```text
//! New ─▶ Connecting ─▶ Waiting ─▶ Reading ─▶ Over
//!  │         ▲         ▲   │
//!  │         └─ retry ─│───┘  5xx, no connection, or an idle one that had died
//!  └─ idle connection ─┘
//! ```
//! A whole answer leaves its connection in the pool; an error closes it.
//! Dropping it in any state closes the socket.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::Response;

use super::chunk::invalid;
use super::connection::{Connection, NoHead};
use super::head;
use super::reader::{BodyEnd, Reader};
use super::upstream::{Opening, Upstream};
use crate::answer::event::Chunk;
use crate::model::{ModelError, ModelStream};

/// Requests per call: the first and one transport retry.
const MAX_ATTEMPTS: u32 = 2;

/// A running call.
pub(super) struct Call {
    upstream: Arc<Upstream>,
    /// The request's body; empty when no retry can need it any more.
    body: Bytes,
    attempts: u32,
    state: State,
}

enum State {
    Connecting(Opening),
    New,
    Over,
    Reading { connection: Connection, reader: Reader },
    Waiting { connection: Connection, origin: Origin },
}

/// Where a connection came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Fresh,
    Pooled,
}

impl Call {
    /// A call that begins when it is polled.
    pub(super) fn new(upstream: Arc<Upstream>, body: Bytes) -> Self {
        Self { upstream, body, attempts: 1, state: State::New }
    }

    fn begin(&mut self) {
        match self.upstream.pool.take() {
            Some(connection) => self.send(connection, Origin::Pooled),
            None => self.connect(),
        }
    }

    fn connect(&mut self) {
        self.state = State::Connecting(self.upstream.open());
    }

    fn send(&mut self, mut connection: Connection, origin: Origin) {
        connection.send(self.upstream.request(self.body.clone()));
        self.state = State::Waiting { connection, origin };
    }

    /// Begins again on a new connection, if that was not done before.
    fn retry(&mut self, error: ModelError) -> Result<(), ModelError> {
        if self.attempts >= MAX_ATTEMPTS {
            return Err(error);
        }
        self.attempts += 1;
        self.connect();
        Ok(())
    }

    fn take_head(&mut self, head: Result<Response<()>, NoHead>) -> Result<(), ModelError> {
        let State::Waiting { connection, origin } = std::mem::replace(&mut self.state, State::Over) else {
            return Err(ModelError::Truncated);
        };
        match (head, origin) {
            (Ok(head), _) => self.judge(connection, &head),
            (Err(NoHead::NotSent), Origin::Fresh) => {
                self.retry(ModelError::Unreachable { why: "it closed the connection".to_owned() })
            }
            (Err(NoHead::NotSent), Origin::Pooled) => {
                self.connect();
                Ok(())
            }
            // The server closed its side while the request was on its way.
            (Err(NoHead::Cut), Origin::Pooled) => self.retry(no_answer()),
            // It may be at work on the request already, so asking again could be paid twice.
            (Err(NoHead::Cut), Origin::Fresh) => Err(no_answer()),
            (Err(NoHead::NotHttp), _) => Err(invalid("an HTTP/1.1 response", "something else")),
        }
    }

    fn judge(&mut self, mut connection: Connection, head: &Response<()>) -> Result<(), ModelError> {
        match head::judge(head) {
            Ok(format) => {
                self.body = Bytes::new();
                let reader = Reader::new(format, self.upstream.max_line_bytes);
                self.state = State::Reading { connection, reader };
                Ok(())
            }
            Err(error) => {
                // Nobody reads the body of an error; a short one that is here already does not cost the connection.
                if connection.is_idle() {
                    self.upstream.pool.put(connection);
                }
                if matches!(error, ModelError::Failed { .. }) { self.retry(error) } else { Err(error) }
            }
        }
    }

    /// Ends the call and leaves its connection to the next one.
    fn keep_connection(&mut self) {
        if let State::Reading { connection, .. } = std::mem::replace(&mut self.state, State::Over) {
            self.upstream.pool.put(connection);
        }
    }
}

impl ModelStream for Call {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, ModelError>> {
        loop {
            match &mut self.state {
                State::New => self.begin(),
                State::Connecting(opening) => match ready!(opening.as_mut().poll(cx)) {
                    Ok(connection) => self.send(connection, Origin::Fresh),
                    Err(error) => self.retry(error)?,
                },
                State::Waiting { connection, .. } => {
                    let head = ready!(connection.poll_head(cx));
                    self.take_head(head)?;
                }
                State::Reading { connection, reader } => {
                    let next = ready!(poll_reading(connection, reader, cx));
                    match &next {
                        Ok(Some(_)) => {}
                        Ok(None) => self.keep_connection(),
                        Err(_) => self.state = State::Over,
                    }
                    return Poll::Ready(next);
                }
                State::Over => return Poll::Ready(Err(ModelError::Truncated)),
            }
        }
    }

    fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// Gives out what is there, or reads all that can be read now.
fn poll_reading(
    connection: &mut Connection,
    reader: &mut Reader,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Chunk>, ModelError>> {
    if let Some(next) = reader.next() {
        return Poll::Ready(next);
    }
    while !reader.is_full() {
        match connection.poll_piece(cx) {
            Poll::Ready(Some(Ok(piece))) => reader.push(&piece),
            Poll::Ready(Some(Err(_))) => reader.finish(BodyEnd::Cut),
            Poll::Ready(None) => reader.finish(BodyEnd::Complete),
            Poll::Pending => break,
        }
    }
    reader.next().map_or(Poll::Pending, Poll::Ready)
}

/// The connection ended before the first byte of a response.
fn no_answer() -> ModelError {
    ModelError::Unreachable { why: "it closed the connection without an answer".to_owned() }
}
