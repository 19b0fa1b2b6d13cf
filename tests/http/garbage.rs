//! Bytes that are no proper request: a 4xx or the end of the connection, and the server goes on.

use serde_json::json;

use crate::bad::{check_alive, check_error, gate};
use crate::client::{Client, request};
use crate::gate::{ASK, Gate, question};

/// Reads what the server says to bytes that are no proper request: a 4xx, or the end of the connection.
async fn check_bytes(gate: &Gate, bytes: &[u8], half: bool, what: &str) {
    let mut client = Client::connect(gate.address).await;
    client.send_what_is_wanted(bytes).await;
    if half {
        client.close_half().await;
    }
    if let Some(reply) = client.try_reply().await {
        assert!((400..500).contains(&reply.head.status), "{what}: {}", reply.head.status);
        assert!(!reply.body.escape_ascii().to_string().contains("zebra"), "{what}");
    }
    check_alive(gate).await;
}

#[tokio::test]
async fn bytes_that_are_no_request() {
    let gate = gate().await;
    let head = "POST /v1/answers HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n");
    let long = "x".repeat(100_000);
    for (bytes, half, what) in [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), true, "a TLS greeting"),
        (b"zebra\r\n\r\n".to_vec(), false, "a word"),
        (b"\0\0\0\0\0\0\0\0\0\0\r\n\r\n".to_vec(), false, "zeros"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), false, "HTTP/2"),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), false, "a version to come"),
        (b"G".to_vec(), true, "one byte"),
        (head.as_bytes().to_vec(), true, "half a head"),
        (format!("{head}x-long: {long}\r\n\r\n").into_bytes(), false, "a very long header"),
        (format!("{head}{}\r\n", "x-y: z\r\n".repeat(1000)).into_bytes(), false, "many headers"),
        (format!("GET /{long} HTTP/1.1\r\nhost: test\r\n\r\n").into_bytes(), false, "a very long path"),
        (format!("{head}content-length: 100\r\n\r\n{{\"question\": \"zebra").into_bytes(), true, "a body cut short"),
        (format!("{chunked}14\r\n{{\"question\": \"zebra").into_bytes(), true, "a chunk cut short"),
        (format!("{chunked}5\r\n{{\"que\r\n").into_bytes(), true, "chunks without an end"),
        (format!("{chunked}zebra\r\n").into_bytes(), false, "a chunk size that is none"),
        (format!("{chunked}ffffffffffffffffff\r\n").into_bytes(), false, "a chunk size without bound"),
        (format!("{head}content-length: -5\r\n\r\n").into_bytes(), false, "a negative length"),
        (format!("{head}content-length: 5\r\ncontent-length: 6\r\n\r\n{{}}").into_bytes(), false, "two lengths"),
    ] {
        check_bytes(&gate, &bytes, half, what).await;
    }
}

fn asked(text: &str) -> String {
    let mut body = question();
    body["question"] = json!(text);
    body.to_string()
}

/// Longer than the ceiling by length, in one piece, or in chunks without a length: 413 each time, and it arrives.
#[tokio::test]
async fn bodies_past_the_ceiling() {
    let gate = gate().await;
    let body = asked(&"x".repeat(5 * 1024 * 1024));
    for path in ["/v1/answers", "/v1/check"] {
        let mut client = gate.client().await;
        client.send_what_is_wanted(request("POST", path, &ASK, body.as_bytes())).await;
        let reply = client.try_reply().await.expect("the reason is told before the connection ends");
        check_error(&reply, (413, "payload_too_large", None), path);
    }
    let mut client = gate.client().await;
    let head = "POST /v1/answers HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    let piece = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    client.send_what_is_wanted(format!("{head}{}0\r\n\r\n", piece.repeat(80))).await;
    check_error(&client.try_reply().await.expect("told"), (413, "payload_too_large", None), "in chunks");
    // Within the ceiling it is read.
    let reply = gate.send("POST", "/v1/answers", &ASK, asked(&"x".repeat(4_100_000)).as_bytes()).await;
    assert_eq!(reply.head.status, 200, "{}", reply.text());
    check_alive(&gate).await;
}
