//! The corridor: carries chunks from a model into the answer machine and its events onto the tape. Decides nothing about
//! text; keeps the deadlines.
//!
//! A session is the driver of its answer (see [`crate::log::live`]): whoever reads the answer polls it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

use crate::answer::event::{Chunk, Event, Failure, Timings};
use crate::answer::machine::Answer;
use crate::log::live::Drive;
use crate::log::tape::Tape;
use crate::model::{ModelError, ModelStream};
use crate::trace::{Step, Trace};

/// How long a model may take.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    /// Until its first chunk.
    pub first_chunk: Duration,
    /// Between two chunks.
    pub idle: Duration,
    /// For the whole answer.
    pub answer: Duration,
}

/// How long the end of the stream may lag behind the finish reason. Usage comes in between; a server that forgets to close
/// must not keep a complete answer from being settled.
const AFTER_FINISH: Duration = Duration::from_secs(2);

/// Bytes of text taken in one turn. A model that writes faster than anybody reads gives others their turn after that.
const ONE_TURN: usize = 64 * 1024;

/// One answer being written by a model.
pub struct Session {
    answer: Answer,
    stream: Box<dyn ModelStream>,
    facts: Facts,
    deadlines: Deadlines,
    /// When the request came; durations count from here.
    began: Instant,
    /// When the model was asked.
    asked: Instant,
    /// When the last chunk came; `None`: none yet.
    last_chunk: Option<Instant>,
    first_delta: Option<Instant>,
    retrieve: Option<Duration>,
}

/// What the trace says about every step of this answer.
pub struct Facts {
    /// The answer's id.
    pub answer: String,
    /// The model's name.
    pub model: String,
    /// How many sources it got.
    pub sources: usize,
    /// Where traces go.
    pub trace: Arc<Trace>,
}

impl Session {
    /// A session over a model call that is about to begin. `began` is when the request came, `retrieve` how long the search
    /// took, if there was one.
    #[must_use]
    pub fn new(
        mut answer: Answer,
        stream: Box<dyn ModelStream>,
        facts: Facts,
        deadlines: Deadlines,
        began: Instant,
        retrieve: Option<Duration>,
    ) -> Self {
        answer.called();
        Self {
            answer,
            stream,
            facts,
            deadlines,
            began,
            asked: Instant::now(),
            last_chunk: None,
            first_delta: None,
            retrieve,
        }
    }

    /// Puts the first events onto the tape: what a follower sees before the model is asked.
    pub fn begin(&mut self, tape: &mut Tape) {
        self.carry(tape);
    }

    /// Moves what the machine has put out onto the tape.
    fn carry(&mut self, tape: &mut Tape) {
        while let Some(event) = self.answer.poll() {
            if matches!(event, Event::Delta(_)) {
                self.first_delta.get_or_insert_with(Instant::now);
            }
            tape.append(event);
        }
    }

    fn finish(&mut self, tape: &mut Tape) {
        self.trace_call(None);
        // The text of a held answer is released now.
        let released = self.first_delta.or_else(|| self.answer.is_held().then(Instant::now));
        let timings = timings(self.began, self.retrieve, released);
        let checking = Instant::now();
        let Self { answer, .. } = self;
        without_stopping_others(answer.bytes(), || answer.finish(tape.released(), timings));
        self.carry(tape);
        trace_settlement(&self.facts, tape, checking.elapsed(), self.began.elapsed());
    }

    fn fail(&mut self, failure: Failure, tape: &mut Tape) {
        let code = failure.code.as_str();
        self.trace_call(Some(code));
        self.answer.fail(failure);
        self.carry(tape);
        let step =
            Step::Decision { verdict: None, reason: None, error: Some(code), model_calls: self.answer.model_calls() };
        self.facts.trace.step(&self.facts.answer, self.began.elapsed(), step);
    }

    fn trace_call(&self, error: Option<&str>) {
        let step = Step::LlmCall {
            model: &self.facts.model,
            attempts: self.stream.attempts(),
            finish_reason: self.answer.finish_reason().map(|f| f.reason),
            usage: self.answer.usage(),
            error,
        };
        self.facts.trace.step(&self.facts.answer, self.asked.elapsed(), step);
    }
}

