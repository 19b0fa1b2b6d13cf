//! Nobody reads any more: the answer ends when `abandon_after` says so, and the model's connection closes at once.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::client::{Client, PATIENCE, Stream, request};
use crate::gate::{ASK, ASK_JSON, Gate, chunks, question, scripted, time};
use crate::model;
use crate::upstream::{Peer, Server, within};

/// How soon the model's connection must be closed once the last reader is gone.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Tries per situation. One try on a busy machine measures the machine: the best of them counts, the others only have to end.
const TRIES: usize = 5;

/// How a client leaves.
#[derive(Debug, Clone, Copy)]
enum Leaves {
    /// Closes its socket.
    Closes,
    /// Resets the connection.
    Resets,
}

fn leave(client: Client, how: Leaves) {
    match how {
        Leaves::Closes => drop(client),
        Leaves::Resets => client.reset(),
    }
}

/// Sends a question and gives the connection, whatever comes back.
async fn asked(gate: &Gate, headers: &[(&str, &str)]) -> Client {
    let mut client = gate.client().await;
    client.send(request("POST", "/v1/answers", headers, question().to_string().as_bytes())).await;
    client
}

/// The best time in which the model's connection was closed behind a client that left in the situation that `meet` makes.
async fn best_time<F: AsyncFn(&Gate, &Server) -> (Client, Peer)>(how: Leaves, meet: F) -> Duration {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |o| o.abandon_after = time("0s")).await;
    let mut best = PATIENCE;
    for _ in 0..TRIES {
        let (client, mut peer) = meet(&gate, &server).await;
        leave(client, how);
        let left = Instant::now();
        within(PATIENCE, peer.closed()).await;
        best = best.min(left.elapsed());
    }
    best
}

async fn check_closed_at_once<F: AsyncFn(&Gate, &Server) -> (Client, Peer)>(what: &str, meet: F) {
    for how in [Leaves::Closes, Leaves::Resets] {
        let best = best_time(how, &meet).await;
        assert!(best <= AT_ONCE, "{what}, the client {how:?}: closed after {best:?}");
    }
}

#[tokio::test]
async fn the_model_is_closed_while_it_is_silent() {
    check_closed_at_once("silent after some text", async |gate, server| {
        let mut stream = gate.ask(&question()).await;
        let mut peer = model::begin(server).await;
        peer.write(model::text("It costs [1")).await;
        stream.expect("start").await;
        stream.expect_text("It costs ").await;
        (stream.client, peer)
    })
    .await;
}

#[tokio::test]
async fn the_model_is_closed_before_its_first_chunk() {
    check_closed_at_once("its head came, but no text", async |gate, server| {
        let mut stream = gate.ask(&question()).await;
        let peer = model::begin(server).await;
        stream.expect("start").await;
        (stream.client, peer)
    })
    .await;
}

#[tokio::test]
async fn the_model_is_closed_before_its_head() {
    check_closed_at_once("no head came", async |gate, server| {
        let mut stream = gate.ask(&question()).await;
        let peer = server.asked().await;
        stream.expect("start").await;
        (stream.client, peer)
    })
    .await;
}

#[tokio::test]
async fn the_model_is_closed_when_it_is_held() {
    check_closed_at_once("held", async |gate, server| {
        let mut body = question();
        body["delivery"] = json!("hold");
        let mut stream = gate.ask(&body).await;
        let mut peer = model::begin(server).await;
        peer.write(model::text("It costs")).await;
        stream.expect("start").await;
        (stream.client, peer)
    })
    .await;
}

#[tokio::test]
async fn the_model_is_closed_when_a_json_client_leaves() {
    check_closed_at_once("JSON, before the head", async |gate, server| {
        (asked(gate, &ASK_JSON).await, server.asked().await)
    })
    .await;
    check_closed_at_once("JSON, in the text", async |gate, server| {
        let client = asked(gate, &ASK_JSON).await;
        let mut peer = model::begin(server).await;
        peer.write(model::text("It costs")).await;
        (client, peer)
    })
    .await;
}

/// A client that leaves without having read a byte.
#[tokio::test]
async fn the_model_is_closed_when_the_client_never_read() {
    check_closed_at_once("unread", async |gate, server| (asked(gate, &ASK).await, model::begin(server).await)).await;
}

/// The last of two leaves; the first one leaving changes nothing.
#[tokio::test]
async fn the_model_is_closed_behind_the_last_of_two() {
    check_closed_at_once("two readers", async |gate, server| {
        let mut a = gate.ask(&question()).await;
        let mut peer = model::begin(server).await;
        a.expect("start").await;
        let mut b = gate.follow(&a.id, 0).await;
        b.expect("start").await;
        drop(a);
        peer.write(model::text("It costs ")).await;
        b.expect_text("It costs ").await;
        (b.client, peer)
    })
    .await;
}

