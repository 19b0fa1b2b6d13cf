//! Coming back: at every record, of an answer that is over and of one that is not, nothing is lost and nothing doubled.

use serde_json::{Value, json};

use crate::client::{Stream, request};
use crate::gate::{Gate, chunks, question, scripted};
use crate::model;
use crate::sse::Frame;
use crate::upstream::Server;

const CHUNKS: [&str; 9] = ["The ", "pass ", "costs ", "25 ", "dollars", " [", "1", "], no", " more."];

/// What the chunks are released as: the marker comes whole.
const PIECES: [&str; 8] = ["The ", "pass ", "costs ", "25 ", "dollars", " ", "[1], no", " more."];

/// What a reader that has seen record `seen` gets of these single records: deltas in a row come as one.
fn tail(records: &[Frame], seen: u64) -> Vec<(u64, String, Value)> {
    let mut out: Vec<(u64, String, Value)> = Vec::new();
    for Frame { id, kind, data, .. } in records.iter().filter(|f| f.id > seen) {
        match out.last_mut() {
            Some((last, before, text)) if before == "delta" && kind == "delta" => {
                *last = *id;
                *text =
                    json!({"text": format!("{}{}", text["text"].as_str().unwrap(), data["text"].as_str().unwrap())});
            }
            _ => out.push((*id, kind.clone(), data.clone())),
        }
    }
    out
}

fn plain(frames: &[Frame]) -> Vec<(u64, String, Value)> {
    frames.iter().map(|f| (f.id, f.kind.clone(), f.data.clone())).collect()
}

/// The status of following `id` from behind `after`, by header and by query.
async fn statuses(gate: &Gate, id: &str, after: &str) -> [u16; 2] {
    let path = format!("/v1/answers/{id}/events");
    let header = gate.send("GET", &path, &[("last-event-id", after)], b"").await;
    let query = gate.get(&format!("{path}?after={after}")).await;
    [header.head.status, query.head.status]
}

/// The records of a finished answer, each single, are what a reader gets from behind every one of them.
async fn check_every_place(gate: &Gate, id: &str, records: &[Frame]) {
    let last = records.last().unwrap().id;
    assert_eq!(records.iter().map(|f| f.id).collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
    for seen in 0..last {
        let resumed = gate.follow(id, seen).await.rest().await.0;
        assert_eq!(plain(&resumed), tail(records, seen), "behind {seen}");
        for frame in resumed.iter().filter(|f| f.kind != "delta") {
            let same = records.iter().find(|f| f.id == frame.id).unwrap();
            assert_eq!(frame.raw, same.raw, "byte for byte");
        }
        let path = format!("/v1/answers/{id}/events?after={seen}");
        let mut client = gate.client().await;
        client.send(request("GET", &path, &[], b"")).await;
        let by_query = Stream::begin(client, seen).await.rest().await.0;
        assert_eq!(by_query, resumed, "by query, behind {seen}");
    }
    assert_eq!(statuses(gate, id, &last.to_string()).await, [204, 204], "nothing is left");
}

/// An answer's single records, told from its script: how it went on is known from a stream, the deltas from `PIECES`.
fn single(seen: &[Frame]) -> Vec<Frame> {
    let delta = |(i, piece): (usize, &&str)| {
        let (id, data) = (i as u64 + 2, json!({"text": piece}));
        Frame { id, kind: "delta".to_owned(), raw: String::new(), retry: None, data }
    };
    let rest = seen.iter().filter(|f| !matches!(f.kind.as_str(), "start" | "delta"));
    seen[..1].iter().cloned().chain(PIECES.iter().enumerate().map(delta)).chain(rest.cloned()).collect()
}

#[tokio::test]
async fn behind_every_record_of_a_finished_answer() {
    let gate = Gate::start(|_| {}).await;
    let script = json!({"chunks": CHUNKS});
    let strip = json!({"question": "q", "retrieve": false, "on_problem": "strip", "script": script});
    let failed = scripted(&json!({"chunks": CHUNKS, "error": "model_error"}));
    for (question, kind) in [(chunks(&CHUNKS), "annotate"), (strip, "replace"), (failed, "error")] {
        let mut stream = gate.ask(&question).await;
        let seen = stream.rest().await;
        assert!(seen.kinds().contains(&kind));
        check_every_place(&gate, &stream.id, &single(&seen.0)).await;
    }
    let mut refused = question();
    refused["sources"] = json!([]);
    let mut stream = gate.ask(&refused).await;
    let records = stream.rest().await.0;
    check_every_place(&gate, &stream.id, &records).await;
}

#[tokio::test]
async fn behind_every_record_with_other_events_between() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    let mut records = vec![stream.next().await.unwrap()];
    for piece in [
        model::reasoning("Hm."),
        model::text("It costs "),
        model::text("25 "),
        model::tool("{\"a\""),
        model::text("dollars [1"),
        model::reasoning("Which one?"),
        model::text("]"),
        model::text("."),
    ] {
        peer.write(&piece).await;
        records.push(stream.next().await.unwrap());
    }
    peer.write(model::end()).await;
    records.extend(stream.rest().await.0);
    let kinds: Vec<_> = records.iter().map(|f| f.kind.as_str()).collect();
    let (r, d) = ("reasoning", "delta");
    assert_eq!(kinds, ["start", r, d, d, "tool", d, r, d, d, "annotate", "done"]);
    check_every_place(&gate, &stream.id, &records).await;
}

