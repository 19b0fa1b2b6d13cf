//! A silent connection is kept open by comments, on a clock that the test moves.

use std::time::Duration;

use serde_json::json;

use crate::client::Stream;
use crate::gate::{Gate, question, scripted, timed};
use crate::model;
use crate::sse::Item;
use crate::upstream::Server;

/// Silence after which a comment comes.
const PING: Duration = Duration::from_secs(10);
/// What the clock may be late by.
const GRAIN: Duration = Duration::from_millis(50);

async fn expect_ping(stream: &mut Stream) {
    let item = stream.item().await;
    assert!(matches!(item, Some(Item::Comment(_))), "expected a comment, got {item:?}");
}

/// Three comments come, each behind ten seconds of silence.
async fn expect_silence(stream: &mut Stream) {
    for _ in 0..3 {
        let (wait, ()) = timed(expect_ping(stream)).await;
        assert!(PING <= wait && wait < PING + GRAIN, "after {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_bytes_are_a_comment_and_need_no_model() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let (wait, ()) = timed(async {
        expect_ping(&mut stream).await;
        stream.expect("start").await;
    })
    .await;
    assert!(wait < GRAIN, "{wait:?}");
    let _peer = server.asked().await;
    expect_silence(&mut stream).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_bridged_streamed_or_held() {
    let gate = Gate::start(|_| {}).await;
    for delivery in ["stream", "hold"] {
        let mut body = scripted(&json!({"chunks": ["It costs ", "25 [1]."], "gap_ms": 35_000}));
        body["delivery"] = json!(delivery);
        let mut stream = gate.ask(&body).await;
        expect_ping(&mut stream).await;
        stream.expect("start").await;
        let mut other = gate.follow(&stream.id, 0).await;
        expect_ping(&mut other).await;
        other.expect("start").await;
        tokio::join!(expect_silence(&mut stream), expect_silence(&mut other));
        if delivery == "stream" {
            tokio::join!(stream.expect_text("It costs "), other.expect_text("It costs "));
            tokio::join!(expect_silence(&mut stream), expect_silence(&mut other));
        }
        let (a, b) = tokio::join!(stream.rest(), other.rest());
        assert_eq!(a.only("annotate")["verdict"], "clean", "{delivery}");
        assert_eq!(a.0, b.0);
    }
}

/// Comments fill silence only.
#[tokio::test(start_paused = true)]
async fn a_model_that_talks_gets_no_comments() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&scripted(&json!({"chunks": ["a ", "b ", "c ", "d ", "[1]"], "gap_ms": 9_900}))).await;
    expect_ping(&mut stream).await;
    while let Some(item) = stream.item().await {
        assert!(matches!(item, Item::Event(_)), "{item:?}");
    }
}

/// What the emitter holds back is silence to a reader.
#[tokio::test(start_paused = true)]
async fn an_open_marker_is_silence() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    expect_ping(&mut stream).await;
    stream.expect("start").await;
    peer.write(model::text("[1")).await;
    expect_silence(&mut stream).await;
    peer.write(model::text("]")).await;
    stream.expect_text("[1]").await;
}
