//! What a model server may do to a reader, over real sockets: every byte is scripted, everything is bounded by time, and each
//! abnormal end must be told apart from a whole answer.
#![cfg(feature = "gateway")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

mod calls;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use citewire::answer::event::Chunk;
use citewire::model::{Model, ModelError};
use tokio::sync::Notify;

use server::{
    A, Answer, CHUNKED, DONE, STOP, Server, UNTIL_CLOSED, answer, chunk, next, request, rest, silent, within,
};

/// How a server hands over a body.
#[derive(Debug, Clone, Copy)]
enum Framing {
    /// One HTTP chunk per piece of so many bytes, each in a packet of its own.
    Chunked(usize),
    /// All with its length, in packets of so many bytes.
    Length(usize),
    /// Until the connection ends, in packets of so many bytes.
    UntilClosed(usize),
}

/// Serves a body once and says what the model made of it.
async fn serve(body: &[u8], framing: Framing) -> Answer {
    let server = Server::start().await;
    let model = server.model();
    let served = async {
        let mut peer = server.asked().await;
        // A model that has seen an error closes, so it may not want all of it.
        match framing {
            Framing::Chunked(bytes) => {
                peer.write(CHUNKED).await;
                peer.write_what_is_wanted(body.chunks(bytes).map(chunk).chain([b"0\r\n\r\n".to_vec()])).await;
            }
            Framing::Length(bytes) => {
                peer.write(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len())).await;
                peer.write_what_is_wanted(body.chunks(bytes)).await;
            }
            Framing::UntilClosed(bytes) => {
                peer.write(UNTIL_CLOSED).await;
                peer.write_what_is_wanted(body.chunks(bytes)).await;
            }
        }
    };
    tokio::join!(answer(&model), served).0
}

async fn check(body: &[u8], expected: &str) {
    for framing in [
        Framing::Chunked(usize::MAX),
        Framing::Chunked(7),
        Framing::Chunked(1),
        Framing::Length(usize::MAX),
        Framing::Length(1),
        Framing::UntilClosed(1 << 20),
        Framing::UntilClosed(1),
    ] {
        let answer = serve(body, framing).await;
        assert_eq!(answer.show(), expected, "{framing:?}: {}", body.escape_ascii());
        assert_eq!(answer.attempts, 1);
    }
}

fn delta(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
}

/// An answer with everything that a cut could hurt, in its plainest form.
fn plain() -> String {
    let deltas: String =
        ["Open from 8 ", "[", "1", "] –", " 🗼 für\n", "dich \"e\u{301}\" [2].\r\n"].map(delta).concat();
    format!("{deltas}{STOP}{DONE}")
}

const TEXT: &str = "Open from 8 [1] – 🗼 für\ndich \"e\u{301}\" [2].\r\n: stop ok";

/// The connection ended before a response came.
const NO_ANSWER: &str = ": Unreachable { why: \"it closed the connection without an answer\" }";

#[tokio::test]
async fn each_way_to_write_it_is_the_same_answer() {
    let plain = plain();
    check(plain.as_bytes(), TEXT).await;
    check(format!("\u{FEFF}{plain}").as_bytes(), TEXT).await;
    check(plain.replace('\n', "\r\n").as_bytes(), TEXT).await;
    check(plain.replace('\n', "\r").as_bytes(), TEXT).await;
    check(plain.replace("data: ", "data:").as_bytes(), TEXT).await;
    check(plain.replace("data: ", ": OPENROUTER PROCESSING\n\nid: 7\nretry: 1\ndata: ").as_bytes(), TEXT).await;
    check(plain.replace(DONE, "").as_bytes(), TEXT).await;
    check(plain.trim_end().as_bytes(), TEXT).await;
    check(plain.replace(DONE, "").trim_end().as_bytes(), TEXT).await;
    let escaped = plain.replace('🗼', "\\ud83d\\uddfc").replace('ü', "\\u00fc").replace('–', "\\u2013");
    check(escaped.as_bytes(), TEXT).await;
}

