//! The native protocol: one Server-Sent Event per record, one line of JSON each, and the whole answer as one flat object.
//!
//! Every event has an `id:`. The `retry:` line stands inside the `start` block, because some clients take a block without
//! data for an empty message.

use std::io::Write as _;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::event::{
    Delivery, Done, Event, Failure, Fault, Finish, Format, Judgement, Reason, Start, Timings, Usage, Verdict,
};
use crate::cite::check::{Code, Hint, Problem, Severity};
use crate::cite::source::{Source, Sources};
use crate::cite::span::Located;
use crate::prompt::PROMPT_VERSION;

/// The comment that keeps a silent connection open.
pub const PING: &[u8] = b": ping\n\n";

/// How long a client waits before it reconnects, in milliseconds.
const RETRY: u32 = 3000;

/// Appends the frame of the event with sequence number `seq` to `out`. `sources` are the answer's.
pub fn encode(seq: u64, event: &Event, sources: &Sources, out: &mut Vec<u8>) {
    match event {
        Event::Annotate(judgement) => frame(out, seq, "annotate", &Settled::new(judgement, None, sources)),
        Event::Delta(text) => delta(seq, text, out),
        Event::Done(done) => frame(out, seq, "done", &Ending::new(done)),
        Event::Error(failure) => frame(out, seq, "error", &ErrorBody::new(failure)),
        Event::Reasoning(text) => frame(out, seq, "reasoning", &Text { text }),
        Event::Replace(text, judgement) => frame(out, seq, "replace", &Settled::new(judgement, Some(text), sources)),
        Event::Start(start) => {
            head(out, seq, "start");
            let _ = writeln!(out, "retry: {RETRY}");
            body(out, &Opening::new(start, start.retrieved));
        }
        Event::Tool(delta) => frame(out, seq, "tool", &Tool { delta: OneLine(delta) }),
    }
}

/// Appends the frame of a delta, which may be several records merged; `seq` is that of the last one.
pub fn delta(seq: u64, text: &str, out: &mut Vec<u8>) {
    frame(out, seq, "delta", &Text { text });
}

fn frame(out: &mut Vec<u8>, seq: u64, name: &str, data: &impl Serialize) {
    head(out, seq, name);
    body(out, data);
}

fn head(out: &mut Vec<u8>, seq: u64, name: &str) {
    // Writing into a Vec cannot fail.
    let _ = write!(out, "id: {seq}\nevent: {name}\n");
}

fn body(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    // Every value here has string keys and finite numbers, so it can always be written.
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    delta: OneLine<'a>,
}

/// A model server's JSON, which may hold line breaks between its tokens; they would end the event's line.
struct OneLine<'a>(&'a RawValue);

impl Serialize for OneLine<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.get().contains(['\n', '\r']) {
            let value: serde_json::Value = serde_json::from_str(self.0.get()).map_err(serde::ser::Error::custom)?;
            return value.serialize(serializer);
        }
        self.0.serialize(serializer)
    }
}

/// The data of `start`.
#[derive(Serialize)]
struct Opening<'a> {
    answer: &'a str,
    format: Format,
    delivery: Delivery,
    model: &'a str,
    prompt_version: &'static str,
    sources: Vec<Numbered<'a>>,
}

impl<'a> Opening<'a> {
    fn new(start: &'a Start, with_text: bool) -> Self {
        Self {
            answer: &start.answer,
            format: start.format,
            delivery: start.delivery,
            model: &start.model,
            prompt_version: PROMPT_VERSION,
            sources: numbered(&start.sources, with_text),
        }
    }
}

/// A source as clients see it.
#[derive(Serialize)]
struct Numbered<'a> {
    n: u32,
    id: &'a str,
    title: Option<&'a str>,
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

fn numbered(sources: &Sources, with_text: bool) -> Vec<Numbered<'_>> {
    let mut out = Vec::with_capacity(sources.len());
    for (n, Source { id, title, url, text, .. }) in sources.iter() {
        let text = with_text.then_some(text.as_str());
        out.push(Numbered { n, id, title: title.as_deref(), url: url.as_deref(), text });
    }
    out
}

