//! Every case file through the routes: asked in the case's chunks, asked in single characters, and as a finished text.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::client::Seen;
use crate::gate::Gate;
use crate::support::{Case, CaseProblem, cases};

/// A refusal sentence that no case writes.
const OTHER_REFUSAL: &str = "No case says this.";

/// The cases of these files, one gateway per refusal sentence.
async fn gates(files: &[&str]) -> Vec<(Gate, Vec<Case>)> {
    let mut by_refusal: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in files.iter().flat_map(|file| cases(file)) {
        let refusal = if case.refusal.is_empty() { OTHER_REFUSAL } else { &case.refusal };
        by_refusal.entry(refusal.to_owned()).or_default().push(case);
    }
    let mut gates = Vec::new();
    for (refusal, cases) in by_refusal {
        let gate = Gate::start(|o| (o.refusal, o.max_sources) = (Some(refusal), Some(20_000))).await;
        gates.push((gate, cases));
    }
    gates
}

fn given(case: &Case) -> Vec<Value> {
    let sources = case.sources();
    let source = |(_, s): (u32, &citewire::cite::source::Source)| json!({"id": s.id, "title": s.title, "url": s.url, "text": s.text});
    sources.iter().map(source).collect()
}

/// The case as a question, answered in these chunks. An empty list of sources would be refused.
fn question(case: &Case, chunks: &[String]) -> Value {
    let script = json!({"chunks": chunks, "gap_ms": 0, "finish": "stop"});
    let mut question = json!({"question": "q", "retrieve": false, "script": script});
    let sources = given(case);
    if !sources.is_empty() {
        question["sources"] = sources.into();
    }
    question
}

fn characters(case: &Case) -> Vec<String> {
    case.text().chars().map(String::from).collect()
}

/// What the case says of the citations: one per marker and valid number, placed in three units.
fn expected_citations(case: &Case) -> Vec<Value> {
    let sources = case.sources();
    let mut all = Vec::new();
    for (marker, numbers, bytes, utf16, code_points) in &case.markers {
        for n in numbers {
            let Some(source) = sources.numbered(*n) else { continue };
            all.push(json!({
                "n": n, "source": source.id, "marker": marker,
                "start": bytes[0], "end": bytes[1], "start_u16": utf16[0], "end_u16": utf16[1],
                "start_cp": code_points[0], "end_cp": code_points[1], "overlap": null, "evidence": null,
            }));
        }
    }
    all
}

fn problems(settled: &Value, fixed: Option<bool>) -> Vec<CaseProblem> {
    let all = settled["problems"].as_array().unwrap().iter();
    let of_kind = all.filter(|p| fixed.is_none_or(|fixed| p["fixed"] == fixed));
    let mut problems: Vec<CaseProblem> = of_kind.map(|p| serde_json::from_value(p.clone()).unwrap()).collect();
    problems.sort();
    problems
}

/// A place in `text` lies between characters, and its three units agree.
fn check_place(text: &str, place: &Value, name: &str) {
    if place.get("start").is_none() {
        return;
    }
    for end in ["start", "end"] {
        let before = |key: String| usize::try_from(place[key].as_u64().unwrap()).unwrap();
        let part = text.get(..before(end.to_owned())).unwrap_or_else(|| panic!("{name}: {place}"));
        let (utf16, code_points) = (part.encode_utf16().count(), part.chars().count());
        assert_eq!(
            (before(format!("{end}_u16")), before(format!("{end}_cp"))),
            (utf16, code_points),
            "{name}: {place}"
        );
    }
}

fn used(citations: &[Value]) -> Vec<&Value> {
    let mut used: Vec<&Value> = Vec::new();
    for citation in citations {
        if !used.contains(&&citation["source"]) {
            used.push(&citation["source"]);
        }
    }
    used
}

/// What must be said of a text that stands as it was written.
fn check_kept(case: &Case, settled: &Value, how: &str) {
    let (name, text) = (format!("{} {how}", case.name), case.text());
    assert_eq!(settled["citations"], json!(expected_citations(case)), "{name}");
    assert_eq!(problems(settled, Some(false)), case.sorted_problems(), "{name}");
    assert!(problems(settled, Some(true)).is_empty(), "{name}: nothing was corrected");
    settled["problems"].as_array().unwrap().iter().for_each(|p| check_place(&text, p, &name));
    let citations = settled["citations"].as_array().unwrap();
    assert_eq!(settled["used"], json!(used(citations)), "{name}");
    let refused = !case.refusal.is_empty() && case.problems.is_empty() && case.markers.is_empty();
    let verdict = match case.problems.iter().any(|p| p.severity != "info") {
        true => "annotated",
        false if refused => "refused",
        false if case.sources().is_empty() && case.markers.is_empty() => "unchecked",
        false => "clean",
    };
    assert_eq!(settled["verdict"], verdict, "{name}");
    assert_eq!(settled["needs_human_review"], refused, "{name}");
    assert_eq!(settled["reason"], if refused { json!("model_refused") } else { Value::Null }, "{name}");
}

