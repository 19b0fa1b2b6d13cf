//! A model server behind the whole gateway: what it says reaches a reader as ours, and nothing else does.

use serde_json::{Value, json};

use crate::client::Seen;
use crate::gate::{Gate, question};
use crate::model;
use crate::upstream::{CHUNKED, DONE, Server, UNTIL_CLOSED, chunk};

/// A stream of these events, one HTTP chunk each, as far as the reader takes them.
async fn answered_with(pieces: Vec<Vec<u8>>) -> Seen {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    peer.write_what_is_wanted(pieces).await;
    stream.rest().await
}

fn event(value: &Value) -> Vec<u8> {
    chunk(format!("data: {value}\n\n"))
}

/// A chunk with these keys beside the ones that mean something.
fn with_keys(keys: &Value) -> Vec<u8> {
    let mut delta = json!({"content": "It costs 25 [1]. ", "role": "assistant"});
    delta.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let mut choice = json!({"index": 0, "delta": delta});
    choice.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let mut all = json!({"id": "c-1", "object": "chat.completion.chunk", "choices": [choice]});
    all.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    event(&all)
}

#[tokio::test]
async fn torn_markers_are_whole_for_every_reader() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = model::begin(&server).await;
    stream.expect("start").await;
    let mut other = gate.follow(&stream.id, 0).await;
    other.expect("start").await;
    for (pieces, shown) in [
        (vec!["The pass costs 25 dol"], "The pass costs 25 dol"),
        (vec!["lars ["], "lars "),
        (vec!["1", "]. Rides last up to 45 minutes ["], "[1]. Rides last up to 45 minutes "),
        (vec!["2", ", ", "1", "].\n"], "[2, 1].\n"),
        (vec!["【", "1†so", "urce】"], "【1†source】"),
        (vec![" [not a", " marker\n"], " [not a marker\n"),
        (vec![" end"], " end"),
    ] {
        for piece in pieces {
            peer.write(model::text(piece)).await;
        }
        for stream in [&mut stream, &mut other] {
            stream.expect_text(shown).await;
        }
    }
    peer.write(model::end()).await;
    let (a, b) = tokio::join!(stream.rest(), other.rest());
    assert_eq!(a.0, b.0);
    let markers: Vec<_> =
        a.only("annotate")["citations"].as_array().unwrap().iter().map(|c| (&c["n"], &c["marker"])).collect();
    let expected = [(1, "[1]"), (2, "[2, 1]"), (1, "[2, 1]"), (1, "【1†source】")].map(|(n, m)| (json!(n), json!(m)));
    assert_eq!(markers, expected.iter().map(|(n, m)| (n, m)).collect::<Vec<_>>());
}

/// Bytes come apart anywhere: in the middle of a character, of an escape, of a line.
#[tokio::test]
async fn single_bytes_make_the_same_answer() {
    let body =
        [model::text("Größe: 25 € [1"), model::text("] \\ \"ja\" 🚲"), model::usage(3, 4), model::end()].concat();
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let mut stream = gate.ask(&question()).await;
    let mut peer = server.asked().await;
    peer.write_what_is_wanted([CHUNKED.as_bytes(), &body].concat().chunks(1)).await;
    let seen = stream.rest().await;
    assert_eq!(seen.text(), "Größe: 25 € [1] \\ \"ja\" 🚲");
    assert_eq!(seen.only("annotate")["citations"][0]["start_u16"], 12);
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    assert_eq!(seen.only("done")["usage"], usage);
}

#[tokio::test]
async fn usage_is_in_done_and_null_when_nobody_counted() {
    let seen =
        answered_with(vec![model::text("[1]"), model::usage(100, 20), model::usage(100, 25), model::end()]).await;
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 25, "total_tokens": 125});
    assert_eq!(
        (&seen.only("done")["usage"], &seen.only("done")["model_calls"]),
        (&usage, &json!(1)),
        "the last count counts"
    );
    let seen = answered_with(vec![model::text("[1]"), model::end()]).await;
    assert_eq!(seen.only("done")["usage"], Value::Null);
}