/// The data of `annotate` and `replace`.
#[derive(Serialize)]
struct Settled<'a> {
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    citations: Vec<CitationBody<'a>>,
    problems: Vec<ProblemBody<'a>>,
    /// Share of the countable sentences that are cited; null: not judged.
    coverage: Option<f32>,
    used: Vec<&'a str>,
    quotes: [(); 0],
    object: Option<()>,
    needs_human_review: bool,
    reason: Option<Reason>,
}

impl<'a> Settled<'a> {
    fn new(judgement: &'a Judgement, text: Option<&'a str>, sources: &'a Sources) -> Self {
        let mut used: Vec<&str> = Vec::new();
        let mut citations = Vec::with_capacity(judgement.citations.len());
        for citation in &judgement.citations {
            let id = sources.numbered(citation.n).map_or("", |s| s.id.as_str());
            if !used.contains(&id) {
                used.push(id);
            }
            citations.push(CitationBody {
                n: citation.n,
                source: id,
                marker: &citation.marker,
                at: At::new(citation.at),
                overlap: None,
                evidence: None,
            });
        }
        Self {
            verdict: judgement.verdict,
            text,
            citations,
            problems: judgement.problems.iter().map(ProblemBody::new).collect(),
            coverage: None,
            used,
            quotes: [],
            object: None,
            needs_human_review: judgement.needs_human_review,
            reason: judgement.reason,
        }
    }
}

#[derive(Serialize)]
struct CitationBody<'a> {
    n: u32,
    source: &'a str,
    marker: &'a str,
    #[serde(flatten)]
    at: At,
    /// Share of the sentence's words found in the source; null: not judged.
    overlap: Option<f32>,
    /// The source's window that fits best; null: none stands out.
    evidence: Option<At>,
}

/// A place in the text, in the three units of the contract.
#[derive(Serialize)]
struct At {
    start: usize,
    end: usize,
    start_u16: usize,
    end_u16: usize,
    start_cp: usize,
    end_cp: usize,
}

impl At {
    fn new(at: Located) -> Self {
        Self {
            start: at.bytes.start,
            end: at.bytes.end,
            start_u16: at.utf16.start,
            end_u16: at.utf16.end,
            start_cp: at.code_points.start,
            end_cp: at.code_points.end,
        }
    }
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    code: Code,
    severity: Severity,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Hint>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    at: Option<At>,
    fixed: bool,
}

impl<'a> ProblemBody<'a> {
    fn new(problem: &'a Problem) -> Self {
        Self {
            code: problem.code,
            severity: problem.code.severity(),
            message: &problem.message,
            n: problem.n,
            id: problem.id.as_deref(),
            hint: problem.hint,
            at: problem.at.map(At::new),
            fixed: problem.fixed,
        }
    }
}

/// The data of `done`.
#[derive(Serialize)]
struct Ending<'a> {
    finish_reason: Finish,
    model_finish_reason: Option<&'a str>,
    usage: Option<Usage>,
    model_calls: u32,
    timings_ms: Timings,
}

impl<'a> Ending<'a> {
    fn new(done: &'a Done) -> Self {
        Self {
            finish_reason: done.finish.as_ref().map_or(Finish::Stop, |f| f.reason),
            model_finish_reason: done.finish.as_ref().map(|f| f.as_sent.as_str()),
            usage: done.usage,
            model_calls: done.model_calls,
            timings_ms: done.timings,
        }
    }
}

/// The data of `error`, and the inside of an HTTP error's `{"error": …}`.
#[derive(Serialize)]
pub struct ErrorBody<'a> {
    code: crate::answer::event::ErrorCode,
    message: &'a str,
    param: Option<&'a str>,
    r#type: Fault,
    retryable: bool,
    /// Seconds.
    retry_after: Option<u64>,
}

impl<'a> ErrorBody<'a> {
    /// The client's view of a failure.
    #[must_use]
    pub fn new(failure: &'a Failure) -> Self {
        Self {
            code: failure.code,
            message: &failure.message,
            param: failure.param.as_deref(),
            r#type: failure.code.fault(),
            retryable: failure.code.retryable(),
            retry_after: failure.retry_after,
        }
    }
}

