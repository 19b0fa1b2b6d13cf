//! Methods, paths and content types that do not fit, each refused in our words.

use crate::bad::{check_alive, check_error, gate};
use crate::gate::{ASK_JSON, chunks};

#[tokio::test]
async fn content_types() {
    let gate = gate().await;
    let body = chunks(&["Yes [1]."]).to_string();
    for path in ["/v1/answers", "/v1/check"] {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/jsonx",
            "application",
            "multipart/form-data; boundary=x",
            "",
        ] {
            let reply = gate.send("POST", path, &[("content-type", kind)], body.as_bytes()).await;
            check_error(&reply, (415, "unsupported_media_type", None), &format!("{path} {kind:?}"));
        }
        let reply = gate.send("POST", path, &[], body.as_bytes()).await;
        check_error(&reply, (415, "unsupported_media_type", None), &format!("{path} without"));
    }
    for kind in ["application/json", "Application/JSON;charset=utf-8", " application/json "] {
        let reply = gate.send("POST", "/v1/answers", &[("content-type", kind)], body.as_bytes()).await;
        assert_eq!(reply.head.status, 200, "{kind:?}");
    }
}

#[tokio::test]
async fn methods_and_routes() {
    let gate = gate().await;
    let id = "/v1/answers/ans_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for (method, path, takes) in [
        ("GET", "/v1/answers".to_owned(), vec!["POST"]),
        ("PUT", "/v1/answers".to_owned(), vec!["POST"]),
        ("DELETE", "/v1/answers".to_owned(), vec!["POST"]),
        ("GET", "/v1/check".to_owned(), vec!["POST"]),
        ("POST", id.to_owned(), vec!["GET", "DELETE"]),
        ("PATCH", id.to_owned(), vec!["GET", "DELETE"]),
        ("POST", format!("{id}/events"), vec!["GET"]),
        ("DELETE", format!("{id}/events"), vec!["GET"]),
        ("POST", "/healthz".to_owned(), vec!["GET"]),
    ] {
        let reply = gate.send(method, &path, &ASK_JSON, b"{}").await;
        check_error(&reply, (405, "method_not_allowed", None), &format!("{method} {path}"));
        let allow = reply.head.get("allow").unwrap_or_else(|| panic!("{method} {path}: RFC 9110 wants Allow"));
        assert!(takes.iter().all(|method| allow.contains(method)), "{method} {path}: {allow}");
    }
    for path in [
        "/v1",
        "/v1/answer",
        "/v1/answers/",
        "/v2/answers",
        "/v1/answers/x/y",
        "/etc/passwd",
        "/index.html",
        "/..%2fCargo.toml",
    ] {
        let reply = gate.get(path).await;
        check_error(&reply, (404, "not_found", None), path);
    }
    check_alive(&gate).await;
}

/// What the router itself refuses is refused in our words too.
#[tokio::test]
async fn paths_and_queries_that_cannot_be_read() {
    let gate = gate().await;
    let mut stream = gate.ask(&chunks(&["Yes [1]."])).await;
    stream.rest().await;
    let id = &stream.id;
    let mut wrong = Vec::new();
    for (method, path) in [
        ("GET", "/v1/answers/%ff".to_owned()),
        ("DELETE", "/v1/answers/%ff".to_owned()),
        ("GET", "/v1/answers/%ff/events".to_owned()),
        ("GET", format!("/v1/answers/{id}/events?after=1&after=2")),
        ("GET", format!("/v1/answers/{id}/events?after=%ff")),
        ("GET", "/%ff".to_owned()),
    ] {
        let reply = gate.send(method, &path, &[], b"").await;
        assert!(matches!(reply.head.status, 400 | 404), "{method} {path}: {}", reply.head.status);
        if reply.head.get("content-type") != Some("application/json") {
            wrong.push(format!("{method} {path}: {}", reply.text()));
        }
    }
    assert!(wrong.is_empty(), "not our JSON:\n{}", wrong.join("\n"));
}
