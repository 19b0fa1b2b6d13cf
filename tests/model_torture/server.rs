//! Both ends of a call: a model server whose every byte is written by the test, and a reader of what the model gives out.

use std::future::{Future, poll_fn};
use std::time::Duration;

use citewire::answer::event::Chunk;
use citewire::cite::source::Sources;
use citewire::model::openai::{DEFAULT_MAX_LINE_BYTES, OpenAi, OpenAiSettings};
use citewire::model::{Model, ModelError, ModelRequest, ModelStream};
use citewire::prompt::{Message, Role};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The head of a stream in HTTP chunks, on a connection that is kept.
pub(crate) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The head of a stream that lasts until the connection ends.
pub(crate) const UNTIL_CLOSED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// An event with one delta.
pub(crate) const A: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
/// An event with a finish reason.
pub(crate) const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
/// The last event.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// Fails a test that hangs.
pub(crate) async fn within<T>(limit: Duration, what: impl Future<Output = T>) -> T {
    tokio::time::timeout(limit, what).await.expect("nothing happened in time")
}

/// A model server on a port of its own.
pub(crate) struct Server(TcpListener);

impl Server {
    pub(crate) async fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn address(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    /// A model that asks this server.
    pub(crate) fn model(&self) -> OpenAi {
        model(&format!("http://{}/v1", self.address()))
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Peer {
        let (socket, _) = within(Duration::from_secs(5), self.0.accept()).await.unwrap();
        socket.set_nodelay(true).unwrap();
        Peer(socket)
    }

    /// The next connection, once a whole request came over it.
    pub(crate) async fn asked(&self) -> Peer {
        let mut peer = self.accept().await;
        peer.request().await;
        peer
    }
}

/// The server's side of one connection.
pub(crate) struct Peer(TcpStream);

impl Peer {
    /// Reads one request: its head and its body.
    pub(crate) async fn request(&mut self) -> (String, String) {
        let mut bytes = Vec::new();
        within(Duration::from_secs(5), async {
            loop {
                if let Some((head, body)) = split_request(&bytes) {
                    return (head, body);
                }
                assert!(self.0.read_buf(&mut bytes).await.unwrap() > 0, "closed in the middle of a request");
            }
        })
        .await
    }

    /// Reads the first bytes of something that is no request.
    pub(crate) async fn hello(&mut self) {
        assert!(self.0.read(&mut [0; 4096]).await.unwrap() > 0);
    }

    pub(crate) async fn write(&mut self, text: impl AsRef<[u8]>) {
        self.0.write_all(text.as_ref()).await.unwrap();
    }

    /// Writes the pieces in packets of their own, until the client closes or everything is written.
    pub(crate) async fn write_what_is_wanted<P: AsRef<[u8]>>(&mut self, pieces: impl IntoIterator<Item = P>) {
        for piece in pieces {
            if self.0.write_all(piece.as_ref()).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Waits until the client closes its side.
    pub(crate) async fn closed(&mut self) {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "the client sent more: {}", rest.escape_ascii());
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        self.0.set_zero_linger().unwrap();
    }
}

fn split_request(bytes: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let head = head.to_ascii_lowercase();
    let length: usize = head.split_once("content-length: ")?.1.lines().next()?.parse().ok()?;
    (body.len() == length).then(|| (head, body.to_owned()))
}

/// HTTP's framing of one piece of a body.
pub(crate) fn chunk(text: impl AsRef<[u8]>) -> Vec<u8> {
    let text = text.as_ref();
    [format!("{:x}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
}

/// A model at this base url.
pub(crate) fn model(base_url: &str) -> OpenAi {
    let settings = OpenAiSettings {
        base_url: base_url.to_owned(),
        api_key: Some("sk-secret".to_owned()),
        model: "configured".to_owned(),
        max_line_bytes: DEFAULT_MAX_LINE_BYTES,
    };
    OpenAi::new(settings).unwrap()
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: None,
        messages: vec![Message { role: Role::User, content: "When does it open?".to_owned() }],
        question: "When does it open?".to_owned(),
        sources: Sources::default(),
        refusal: String::new(),
        temperature: None,
        max_tokens: None,
    }
}

/// The next chunk of a stream.
pub(crate) async fn next(stream: &mut Box<dyn ModelStream>) -> Result<Option<Chunk>, ModelError> {
    within(Duration::from_secs(10), poll_fn(|cx| stream.poll_chunk(cx))).await
}

/// Polls a stream until the server has done its part, and expects it to be silent.
pub(crate) async fn silent<T>(stream: &mut Box<dyn ModelStream>, served: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        done = served => done,
        next = next(stream) => panic!("expected silence, got {next:?}"),
    }
}

/// A stream that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    /// All of its text.
    pub(crate) text: String,
    /// Finish reasons as they were sent.
    pub(crate) finish: Vec<String>,
    pub(crate) end: Result<(), ModelError>,
    pub(crate) attempts: u32,
}

impl Answer {
    /// `a: stop ok`, `a: Truncated`.
    pub(crate) fn show(&self) -> String {
        let finish: String = self.finish.iter().map(|word| format!("{word} ")).collect();
        let end = self.end.as_ref().map_or_else(|error| format!("{error:?}"), |()| "ok".to_owned());
        format!("{}: {finish}{end}", self.text)
    }
}

/// Makes a call and reads it to its end.
pub(crate) async fn answer(model: &OpenAi) -> Answer {
    rest(&mut model.call(request())).await
}

/// Reads a stream to its end.
pub(crate) async fn rest(stream: &mut Box<dyn ModelStream>) -> Answer {
    let (mut text, mut finish) = (String::new(), Vec::new());
    let end = loop {
        match next(stream).await {
            Ok(Some(Chunk::Text(more))) => text.push_str(&more),
            Ok(Some(Chunk::Finish(reason))) => finish.push(reason.as_sent),
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    Answer { text, finish, end, attempts: stream.attempts() }
}
