//! Heads, records and the fields of every event, as the contract lists them.

use serde_json::{Value, json};

use crate::client::request;
use crate::gate::{ASK_JSON, Gate, chunks, question, scripted};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

const START: [&str; 6] = ["answer", "delivery", "format", "model", "prompt_version", "sources"];
const SETTLED: [&str; 9] =
    ["citations", "coverage", "needs_human_review", "object", "problems", "quotes", "reason", "used", "verdict"];
const DONE: [&str; 5] = ["finish_reason", "model_calls", "model_finish_reason", "timings_ms", "usage"];

#[tokio::test]
async fn a_stream_says_what_it_is_and_where() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&chunks(&["It costs 25 dollars [1]."])).await;
    let seen = stream.rest().await;
    let id = seen.only("start")["answer"].as_str().unwrap();
    let (prefix, word) = id.split_at(4);
    assert!(prefix == "ans_" && word.len() == 26 && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
    assert_eq!(stream.head.get("location"), Some(format!("/v1/answers/{id}").as_str()));
    let mut followed = gate.follow(id, 0).await;
    assert_eq!(followed.rest().await.0.last(), seen.0.last());
    for head in [&stream.head, &followed.head] {
        assert_eq!(head.status, 200);
        assert!(head.get("content-type").is_some_and(|t| t.split(';').next() == Some("text/event-stream")), "{head:?}");
        assert!(head.get("cache-control").is_some_and(|c| c.contains("no-cache") && c.contains("no-transform")));
        assert_eq!(head.get("x-accel-buffering"), Some("no"));
    }
    // The connection is whole again behind the stream's end.
    stream.client.send(request("GET", "/healthz", &[], b"")).await;
    assert_eq!(stream.client.reply().await.head.status, 200);
}

#[tokio::test]
async fn every_event_has_its_fields() {
    let gate = Gate::start(|_| {}).await;
    let question = json!({
        "question": "q", "script": {"chunks": ["See [2] and [9]."]}, "model": "asked-for", "on_problem": "strip",
        "sources": [{"id": "a", "text": "A."}, {"id": "b", "title": "B", "url": "https://b.example/", "text": "B.", "ocr": true}],
    });
    let seen = gate.ask(&question).await.rest().await;
    assert_eq!(seen.kinds(), ["start", "delta", "replace", "done"]);
    let start = seen.only("start");
    assert_eq!(keys(start), START);
    let expected = json!([
        {"n": 1, "id": "a", "title": null, "url": null},
        {"n": 2, "id": "b", "title": "B", "url": "https://b.example/"},
    ]);
    assert_eq!(start["sources"], expected, "a client that sent the texts has them");
    let facts = [&start["format"], &start["delivery"], &start["model"]];
    assert_eq!(facts, ["prose", "stream", "asked-for"]);
    let replace = seen.only("replace");
    assert_eq!(keys(replace), {
        let mut all = [&SETTLED[..], &["text"]].concat();
        all.sort_unstable();
        all
    });
    assert_eq!((&replace["quotes"], &replace["object"]), (&json!([]), &Value::Null));
    let problem = json!({"code": "out_of_range", "severity": "error", "message": "citation out of range: 9", "n": 9,
        "start": 12, "end": 15, "start_u16": 12, "end_u16": 15, "start_cp": 12, "end_cp": 15, "fixed": true});
    assert_eq!(replace["problems"], json!([problem]));
    let done = seen.only("done");
    assert_eq!(keys(done), DONE);
    assert_eq!((&done["finish_reason"], &done["model_finish_reason"]), (&json!("stop"), &json!("stop")));
    let timings = &done["timings_ms"];
    assert!(timings["retrieve"].is_null() && timings["first_delta"].is_u64() && timings["total"].is_u64(), "{timings}");
}

