//! Everything that grows has a ceiling: followers, answers, kept answers and their bytes, and the text itself. And stopping.

use serde_json::{Value, json};
use std::time::Duration;

use crate::client::{PATIENCE, request};
use crate::gate::{Gate, chunks, question, scripted, time};
use crate::model;
use crate::upstream::{Server, within};

/// An answer whose model says one piece and then nothing.
fn endless() -> Value {
    scripted(&json!({"chunks": ["never"], "gap_ms": 86_400_000}))
}

#[tokio::test]
async fn delete_stops_an_answer_and_may_be_repeated() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut a = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    peer.write(model::text("It costs [1] 25 [2")).await;
    a.expect("start").await;
    a.expect_text("It costs [1] 25 ").await;
    let mut b = gate.follow(&a.id, 0).await;
    b.expect("start").await;
    b.expect_text("It costs [1] 25 ").await;
    let reply = gate.delete(&a.id).await;
    assert_eq!((reply.head.status, reply.body.len()), (204, 0));
    within(PATIENCE, peer.closed()).await;
    for stream in [&mut a, &mut b] {
        let seen = stream.rest().await;
        assert_eq!((seen.kinds(), seen.error()), (vec!["error"], "stopped"));
        assert_eq!(seen.only("error")["type"], "client_error");
    }
    let record = gate.record(&a.id).await;
    assert_eq!((&record["state"], &record["text"]), (&json!("failed"), &json!("It costs [1] 25 ")));
    assert_eq!(record["error"]["code"], "stopped");
    assert!(record.get("verdict").is_none() && record.get("citations").is_none(), "the partial text stays unsettled");
    for _ in 0..2 {
        assert_eq!(gate.delete(&a.id).await.head.status, 204);
    }
    assert_eq!(gate.record(&a.id).await, record, "stopping twice changes nothing");
}

#[tokio::test]
async fn delete_of_what_is_over_changes_nothing() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&chunks(&["Yes [1]."])).await;
    let seen = stream.rest().await;
    let record = gate.record(&stream.id).await;
    assert_eq!(gate.delete(&stream.id).await.head.status, 204);
    assert_eq!(gate.record(&stream.id).await, record);
    assert_eq!(gate.follow(&stream.id, 0).await.rest().await.0.last(), seen.0.last());
}

#[tokio::test]
async fn so_many_may_follow_one_answer() {
    let gate = Gate::start(|o| o.max_followers = Some(3)).await;
    let mut first = gate.ask(&endless()).await;
    first.expect("start").await;
    let id = first.id.clone();
    let mut others = vec![gate.follow(&id, 0).await, gate.follow(&id, 0).await];
    for _ in 0..3 {
        let reply = gate.get(&format!("/v1/answers/{id}/events")).await;
        assert_eq!(reply.error(), (429, "rate_limited".to_owned(), None));
        assert!(reply.head.get("retry-after").is_some_and(|s| s.parse::<u32>().is_ok()), "{:?}", reply.head);
    }
    assert_eq!(gate.record(&id).await["state"], "running", "looking is not following");
    // One goes, one may come.
    drop(others.pop());
    within(PATIENCE, async {
        loop {
            let mut client = gate.client().await;
            client.send(request("GET", &format!("/v1/answers/{id}/events"), &[], b"")).await;
            if client.try_head().await.unwrap().status == 200 {
                break;
            }
        }
    })
    .await;
    gate.delete(&id).await;
    assert_eq!(first.rest().await.error(), "stopped");
}

#[tokio::test]
async fn so_many_answers_may_be_open() {
    let gate = Gate::start(|o| o.max_answers = Some(2)).await;
    let mut open = [gate.ask(&endless()).await, gate.ask(&endless()).await];
    for stream in &mut open {
        stream.expect("start").await;
    }
    for _ in 0..2 {
        let reply = gate.post("/v1/answers", &chunks(&["Yes [1]."])).await;
        assert_eq!(reply.error(), (503, "too_many_answers".to_owned(), None));
        assert!(reply.head.get("retry-after").is_some_and(|s| s.parse::<u32>().is_ok()), "{:?}", reply.head);
        let error = &reply.json()["error"];
        assert_eq!((&error["type"], &error["retryable"]), (&json!("citewire_error"), &json!(true)));
        assert_eq!(error["retry_after"].to_string(), reply.head.get("retry-after").unwrap());
    }
    let checked = gate.post("/v1/check", &json!({"sources": [], "text": "Hello."})).await;
    assert_eq!(checked.head.status, 200, "a check opens no answer");
    let gone = open[0].id.clone();
    gate.delete(&gone).await;
    gate.record_when(&gone, |r| r["state"] == "failed").await;
}

/// An answer that is over is not open, from the moment its reader sees the end.
#[tokio::test]
async fn what_is_over_is_not_open() {
    let gate = Gate::start(|o| o.max_answers = Some(1)).await;
    for round in 0..5 {
        let reply = gate.post("/v1/answers", &chunks(&["Yes [1]."])).await;
        assert_eq!(reply.head.status, 200, "answer {round}: {}", reply.text());
    }
    let mut stream = gate.ask(&endless()).await;
    stream.expect("start").await;
    assert_eq!(gate.delete(&stream.id).await.head.status, 204);
    let reply = gate.post("/v1/answers", &chunks(&["Yes [1]."])).await;
    assert_eq!(reply.head.status, 200, "behind a stopped one: {}", reply.text());
}

async fn status(gate: &Gate, id: &str) -> u16 {
    gate.get(&format!("/v1/answers/{id}")).await.head.status
}

