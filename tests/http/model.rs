//! What a model server writes, event by event.

use serde_json::{Value, json};

use crate::upstream::{CHUNKED, DONE, Peer, STOP, Server, chunk};

fn event(value: &Value) -> Vec<u8> {
    chunk(format!("data: {value}\n\n"))
}

fn delta(delta: &Value) -> Vec<u8> {
    event(&json!({"choices": [{"index": 0, "delta": delta}]}))
}

/// A piece of the answer's text.
pub(crate) fn text(text: &str) -> Vec<u8> {
    delta(&json!({"content": text}))
}

/// A piece of the model's notes.
pub(crate) fn reasoning(text: &str) -> Vec<u8> {
    delta(&json!({"reasoning_content": text}))
}

/// A piece of a tool call.
pub(crate) fn tool(arguments: &str) -> Vec<u8> {
    delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}))
}

/// The token count.
pub(crate) fn usage(prompt: u64, completion: u64) -> Vec<u8> {
    event(&json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}))
}

/// The finish reason and the end of the body.
pub(crate) fn end() -> Vec<u8> {
    [chunk(STOP), chunk(DONE), chunk("")].concat()
}

/// The next call, once its request has come; the head of its answer is sent.
pub(crate) async fn begin(server: &Server) -> Peer {
    let mut peer = server.asked().await;
    peer.write(CHUNKED).await;
    peer
}
