//! Plays a script: turns each call into a stream that waits and ends as written.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use super::{Call, End, Script};
use crate::answer::event::{Chunk, ErrorCode};
use crate::model::{Model, ModelError, ModelRequest, ModelStream};

/// A model that plays a [`Script`] and counts its calls. Each new one begins at the script's first call.
#[derive(Debug)]
pub struct ScriptModel {
    script: Script,
    /// Calls so far.
    calls: AtomicUsize,
}

impl ScriptModel {
    /// A model at the beginning of the script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self { script, calls: AtomicUsize::new(0) }
    }
}

impl Model for ScriptModel {
    fn name(&self) -> &str {
        "script"
    }

    fn call(&self, _request: ModelRequest) -> Box<dyn ModelStream> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Box::new(Playing { call: self.script.call(number), next: 0, pause: Pause::NotBegun, finished: false })
    }
}

/// One call that is being played.
struct Playing {
    call: Arc<Call>,
    /// Number of the next chunk.
    next: usize,
    /// The pause before it.
    pause: Pause,
    /// The finish reason was given out.
    finished: bool,
}

enum Pause {
    NotBegun,
    Sleeping(Pin<Box<Sleep>>),
    /// Returned `Pending` once, with a wake-up.
    Yielded,
}

impl Playing {
    /// Waits before a chunk. Without a gap it still yields between two chunks, so that a reader that takes everything it can
    /// get sees the chunks as they are written.
    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.pause {
                Pause::Sleeping(sleep) => return sleep.as_mut().poll(cx),
                Pause::Yielded => return Poll::Ready(()),
                Pause::NotBegun if !self.call.gap.is_zero() => {
                    self.pause = Pause::Sleeping(Box::pin(tokio::time::sleep(self.call.gap)));
                }
                Pause::NotBegun if self.next == 0 => return Poll::Ready(()),
                Pause::NotBegun => {
                    self.pause = Pause::Yielded;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    }

    fn end(&mut self) -> Result<Option<Chunk>, ModelError> {
        match &self.call.end {
            End::Error(code) => Err(scripted_error(*code)),
            End::Finish(_) if self.finished => Ok(None),
            End::Finish(reason) => {
                self.finished = true;
                Ok(Some(Chunk::Finish(reason.clone())))
            }
            End::Silence => Err(ModelError::Truncated),
        }
    }
}

impl ModelStream for Playing {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, ModelError>> {
        if self.next >= self.call.chunks.len() {
            return Poll::Ready(self.end());
        }
        ready!(self.poll_pause(cx));
        let text = self.call.chunks.get(self.next).cloned().unwrap_or_default();
        self.next += 1;
        self.pause = Pause::NotBegun;
        Poll::Ready(Ok(Some(Chunk::Text(text))))
    }
}

/// The error that a real model would end with.
fn scripted_error(code: ErrorCode) -> ModelError {
    match code {
        ErrorCode::ModelRateLimited => ModelError::RateLimited { retry_after: None },
        ErrorCode::ModelRejected => ModelError::Rejected { status: 400 },
        ErrorCode::ModelStreamInvalid => ModelError::Invalid { what: "so the script says".to_owned() },
        ErrorCode::ModelTimeout => ModelError::Timeout { after: Duration::ZERO },
        ErrorCode::ModelTruncated => ModelError::Truncated,
        ErrorCode::ModelUnreachable => ModelError::Unreachable { why: "so the script says".to_owned() },
        _ => ModelError::Failed { status: None },
    }
}

#[cfg(test)]
mod tests {
    use super::super::MODEL_ERRORS;
    use super::*;
    use crate::cite::source::Sources;
    use std::future::poll_fn;
    use tokio::time::Instant;

    fn request() -> ModelRequest {
        ModelRequest {
            model: None,
            messages: Vec::new(),
            question: String::new(),
            sources: Sources::default(),
            refusal: String::new(),
            temperature: None,
            max_tokens: None,
        }
    }

