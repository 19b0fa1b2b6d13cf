//! A small HTTP/1.1 client: the test decides when to read, how much, and how to leave.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::law::Law;
use crate::sse::{Frame, Item, Reader};
use crate::upstream::within;

/// Longest wait for anything. It only bounds a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it goes out. `content-length` is added.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| out.push_str(&format!("{name}: {value}\r\n")));
    out.push_str("\r\n");
    [out.as_bytes(), body].concat()
}

/// A response's head.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    fn parse(text: &str) -> Self {
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
        let header = |line: &str| line.split_once(':').map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned()));
        Self {
            status: status.unwrap_or_else(|| panic!("not a head: {text:?}")),
            headers: lines.filter_map(header).collect(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|(n, v)| (n == name).then_some(v.as_str()))
    }
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body.escape_ascii().to_string()))
    }

    /// Status, error code and param of an error, which has every field.
    #[track_caller]
    pub(crate) fn error(&self) -> (u16, String, Option<String>) {
        assert_eq!(self.head.get("content-type"), Some("application/json"), "{:?}", self.text());
        let error = &self.json()["error"];
        let mut keys: Vec<_> = error.as_object().unwrap_or_else(|| panic!("{:?}", self.text())).keys().collect();
        keys.sort();
        assert_eq!(keys, ["code", "message", "param", "retry_after", "retryable", "type"]);
        let word = |key: &str| error[key].as_str().map(str::to_owned);
        (self.head.status, word("code").unwrap(), word("param"))
    }
}

/// What is left of a response's body.
#[derive(Debug, Clone, Copy)]
enum Framing {
    Chunk(usize),
    ChunkEnd,
    ChunkSize,
    Length(usize),
    Nothing,
    Trailers,
    UntilClosed,
}