#[tokio::test]
async fn each_quirk_is_the_same_answer() {
    let plain = plain();
    for quirk in [
        "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}",
        "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}",
        "{\"id\":\"\",\"model\":\"\",\"choices\":[],\"prompt_filter_results\":[]}",
        "{\"choices\":null}",
        "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}",
        "{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}",
        "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another\"},\"finish_reason\":\"length\"}]}",
        "{\"event\":{\"type\":\"status\"},\"citewire\":{\"verdict\":\"clean\"},\"annotations\":[],\"citations\":[\"x\"]}",
        "",
    ] {
        let body = plain.replace("data: {", &format!("data: {quirk}\n\ndata: {{"));
        check(body.as_bytes(), TEXT).await;
    }
    check(plain.replace("\"stop\"", "\"eos_token\"").as_bytes(), &TEXT.replace("stop", "eos_token")).await;
}

#[tokio::test]
async fn each_broken_stream_has_its_own_error() {
    let failed = "a: Failed { status: None }";
    check(format!("{A}data: {{\"error\":{{\"message\":\"secret\"}}}}\n\n{STOP}").as_bytes(), failed).await;
    check(format!("{A}event: error\ndata: {{\"message\":\"secret\"}}\n\n").as_bytes(), failed).await;
    let inside = "data: {\"error\":{},\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\n";
    check(format!("{A}{inside}").as_bytes(), failed).await;
    check(A.as_bytes(), "a: Truncated").await;
    check(format!("{A}{DONE}").as_bytes(), "a: Truncated").await;
    check(b"", ": Truncated").await;
    check(format!("{A}data: {{\"choi\n\n").as_bytes(), &invalid("a", "half an object (column 6)")).await;
    let bytes = [A.as_bytes(), b"data: {\"choices\":[{\"delta\":{\"content\":\"\xF0\x9F\x97\"}}]}\n\n"].concat();
    check(&bytes, &invalid("a", "bytes that are not UTF-8")).await;
}

fn invalid(text: &str, came: &str) -> String {
    format!("{text}: Invalid {{ what: \"expected a chat chunk, got {came}\" }}")
}

#[tokio::test]
async fn a_line_without_end_is_refused() {
    let server = Server::start().await;
    let model = server.model();
    let served = async {
        let mut peer = server.asked().await;
        peer.write(UNTIL_CLOSED).await;
        peer.write(A).await;
        peer.write_what_is_wanted([format!("data: {}", "x".repeat(2 << 20))]).await;
        peer.closed().await;
    };
    let (answer, ()) = tokio::join!(answer(&model), served);
    assert_eq!(
        answer.show(),
        "a: Invalid { what: \"expected at most 1048576 bytes in a line, an event or a body, got more\" }"
    );
}

/// What a model makes of a server that writes this and then ends the connection, with a FIN or a reset.
async fn cut(written: &[u8], seen_before: &str) -> [String; 2] {
    let mut seen = Vec::new();
    for reset in [false, true] {
        let server = Server::start().await;
        let mut stream = server.model().call(request());
        let served = async {
            let mut peer = server.asked().await;
            peer.write(written).await;
            peer
        };
        let peer = if seen_before.is_empty() {
            silent(&mut stream, served).await
        } else {
            let (first, peer) = tokio::join!(next(&mut stream), served);
            assert!(matches!(first, Ok(Some(Chunk::Text(text))) if text == seen_before));
            peer
        };
        if reset {
            peer.reset()
        } else {
            drop(peer)
        }
        seen.push(rest(&mut stream).await.show());
    }
    seen.try_into().unwrap()
}

