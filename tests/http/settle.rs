//! What is done about an answer once it is complete, as readers see it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Seen;
use crate::gate::{Gate, question, scripted};
use crate::model;
use crate::upstream::Server;

const REFUSAL: &str = "I could not find that in the sources.";

/// A question answered in these chunks, with fields changed.
fn asked(chunks: &[&str], fields: &Value) -> Value {
    let mut body = scripted(&json!({ "chunks": chunks }));
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

async fn answered(chunks: &[&str], fields: Value) -> Seen {
    let gate = Gate::start(|_| {}).await;
    gate.ask(&asked(chunks, &fields)).await.rest().await
}

fn codes(settled: &Value) -> Vec<(&str, bool)> {
    let problems = settled["problems"].as_array().unwrap().iter();
    problems.map(|p| (p["code"].as_str().unwrap(), p["fixed"].as_bool().unwrap())).collect()
}

fn check(settled: &Value, verdict: &str, reason: Option<&str>, problems: &[(&str, bool)]) {
    assert_eq!((&settled["verdict"], &settled["reason"]), (&json!(verdict), &json!(reason)), "{settled}");
    assert_eq!(codes(settled), problems);
    assert_eq!(settled["needs_human_review"], verdict == "refused", "{settled}");
    if verdict == "refused" {
        assert_eq!((&settled["citations"], &settled["used"]), (&json!([]), &json!([])));
    }
}

#[tokio::test]
async fn a_text_that_stands_is_annotated() {
    for (chunks, verdict, problems) in [
        (vec!["It costs 25 [1", "]."], "clean", vec![]),
        (vec!["It costs 25 [1] [3", "]."], "annotated", vec![("out_of_range", false)]),
        (vec!["It costs 25 [1-40]."], "annotated", vec![("range_too_wide", false), ("out_of_range", false)]),
        (vec!["It costs 25 [2-1]."], "annotated", vec![("range_too_wide", false)]),
        (vec!["It costs 25."], "annotated", vec![("no_citations", false)]),
        (vec![], "annotated", vec![("no_citations", false)]),
    ] {
        let seen = answered(&chunks, json!({})).await;
        assert_eq!(seen.text(), chunks.concat());
        let mut found = codes(seen.only("annotate"));
        found.sort_by_key(|p| problems.iter().position(|q| p == q));
        assert_eq!((found, &seen.only("annotate")["verdict"]), (problems, &json!(verdict)), "{chunks:?}");
    }
}

#[tokio::test]
async fn refuse_replaces_what_was_shown() {
    let seen = answered(&["It costs 25 [1] [3]."], json!({"on_problem": "refuse"})).await;
    assert_eq!(seen.kinds(), ["start", "delta", "replace", "done"]);
    assert_eq!(seen.only("replace")["text"], REFUSAL);
    check(seen.only("replace"), "refused", Some("check_failed"), &[("out_of_range", true)]);
    // Only errors count.
    let seen = answered(&["It costs 25 [2-1]."], json!({"on_problem": "refuse"})).await;
    check(seen.only("annotate"), "annotated", None, &[("range_too_wide", false)]);
}

#[tokio::test]
async fn strip_that_changes_nothing_is_an_annotate() {
    let seen = answered(&["It costs 25."], json!({"on_problem": "strip"})).await;
    check(seen.only("annotate"), "annotated", None, &[("no_citations", false)]);
}

#[tokio::test]
async fn the_configured_way_holds_unless_the_request_says_otherwise() {
    let gate = Gate::start(|o| {
        (o.on_problem, o.delivery) = (Some("refuse".parse().unwrap()), Some("hold".parse().unwrap()));
        o.refusal = Some("Not in here.".to_owned());
    })
    .await;
    let seen = gate.ask(&asked(&["It costs 25 [3]."], &json!({}))).await.rest().await;
    assert_eq!((seen.kinds(), &seen.only("start")["delivery"]), (vec!["start", "replace", "done"], &json!("hold")));
    assert_eq!(seen.only("replace")["text"], "Not in here.");
    let own = json!({"on_problem": "annotate", "delivery": "stream"});
    let seen = gate.ask(&asked(&["It costs 25 [1] [3]."], &own)).await.rest().await;
    check(seen.only("annotate"), "annotated", None, &[("out_of_range", false)]);
    assert_eq!(seen.only("start")["delivery"], "stream");
}

#[tokio::test]
async fn held_text_goes_out_as_one_delta() {
    for (chunks, on_problem, text, verdict, reason, problems) in [
        (vec!["It costs", " 25 [1", "]."], "annotate", "It costs 25 [1].", "clean", None, vec![]),
        (
            vec!["It costs 25 [1", "] [3]."],
            "annotate",
            "It costs 25 [1] [3].",
            "annotated",
            None,
            vec![("out_of_range", false)],
        ),
        (
            vec!["It costs 25 [1", "] [3]."],
            "strip",
            "It costs 25 [1].",
            "corrected",
            Some("strip"),
            vec![("out_of_range", true)],
        ),
        (vec![REFUSAL], "refuse", REFUSAL, "refused", Some("model_refused"), vec![]),
    ] {
        let seen = answered(&chunks, json!({"delivery": "hold", "on_problem": on_problem})).await;
        assert_eq!(seen.kinds(), ["start", "delta", "annotate", "done"], "{chunks:?} {on_problem}");
        assert_eq!(seen.text(), text);
        check(seen.only("annotate"), verdict, reason, &problems);
    }
    let seen = answered(&["It costs [3]."], json!({"delivery": "hold", "on_problem": "refuse"})).await;
    assert_eq!(seen.kinds(), ["start", "replace", "done"], "a refusal replaces, and nothing else was shown");
    check(seen.only("replace"), "refused", Some("check_failed"), &[("out_of_range", true), ("no_citations", true)]);
    let seen = answered(&[], json!({"delivery": "hold"})).await;
    assert_eq!(seen.kinds(), ["start", "annotate", "done"], "no text, no delta");
}

/// While a held answer is being written, a reader gets `start` and comments, and nothing that the model said.
async fn nothing_before_settlement(pieces: Vec<Vec<u8>>) {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut body = question();
    body["delivery"] = json!("hold");
    let mut stream = gate.ask(&body).await;
    let mut peer = model::begin(&server).await;
    stream.expect("start").await;
    for piece in pieces {
        peer.write(piece).await;
        let early = tokio::time::timeout(Duration::from_secs(25), stream.next()).await;
        assert!(early.is_err(), "shown before it is settled: {:?}", early.unwrap());
    }
    assert_eq!(gate.record(&stream.id).await["text"], "", "the record shows no more than the stream");
    peer.write(model::end()).await;
    let seen = stream.rest().await;
    assert_eq!(seen.text(), "It costs 25 [1].");
    assert_eq!(seen.only("annotate")["verdict"], "clean");
}

#[tokio::test(start_paused = true)]
async fn held_text_is_not_shown_early() {
    nothing_before_settlement(vec![model::text("It costs "), model::text("25 [1"), model::text("].")]).await;
}

/// "Nothing is sent until it is settled": the model's notes are its words as well.
#[tokio::test(start_paused = true)]
async fn notes_and_tool_calls_are_held_too() {
    nothing_before_settlement(vec![model::text("It costs 25 [1]."), model::reasoning("Hm."), model::tool("{}")]).await;
}

#[tokio::test(start_paused = true)]
async fn without_sources_no_model_is_asked() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut body = question();
    body["sources"] = json!([]);
    for delivery in ["stream", "hold"] {
        body["delivery"] = json!(delivery);
        let seen = gate.ask(&body).await.rest().await;
        assert_eq!(seen.kinds(), ["start", "replace", "done"]);
        assert_eq!((&seen.only("replace")["text"], &seen.only("start")["sources"]), (&json!(REFUSAL), &json!([])));
        check(seen.only("replace"), "refused", Some("no_sources"), &[]);
        let done = seen.only("done");
        assert_eq!(
            (&done["model_calls"], &done["usage"], &done["finish_reason"]),
            (&json!(0), &Value::Null, &json!("stop"))
        );
    }
    let reply = gate.post("/v1/answers", &body).await;
    assert_eq!(
        (reply.head.status, &reply.json()["text"], &reply.json()["state"]),
        (200, &json!(REFUSAL), &json!("done"))
    );
    let asked = tokio::time::timeout(Duration::from_secs(1), server.accept()).await;
    assert!(asked.is_err(), "the model server was called");
}

