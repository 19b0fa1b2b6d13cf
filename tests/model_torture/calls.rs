//! What a call does with its connections: what it sends, when it tries again, what it keeps, and how soon it lets go.

use std::future::Future;
use std::time::Duration;

use citewire::answer::event::Chunk;
use citewire::model::openai::OpenAi;
use citewire::model::{Model, ModelError};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::server::{
    A, Answer, CHUNKED, DONE, Peer, STOP, Server, answer, chunk, model, next, request, rest, silent, within,
};

/// How soon a dropped stream must have closed its socket.
const LETS_GO: Duration = Duration::from_millis(50);

/// A whole answer in HTTP chunks, after which the connection can be used again.
fn whole(text: &str) -> Vec<u8> {
    let body = format!("{}{STOP}{DONE}", A.replace("\"a\"", &format!("\"{text}\"")));
    [CHUNKED.as_bytes(), &chunk(body), b"0\r\n\r\n"].concat()
}

fn status(status: &str, headers: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: 5\r\n\r\nsorry")
}

/// Makes a call while the server does its part.
async fn call<T>(model: &OpenAi, served: impl Future<Output = T>) -> (Answer, T) {
    tokio::join!(answer(model), served)
}

#[tokio::test]
async fn what_is_sent() {
    let server = Server::start().await;
    let base_url = format!("http://{}/some/v1/", server.address());
    let served = async {
        let mut peer = server.accept().await;
        let sent = peer.request().await;
        peer.write(whole("a")).await;
        sent
    };
    let (answer, (head, body)) = call(&model(&base_url), served).await;
    assert_eq!(answer.show(), "a: stop ok");
    let mut lines: Vec<&str> = head.lines().collect();
    assert_eq!(lines.remove(0), "post /some/v1/chat/completions http/1.1");
    lines.sort_unstable();
    let expected = [
        "accept: text/event-stream",
        "authorization: bearer sk-secret",
        &format!("content-length: {}", body.len()),
        "content-type: application/json",
        &format!("host: {}", server.address()),
        &format!("user-agent: citewire/{}", env!("CARGO_PKG_VERSION")),
    ];
    assert_eq!(lines, expected);
    let sent: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&sent["model"], &sent["stream"]), (&json!("configured"), &json!(true)));
    assert_eq!(sent["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn one_retry_after_a_5xx() {
    let server = Server::start().await;
    let served = async {
        server.asked().await.write(status("500 Internal Server Error", "")).await;
        server.asked().await.write(whole("a")).await;
    };
    let (answer, ()) = call(&server.model(), served).await;
    assert_eq!((answer.show().as_str(), answer.attempts), ("a: stop ok", 2));

    let served = async {
        server.asked().await.write(status("500 Internal Server Error", "")).await;
        server.asked().await.write(status("503 Service Unavailable", "retry-after: 9\r\n")).await;
    };
    let (answer, ()) = call(&server.model(), served).await;
    assert_eq!((answer.show().as_str(), answer.attempts), (": Failed { status: Some(503) }", 2));
}

#[tokio::test]
async fn no_retry_after_any_other_status() {
    for (line, headers, expected) in [
        ("429 Too Many Requests", "retry-after: 7\r\n", "RateLimited { retry_after: Some(7s) }"),
        (
            "429 Too Many Requests",
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            "RateLimited { retry_after: Some(0ns) }",
        ),
        ("429 Too Many Requests", "", "RateLimited { retry_after: None }"),
        ("400 Bad Request", "", "Rejected { status: 400 }"),
        ("401 Unauthorized", "", "Rejected { status: 401 }"),
        ("422 Unprocessable Content", "", "Rejected { status: 422 }"),
        ("307 Temporary Redirect", "location: /elsewhere\r\n", "Rejected { status: 307 }"),
    ] {
        let server = Server::start().await;
        let served = async { server.asked().await.write(status(line, headers)).await };
        let (answer, ()) = call(&server.model(), served).await;
        assert_eq!((answer.show(), answer.attempts), (format!(": {expected}"), 1), "{line}");
    }
}

#[tokio::test]
async fn one_retry_when_there_is_no_connection() {
    let bound_but_deaf = TcpSocket::new_v4().unwrap();
    bound_but_deaf.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = bound_but_deaf.local_addr().unwrap();
    let answer = answer(&model(&format!("http://{nobody}/v1"))).await;
    assert!(
        matches!(&answer.end, Err(ModelError::Unreachable { why }) if why.starts_with("Connection refused")),
        "{answer:?}"
    );
    assert_eq!(answer.attempts, 2);
}

#[tokio::test]
async fn no_connection_without_trust() {
    let server = Server::start().await;
    let model = model(&format!("https://{}/v1", server.address()));
    let served = async {
        server.accept().await.write("not TLS at all\r\n").await;
        server.accept().await.write("not TLS at all\r\n").await;
    };
    let (answer, ()) = call(&model, served).await;
    assert!(
        matches!(&answer.end, Err(ModelError::Unreachable { why }) if why.contains("corrupt message")),
        "{answer:?}"
    );
    assert_eq!(answer.attempts, 2);
}

#[tokio::test]
async fn the_next_call_takes_the_same_connection() {
    let server = Server::start().await;
    let model = server.model();
    let (first, mut peer) = call(&model, async {
        let mut peer = server.asked().await;
        peer.write(whole("one")).await;
        peer
    })
    .await;
    assert_eq!(first.show(), "one: stop ok");
    // The last HTTP chunk comes late: a whole answer does not wait for it.
    let (second, ()) = call(&model, async {
        peer.request().await;
        peer.write(CHUNKED).await;
        peer.write(chunk(format!("{A}{STOP}{DONE}"))).await;
    })
    .await;
    assert_eq!(second.show(), "a: stop ok");
    peer.write("0\r\n\r\n").await;
    let_the_runtime_see().await;
    // An error whose body is there keeps the connection too.
    for (line, expected) in [
        ("429 Too Many Requests", ": RateLimited { retry_after: None }"),
        ("400 Bad Request", ": Rejected { status: 400 }"),
    ] {
        let (error, ()) = call(&model, async {
            peer.request().await;
            peer.write(status(line, "")).await;
        })
        .await;
        assert_eq!(error.show(), expected);
    }
    let (last, ()) = call(&model, async {
        peer.request().await;
        peer.write(whole("last")).await;
    })
    .await;
    assert_eq!((last.show().as_str(), last.attempts), ("last: stop ok", 1));
}

/// A model with one idle connection, and the server's side of it.
async fn with_idle_connection(server: &Server) -> (OpenAi, Peer) {
    let model = server.model();
    let (answer, peer) = call(&model, async {
        let mut peer = server.asked().await;
        peer.write(whole("first")).await;
        peer
    })
    .await;
    assert_eq!(answer.show(), "first: stop ok");
    (model, peer)
}

/// Another exchange on the same runtime: after it, everything is known that came over any socket before it.
async fn let_the_runtime_see() {
    with_idle_connection(&Server::start().await).await;
}

#[tokio::test]
async fn a_connection_that_died_idle_is_replaced() {
    for reset in [false, true] {
        let server = Server::start().await;
        let (model, peer) = with_idle_connection(&server).await;
        if reset {
            peer.reset()
        } else {
            drop(peer)
        }
        let_the_runtime_see().await;
        let (answer, ()) = call(&model, async { server.asked().await.write(whole("a")).await }).await;
        assert_eq!((answer.show().as_str(), answer.attempts), ("a: stop ok", 1), "reset: {reset}");
    }
}

#[tokio::test]
async fn a_connection_that_dies_under_the_request_costs_the_retry() {
    let server = Server::start().await;
    let (model, mut peer) = with_idle_connection(&server).await;
    let (answer, ()) = call(&model, async {
        peer.request().await;
        drop(peer);
        server.asked().await.write(whole("a")).await;
    })
    .await;
    assert_eq!((answer.show().as_str(), answer.attempts), ("a: stop ok", 2));
}

#[tokio::test]
async fn a_connection_with_an_unfinished_answer_is_not_used_again() {
    let server = Server::start().await;
    let model = server.model();
    let (answer, _unfinished) = call(&model, async {
        let mut peer = server.asked().await;
        peer.write(CHUNKED).await;
        peer.write(chunk(format!("{A}{STOP}{DONE}"))).await;
        peer
    })
    .await;
    assert_eq!(answer.show(), "a: stop ok");
    let (answer, ()) = call(&model, async { server.asked().await.write(whole("b")).await }).await;
    assert_eq!((answer.show().as_str(), answer.attempts), ("b: stop ok", 1));
}

#[tokio::test]
async fn a_dropped_stream_closes_its_socket_at_once() {
    for (written, seen) in [
        ("", false),
        ("HTTP/1.1 200 OK\r\ncontent-", false),
        (CHUNKED, false),
        (&format!("{CHUNKED}3c\r\n{A}\r\n"), true),
        (&format!("{CHUNKED}ff\r\n{A}data: {{\"choi"), true),
        (&format!("{CHUNKED}{:x}\r\n{A}{STOP}\r\n", A.len() + STOP.len()), true),
    ] {
        let server = Server::start().await;
        let mut stream = server.model().call(request());
        let mut peer = silent(&mut stream, server.asked()).await;
        peer.write(written).await;
        if seen {
            assert!(matches!(next(&mut stream).await, Ok(Some(Chunk::Text(text))) if text == "a"));
        }
        drop(stream);
        within(LETS_GO, peer.closed()).await;
    }
}

#[tokio::test]
async fn a_stream_dropped_in_the_handshake_closes_its_socket_at_once() {
    let server = Server::start().await;
    let mut stream = model(&format!("https://{}/v1", server.address())).call(request());
    let mut peer = silent(&mut stream, async {
        let mut peer = server.accept().await;
        peer.hello().await;
        peer
    })
    .await;
    drop(stream);
    within(LETS_GO, peer.closed()).await;
}

#[tokio::test]
async fn a_failed_stream_closes_its_socket_at_once() {
    let server = Server::start().await;
    let mut stream = server.model().call(request());
    let (answer, mut peer) = tokio::join!(rest(&mut stream), async {
        let mut peer = server.asked().await;
        peer.write(CHUNKED).await;
        peer.write(chunk("data: nonsense\n\n")).await;
        peer
    });
    assert!(matches!(answer.end, Err(ModelError::Invalid { .. })), "{answer:?}");
    within(LETS_GO, peer.closed()).await;
}

#[tokio::test]
async fn a_hundred_calls_at_once() {
    let server = Server::start().await;
    let model = server.model();
    let served = async {
        let mut peers = join_all((0..100).map(|_| server.asked())).await;
        for (number, peer) in peers.iter_mut().enumerate() {
            peer.write_what_is_wanted(whole(&format!("answer {number}")).chunks(50)).await;
        }
        peers
    };
    let (answers, peers) = tokio::join!(join_all((0..100).map(|_| answer(&model))), served);
    let mut texts: Vec<String> = answers.iter().map(Answer::show).collect();
    let mut expected: Vec<String> = (0..100).map(|number| format!("answer {number}: stop ok")).collect();
    texts.sort_unstable();
    expected.sort_unstable();
    assert_eq!(texts, expected);

    // A second hundred needs no new connection.
    let served = join_all(peers.into_iter().map(|mut peer| async move {
        peer.request().await;
        peer.write(whole("again")).await;
    }));
    let (answers, _) = tokio::join!(join_all((0..100).map(|_| answer(&model))), served);
    assert!(answers.iter().all(|answer| answer.show() == "again: stop ok" && answer.attempts == 1));
}