#[tokio::test]
async fn a_cut_connection_is_never_a_whole_answer() {
    let head = CHUNKED.as_bytes();
    let with = |body: &[u8]| [head, body].concat();
    assert_eq!(cut(&with(&chunk(A)), "a").await, [": Truncated", ": Truncated"], "between chunks");
    assert_eq!(
        cut(&with(&[chunk(A), b"ff\r\ndata: {\"cho".to_vec()].concat()), "a").await,
        [": Truncated", ": Truncated"]
    );
    assert_eq!(cut(UNTIL_CLOSED.as_bytes(), "").await, [": Truncated", ": Truncated"], "after the head");
    assert_eq!(
        cut(format!("{UNTIL_CLOSED}{A}data: {{\"choices\"").as_bytes(), "a").await,
        [": Truncated", ": Truncated"]
    );
    assert_eq!(cut(b"HTTP/1.1 200 OK\r\ncontent-ty", "").await, [NO_ANSWER, NO_ANSWER], "in the head");
    assert_eq!(cut(b"", "").await, [NO_ANSWER, NO_ANSWER], "before the head");
    let json = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{\"choices\":[]";
    assert_eq!(cut(json, "").await, [": Truncated", ": Truncated"], "in a body with a length");
}

#[tokio::test]
async fn a_cut_after_the_finish_reason_is_an_end() {
    let body = chunk(format!("{A}{STOP}"));
    assert_eq!(cut(&[CHUNKED.as_bytes(), &body].concat(), "a").await, [": stop ok", ": stop ok"]);
    let half = [CHUNKED.as_bytes(), &body, b"20\r\ndata: {\"us"].concat();
    assert_eq!(cut(&half, "a").await, [": stop ok", ": stop ok"]);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let server = Server::start().await;
    let model = server.model();
    let served = async {
        let mut peer = server.asked().await;
        let body = "{\"object\":\"chat.completion\",\"choices\":[{\"message\":{\"content\":\"All of it.\"},\"finish_reason\":\"stop\"}]}";
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        peer.write_what_is_wanted(format!("{head}{body}").as_bytes().chunks(5)).await;
    };
    assert_eq!(tokio::join!(answer(&model), served).0.show(), "All of it.: stop ok");
}

#[tokio::test]
async fn what_is_not_a_chat_server_is_invalid() {
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n", "text/event-stream, got text/html"),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "an HTTP/1.1 response, got something else"),
        (&format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(40_000)), "an HTTP/1.1 response, got something else"),
    ] {
        let server = Server::start().await;
        let model = server.model();
        let served = async { server.asked().await.write_what_is_wanted([head]).await };
        let (answer, ()) = tokio::join!(answer(&model), served);
        assert!(
            matches!(&answer.end, Err(ModelError::Invalid { what }) if what == &format!("expected {expected}")),
            "{answer:?}"
        );
    }
}

/// Counts how often a reader is woken.
#[derive(Default)]
struct Wakes {
    count: AtomicUsize,
    woken: Notify,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.woken.notify_one();
    }
}

#[tokio::test]
async fn one_read_is_one_wake_and_one_text() {
    let server = Server::start().await;
    let mut stream = server.model().call(request());
    let served = async {
        let mut peer = server.asked().await;
        peer.write(CHUNKED).await;
        peer.write(chunk(A)).await;
        peer
    };
    let (first, mut peer) = tokio::join!(next(&mut stream), served);
    assert!(matches!(first, Ok(Some(Chunk::Text(text))) if text == "a"));

    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    for events in [1, 1, 3, 30] {
        wakes.count.store(0, Ordering::SeqCst);
        assert!(stream.poll_chunk(&mut cx).is_pending());
        assert_eq!(wakes.count.load(Ordering::SeqCst), 0, "reading wakes nobody");
        peer.write(chunk(A).repeat(events)).await;
        within(Duration::from_secs(5), wakes.woken.notified()).await;
        let read = stream.poll_chunk(&mut cx);
        assert!(matches!(read, Poll::Ready(Ok(Some(Chunk::Text(text)))) if text == "a".repeat(events)));
        assert_eq!(wakes.count.load(Ordering::SeqCst), 1, "{events} events in one packet");
    }
}
