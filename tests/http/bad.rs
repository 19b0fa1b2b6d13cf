//! Requests that are not as they should be: each gets a 4xx with the field's name, and the server goes on.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::gate::{ASK, Gate, chunks, question, sources};

/// What a question says that no error may repeat.
const SECRET: &str = "zebra crossing canary";

/// A gateway with small ceilings.
pub(crate) async fn gate() -> Gate {
    Gate::start(|o| {
        o.max_source_bytes = Some(1000);
        o.models = Some(vec!["small".to_owned(), "large".to_owned()]);
    })
    .await
}

/// The server still answers.
pub(crate) async fn check_alive(gate: &Gate) {
    let seen = gate.ask(&chunks(&["Yes [1]."])).await.rest().await;
    assert_eq!(seen.only("annotate")["verdict"], "clean");
}

pub(crate) fn check_error(reply: &Reply, expected: (u16, &str, Option<&str>), what: &str) {
    let (status, code, param) = reply.error();
    assert_eq!((status, code.as_str(), param.as_deref()), expected, "{what}: {}", reply.text());
    for word in SECRET.split(' ') {
        assert!(!reply.text().contains(word), "{what}: {}", reply.text());
    }
    assert!(reply.body.len() < 600, "{what}: {} bytes", reply.body.len());
    let error = &reply.json()["error"];
    assert_eq!((&error["type"], &error["retryable"]), (&json!("client_error"), &json!(false)), "{what}");
}

/// A good question with one field changed.
fn with(field: &str, value: impl Into<Value>) -> Value {
    let mut body = question();
    body["question"] = json!(SECRET);
    body[field] = value.into();
    body
}

fn source(change: &Value) -> Value {
    let mut source = json!({"id": "a", "text": SECRET});
    source.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    source
}