/// Everything about one answer, as far as it has come.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The fixed facts.
    pub start: &'a Start,
    /// The question asked.
    pub question: &'a str,
    /// The text that stands.
    pub text: &'a str,
    /// What was decided, once it was.
    pub judgement: Option<&'a Judgement>,
    /// How it ended, if it ended well.
    pub done: Option<&'a Done>,
    /// How it ended, if it failed.
    pub error: Option<&'a Failure>,
}

#[derive(Serialize)]
struct RecordBody<'a> {
    #[serde(flatten)]
    start: Opening<'a>,
    question: &'a str,
    state: &'static str,
    text: &'a str,
    #[serde(flatten)]
    settled: Option<Settled<'a>>,
    #[serde(flatten)]
    done: Option<Ending<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
}

/// The record as one flat JSON object.
#[must_use]
pub fn record(record: &Record<'_>) -> Vec<u8> {
    let state = match (record.done, record.error) {
        (Some(_), _) => "done",
        (None, Some(_)) => "failed",
        (None, None) => "running",
    };
    json(&RecordBody {
        start: Opening::new(record.start, true),
        question: record.question,
        state,
        text: record.text,
        settled: record.judgement.map(|j| Settled::new(j, None, &record.start.sources)),
        done: record.done.map(Ending::new),
        error: record.error.map(ErrorBody::new),
    })
}

#[derive(Serialize)]
struct CheckedBody<'a> {
    #[serde(flatten)]
    settled: Settled<'a>,
    text: &'a str,
    sources: Vec<Numbered<'a>>,
}

/// The judgement of a text that no model of ours wrote, as one flat JSON object.
#[must_use]
pub fn checked(text: &str, judgement: &Judgement, sources: &Sources) -> Vec<u8> {
    json(&CheckedBody { settled: Settled::new(judgement, None, sources), text, sources: numbered(sources, true) })
}

/// `{"error": …}`, the body of an HTTP error.
#[must_use]
pub fn error(failure: &Failure) -> Vec<u8> {
    #[derive(Serialize)]
    struct Body<'a> {
        error: ErrorBody<'a>,
    }
    json(&Body { error: ErrorBody::new(failure) })
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // String keys and finite numbers only, so it can always be written.
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::event::{ErrorCode, FinishReason};

    fn written(seq: u64, event: &Event) -> String {
        let mut out = Vec::new();
        encode(seq, event, &Sources::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn frames_are_one_line_of_json() {
        assert_eq!(
            written(7, &Event::Delta("a\nb \"c\" \u{2028}data: x".to_owned())),
            "id: 7\nevent: delta\ndata: {\"text\":\"a\\nb \\\"c\\\" \u{2028}data: x\"}\n\n"
        );
        let raw = RawValue::from_string("{\n\"a\": [1,\r 2]}".to_owned()).unwrap();
        assert_eq!(written(1, &Event::Tool(raw)), "id: 1\nevent: tool\ndata: {\"delta\":{\"a\":[1,2]}}\n\n");
    }

    #[test]
    fn error_and_done_have_every_field() {
        let failure = Failure::new(ErrorCode::ModelTruncated, "cut");
        assert_eq!(
            written(2, &Event::Error(failure)),
            "id: 2\nevent: error\ndata: {\"code\":\"model_truncated\",\"message\":\"cut\",\"param\":null,\
             \"type\":\"model_error\",\"retryable\":true,\"retry_after\":null}\n\n"
        );
        let timings = Timings { retrieve: None, first_delta: Some(3), total: 9 };
        let done = Done { finish: Some(FinishReason::new("eos")), usage: None, model_calls: 1, timings };
        assert_eq!(
            written(9, &Event::Done(done)),
            "id: 9\nevent: done\ndata: {\"finish_reason\":\"stop\",\"model_finish_reason\":\"eos\",\"usage\":null,\
             \"model_calls\":1,\"timings_ms\":{\"retrieve\":null,\"first_delta\":3,\"total\":9}}\n\n"
        );
    }
}