#[tokio::test(start_paused = true)]
async fn answers_are_kept_for_so_long() {
    let gate = Gate::start(|o| o.keep_answers = time("10s")).await;
    let mut stream = gate.ask(&chunks(&["Yes [1]."])).await;
    stream.rest().await;
    let mut open = gate.ask(&endless()).await;
    open.expect("start").await;
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(status(&gate, &stream.id).await, 200);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let path = format!("/v1/answers/{}", stream.id);
    for (method, path) in [("GET", path.clone()), ("GET", format!("{path}/events")), ("DELETE", path)] {
        let reply = gate.send(method, &path, &[], b"").await;
        assert_eq!(reply.error(), (404, "not_found".to_owned(), None), "{method} {path}");
    }
    assert_eq!(status(&gate, &open.id).await, 200, "what is open is kept");
}

/// Asks until the end; the id.
async fn finished(gate: &Gate, question: &Value) -> String {
    let mut stream = gate.ask(question).await;
    stream.rest().await;
    stream.id
}

/// A minute later the sweeper has looked.
async fn which_are_kept(gate: &Gate, ids: &[String]) -> Vec<bool> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut kept = Vec::new();
    for id in ids {
        kept.push(status(gate, id).await == 200);
    }
    kept
}

/// Six answers to this question in `room` bytes: no more than `most` are kept, and what goes goes from the front.
async fn check_kept(what: &str, question: &Value, room: usize, most: usize) -> Option<String> {
    let gate = Gate::start(|o| o.max_kept_bytes = Some(room)).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(finished(&gate, question).await);
    }
    let kept = which_are_kept(&gate, &ids).await;
    let is_right = kept.iter().filter(|k| **k).count() <= most && kept.is_sorted();
    (!is_right).then(|| format!("{what}: expected at most {most} within {room} bytes, kept are {kept:?}"))
}

#[tokio::test(start_paused = true)]
async fn the_oldest_go_when_their_bytes_are_too_many() {
    // 30 kB of it in each.
    let big = "word ".repeat(6_000);
    let mut source = chunks(&["Yes [1]."]);
    source["sources"] = json!([{"id": "a", "text": big}]);
    for (what, question) in [("text", chunks(&[&big, "[1]."])), ("sources", source)] {
        assert_eq!(check_kept(what, &question, 100_000, 3).await, None);
        let one = check_kept(what, &question, 1_000_000, 5).await;
        assert!(one.is_some_and(|kept| !kept.contains("false")), "{what}: all have room");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_and_titles_weigh_too() {
    let big = "word ".repeat(6_000);
    let mut asked = chunks(&["Yes [1]."]);
    asked["question"] = json!(big);
    let mut named = chunks(&["Yes [1]."]);
    let title = "word ".repeat(800);
    named["sources"] = (0..8).map(|i| json!({"id": i.to_string(), "title": title, "text": ""})).collect();
    for (what, question) in [("question", asked), ("title", named)] {
        assert_eq!(check_kept(what, &question, 100_000, 3).await, None);
    }
}

/// A citation is a dozen numbers and its marker, whose three bytes are all that the text shows of it.
#[tokio::test(start_paused = true)]
async fn citations_and_problems_weigh_too() {
    // 10,000 citations or 1,000 problems, as many as are listed, of at least 100 bytes each.
    for (what, marker, room) in [("citations", "[1]", 1_000_000), ("problems", "[9]", 300_000)] {
        let question = chunks(&[&marker.repeat(10_000)]);
        assert_eq!(check_kept(what, &question, room, 2).await, None);
    }
}

#[tokio::test]
async fn an_answer_has_so_many_bytes() {
    let gate = Gate::start(|o| o.max_answer_bytes = Some(20)).await;
    for delivery in ["stream", "hold"] {
        let ask = |chunks: &[&str]| {
            let mut body = scripted(&json!({ "chunks": chunks }));
            body["delivery"] = json!(delivery);
            body
        };
        let seen = gate.ask(&ask(&["0123456789", "01234567[1]"])).await.rest().await;
        assert_eq!(seen.error(), "answer_too_long", "{delivery}: 21 bytes");
        assert_eq!(
            seen.text(),
            if delivery == "hold" { "" } else { "0123456789" },
            "no shorter answer that looks whole"
        );
        let seen = gate.ask(&ask(&["0123456789", "0123456[1]"])).await.rest().await;
        assert_eq!(seen.only("annotate")["verdict"], "clean", "{delivery}: 20 bytes");
        let seen = gate.ask(&ask(&["äöüäöüäöüä[1]"])).await.rest().await;
        assert_eq!(seen.error(), "answer_too_long", "{delivery}: 13 characters, but 23 bytes");
    }
}

/// Notes and tool calls are kept on the log too, so they are bounded by the same ceiling.
#[tokio::test]
async fn notes_and_tool_calls_are_bounded_as_well() {
    for (what, piece) in [("reasoning", model::reasoning(&"x".repeat(1000))), ("tool", model::tool(&"x".repeat(1000)))]
    {
        let server = Server::start().await;
        let gate = Gate::before(&server.address(), |o| o.max_answer_bytes = Some(10_000)).await;
        let mut stream = gate.ask(&question()).await;
        let mut peer = model::begin(&server).await;
        let talking = tokio::spawn(async move {
            peer.write_what_is_wanted(std::iter::repeat_n(piece, 100)).await;
            peer.write_what_is_wanted([model::text("Yes [1]."), model::end()]).await;
        });
        let seen = stream.rest().await;
        within(PATIENCE, talking).await.unwrap();
        let count = seen.kinds().iter().filter(|kind| **kind == what).count();
        assert_eq!(
            seen.0.last().unwrap().data["code"],
            "answer_too_long",
            "{count} kB of {what} within a ceiling of 10 kB"
        );
    }
}