/// A streamed answer whose text stands.
fn check_stream(case: &Case, seen: &Seen, how: &str) {
    assert_eq!(seen.text(), case.text(), "{} {how}", case.name);
    check_kept(case, seen.only("annotate"), how);
    assert_eq!(seen.only("done")["model_calls"], 1);
}

/// Each delta ends where the piece ends whose number it has: record 1 is `start`, record k + 1 the k-th piece.
fn check_pieces(case: &Case, seen: &Seen) {
    let pieces = case.pieces.as_ref().unwrap();
    let mut shown = String::new();
    for frame in seen.0.iter().filter(|f| f.kind == "delta") {
        shown.push_str(frame.text().unwrap());
        let read = usize::try_from(frame.id).unwrap() - 1;
        assert_eq!(shown, pieces[..read].concat(), "{}: {}", case.name, frame.raw);
    }
    let settled = seen.0.iter().find(|f| f.kind == "annotate").unwrap();
    assert_eq!(settled.id, pieces.len() as u64 + 2, "{}: {pieces:?}", case.name);
}

#[tokio::test]
async fn asked_in_their_own_chunks() {
    let mut count = 0;
    for (gate, cases) in gates(&["markers", "holdback"]).await {
        for case in &cases {
            let seen = gate.ask(&question(case, &case.chunks)).await.rest().await;
            check_stream(case, &seen, "in chunks");
            if case.pieces.is_some() {
                check_pieces(case, &seen);
            }
            count += 1;
        }
    }
    assert_eq!(count, 174);
}

#[tokio::test]
async fn asked_in_single_characters() {
    for (gate, cases) in gates(&["markers", "holdback"]).await {
        for case in &cases {
            let seen = gate.ask(&question(case, &characters(case))).await.rest().await;
            check_stream(case, &seen, "in characters");
        }
    }
}

#[tokio::test]
async fn checked_when_finished() {
    for (gate, cases) in gates(&["markers", "holdback"]).await {
        for case in &cases {
            let body = json!({"sources": given(case), "text": case.text()});
            let reply = gate.post("/v1/check", &body).await;
            assert_eq!(reply.head.status, 200, "{}: {}", case.name, reply.text());
            let settled = reply.json();
            assert_eq!(settled["text"], case.text(), "{}", case.name);
            let ids: Vec<_> = settled["sources"].as_array().unwrap().iter().map(|s| (&s["id"], &s["text"])).collect();
            let sources = given(case);
            assert_eq!(ids, sources.iter().map(|s| (&s["id"], &s["text"])).collect::<Vec<_>>(), "{}", case.name);
            check_kept(case, &settled, "finished");
        }
    }
}

/// A stripped answer: replaced in a stream, corrected when held.
fn check_stripped(case: &Case, settled: &Value, how: &str) {
    let (name, text, stripped) = (format!("{} {how}", case.name), case.text(), case.stripped.as_ref().unwrap());
    let changed = *stripped != text;
    assert_eq!(settled["citations"], json!(expected_citations(case)), "{name}");
    assert_eq!(problems(settled, None), case.sorted_problems(), "{name}");
    for problem in settled["problems"].as_array().unwrap() {
        check_place(if problem["fixed"] == true { &text } else { stripped }, problem, &name);
    }
    let (verdict, reason) = match (changed, case.problems.is_empty()) {
        (true, _) => ("corrected", json!("strip")),
        (false, true) => ("clean", Value::Null),
        (false, false) => ("annotated", Value::Null),
    };
    assert_eq!((&settled["verdict"], &settled["reason"]), (&json!(verdict), &reason), "{name}");
    let numbers_left =
        case.markers.iter().flat_map(|m| &m.1).filter(|n| case.sources().numbered(**n).is_none()).count();
    let standing = problems(settled, Some(false));
    assert_eq!(standing.iter().filter(|p| p.code == "out_of_range").count(), numbers_left, "{name}: {settled}");
}

#[tokio::test]
async fn stripped() {
    for (gate, cases) in gates(&["strip"]).await {
        for (case, how) in cases.iter().flat_map(|c| [(c, "in chunks"), (c, "in characters"), (c, "held")]) {
            let split = if how == "in characters" { characters(case) } else { case.chunks.clone() };
            let mut question = question(case, &split);
            question["on_problem"] = json!("strip");
            let stripped = case.stripped.as_ref().unwrap();
            if how == "held" {
                question["delivery"] = json!("hold");
                let seen = gate.ask(&question).await.rest().await;
                assert_eq!(seen.kinds(), ["start", "delta", "annotate", "done"], "{}", case.name);
                assert_eq!(seen.text(), *stripped, "{}", case.name);
                check_stripped(case, seen.only("annotate"), how);
                continue;
            }
            let seen = gate.ask(&question).await.rest().await;
            assert_eq!(seen.text(), case.text(), "{}", case.name);
            if *stripped == case.text() {
                check_stripped(case, seen.only("annotate"), how);
            } else {
                assert_eq!(seen.only("replace")["text"], *stripped, "{}", case.name);
                check_stripped(case, seen.only("replace"), how);
            }
        }
    }
}