    /// Plays one call: `text|` for each chunk, then the finish reason or the error's code.
    async fn play(model: &ScriptModel) -> String {
        let mut stream = model.call(request());
        let mut out = String::new();
        loop {
            match poll_fn(|cx| stream.poll_chunk(cx)).await {
                Ok(Some(Chunk::Text(text))) => out.extend([text.as_str(), "|"]),
                Ok(Some(Chunk::Finish(finish))) => out.push_str(&finish.as_sent),
                Ok(Some(other)) => panic!("scripts have no {other:?}"),
                Ok(None) => return out,
                Err(error) => return format!("{out}{:?}", error.to_failure().code),
            }
        }
    }

    async fn check(line: &str, expected: &str) {
        let script = Script::from_json_lines(line).unwrap();
        assert_eq!(Script::from_value(&serde_json::from_str(line).unwrap()), Ok(script.clone()), "{line}");
        assert_eq!(play(&ScriptModel::new(script)).await, expected, "{line}");
    }

    #[tokio::test(start_paused = true)]
    async fn plays_what_is_written() {
        check(r#"{"chunks": []}"#, "stop").await;
        check(r#"{"chunks": ["a", "", "b [", "1]"]}"#, "a||b [|1]|stop").await;
        check(r#"{"chunks": ["a"], "gap_ms": 120, "finish": "length"}"#, "a|length").await;
        check(r#"{"chunks": ["a"], "finish": "content_filter"}"#, "a|content_filter").await;
        check(r#"{"chunks": ["a"], "finish": "tool_calls", "error": null}"#, "a|tool_calls").await;
        check(r#"{"chunks": ["a"], "finish": null}"#, "a|ModelTruncated").await;
        check(r#"{"chunks": ["a"], "finish": "stop", "error": "model_error"}"#, "a|ModelError").await;
        for code in MODEL_ERRORS {
            let line = format!(r#"{{"chunks": [], "error": {}}}"#, serde_json::to_string(&code).unwrap());
            check(&line, &format!("{code:?}")).await;
        }
    }

    #[tokio::test]
    async fn line_k_answers_call_k_and_the_last_repeats() {
        let script = Script::from_json_lines("{\"chunks\": [\"one\"]}\n\n  \r\n{\"chunks\": [\"two\"]}\n").unwrap();
        let model = ScriptModel::new(script.clone());
        assert_eq!([play(&model).await, play(&model).await, play(&model).await], ["one|stop", "two|stop", "two|stop"]);
        assert_eq!(play(&ScriptModel::new(script)).await, "one|stop", "a new model begins again");
        let list = serde_json::json!([{"chunks": ["one"]}, {"chunks": ["two"]}]);
        let model = ScriptModel::new(Script::from_value(&list).unwrap());
        assert_eq!([play(&model).await, play(&model).await], ["one|stop", "two|stop"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_stands_before_each_chunk() {
        let script = Script::from_json_lines(r#"{"chunks": ["a", "b", "c"], "gap_ms": 120}"#).unwrap();
        let start = Instant::now();
        play(&ScriptModel::new(script)).await;
        assert_eq!(start.elapsed(), Duration::from_millis(360));
    }

    #[test]
    fn without_a_gap_each_chunk_is_its_own_poll() {
        let script = Script::from_json_lines(r#"{"chunks": ["a", "b"]}"#).unwrap();
        let mut stream = ScriptModel::new(script).call(request());
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(stream.poll_chunk(&mut cx), Poll::Ready(Ok(Some(Chunk::Text(text)))) if text == "a"));
        assert!(stream.poll_chunk(&mut cx).is_pending());
        assert!(matches!(stream.poll_chunk(&mut cx), Poll::Ready(Ok(Some(Chunk::Text(text)))) if text == "b"));
        assert!(matches!(stream.poll_chunk(&mut cx), Poll::Ready(Ok(Some(Chunk::Finish(_))))));
        assert!(matches!(stream.poll_chunk(&mut cx), Poll::Ready(Ok(None))));
    }
}