#[tokio::test]
async fn past_the_last_record_nothing_is_left_either() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&chunks(&CHUNKS)).await;
    let last = stream.rest().await.0.last().unwrap().id;
    for after in [last + 1, last + 1000] {
        assert_eq!(statuses(&gate, &stream.id, &after.to_string()).await, [204, 204], "{after} of {last}");
    }
}

#[tokio::test]
async fn ahead_of_a_running_answer_nothing_is_lost() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    stream.expect("start").await;
    peer.write(model::text("It costs ")).await;
    stream.expect_text("It costs ").await;
    // Two records are there. A reader that claims more begins again, or waits for the rest.
    let mut ahead = gate.follow(&stream.id, 2).await;
    let mut far_ahead = gate.follow(&stream.id, 40).await;
    peer.write(model::text("25 [1].")).await;
    peer.write(model::end()).await;
    assert_eq!(ahead.rest().await.text(), "25 [1].");
    let seen = far_ahead.rest().await;
    assert!(seen.0.is_empty() || (seen.kinds()[0] == "start" && seen.text() == "It costs 25 [1]."), "{seen:?}");
}

#[tokio::test]
async fn what_is_no_place_is_refused() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&chunks(&CHUNKS)).await;
    stream.rest().await;
    let path = format!("/v1/answers/{}/events", stream.id);
    for after in ["x", "-1", "+1", "1.5", "1e3", "0x1", "1,2", "99999999999999999999", "null"] {
        let by_header = gate.send("GET", &path, &[("last-event-id", after)], b"").await;
        assert_eq!(by_header.error(), (400, "invalid_request".to_owned(), Some("Last-Event-ID".to_owned())), "{after}");
        let by_query = gate.get(&format!("{path}?after={after}")).await;
        assert_eq!(by_query.error(), (400, "invalid_request".to_owned(), Some("after".to_owned())), "{after}");
    }
    assert_eq!(gate.get(&format!("{path}?after=%D9%A3")).await.error().0, 400, "a digit, but not one of ours");
    let unknown = "ans_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned();
    let short = stream.id.chars().take(20).collect();
    for id in [unknown, short, stream.id.to_uppercase(), "x".to_owned(), "..%2f..%2fetc".to_owned()] {
        for (method, rest) in [("GET", ""), ("GET", "/events"), ("DELETE", "")] {
            let reply = gate.send(method, &format!("/v1/answers/{id}{rest}"), &[], b"").await;
            assert_eq!(reply.error(), (404, "not_found".to_owned(), None), "{method} {id}{rest}");
        }
    }
}

/// Ends the connection, with a reset or without.
fn cut(stream: Stream, reset: bool) {
    if reset {
        stream.client.reset();
    }
}

#[tokio::test]
async fn cut_behind_each_record_of_a_running_answer() {
    let gate = Gate::start(|_| {}).await;
    let question = scripted(&json!({"chunks": CHUNKS, "gap_ms": 3}));
    for count in 1..=PIECES.len() + 3 {
        let mut stream = gate.ask(&question).await;
        let id = stream.id.clone();
        let mut came = Vec::new();
        while came.len() < count
            && let Some(frame) = stream.next().await
        {
            came.push(frame);
        }
        cut(stream, count % 2 == 0);
        let last = came.last().unwrap();
        if last.kind != "done" {
            came.extend(gate.follow(&id, last.id).await.rest().await.0);
        }
        check_whole(&gate, &id, &came).await;
    }
}

#[tokio::test]
async fn cut_behind_every_record_of_one_answer() {
    let gate = Gate::start(|_| {}).await;
    for reset in [false, true] {
        let mut stream = gate.ask(&scripted(&json!({"chunks": CHUNKS, "gap_ms": 3}))).await;
        let id = stream.id.clone();
        let mut came = Vec::new();
        loop {
            let frame = stream.next().await.unwrap();
            let (seen, over) = (frame.id, frame.kind == "done");
            came.push(frame);
            cut(stream, reset);
            if over {
                break;
            }
            stream = gate.follow(&id, seen).await;
        }
        check_whole(&gate, &id, &came).await;
    }
}

/// What came over several connections is what a fresh reader gets: the text, and every other event byte for byte.
async fn check_whole(gate: &Gate, id: &str, came: &[Frame]) {
    let fresh = gate.follow(id, 0).await.rest().await;
    let text: String = came.iter().filter_map(Frame::text).collect();
    assert_eq!(text, PIECES.concat());
    assert_eq!(fresh.text(), text);
    let others = |frames: &[Frame]| -> Vec<String> {
        frames.iter().filter(|f| f.kind != "delta").map(|f| f.raw.clone()).collect()
    };
    assert_eq!(others(came), others(&fresh.0));
    assert!(came.windows(2).all(|two| two[0].id < two[1].id));
}