/// The model talks without a pause; it sees its connection close by a write that fails.
#[tokio::test]
async fn the_model_is_closed_in_the_middle_of_its_text() {
    let server = Server::start().await;
    let gate =
        Gate::before(&server.address(), |o| (o.abandon_after, o.max_answer_bytes) = (time("0s"), Some(1 << 30))).await;
    for how in [Leaves::Closes, Leaves::Resets] {
        let mut best = PATIENCE;
        for _ in 0..TRIES {
            let mut stream = gate.ask(&question()).await;
            let mut peer = model::begin(&server).await;
            let talking = tokio::spawn(async move {
                let piece = model::text("on and on [1] ");
                peer.write_what_is_wanted(std::iter::repeat(piece)).await;
                Instant::now()
            });
            stream.expect("start").await;
            stream.expect("delta").await;
            leave(stream.client, how);
            let left = Instant::now();
            let closed = within(PATIENCE, talking).await.unwrap();
            best = best.min(closed.duration_since(left));
        }
        assert!(best <= AT_ONCE, "the client {how:?}: closed after {best:?}");
    }
}

fn check_abandoned(record: &serde_json::Value, text: &str) {
    assert_eq!((&record["state"], &record["text"]), (&json!("failed"), &json!(text)));
    let error = &record["error"];
    let kind = (&error["code"], &error["type"], &error["retryable"]);
    assert_eq!(kind, (&json!("abandoned"), &json!("client_error"), &json!(false)));
    assert!(record.get("verdict").is_none(), "what was not settled has no verdict");
}

/// Reads until this text has come and leaves.
async fn read_and_leave(mut stream: Stream, text: &str) -> String {
    stream.expect("start").await;
    stream.expect_text(text).await;
    stream.id
}

#[tokio::test(start_paused = true)]
async fn after_a_while_the_answer_is_abandoned() {
    let gate = Gate::start(|o| o.abandon_after = time("200ms")).await;
    let slow = scripted(&json!({"chunks": ["one ", "two [1]", "three"], "gap_ms": 150}));
    let id = read_and_leave(gate.ask(&slow).await, "one ").await;
    let record = gate.record_when(&id, |r| r["state"] != "running").await;
    check_abandoned(&record, "one two [1]");
    // A reader that comes too late is told the same.
    let seen = gate.follow(&id, 0).await.rest().await;
    assert_eq!((seen.text().as_str(), seen.error()), ("one two [1]", "abandoned"));
}

/// The time counts from when the last one left; one that comes back in time stops it.
#[tokio::test(start_paused = true)]
async fn coming_back_in_time_is_enough() {
    let gate = Gate::start(|o| o.abandon_after = time("200ms")).await;
    let slow = scripted(&json!({"chunks": ["one ", "two ", "three ", "four ", "five [1]"], "gap_ms": 150}));
    let id = read_and_leave(gate.ask(&slow).await, "one ").await;
    for (seen, text) in [(2, "two "), (3, "three "), (4, "four ")] {
        gate.follow(&id, seen).await.expect_text(text).await;
    }
    let seen = gate.follow(&id, 5).await.rest().await;
    assert_eq!((seen.text().as_str(), &seen.only("annotate")["verdict"]), ("five [1]", &json!("clean")));
}

/// An answer that ends in time is not abandoned, however long nobody comes.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_over_is_not_abandoned() {
    let gate = Gate::start(|o| o.abandon_after = time("200ms")).await;
    let quick = scripted(&json!({"chunks": ["one ", "two [1]"], "gap_ms": 100}));
    let id = read_and_leave(gate.ask(&quick).await, "one ").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(gate.record(&id).await["state"], "done");
}

/// Nothing of an answer is kept alive behind its time, in whichever way it ended while nobody read it.
#[tokio::test(start_paused = true)]
async fn what_is_over_leaves_memory() {
    let gate = Gate::start(|o| {
        o.abandon_after = time("200ms");
        o.keep_answers = time("1s");
        o.first_chunk_timeout = time("110ms");
    })
    .await;
    let endless = |gap: u64| scripted(&json!({"chunks": vec!["one "; 20], "gap_ms": gap}));
    let mut kept = Vec::new();
    for how in
        ["done while read", "done alone", "done after coming back", "abandoned", "timed out alone", "stopped alone"]
    {
        let question = match how {
            "done while read" => chunks(&["one ", "two [1]"]),
            "done alone" | "done after coming back" => scripted(&json!({"chunks": ["one ", "two [1]"], "gap_ms": 10})),
            "timed out alone" => endless(1000),
            _ => endless(99),
        };
        let mut stream = gate.ask(&question).await;
        let id = stream.id.clone();
        let live = gate.log.find(&id.parse().unwrap()).await.unwrap().unwrap();
        kept.push((how, std::sync::Arc::downgrade(&live)));
        drop(live);
        stream.expect("start").await;
        match how {
            "done while read" => drop(stream.rest().await),
            "timed out alone" => {}
            _ => stream.expect_text("one ").await,
        }
        drop(stream);
        if how == "done after coming back" {
            tokio::time::sleep(Duration::from_millis(5)).await;
            gate.follow(&id, 2).await.rest().await.only("done");
        }
        if how == "stopped alone" {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(gate.delete(&id).await.head.status, 204);
        }
        let record = gate.record_when(&id, |r| r["state"] != "running").await;
        let code = record["error"]["code"].as_str().unwrap_or("none");
        let expected = ["none", "none", "none", "abandoned", "model_timeout", "stopped"][kept.len() - 1];
        assert_eq!(code, expected, "{how}");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let alive: Vec<_> = kept.iter().filter(|(_, live)| live.upgrade().is_some()).map(|(how, _)| how).collect();
    assert!(alive.is_empty(), "still in memory: {alive:?}");
}