/// Bodies of `POST /v1/answers` and the field that is wrong.
type Wrong = Vec<(Value, Option<&'static str>)>;

fn wrong_questions() -> Wrong {
    let without = |field: &str| {
        let mut body = with("top_k", 2);
        body.as_object_mut().unwrap().remove(field);
        body
    };
    let user = |content: &str| json!({"role": "user", "content": content});
    vec![
        (with("question", 5), Some("question")),
        (with("question", json!([SECRET])), Some("question")),
        (with("question", json!({ SECRET: 1 })), Some("question")),
        (with("question", true), Some("question")),
        (with("question", ""), Some("question")),
        (with("question", " \n\t "), Some("question")),
        (without("question"), Some("question")),
        (json!({}), Some("question")),
        (with("questoin", SECRET), Some("questoin")),
        (with("messages", "x"), Some("messages")),
        (with("messages", json!([user("a"), {"role": "wizard", "content": SECRET}])), Some("messages[1].role")),
        (with("messages", json!([{"role": "user"}])), Some("messages[0].content")),
        (with("messages", json!([{"role": "user", "content": 5}])), Some("messages[0].content")),
        (with("messages", json!([{"role": "user", "content": "a", "name": SECRET}])), Some("messages[0].name")),
        (json!({"messages": []}), Some("question")),
        (json!({"messages": [user("a"), user("  ")]}), Some("messages[1].content")),
        (json!({"messages": [user(SECRET), {"role": "assistant", "content": SECRET}]}), Some("messages")),
    ]
}

fn wrong_sources() -> Wrong {
    vec![
        (with("sources", "x"), Some("sources")),
        (with("sources", json!({"id": "a", "text": SECRET})), Some("sources")),
        (with("sources", json!([SECRET])), Some("sources[0]")),
        (with("sources", sources(65)), Some("sources")),
        (with("sources", json!([{"id": "a"}])), Some("sources[0].text")),
        (with("sources", json!([{"text": SECRET}])), Some("sources[0].id")),
        (with("sources", json!([source(&json!({})), source(&json!({"id": ""}))])), Some("sources[1].id")),
        (with("sources", json!([source(&json!({})), source(&json!({}))])), Some("sources[1].id")),
        (with("sources", json!([source(&json!({"id": 7}))])), Some("sources[0].id")),
        (with("sources", json!([source(&json!({"text": null}))])), Some("sources[0].text")),
        (with("sources", json!([source(&json!({"text": SECRET.repeat(60)}))])), Some("sources[0].text")),
        (with("sources", json!([source(&json!({"url": ["x"]}))])), Some("sources[0].url")),
        (with("sources", json!([source(&json!({"ocr": "yes"}))])), Some("sources[0].ocr")),
        (with("sources", json!([source(&json!({"score": 1}))])), Some("sources[0].score")),
    ]
}

fn wrong_settings() -> Wrong {
    vec![
        (with("retrieve", "no"), Some("retrieve")),
        (with("top_k", 0), Some("top_k")),
        (with("top_k", 65), Some("top_k")),
        (with("top_k", -1), Some("top_k")),
        (with("top_k", 2.5), Some("top_k")),
        (with("top_k", "6"), Some("top_k")),
        (with("format", "json"), Some("format")),
        (with("format", SECRET), Some("format")),
        (with("schema", "answer"), Some("schema")),
        (with("items", json!(["a"])), Some("items")),
        (with("items", "a"), Some("items")),
        (with("on_problem", "retry"), Some("on_problem")),
        (with("delivery", "later"), Some("delivery")),
        (with("model", "other"), Some("model")),
        (with("model", ""), Some("model")),
        (with("model", 4), Some("model")),
        (with("temperature", 2.1), Some("temperature")),
        (with("temperature", -0.1), Some("temperature")),
        (with("temperature", "warm"), Some("temperature")),
        (with("max_tokens", 0), Some("max_tokens")),
        (with("max_tokens", -1), Some("max_tokens")),
        (with("max_tokens", 5_000_000_000_u64), Some("max_tokens")),
        (with("script", 5), Some("script")),
        (with("script", json!([])), Some("script")),
        (with("script", json!({})), Some("script")),
        (with("script", json!({"chunks": "x"})), Some("script")),
        (with("script", json!({"chunks": ["a", 1]})), Some("script")),
        (with("script", json!({"chunks": [], "gap_ms": -1})), Some("script")),
        (with("script", json!({"chunks": [], "finish": "error"})), Some("script")),
        (with("script", json!({"chunks": [], "error": "internal"})), Some("script")),
        (with("script", json!([{"chunks": []}, {"chunks": [], "gap": 1}])), Some("script")),
    ]
}

#[tokio::test]
async fn every_wrong_field_is_named() {
    let gate = gate().await;
    let mut wrong = Vec::new();
    for (body, param) in [wrong_questions(), wrong_sources(), wrong_settings()].concat() {
        let reply = gate.post("/v1/answers", &body).await;
        let (status, code, named) = reply.error();
        if (status, code.as_str(), named.as_deref()) != (400, "invalid_request", param) {
            wrong.push(format!("{body:.300}: expected {param:?}, got {}", reply.text()));
            continue;
        }
        check_error(&reply, (400, "invalid_request", param), &body.to_string());
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    check_alive(&gate).await;
}

#[tokio::test]
async fn null_is_the_same_as_absent() {
    let gate = Gate::start(|_| {}).await;
    let mut body = chunks(&["Yes [1]."]);
    for field in [
        "messages",
        "top_k",
        "items",
        "format",
        "schema",
        "on_problem",
        "delivery",
        "model",
        "temperature",
        "max_tokens",
    ] {
        body[field] = Value::Null;
    }
    let seen = gate.ask(&body).await.rest().await;
    assert_eq!(seen.only("annotate")["verdict"], "clean");
}

/// Where a word belongs, any other JSON is a value of the wrong type, not bad JSON.
#[tokio::test]
async fn a_word_of_another_type_is_named() {
    let gate = gate().await;
    let mut wrong = Vec::new();
    for field in ["format", "on_problem", "delivery"] {
        for value in [json!(1), json!(true), json!(["prose"]), json!({}), json!({"prose": 1})] {
            let reply = gate.post("/v1/answers", &with(field, value.clone())).await;
            if reply.error() != (400, "invalid_request".to_owned(), Some(field.to_owned())) {
                wrong.push(format!("{field}: {value} gives {}", reply.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A question or a source can also stand where a name belongs. Errors name fields, they do not repeat what clients say.
async fn check_not_repeated(bodies: impl Fn(&str) -> Vec<Value>) {
    let gate = gate().await;
    let mut wrong = Vec::new();
    for name in [SECRET, "zebra`crossing`canary", "zebra.crossing[0].canary?", &"canary ".repeat(20_000)] {
        for body in bodies(name) {
            let reply = gate.post("/v1/answers", &body).await;
            assert_eq!(reply.error().0, 400, "{body:.200}");
            if reply.body.len() > 600 || SECRET.split(' ').any(|word| reply.text().contains(word)) {
                wrong.push(format!("{name:.40}: {} bytes {:.200}", reply.body.len(), reply.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    check_alive(&gate).await;
}

#[tokio::test]
async fn no_error_repeats_a_name_that_is_a_text() {
    check_not_repeated(|name| {
        vec![
            with(name, 1),
            with("sources", json!([source(&json!({ name: 1 }))])),
            with("messages", json!([{"role": "user", "content": "a", name: 1}])),
            with("on_problem", name),
            with("question", json!({ name: 1 })),
        ]
    })
    .await;
}

#[tokio::test]
async fn no_error_repeats_a_name_in_a_script() {
    check_not_repeated(|name| {
        vec![
            with("script", json!({"chunks": [], name: 1})),
            with("script", json!([{"chunks": []}, {"chunks": [], name: 1}])),
        ]
    })
    .await;
}

#[tokio::test]
async fn bodies_that_are_no_object() {
    let gate = gate().await;
    let secret = format!("{{\"question\": \"{SECRET}\"");
    for body in [
        "",
        " ",
        "null",
        "5",
        "\"zebra\"",
        "[]",
        "[\"zebra\"]",
        "[null,null,null,null,null,null,null,null,null,null,null,null,null,null]",
        "zebra",
        "{",
        secret.as_str(),
        &format!("{secret},}}"),
        &format!("{secret}}} zebra"),
        &format!("{secret}}}{secret}}}"),
        &format!("\u{feff}{secret}}}"),
        "question=zebra",
        "{\"question\": \"zebra\u{0}\"}",
        "{\"question\": \"\\ud800 zebra\"}",
        "{\"question\": NaN}",
        "{'question': 'zebra'}",
        &format!("{{\"schema\": {}", "[".repeat(100_000)),
    ] {
        for path in ["/v1/answers", "/v1/check"] {
            let body = if path == "/v1/check" {
                body.replace("\"question\"", "\"sources\": [], \"text\"")
            } else {
                body.to_owned()
            };
            let reply = gate.send("POST", path, &ASK, body.as_bytes()).await;
            check_error(&reply, (400, "invalid_request", None), &format!("{path} {body:.60}"));
        }
    }
    let reply = gate.send("POST", "/v1/answers", &ASK, b"{\"question\": \"zebra \xff\"}").await;
    assert_eq!((reply.error().0, reply.error().1.as_str()), (400, "invalid_request"), "not UTF-8");
    let twice = format!("{secret}, \"question\": \"zebra\"}}");
    let reply = gate.send("POST", "/v1/answers", &ASK, twice.as_bytes()).await;
    check_error(&reply, (400, "invalid_request", Some("question")), "a field given twice");
    check_alive(&gate).await;
}

/// A list is not read as the fields in their order, a broken one neither.
#[tokio::test]
async fn a_broken_list_is_no_object() {
    let gate = gate().await;
    for body in ["[", "[5", "[\"zebra\"", "[\"zebra\", 5]]", &"[".repeat(100_000)] {
        let reply = gate.send("POST", "/v1/answers", &ASK, body.as_bytes()).await;
        check_error(&reply, (400, "invalid_request", None), &format!("{body:.60}"));
    }
}

#[tokio::test]
async fn wrong_fields_of_a_check() {
    let gate = gate().await;
    let good = json!({"sources": [{"id": "a", "text": SECRET}], "text": SECRET});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (body, param) in [
        (json!({"sources": []}), "text"),
        (json!({"text": SECRET}), "sources"),
        (with("text", json!([SECRET])), "text"),
        (with("text", json!("x".repeat(1024 * 1024 + 1))), "text"),
        (with("sources", sources(65)), "sources"),
        (with("sources", json!([{"id": "a", "text": SECRET.repeat(60)}])), "sources[0].text"),
        (with("sources", json!([{"id": "a", "text": ""}, {"id": "a", "text": ""}])), "sources[1].id"),
        (with("format", json!("json")), "format"),
        (with("schema", json!("answer")), "schema"),
        (with("question", json!(SECRET)), "question"),
    ] {
        let reply = gate.post("/v1/check", &body).await;
        check_error(&reply, (400, "invalid_request", Some(param)), &format!("{body:.80}"));
    }
    assert_eq!(gate.post("/v1/check", &good).await.head.status, 200);
}

#[tokio::test]
async fn no_script_without_the_lab() {
    let gate = Gate::start(|o| o.lab = Some(false)).await;
    for script in [json!({"chunks": ["Yes [1]."]}), json!(5)] {
        let reply = gate.post("/v1/answers", &with("script", script)).await;
        check_error(&reply, (400, "invalid_request", Some("script")), "lab off");
    }
    // Nothing listens there: no answer is begun before its request is understood.
    let gate = Gate::before("127.0.0.1:9", |_| {}).await;
    let reply = gate.post("/v1/answers", &with("script", json!({"chunks": []}))).await;
    check_error(&reply, (400, "invalid_request", Some("script")), "off by default before an upstream");
}
