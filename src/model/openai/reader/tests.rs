//! What came in, and what is read out of it.

use super::*;
use proptest::prelude::*;

/// Reads the pieces and says what came: `"text"`, `<reasoning>`, `{tool}`, the finish reason, `in+out=total`, and last
/// `ok` or the error.
fn read<'p>(format: Format, pieces: impl IntoIterator<Item = &'p [u8]>, how: BodyEnd) -> Vec<String> {
    let mut reader = Reader::new(format, 512);
    let mut out = Vec::new();
    for piece in pieces.into_iter().map(Some).chain([None]) {
        match piece {
            Some(piece) => reader.push(piece),
            None => reader.finish(how),
        }
        while let Some(next) = reader.next() {
            let over = !matches!(next, Ok(Some(_)));
            out.push(show(next));
            if over {
                return out;
            }
        }
    }
    panic!("an answer has an end")
}

fn show(next: Result<Option<Chunk>, ModelError>) -> String {
    match next {
        Ok(Some(Chunk::Text(text))) => format!("{text:?}"),
        Ok(Some(Chunk::Reasoning(text))) => format!("<{text}>"),
        Ok(Some(Chunk::Tool(calls))) => format!("{{{calls}}}"),
        Ok(Some(Chunk::Finish(finish))) => finish.as_sent,
        Ok(Some(Chunk::Usage(u))) => format!("{}+{}={}", u.prompt_tokens, u.completion_tokens, u.total_tokens),
        Ok(None) => "ok".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// What [`read`] says, with neighbouring texts joined: where they are cut depends on the pieces.
fn joined(out: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for item in out {
        match joined.last_mut() {
            Some(last) if last.ends_with('"') && item.starts_with('"') => {
                last.pop();
                last.push_str(item.strip_prefix('"').unwrap());
            }
            Some(last) if last.ends_with('>') && item.starts_with('<') => {
                last.pop();
                last.push_str(item.strip_prefix('<').unwrap());
            }
            _ => joined.push(item),
        }
    }
    joined
}

/// Events with these data, read at once and byte by byte, however the body ends.
fn check(events: &[&str], expected: &[&str]) {
    let body: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
    check_body(&body, expected);
}

fn check_body(body: &str, expected: &[&str]) {
    for how in [BodyEnd::Complete, BodyEnd::Cut] {
        assert_eq!(read(Format::EventStream, [body.as_bytes()], how), expected, "{body}");
        assert_eq!(joined(read(Format::EventStream, body.as_bytes().chunks(1), how)), expected, "byte by byte: {body}");
    }
}

const A: &str = r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
const B: &str = r#"{"choices":[{"delta":{"content":"b"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const FAILED: &str = "Failed { status: None }";

fn invalid_as(came: &str) -> String {
    format!("Invalid {{ what: \"expected a chat chunk, got {came}\" }}")
}

#[test]
fn a_plain_answer_is_one_text() {
    check(&[A, B, STOP, "[DONE]"], &["\"ab\"", "stop", "ok"]);
    check(&[r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, A, STOP], &["\"a\"", "stop", "ok"]);
    check(
        &[r#"{"choices":[{"delta":{"content":"x\n\u00fc\ud83d\uddfc\""},"finish_reason":"length"}]}"#, "[DONE]"],
        &[r#""x\nü🗼\"""#, "length", "ok"],
    );
}

#[test]
fn quirks_change_nothing() {
    for quirk in [
        "",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":null}"#,
        r#"{"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#,
        r#"{"choices":[{"delta":{"content":null,"role":"assistant","refusal":null,"tool_calls":null}}]}"#,
        r#"{"choices":[{"delta":null,"finish_reason":""}]}"#,
        r#"{"choices":[{"index":0,"content_filter_offsets":{"check_offset":1}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another answer"},"finish_reason":"length"}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[]}}],"error":null,"usage":null}"#,
        r#"{"event":{"type":"status"},"citewire":{"verdict":"clean"},"citations":["x"],"search_results":[]}"#,
        r#"{"choices":[{"delta":{"citewire":{"text":"x"},"annotations":[{"type":"url_citation"}]}}],"timings":{}}"#,
        r#"{"choices":[{"delta":{"content":""},"message":{"content":"ab so far"}}]}"#,
    ] {
        check(&[quirk, A, quirk, B, quirk, STOP, quirk, "[DONE]"], &["\"ab\"", "stop", "ok"]);
    }
    check(&[A, B, STOP, STOP, " [DONE] ", "nonsense"], &["\"ab\"", "stop", "ok"]);
    check(&[A, r#"{"choices":[{"finish_reason":"eos_token"}]}"#], &["\"a\"", "eos_token", "ok"]);
    let lines =
        format!("\u{FEFF}: hello\r\n\rid: 7\rdata:{A}\n\r\nevent: message\ndata: {B}\r\r: ping\n\ndata: {STOP}");
    check_body(&lines, &["\"ab\"", "stop", "ok"]);
    check_body(&format!("data: {STOP}\n\ndata: [DONE]"), &["stop", "ok"]);
}

#[test]
fn usage_comes_once_and_last() {
    let usage = |n: u32| format!(r#""usage":{{"prompt_tokens":{n},"completion_tokens":2,"total_tokens":9}}"#);
    let (first, last) = (format!("{{\"choices\":[],{}}}", usage(1)), format!("{{{}}}", usage(5)));
    check(&[A, &first, B, STOP, &last, "[DONE]"], &["\"ab\"", "stop", "5+2=9", "ok"]);
    let with_text = r#"{"choices":[{"delta":{"content":"c"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    check(&[with_text, A, STOP], &["\"ca\"", "stop", "3+4=7", "ok"]);
    check(&[A, STOP, r#"{"usage":"many"}"#], &["\"a\"", "stop", "ok"]);
    check(&[A, &first], &["\"a\"", "1+2=9", "Truncated"]);
}

#[test]
fn reasoning_refusals_and_tools_keep_their_place() {
    let reason = r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#;
    let other = r#"{"choices":[{"delta":{"reasoning":" so","content":"a"}}]}"#;
    check(&[reason, other, B, STOP], &["<hm so>", "\"ab\"", "stop", "ok"]);
    check(&[r#"{"choices":[{"delta":{"reasoning":{"effort":1}}}]}"#, A, STOP], &["\"a\"", "stop", "ok"]);
    check(&[r#"{"choices":[{"delta":{"refusal":"I cannot."}}]}"#, STOP], &["\"I cannot.\"", "stop", "ok"]);
    let tool = r#"{"choices":[{"delta":{"tool_calls":[{"index":0, "function":{"arguments":"{\n"}}]}}]}"#;
    let finish = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    let shown = r#"{[{"index":0, "function":{"arguments":"{\n"}}]}"#;
    check(&[A, tool, tool, B, finish], &["\"a\"", shown, shown, "\"b\"", "tool_calls", "ok"]);
    let lines = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[1,\ndata: 2]}}]}\n\n";
    check_body(&format!("{lines}data: {finish}\n\n"), &["{[1, 2]}", "tool_calls", "ok"]);
}

#[test]
fn silence_is_not_success() {
    check(&[], &["Truncated"]);
    check(&[A], &["\"a\"", "Truncated"]);
    check(&[A, "[DONE]", STOP], &["\"a\"", "Truncated"]);
    check_body(&format!("data: {A}\n\ndata: {{\"choices\":[{{\"del"), &["\"a\"", "Truncated"]);
    check_body(&format!("data: {A}\n\nda"), &["\"a\"", "Truncated"]);
    check_body(&format!("data: {A}\n\ndata: [DO"), &["\"a\"", "Truncated"]);
    check_body(&format!("data: {STOP}\n\ndata: {{\"us"), &["stop", "ok"]);
}

#[test]
fn errors_come_after_the_text() {
    let error = r#"{"error":{"message":"secret","code":500}}"#;
    check(&[A, B, error, STOP], &["\"ab\"", FAILED]);
    check(&[A, r#"{"error":"overloaded"}"#], &["\"a\"", FAILED]);
    check(&[A, r#"{"object":"error","message":"secret"}"#], &["\"a\"", FAILED]);
    let inside = r#"{"error":{"code":502},"choices":[{"delta":{"content":"!"},"finish_reason":"error"}]}"#;
    check(&[A, inside, "[DONE]"], &["\"a!\"", FAILED]);
    check(&[A, r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#], &["\"a\"", FAILED]);
    check_body(&format!("data: {A}\n\nevent: error\ndata: out of memory\n\n"), &["\"a\"", FAILED]);
    check(&[A, STOP, error], &["\"a\"", "stop", FAILED]);
    check(&[A, "{\"choices\":[}", STOP], &["\"a\"", &invalid_as("malformed JSON (column 13)")]);
    check(&[A, "nonsense", STOP], &["\"a\"", &invalid_as("something that is not an object")]);
    check(&[A, "[]", STOP], &["\"a\"", &invalid_as("something that is not an object")]);
    check(&[A, r#"{"choices":"#, STOP], &["\"a\"", &invalid_as("half an object (column 11)")]);
    check(
        &[A, r#"{"choices":[{"delta":{"content":["x"]}}]}"#, STOP],
        &["\"a\"", &invalid_as("a field of another type (column 32)")],
    );
    check(
        &[A, r#"{"choices":[{"delta":{}},{"index":1},{"delta":{}}]}"#],
        &["\"a\"", &invalid_as("a field of another type (column 50)")],
    );
    let late = "Invalid { what: \"expected the end of the stream, got more text after the finish reason\" }";
    check(&[A, STOP, B], &["\"a\"", "stop", late]);
    let long = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(512));
    check(
        &[A, &long],
        &["\"a\"", "Invalid { what: \"expected at most 512 bytes in a line, an event or a body, got more\" }"],
    );
}

#[test]
fn invalid_utf8_anywhere_is_an_error() {
    for event in [
        &b"data: {\"choices\":[{\"delta\":{\"content\":\"\xFF\"}}]}\n\n"[..],
        b"data: {\"x\":\"\xC3\"}\n\n",
        b"data: \xFF\n\n",
    ] {
        let body = [b"data: ", A.as_bytes(), b"\n\n", event].concat();
        let out = read(Format::EventStream, [&body[..]], BodyEnd::Complete);
        assert_eq!(out, ["\"a\"", &invalid_as("bytes that are not UTF-8")], "{}", event.escape_ascii());
    }
}

#[test]
fn a_server_that_does_not_stream() {
    let check = |body: &str, how: BodyEnd, expected: &[&str]| {
        assert_eq!(read(Format::Json, [body.as_bytes()], how), expected, "{body}");
        assert_eq!(read(Format::Json, body.as_bytes().chunks(1), how), expected, "byte by byte: {body}");
    };
    let whole = r#" {"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ab","reasoning":"hm"},
        "finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#;
    check(whole, BodyEnd::Complete, &["<hm>", "\"ab\"", "stop", "1+2=3", "ok"]);
    check(whole, BodyEnd::Cut, &["Truncated"]);
    check(r#"{"error":{"message":"secret"}}"#, BodyEnd::Complete, &[FAILED]);
    check(r#"{"detail":"nothing we know"}"#, BodyEnd::Complete, &["Truncated"]);
    check("nonsense", BodyEnd::Complete, &[&invalid_as("something that is not an object")]);
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(512));
    check(
        &long,
        BodyEnd::Complete,
        &["Invalid { what: \"expected at most 512 bytes in a line, an event or a body, got more\" }"],
    );
}

#[test]
fn what_is_gathered_is_bounded() {
    let mut reader = Reader::new(Format::EventStream, 1 << 20);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(1000));
    let mut events = 0;
    while !reader.is_full() {
        reader.push(event.as_bytes());
        events += 1;
    }
    assert_eq!(events, 17);
    assert!(matches!(reader.next(), Some(Ok(Some(Chunk::Text(text)))) if text.len() == 17_000));
    assert!(reader.next().is_none() && !reader.is_full());
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_answer(
        events in prop::collection::vec(prop::sample::select(vec![A, B, STOP, "[DONE]", "{", "", r#"{"error":1}"#]), 0..8),
        ending in prop::sample::select(vec!["\n", "\r", "\r\n"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let body: String = events.iter().map(|data| format!("data: {data}{ending}{ending}")).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).chain([body.len()]).collect();
        ends.sort_unstable();
        let mut start = 0;
        let pieces = ends.iter().map(|end| &body.as_bytes()[std::mem::replace(&mut start, *end)..*end]);
        let cut = joined(read(Format::EventStream, pieces, BodyEnd::Complete));
        prop_assert_eq!(cut, read(Format::EventStream, [body.as_bytes()], BodyEnd::Complete));
    }

    #[test]
    fn any_bytes_end_in_one_result(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let out = read(Format::EventStream, bytes.chunks(7), BodyEnd::Complete);
        prop_assert_eq!(out.len(), 1);
    }
}