/// One connection to the server.
pub(crate) struct Client {
    socket: TcpStream,
    unread: BytesMut,
    framing: Framing,
    /// Bytes per read of the socket.
    pub(crate) read_size: usize,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::over(within(PATIENCE, TcpStream::connect(address)).await.unwrap())
    }

    pub(crate) fn over(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        Self { socket, unread: BytesMut::new(), framing: Framing::Nothing, read_size: 64 * 1024 }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends as much as the server takes.
    pub(crate) async fn send_what_is_wanted(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = within(PATIENCE, self.socket.write_all(bytes.as_ref())).await;
    }

    /// Ends the client's half.
    pub(crate) async fn close_half(&mut self) {
        self.socket.shutdown().await.unwrap();
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        self.socket.set_zero_linger().unwrap();
    }

    /// Reads from the socket; false at its end.
    async fn fill(&mut self) -> std::io::Result<bool> {
        let mut piece = vec![0; self.read_size];
        let count = within(PATIENCE, self.socket.read(&mut piece)).await?;
        self.unread.extend_from_slice(&piece[..count]);
        Ok(count > 0)
    }

    fn line(&mut self) -> Option<String> {
        let end = self.unread.windows(2).position(|two| two == b"\r\n")?;
        let line = String::from_utf8(self.unread.split_to(end).to_vec()).unwrap();
        self.unread.advance(2);
        Some(line)
    }

    /// The next response's head, or `None` when the connection ends instead.
    pub(crate) async fn try_head(&mut self) -> Option<Head> {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if !matches!(self.fill().await, Ok(true)) {
                return None;
            }
        };
        let head = Head::parse(std::str::from_utf8(&self.unread.split_to(end)).unwrap());
        self.unread.advance(4);
        self.framing = match (head.status, head.get("transfer-encoding"), head.get("content-length")) {
            (204 | 304, ..) => Framing::Nothing,
            (_, Some("chunked"), _) => Framing::ChunkSize,
            (_, _, Some(length)) => Framing::Length(length.parse().unwrap()),
            _ => Framing::UntilClosed,
        };
        Some(head)
    }

    /// What the bytes at hand give of the body; `None`: more must be read.
    fn decode(&mut self) -> Option<Option<Vec<u8>>> {
        loop {
            match self.framing {
                Framing::Nothing | Framing::Length(0) => return Some(None),
                Framing::ChunkSize => {
                    let size = usize::from_str_radix(&self.line()?, 16).unwrap();
                    self.framing = if size == 0 { Framing::Trailers } else { Framing::Chunk(size) };
                }
                Framing::ChunkEnd => {
                    assert_eq!(self.line()?, "");
                    self.framing = Framing::ChunkSize;
                }
                Framing::Trailers => {
                    if self.line()?.is_empty() {
                        self.framing = Framing::Nothing;
                    }
                }
                Framing::Chunk(left) | Framing::Length(left) => {
                    let count = left.min(self.unread.len());
                    if count == 0 {
                        return None;
                    }
                    self.framing = match self.framing {
                        Framing::Length(_) => Framing::Length(left - count),
                        _ if left == count => Framing::ChunkEnd,
                        _ => Framing::Chunk(left - count),
                    };
                    return Some(Some(self.unread.split_to(count).to_vec()));
                }
                Framing::UntilClosed if self.unread.is_empty() => return None,
                Framing::UntilClosed => return Some(Some(self.unread.split().to_vec())),
            }
        }
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// The connection ended before the body did.
    pub(crate) async fn piece(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(piece) = self.decode() {
                return Ok(piece);
            }
            if !self.fill().await? {
                let whole = matches!(self.framing, Framing::UntilClosed);
                return if whole { Ok(None) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    /// The next response, or `None` when the connection ends instead.
    pub(crate) async fn try_reply(&mut self) -> Option<Reply> {
        let head = self.try_head().await?;
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.piece().await {
            body.extend(piece);
        }
        Some(Reply { head, body })
    }

    pub(crate) async fn reply(&mut self) -> Reply {
        self.try_reply().await.expect("the connection ended without a response")
    }

    /// True when the server closes without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && !matches!(self.fill().await, Ok(true))
    }
}

/// A stream of events, each held against the law as it comes.
pub(crate) struct Stream {
    pub(crate) client: Client,
    pub(crate) head: Head,
    /// The answer's id, from the `Location` header or the first event.
    pub(crate) id: String,
    reader: Reader,
    items: VecDeque<Item>,
    law: Law,
}

impl Stream {
    /// Reads the head of a stream that begins behind record `after`.
    pub(crate) async fn begin(mut client: Client, after: u64) -> Self {
        let head = client.try_head().await.expect("the connection ended without a response");
        if head.status != 200 {
            let mut body = Vec::new();
            while let Ok(Some(piece)) = client.piece().await {
                body.extend(piece);
            }
            panic!("{head:?} {}", body.escape_ascii());
        }
        let id = head.get("location").and_then(|l| l.strip_prefix("/v1/answers/")).unwrap_or_default().to_owned();
        Self { client, head, id, reader: Reader::default(), items: VecDeque::new(), law: Law::after(after) }
    }

    /// The next event or comment; `None` at the end.
    pub(crate) async fn try_item(&mut self) -> std::io::Result<Option<Item>> {
        loop {
            if let Some(item) = self.items.pop_front() {
                self.law.see(&item);
                if let Item::Event(Frame { kind, data, .. }) = &item
                    && kind == "start"
                {
                    self.id = data["answer"].as_str().unwrap().to_owned();
                }
                return Ok(Some(item));
            }
            match self.client.piece().await? {
                Some(piece) => self.reader.push(&piece, &mut self.items),
                None => {
                    self.law.ended();
                    return Ok(None);
                }
            }
        }
    }

    pub(crate) async fn item(&mut self) -> Option<Item> {
        self.try_item().await.expect("the stream was cut")
    }

    /// The next event; `None` at the end. Comments do not keep a test waiting for ever.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let event = async {
            loop {
                match self.item().await? {
                    Item::Event(frame) => return Some(frame),
                    Item::Comment(_) => {}
                }
            }
        };
        within(2 * PATIENCE, event).await
    }

    /// The next event, which is of this kind.
    #[track_caller]
    pub(crate) fn expect(&mut self, kind: &str) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        async move {
            let frame = self.next().await.unwrap_or_else(|| panic!("the stream ended, expected {kind} at {place}"));
            assert_eq!(frame.kind, kind, "at {place}: {}", frame.raw);
            frame.data
        }
    }

    /// Reads text until all of `text` has come.
    pub(crate) async fn expect_text(&mut self, text: &str) {
        let mut came = String::new();
        while came.len() < text.len() {
            came.push_str(self.expect("delta").await["text"].as_str().unwrap());
        }
        assert_eq!(came, text);
    }

    /// Every event to the end.
    pub(crate) async fn rest(&mut self) -> Seen {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        Seen(frames)
    }
}

/// The events of a stream that was read to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(pub(crate) Vec<Frame>);

impl Seen {
    /// The deltas joined.
    pub(crate) fn text(&self) -> String {
        self.0.iter().filter_map(Frame::text).collect()
    }

    /// The names of the events.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.0.iter().map(|f| f.kind.as_str()).collect()
    }

    /// The data of the only event of this kind.
    #[track_caller]
    pub(crate) fn only(&self, kind: &str) -> &Value {
        let mut of_kind = self.0.iter().filter(|f| f.kind == kind);
        let frame = of_kind.next().unwrap_or_else(|| panic!("no {kind} in {:?}", self.kinds()));
        assert!(of_kind.next().is_none(), "two of {kind}");
        &frame.data
    }

    /// The code of the error that it ends in.
    #[track_caller]
    pub(crate) fn error(&self) -> &str {
        self.only("error")["code"].as_str().unwrap()
    }
}