#[tokio::test]
async fn json_is_given_to_those_who_take_nothing_else() {
    let gate = Gate::start(|_| {}).await;
    let body = chunks(&["It costs 25 dollars [1]."]).to_string();
    for (accept, is_json) in [
        ("application/json", true),
        ("Application/JSON; q=0.9, text/plain", true),
        ("application/json, text/event-stream", false),
        ("text/event-stream, application/json;q=0.5", false),
        ("*/*", false),
        ("text/html", false),
    ] {
        let headers = [("content-type", "application/json; charset=utf-8"), ("accept", accept)];
        let reply = gate.send("POST", "/v1/answers", &headers, body.as_bytes()).await;
        assert_eq!(reply.head.status, 200, "{accept}");
        let kind = reply.head.get("content-type").unwrap();
        assert_eq!(kind.starts_with("application/json"), is_json, "{accept}: {kind}");
        assert_eq!(kind.starts_with("text/event-stream"), !is_json, "{accept}: {kind}");
        assert!(reply.head.get("location").is_some_and(|l| l.starts_with("/v1/answers/ans_")), "{accept}");
    }
}

#[tokio::test]
async fn the_record_of_a_done_answer_is_flat_and_whole() {
    let gate = Gate::start(|_| {}).await;
    let mut question = chunks(&["It costs 25 [1]", " and [7]."]);
    question["on_problem"] = json!("strip");
    let reply = gate.send("POST", "/v1/answers", &ASK_JSON, question.to_string().as_bytes()).await;
    let record = reply.json();
    let mut all = [&START[..], &SETTLED, &DONE, &["question", "state", "text"]].concat();
    all.sort_unstable();
    assert_eq!(keys(&record), all);
    assert_eq!((&record["state"], &record["text"]), (&json!("done"), &json!("It costs 25 [1] and.")));
    assert_eq!(record["question"], question["question"]);
    assert_eq!(record["sources"][1], json!({"n": 2, "id": "source-2", "title": null, "url": null, "text": "Text 2."}));
    let id = record["answer"].as_str().unwrap();
    assert_eq!(reply.head.get("location"), Some(format!("/v1/answers/{id}").as_str()));
    assert_eq!(gate.record(id).await, record, "the record asked for later is the same");
    let replayed = gate.follow(id, 0).await.rest().await;
    let replace = replayed.only("replace");
    for key in SETTLED.into_iter().chain(["text"]) {
        assert_eq!(replace[key], record[key], "{key}");
    }
}

#[tokio::test]
async fn the_record_of_a_running_and_of_a_failed_answer() {
    let gate = Gate::start(|_| {}).await;
    let mut stream = gate.ask(&scripted(&json!({"chunks": ["never"], "gap_ms": 86_400_000}))).await;
    stream.expect("start").await;
    let record = gate.record(&stream.id).await;
    let mut running = [&START[..], &["question", "state", "text"]].concat();
    running.sort_unstable();
    assert_eq!(keys(&record), running, "nothing is settled or done");
    assert_eq!((&record["state"], &record["text"]), (&json!("running"), &json!("")));
    assert_eq!(gate.delete(&stream.id).await.head.status, 204);

    let half = scripted(&json!({"chunks": ["The pass costs [1] 25 [2"], "error": "model_error"}));
    let mut stream = gate.ask(&half).await;
    let seen = stream.rest().await;
    assert_eq!(
        (seen.text().as_str(), seen.error()),
        ("The pass costs [1] 25 ", "model_error"),
        "no half marker is shown"
    );
    let record = gate.record(&stream.id).await;
    let mut failed = [&running[..], &["error"]].concat();
    failed.sort_unstable();
    assert_eq!(keys(&record), failed);
    assert_eq!((&record["state"], &record["text"]), (&json!("failed"), &json!("The pass costs [1] 25 ")));
    assert_eq!(record["error"], *seen.only("error"));
}