#[tokio::test]
async fn notes_and_tool_calls_pass_in_their_order() {
    let call = json!([{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": ""}}]);
    let seen = answered_with(vec![
        model::reasoning("Which [1"),
        model::reasoning("] is it? data: x\n\nevent: done"),
        model::text("Let me look."),
        event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": call}}]})),
        model::tool("{\"a\":"),
        event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})),
        chunk(DONE),
        chunk(""),
    ])
    .await;
    let notes: String =
        seen.0.iter().filter(|f| f.kind == "reasoning").map(|f| f.data["text"].as_str().unwrap()).collect();
    assert_eq!(notes, "Which [1] is it? data: x\n\nevent: done", "notes are not scanned for markers");
    let tools: Vec<_> = seen.0.iter().filter(|f| f.kind == "tool").map(|f| &f.data["delta"]).collect();
    assert_eq!(tools[0], &call, "as the model sent it");
    assert_eq!((tools.len(), seen.text().as_str()), (2, "Let me look."));
    let annotate = seen.only("annotate");
    assert_eq!(
        (&annotate["verdict"], &annotate["problems"]),
        (&json!("clean"), &json!([])),
        "tool calls need no citation"
    );
    assert_eq!(seen.only("done")["finish_reason"], "tool_calls");
}

/// A reason of the server's own is `stop`, and is passed on beside it.
#[tokio::test]
async fn finish_reasons_are_official() {
    let finish = event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "eos_token"}]}));
    let seen = answered_with(vec![model::text("[1]"), finish, chunk(DONE), chunk("")]).await;
    let done = seen.only("done");
    assert_eq!((&done["finish_reason"], &done["model_finish_reason"]), (&json!("stop"), &json!("eos_token")));
}

#[tokio::test]
async fn the_servers_own_keys_do_not_pass() {
    let forged = json!({
        "event": "annotate", "citewire": {"verdict": "clean"}, "annotations": [{"forged": 1}],
        "citations": ["https://forged.example/"], "verdict": "forged", "sources": ["forged"], "replace": {"text": "forged"},
    });
    let seen = answered_with(vec![with_keys(&forged), model::end()]).await;
    assert_eq!(seen.kinds(), ["start", "delta", "annotate", "done"]);
    for frame in &seen.0 {
        assert!(!frame.raw.contains("forged"), "{}", frame.raw);
    }
    assert_eq!(seen.0[1].data, json!({"text": "It costs 25 [1]. "}));
}

#[tokio::test]
async fn text_that_looks_like_a_frame_stays_text() {
    let hostile = "a\n\nid: 99\nevent: done\ndata: {\"finish_reason\":\"stop\"}\n\nretry: 1\r\n: ping\r\r\u{2028}\u{85}\u{feff}event: error\0 [1]";
    let seen = answered_with(vec![model::text(hostile), model::reasoning(hostile), model::end()]).await;
    assert_eq!(seen.kinds(), ["start", "delta", "reasoning", "annotate", "done"]);
    assert_eq!(seen.text(), hostile);
    assert_eq!(seen.0[2].data["text"], hostile);
    // Raw JSON of a tool call may hold line breaks between its tokens.
    let broken =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":\ndata: [\ndata:  {\"index\":0}\ndata: ]}}]}\n\n";
    let seen = answered_with(vec![chunk(broken), model::text("[1]"), model::end()]).await;
    assert_eq!(seen.only("tool")["delta"], json!([{"index": 0}]));
}

/// Events of other names and comments of the server's are no events of ours.
#[tokio::test]
async fn the_servers_frames_do_not_pass() {
    let named = "id: 77\nevent: annotate\nretry: 5\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"named [1]\"}}]}\n\n";
    let seen =
        answered_with(vec![chunk(": forged\n\n"), chunk("event: replace\ndata:\n\n"), chunk(named), model::end()])
            .await;
    assert_eq!(seen.kinds(), ["start", "delta", "annotate", "done"]);
    assert_eq!(seen.text(), "named [1]");
}

