//! One HTTP/1.1 connection to a model server, driven by whoever reads from it: no task, no channel to another task.
//!
//! hyper hands heads and bodies over through channels whose other end its `Connection` fills when it is polled. Both ends are
//! polled here, one after the other, so the only wake-up that matters is the socket's: see [`drive`]. Dropping a connection
//! closes its socket.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::{TrySendError, http1};
use hyper::{Request, Response};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// A socket, with TLS or without.
pub(super) type Socket = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Ceiling of hyper's read buffer, in bytes, and so of a response's head. Buffers start at 8 KiB and grow only while reads
/// fill them. Half would reject heads with large cookies, double would let a fast server take that much of every stream.
const MAX_BUFFER_BYTES: usize = 16 * 1024;

/// Pieces of a finished answer that are read away before its connection is given up: the last chunk's frame comes apart
/// from `[DONE]` on many servers.
const MAX_LEFTOVER_PIECES: usize = 4;

type Driver = http1::Connection<Socket, Full<Bytes>>;
type Head = Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>>;

/// A connection and the one exchange that may run on it.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// `None` when the connection is closed.
    driver: Option<Driver>,
    exchange: Exchange,
}

enum Exchange {
    /// The request is on its way.
    Head(Pin<Box<dyn Future<Output = Head> + Send>>),
    /// The answer's body is being read.
    Body(Incoming),
    /// There is none.
    Nothing,
}

/// Why no head came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoHead {
    /// The connection ended after the request was sent, or a part of it.
    Cut,
    /// What came is not a head of HTTP/1.1, or one that is too large.
    NotHttp,
    /// The connection ended before anything was sent.
    NotSent,
}

impl Connection {
    /// Speaks HTTP over a socket.
    ///
    /// # Errors
    /// None that hyper has today.
    pub(super) async fn over(socket: Socket) -> hyper::Result<Self> {
        let (sender, driver) = http1::Builder::new().max_buf_size(MAX_BUFFER_BYTES).handshake(socket).await?;
        Ok(Self { sender, driver: Some(driver), exchange: Exchange::Nothing })
    }

    /// Begins an exchange. The connection must be new or [idle](Self::is_idle).
    pub(super) fn send(&mut self, request: Request<Full<Bytes>>) {
        self.exchange = Exchange::Head(Box::pin(self.sender.try_send_request(request)));
    }

    /// Sends what is to be sent and waits for the head; from then on the body can be read.
    pub(super) fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<()>, NoHead>> {
        let Exchange::Head(head) = &mut self.exchange else { return Poll::Ready(Err(NoHead::Cut)) };
        let head = ready!(drive(&mut self.driver, cx, |cx| head.as_mut().poll(cx)));
        self.exchange = Exchange::Nothing;
        Poll::Ready(match head {
            Ok(head) => {
                let (parts, body) = head.into_parts();
                self.exchange = Exchange::Body(body);
                Ok(Response::from_parts(parts, ()))
            }
            Err(error) if error.message().is_some() => Err(NoHead::NotSent),
            Err(error) if error.error().is_parse() => Err(NoHead::NotHttp),
            Err(_) => Err(NoHead::Cut),
        })
    }

    /// The next piece of the body; `None` at its end.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        let Exchange::Body(body) = &mut self.exchange else { return Poll::Ready(None) };
        loop {
            let frame = ready!(drive(&mut self.driver, cx, |cx| Pin::new(&mut *body).poll_frame(cx)));
            match frame {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => return Poll::Ready(Some(Ok(piece))),
                    // Trailers say nothing about an answer.
                    Err(_) => continue,
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    self.exchange = Exchange::Nothing;
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// True when the last answer is read to its end and, as far as the socket knows, the server still listens.
    pub(super) fn is_idle(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        let over = (0..MAX_LEFTOVER_PIECES).find_map(|_| match self.poll_piece(&mut cx) {
            Poll::Ready(None) => Some(true),
            Poll::Ready(Some(Ok(_))) => None,
            Poll::Ready(Some(Err(_))) | Poll::Pending => Some(false),
        });
        poll_driver(&mut self.driver, &mut cx);
        over == Some(true) && self.driver.is_some() && self.sender.is_ready()
    }

    /// False when the connection cannot serve another exchange.
    pub(super) fn is_open(&self) -> bool {
        self.driver.is_some()
    }
}

/// Polls the connection and then the end of a channel that the connection fills.
///
/// hyper would wake the reading task for each piece that it hands over, although that task is the one that polls it. So
/// pieces are fetched with a waker that does nothing, and only when there are none left is the socket told whom to wake.
fn drive<T>(
    driver: &mut Option<Driver>,
    cx: &mut Context<'_>,
    mut end: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    let mut nobody = Context::from_waker(Waker::noop());
    poll_driver(driver, &mut nobody);
    if let Poll::Ready(there) = end(&mut nobody) {
        return Poll::Ready(there);
    }
    poll_driver(driver, cx);
    end(&mut nobody)
}

/// Lets hyper read and write; what it finds it passes to the channels, errors too.
fn poll_driver(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| Pin::new(driver).poll(cx).is_ready()) {
        *driver = None;
    }
}
