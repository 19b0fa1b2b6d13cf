//! How long a model may take, on a clock that the test moves; and every other way in which it can fail.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Seen;
use crate::gate::{Gate, question, scripted, time, timed};
use crate::model;
use crate::upstream::{STOP, Server, chunk};

/// Deadlines are looked at this often.
const GRAIN: Duration = Duration::from_millis(100);

/// A gateway with these times for the first chunk, between chunks, and for the whole answer.
async fn gate(first: &str, idle: &str, whole: &str) -> Gate {
    Gate::start(|o| {
        (o.first_chunk_timeout, o.idle_timeout, o.answer_timeout) = (time(first), time(idle), time(whole));
    })
    .await
}

async fn check_timeout(gate: &Gate, gap: Duration, count: usize, text: &str, at: Duration) {
    let script = json!({"chunks": vec!["a "; count], "gap_ms": u64::try_from(gap.as_millis()).unwrap()});
    let (took, seen) = timed(async { gate.ask(&scripted(&script)).await.rest().await }).await;
    assert_eq!((seen.error(), seen.text().as_str()), ("model_timeout", text));
    let error = seen.only("error");
    assert_eq!((&error["type"], &error["retryable"]), (&json!("model_error"), &json!(true)));
    assert!(at <= took && took < at + GRAIN, "after {took:?}, expected {at:?}");
}

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[tokio::test(start_paused = true)]
async fn until_the_first_chunk() {
    check_timeout(&gate("3s", "1s", "10s").await, seconds(4), 2, "", seconds(3)).await;
}

#[tokio::test(start_paused = true)]
async fn between_two_chunks() {
    check_timeout(&gate("3s", "1s", "10s").await, seconds(2), 2, "a ", seconds(3)).await;
}

#[tokio::test(start_paused = true)]
async fn for_the_whole_answer() {
    check_timeout(&gate("3s", "3s", "5s").await, seconds(2), 9, "a a ", seconds(5)).await;
    check_timeout(&gate("30s", "30s", "2s").await, seconds(4), 9, "", seconds(2)).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_not_cut() {
    let gate = gate("3s", "3s", "10s").await;
    let script = json!({"chunks": ["a ", "b ", "c ", "[1]"], "gap_ms": 2_400});
    let (took, seen) = timed(async { gate.ask(&scripted(&script)).await.rest().await }).await;
    assert_eq!(seen.only("annotate")["verdict"], "clean");
    assert!(seconds(9) < took && took < seconds(10), "{took:?}");
}

/// Held answers and those that nobody reads have the same deadlines.
#[tokio::test(start_paused = true)]
async fn held_or_unread_it_is_the_same() {
    let gate = gate("3s", "1s", "10s").await;
    let mut held = scripted(&json!({"chunks": ["a", "b"], "gap_ms": 2_000}));
    held["delivery"] = json!("hold");
    let (took, seen) = timed(async { gate.ask(&held).await.rest().await }).await;
    assert_eq!((seen.kinds(), seen.error()), (vec!["start", "error"], "model_timeout"));
    assert!(seconds(3) <= took && took < seconds(3) + GRAIN, "{took:?}");
    let mut stream = gate.ask(&held).await;
    stream.expect("start").await;
    let id = stream.id.clone();
    drop(stream);
    tokio::time::sleep(seconds(4)).await;
    assert_eq!(gate.record(&id).await["error"]["code"], "model_timeout");
}

/// A model server that is late is left at once.
#[tokio::test(start_paused = true)]
async fn a_late_models_connection_is_closed() {
    let server = Server::start().await;
    let gate =
        Gate::before(&server.address(), |o| (o.first_chunk_timeout, o.idle_timeout) = (time("3s"), time("2s"))).await;
    for text in ["", "It costs "] {
        let mut stream = gate.ask(&question()).await;
        let mut peer = model::begin(&server).await;
        stream.expect("start").await;
        if !text.is_empty() {
            peer.write(model::text(text)).await;
            stream.expect_text(text).await;
        }
        let (took, seen) = timed(stream.rest()).await;
        assert_eq!(seen.error(), "model_timeout");
        assert!(took < seconds(3) + GRAIN, "{took:?}");
        peer.closed().await;
    }
}

/// The answer is complete once the finish reason came: a server that forgets to close does not keep it from being settled.
#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_hang_up_is_not_waited_for() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    peer.write([model::text("It costs 25 [1]."), chunk(STOP)].concat()).await;
    let (took, seen) = timed(stream.rest()).await;
    assert_eq!(seen.only("annotate")["verdict"], "clean");
    assert!(took < seconds(5), "{took:?}");
    peer.closed().await;
}

async fn ended(script: Value) -> Seen {
    let gate = Gate::start(|_| {}).await;
    gate.ask(&scripted(&script)).await.rest().await
}

#[tokio::test]
async fn silence_is_not_success() {
    for delivery in ["stream", "hold"] {
        let gate = Gate::start(|_| {}).await;
        let mut body = scripted(&json!({"chunks": ["It costs 25 [1]."], "finish": null}));
        body["delivery"] = json!(delivery);
        let seen = gate.ask(&body).await.rest().await;
        assert_eq!(seen.error(), "model_truncated", "{delivery}");
        assert_eq!(seen.text(), if delivery == "hold" { "" } else { "It costs 25 [1]." });
    }
    assert_eq!(ended(json!({"chunks": [], "finish": null})).await.kinds(), ["start", "error"]);
}

/// A lab error becomes the same error event, wherever in the text it comes.
#[tokio::test]
async fn every_model_error_is_the_same_event() {
    for code in [
        "model_error",
        "model_rate_limited",
        "model_rejected",
        "model_stream_invalid",
        "model_timeout",
        "model_truncated",
        "model_unreachable",
    ] {
        for chunks in [json!([]), json!(["Some text [1"]), json!(["Some", " text [1]."])] {
            let seen = ended(json!({"chunks": chunks, "error": code, "finish": "stop"})).await;
            assert_eq!(seen.error(), code);
            let error = seen.only("error");
            assert_eq!((&error["type"], &error["param"]), (&json!("model_error"), &Value::Null));
            assert_eq!(error["retryable"], code != "model_rejected", "{code}");
            assert!(!seen.text().contains("[1") || seen.text().contains("[1]"), "half a marker: {:?}", seen.text());
        }
    }
}

/// A model that was cut off by its own limit is a problem of a settled answer.
#[tokio::test]
async fn a_finish_reason_other_than_stop() {
    for reason in ["length", "content_filter"] {
        let seen = ended(json!({"chunks": ["It costs 25 [1]. And"], "finish": reason})).await;
        let annotate = seen.only("annotate");
        assert_eq!(annotate["verdict"], "annotated", "{reason}");
        let problems: Vec<_> =
            annotate["problems"].as_array().unwrap().iter().map(|p| (&p["code"], &p["severity"])).collect();
        assert_eq!(problems, [(&json!("truncated"), &json!("error"))], "{reason}");
        assert_eq!(seen.only("done")["finish_reason"], reason);
    }
    let seen = ended(json!({"chunks": ["Let me look."], "finish": "tool_calls"})).await;
    assert_eq!(
        (&seen.only("annotate")["verdict"], &seen.only("done")["finish_reason"]),
        (&json!("clean"), &json!("tool_calls"))
    );
}