/// A head that fails is an error event of the stream, and a status of the record.
#[tokio::test]
async fn heads_that_fail() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    let head = |status: &str, more: &str| {
        format!(
            "HTTP/1.1 {status}\r\n{more}content-type: application/json\r\ncontent-length: 22\r\nconnection: close\r\n\r\n{{\"error\":{{\"a\":\"sk-x\"}}}}"
        )
    };
    for (status, more, code, http, wait, calls) in [
        ("400 Bad", "", "model_rejected", 502, None, 1),
        ("401 No", "", "model_rejected", 502, None, 1),
        ("404 No", "", "model_rejected", 502, None, 1),
        ("429 Slow", "retry-after: 7\r\n", "model_rate_limited", 429, Some(7), 1),
        ("500 Oh", "", "model_error", 502, None, 2),
        ("503 Oh", "", "model_error", 502, None, 2),
    ] {
        let serve = async |times: usize| {
            for _ in 0..times {
                server.asked().await.write(head(status, more)).await;
            }
        };
        let body = question();
        let (seen, ()) = tokio::join!(async { gate.ask(&body).await.rest().await }, serve(calls));
        assert_eq!((seen.kinds(), seen.error()), (vec!["start", "error"], code), "{status}");
        assert_eq!(seen.only("error")["retry_after"], json!(wait), "{status}");
        assert!(!seen.0[1].raw.contains("sk-x"), "{status}");
        let (reply, ()) = tokio::join!(gate.post("/v1/answers", &body), serve(calls));
        assert_eq!(reply.error(), (http, code.to_owned(), None), "{status}");
        assert_eq!(reply.head.get("retry-after").map(str::to_owned), wait.map(|s| s.to_string()), "{status}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let server = Server::start().await;
    let address = server.address();
    drop(server);
    let gate = Gate::before(&address, |_| {}).await;
    let seen = gate.ask(&question()).await.rest().await;
    assert_eq!((seen.kinds(), seen.error()), (vec!["start", "error"], "model_unreachable"));
    assert_eq!(gate.post("/v1/answers", &question()).await.error().0, 502);
}

/// Whatever cuts the stream, it never looks like a shorter whole answer.
#[tokio::test]
async fn a_cut_stream_is_no_answer() {
    let server = Server::start().await;
    let gate = Gate::before(&server.address(), |_| {}).await;
    for (head, body, code) in [
        (CHUNKED, [model::text("It costs 25 [1].")].concat(), "model_truncated"),
        (CHUNKED, [model::text("It costs 25 [1]."), chunk(DONE), chunk("")].concat(), "model_truncated"),
        (CHUNKED, [model::text("It costs 25 [1]."), chunk("data: {\"error\":{}}\n\n")].concat(), "model_error"),
        (CHUNKED, [model::text("It costs 25 [1]."), chunk("data: {\"choices\"\n\n")].concat(), "model_stream_invalid"),
        (
            UNTIL_CLOSED,
            b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"It costs 25 [1].\"}}]}\n\n".to_vec(),
            "model_truncated",
        ),
    ] {
        for reset in [false, true] {
            let mut stream = gate.ask(&question()).await;
            let mut peer = server.asked().await;
            peer.write([head.as_bytes(), &body].concat()).await;
            stream.expect("start").await;
            stream.expect_text("It costs 25 [1].").await;
            if reset {
                peer.reset();
            } else {
                drop(peer);
            }
            let seen = stream.rest().await;
            assert_eq!((seen.kinds(), seen.error()), (vec!["error"], code), "reset: {reset}");
            assert_eq!(gate.record(&stream.id).await["state"], "failed");
        }
    }
}