impl Drive for Session {
    fn drive(&mut self, cx: &mut Context<'_>, tape: &mut Tape) -> Poll<()> {
        let mut taken = 0;
        while taken < ONE_TURN {
            match self.stream.poll_chunk(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Some(chunk))) => {
                    self.last_chunk = Some(Instant::now());
                    taken += match &chunk {
                        Chunk::Text(text) | Chunk::Reasoning(text) => text.len(),
                        Chunk::Tool(delta) => delta.get().len(),
                        Chunk::Finish(_) | Chunk::Usage(_) => 0,
                    };
                    self.answer.push(chunk);
                    self.carry(tape);
                }
                Poll::Ready(Ok(None)) => self.finish(tape),
                Poll::Ready(Err(error)) => self.fail(error.to_failure(), tape),
            }
            if self.answer.is_over() {
                return Poll::Ready(());
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn stop(&mut self, failure: Failure, tape: &mut Tape) {
        self.fail(failure, tape);
    }

    fn expire(&mut self, now: Instant, tape: &mut Tape) {
        if self.answer.is_complete() {
            return self.finish(tape);
        }
        let whole = self.began + self.deadlines.answer;
        let after = match self.last_chunk {
            _ if now >= whole => self.deadlines.answer,
            Some(_) => self.deadlines.idle,
            None => self.deadlines.first_chunk,
        };
        self.fail(ModelError::Timeout { after }.to_failure(), tape);
    }

    fn deadline(&self) -> Instant {
        let next = match self.last_chunk {
            Some(at) if self.answer.is_complete() => at + AFTER_FINISH,
            Some(at) => at + self.deadlines.idle,
            None => self.asked + self.deadlines.first_chunk,
        };
        next.min(self.began + self.deadlines.answer)
    }
}

/// The tape of a question for which nothing was found: refused, no model asked.
#[must_use]
pub fn refused(mut answer: Answer, facts: &Facts, began: Instant, retrieve: Option<Duration>) -> Tape {
    answer.refuse(timings(began, retrieve, None));
    let tape: Tape = std::iter::from_fn(|| answer.poll()).collect();
    trace_settlement(facts, &tape, Duration::ZERO, began.elapsed());
    tape
}

/// Text that is checked within a millisecond or so. What is longer may hold a thread for some of them.
const CHECKED_AT_ONCE: usize = 64 * 1024;

/// Runs `work` on a text of `len` bytes; for a long one the runtime is told, so that others go on meanwhile.
fn without_stopping_others(len: usize, work: impl FnOnce()) {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let can_move = Handle::try_current().is_ok_and(|h| h.runtime_flavor() == RuntimeFlavor::MultiThread);
    if len > CHECKED_AT_ONCE && can_move { tokio::task::block_in_place(work) } else { work() }
}

fn timings(began: Instant, retrieve: Option<Duration>, first_delta: Option<Instant>) -> Timings {
    let ms = |d: Duration| u64::try_from(d.as_millis()).unwrap_or(u64::MAX);
    Timings {
        retrieve: retrieve.map(ms),
        first_delta: first_delta.map(|at| ms(at.duration_since(began))),
        total: ms(began.elapsed()),
    }
}

fn trace_settlement(facts: &Facts, tape: &Tape, checked_in: Duration, total: Duration) {
    let Some(judgement) = tape.judgement() else { return };
    let model_calls = tape.done().map_or(0, |d| d.model_calls);
    if model_calls > 0 {
        let problems: Vec<&'static str> = judgement.problems.iter().map(|p| p.code.as_str()).collect();
        let step = Step::Check {
            text_bytes: tape.released().len(),
            sources: facts.sources,
            citations: judgement.citations.len(),
            problems: &problems,
        };
        facts.trace.step(&facts.answer, checked_in, step);
    }
    let verdict = Some(judgement.verdict);
    let step = Step::Decision { verdict, reason: judgement.reason, error: None, model_calls };
    facts.trace.step(&facts.answer, total, step);
}
