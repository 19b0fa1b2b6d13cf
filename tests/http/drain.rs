//! Told to stop: open answers go on within the time they are given, nothing new begins, and nothing stays behind.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpStream;

use crate::client::{PATIENCE, request};
use crate::followers::narrow;
use crate::gate::{ASK, ASK_JSON, Gate, chunks, question, scripted, time, timed};
use crate::model;
use crate::upstream::{Server, within};

#[tokio::test(start_paused = true)]
async fn an_answer_that_ends_in_time_is_whole() {
    let gate = Gate::start(|o| o.drain_timeout = time("5s")).await;
    let script = json!({"chunks": ["It costs ", "25 ", "dollars ", "[1]."], "gap_ms": 500});
    let mut stream = gate.ask(&scripted(&script)).await;
    stream.expect("start").await;
    stream.expect_text("It costs ").await;
    let served = gate.stop();
    let seen = stream.rest().await;
    assert_eq!((seen.text().as_str(), &seen.only("annotate")["verdict"]), ("25 dollars [1].", &json!("clean")));
    assert!(stream.client.is_closed().await, "the connection is not kept");
    let (wait, cut) = timed(served).await;
    assert_eq!(cut.unwrap(), 0);
    assert!(wait < Duration::from_millis(200), "nothing is left to wait for: {wait:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_is_cut_at_the_deadline() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |o| o.drain_timeout = time("3s")).await;
    let mut streams = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..2 {
        let mut stream = gate.ask(&question()).await;
        let mut peer = model::begin(&server).await;
        peer.write(model::text("It costs ")).await;
        stream.expect("start").await;
        stream.expect_text("It costs ").await;
        streams.push(stream);
        peers.push(peer);
    }
    let mut waiting = gate.client().await;
    waiting.send(request("POST", "/v1/answers", &ASK_JSON, question().to_string().as_bytes())).await;
    peers.push(model::begin(&server).await);
    let served = gate.stop();
    let (took, ()) = timed(async {
        for stream in &mut streams {
            let seen = stream.rest().await;
            assert_eq!((seen.kinds(), seen.error()), (vec!["error"], "shutting_down"));
            let error = seen.only("error");
            assert_eq!((&error["type"], &error["retryable"]), (&json!("citewire_error"), &json!(true)));
            assert!(stream.client.is_closed().await);
        }
    })
    .await;
    assert!(Duration::from_secs(3) <= took && took < Duration::from_millis(3_300), "{took:?}");
    assert_eq!(waiting.reply().await.error(), (503, "shutting_down".to_owned(), None));
    assert_eq!(within(PATIENCE, served).await.unwrap(), 3, "two streams and one record");
    for peer in &mut peers {
        within(PATIENCE, peer.closed()).await;
    }
}

#[tokio::test]
async fn nothing_new_begins() {
    let gate = Gate::start(|o| o.drain_timeout = time("20s")).await;
    let address = gate.address;
    let mut stream = gate.ask(&scripted(&json!({"chunks": ["a [1]"], "gap_ms": 86_400_000}))).await;
    stream.expect("start").await;
    let id = stream.id.clone();
    // One connection is idle, one has sent half a head, one has a request waiting behind its stream.
    let mut idle = gate.client().await;
    idle.send(request("GET", "/healthz", &[], b"")).await;
    assert_eq!(idle.reply().await.head.status, 200);
    let mut half = gate.client().await;
    half.send("DELETE /v1/answers/").await;
    let mut fresh = gate.client().await;
    stream.client.send(request("POST", "/v1/answers", &ASK, chunks(&["No [1]."]).to_string().as_bytes())).await;
    let served = gate.stop();
    assert!(idle.is_closed().await, "an idle connection is not kept");
    assert!(fresh.is_closed().await, "a fresh one neither");
    within(PATIENCE, async { while TcpStream::connect(address).await.is_ok() {} }).await;
    // A request that had begun is served: it stops the answer, and with it the drain ends.
    half.send(format!("{id} HTTP/1.1\r\nhost: test\r\n\r\n")).await;
    if let Some(reply) = half.try_reply().await {
        assert_eq!(reply.head.status, 204);
        assert_eq!(stream.rest().await.error(), "stopped");
        assert!(stream.client.try_head().await.is_none_or(|head| head.status == 503), "nothing begins behind it");
        assert_eq!(within(PATIENCE, served).await.unwrap(), 0);
    }
}

/// The deadline also holds against a reader that does not read.
#[tokio::test]
async fn a_reader_that_stalls_does_not_hold_the_door() {
    let gate = Gate::start(|o| o.drain_timeout = time("200ms")).await;
    let text = "x".repeat(300_000);
    let stalled = gate.ask_over(narrow(&gate).await, &chunks(&[&text, "[1]"])).await;
    gate.record_when(&stalled.id, |r| r["state"] == "done").await;
    let (took, cut) = timed(gate.stop()).await;
    assert!(took < Duration::from_secs(3), "{took:?} for 200 ms and the last words");
    assert_eq!(cut.unwrap(), 0, "its answer was over");
}

#[tokio::test(start_paused = true)]
async fn without_open_connections_it_ends_at_once() {
    let gate = Gate::start(|_| {}).await;
    gate.ask(&chunks(&["Yes [1]."])).await.rest().await;
    let (took, cut) = timed(gate.stop()).await;
    assert!(took < Duration::from_millis(200), "{took:?}");
    assert_eq!(cut.unwrap(), 0);
}

/// An answer that goes on without a reader is an open answer too: when `serve` returns it has ended, and is counted.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_reads_is_not_left_behind() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |o| (o.drain_timeout, o.abandon_after) = (time("3s"), time("5m"))).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    stream.expect("start").await;
    let id = stream.id.parse().unwrap();
    let log = gate.log.clone();
    drop(stream);
    let cut = within(PATIENCE, gate.stop()).await.unwrap();
    let live = log.find(&id).await.unwrap().unwrap();
    assert!(live.is_over(), "the model still writes to nobody");
    assert_eq!(cut, 1);
    within(PATIENCE, peer.closed()).await;
}