#[tokio::test]
async fn a_json_answer_that_fails_has_its_codes_status() {
    let gate = Gate::start(|o| o.max_answer_bytes = Some(100)).await;
    let long = "x".repeat(101);
    for (script, code, status, retryable) in [
        (json!({"chunks": ["a"], "error": "model_error"}), "model_error", 502, true),
        (json!({"chunks": ["a"], "error": "model_rate_limited"}), "model_rate_limited", 429, true),
        (json!({"chunks": ["a"], "error": "model_rejected"}), "model_rejected", 502, false),
        (json!({"chunks": ["a"], "error": "model_stream_invalid"}), "model_stream_invalid", 502, true),
        (json!({"chunks": ["a"], "error": "model_timeout"}), "model_timeout", 504, true),
        (json!({"chunks": ["a"], "error": "model_truncated"}), "model_truncated", 502, true),
        (json!({"chunks": ["a"], "error": "model_unreachable"}), "model_unreachable", 502, true),
        (json!({"chunks": ["a"], "finish": null}), "model_truncated", 502, true),
        (json!({"chunks": [long]}), "answer_too_long", 502, false),
    ] {
        let reply = gate.post("/v1/answers", &scripted(&script)).await;
        assert_eq!(reply.error(), (status, code.to_owned(), None), "{script}");
        let error = &reply.json()["error"];
        assert_eq!((&error["retryable"], &error["type"]), (&json!(retryable), &json!("model_error")), "{code}");
        let seen = gate.ask(&scripted(&script)).await.rest().await;
        assert_eq!(seen.only("error"), error, "{code}: the event says the same");
        assert!(seen.only("start")["answer"].is_string(), "{code}: the head does not wait for the model");
    }
}

#[tokio::test]
async fn found_sources_come_with_their_texts() {
    let gate = Gate::start(|o| (o.docs, o.top_k) = (Some("builtin".to_owned()), Some(3))).await;
    let mut ask = json!({"question": "How long may a ride last?", "script": {"chunks": ["See [1]."]}});
    let seen = gate.ask(&ask).await.rest().await;
    let sources = seen.only("start")["sources"].as_array().unwrap();
    assert!((1..=3).contains(&sources.len()), "{}", sources.len());
    assert!(sources.iter().all(|s| s["text"].as_str().is_some_and(|t| !t.is_empty())), "{sources:?}");
    assert!(seen.only("done")["timings_ms"]["retrieve"].is_u64());
    ask["top_k"] = json!(1);
    let seen = gate.ask(&ask).await.rest().await;
    assert_eq!(seen.only("start")["sources"].as_array().unwrap().len(), 1);

    // Nothing to find: refused, and no model is asked.
    ask["question"] = json!("Qwrtz ypsilonx zzyzx?");
    let seen = gate.ask(&ask).await.rest().await;
    assert_eq!(seen.kinds(), ["start", "replace", "done"]);
    assert_eq!((&seen.only("replace")["reason"], &seen.only("done")["model_calls"]), (&json!("no_sources"), &json!(0)));
    // Retrieval turned off: there is nothing to cite from, and nothing to refuse for.
    ask["retrieve"] = json!(false);
    ask["script"] = json!({"chunks": ["Hello."]});
    let seen = gate.ask(&ask).await.rest().await;
    assert_eq!((&seen.only("annotate")["verdict"], &seen.only("start")["sources"]), (&json!("unchecked"), &json!([])));
    // Sources in the request are used as they are.
    let mut own = question();
    own["script"] = json!({"chunks": ["See [2]."]});
    let seen = gate.ask(&own).await.rest().await;
    assert_eq!(seen.only("start")["sources"][1]["id"], "source-2");
}

#[tokio::test]
async fn health_and_page_are_there() {
    let gate = Gate::start(|_| {}).await;
    for (path, kind) in
        [("/healthz", "text/plain"), ("/readyz", "text/plain"), ("/", "text/html"), ("/app.js", "text/javascript")]
    {
        let reply = gate.get(path).await;
        assert_eq!(reply.head.status, 200, "{path}");
        assert!(reply.head.get("content-type").is_some_and(|t| t.starts_with(kind)), "{path}: {:?}", reply.head);
    }
    let page = gate.get("/").await;
    assert!(page.text().contains("data-model=\"script\"") && page.text().contains("data-lab=\"true\""));
    assert!(!page.text().contains("{{"), "every place is filled in");
}