#[tokio::test]
async fn a_refusal_that_the_model_writes() {
    for text in [REFUSAL, " I could not  find that\nin the sources. \n"] {
        for on_problem in ["annotate", "strip", "refuse"] {
            let seen = answered(&[text], json!({"on_problem": on_problem})).await;
            assert_eq!(seen.text(), text);
            check(seen.only("annotate"), "refused", Some("model_refused"), &[]);
        }
    }
    let cited = "I could not find that in the sources. [1]";
    let seen = answered(&[cited], json!({})).await;
    assert_eq!(
        (&seen.only("annotate")["verdict"], codes(seen.only("annotate"))),
        (&json!("annotated"), vec![("refusal_with_citations", false)])
    );
    let seen = answered(&[cited], json!({"on_problem": "refuse"})).await;
    check(seen.only("replace"), "refused", Some("check_failed"), &[("refusal_with_citations", true)]);
    let seen = answered(&["I could not find that in the sources, sorry."], json!({})).await;
    check(seen.only("annotate"), "annotated", None, &[("no_citations", false)]);
}

#[tokio::test]
async fn without_anything_to_check_against() {
    let gate = Gate::start(|_| {}).await;
    let ask = |text: &str| json!({"question": "q", "script": {"chunks": [text]}});
    let seen = gate.ask(&ask("Hello there.")).await.rest().await;
    check(seen.only("annotate"), "unchecked", None, &[]);
    let seen = gate.ask(&ask("Hello [1].")).await.rest().await;
    check(seen.only("annotate"), "annotated", None, &[("out_of_range", false)]);
    let mut strip = ask("Hello [1].");
    strip["on_problem"] = json!("strip");
    let seen = gate.ask(&strip).await.rest().await;
    assert_eq!(seen.only("replace")["text"], "Hello.");
}

#[tokio::test]
async fn the_last_message_is_the_question() {
    let gate = Gate::start(|_| {}).await;
    let messages = json!([
        {"role": "user", "content": "What is it?"}, {"role": "assistant", "content": "A pass [1]."},
        {"role": "user", "content": "What does it cost?"},
    ]);
    let mut body = asked(&["It costs 25 [1]."], &json!({"messages": messages}));
    body.as_object_mut().unwrap().remove("question");
    let record = gate.post("/v1/answers", &body).await.json();
    assert_eq!((&record["question"], &record["verdict"]), (&json!("What does it cost?"), &json!("clean")));
    body["question"] = json!("And how long?");
    assert_eq!(gate.post("/v1/answers", &body).await.json()["question"], "And how long?");
}
