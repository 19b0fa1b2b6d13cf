//! The answer machine: chunks in, events out, without I/O and without a clock.
//!
//! ```text
//!               push(chunk)*                finish(shown)
//!  new ──▶ start ──▶ delta* ──▶ [ complete ] ──▶ annotate | replace ──▶ done
//!    │                 │ fail(failure)
//!    │                 └──────────▶ error
//!    └─ refuse ──▶ start, replace, done            (nothing was found: no model is asked)
//! ```
//!
//! *After every `push`, `refuse`, `finish` or `fail`, poll until `None` before the next call.* The events obey the grammar of
//! [`super::event::Event`]; after `done` or `error` every further call is ignored.

use std::collections::VecDeque;

use super::event::{
    Chunk, Delivery, Done, ErrorCode, Event, Failure, FinishReason, OnProblem, Start, Timings, Usage, Verdict,
};
use super::holdback::HoldBack;
use super::settle::{Policy, Settlement, settle, settle_without_sources};
use crate::cite::check::Rules;
use crate::cite::marker::Grammar;

/// What an event costs beside its text, in bytes: a flood of empty ones must end too.
const EVENT_BYTES: usize = 64;

/// How one answer is treated.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What counts as a marker, and how much is held back.
    pub grammar: Grammar,
    /// The refusal sentence.
    pub refusal: String,
    /// What to do about errors.
    pub on_problem: OnProblem,
    /// Longest text in bytes; past it the answer ends in `answer_too_long`.
    pub max_answer_bytes: usize,
}

/// One answer, from its first chunk to its last event.
#[derive(Debug)]
pub struct Answer {
    start: Start,
    settings: Settings,
    emitter: HoldBack,
    /// The text of a held answer; a streamed one's text is in the log.
    held: String,
    /// Reasoning and tool calls of a held answer.
    asides: Vec<Event>,
    /// Bytes that have come for the log so far.
    bytes: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    model_calls: u32,
    over: bool,
    out: VecDeque<Event>,
}

impl Answer {
    /// An answer whose sources are known. Its first event is `start`.
    #[must_use]
    pub fn new(start: Start, settings: Settings) -> Self {
        let mut out = VecDeque::with_capacity(2);
        out.push_back(Event::Start(start.clone()));
        Self {
            emitter: HoldBack::new(settings.grammar.hold_limit),
            start,
            settings,
            held: String::new(),
            asides: Vec::new(),
            bytes: 0,
            finish: None,
            usage: None,
            model_calls: 0,
            over: false,
            out,
        }
    }

    /// The next event, or `None` when there is none until something is put in.
    pub fn poll(&mut self) -> Option<Event> {
        self.out.pop_front()
    }

    /// True once `done` or `error` has been put out.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// True once the model has said why it stopped: the text is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Why the model stopped, once it has said so.
    #[must_use]
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.finish.as_ref()
    }

    /// True when nothing is released before the answer is settled.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.start.delivery == Delivery::Hold
    }

    /// Bytes that have come so far: text, reasoning and tool calls, released or not.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tokens as the model server counted them last.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Calls to the model so far.
    #[must_use]
    pub fn model_calls(&self) -> u32 {
        self.model_calls
    }

    /// Counts a call to the model.
    pub fn called(&mut self) {
        self.model_calls += 1;
    }

    /// Takes what the model sent. Text behind the finish reason is dropped.
    pub fn push(&mut self, chunk: Chunk) {
        if self.over {
            return;
        }
        match chunk {
            Chunk::Text(text) => self.text(&text),
            Chunk::Finish(reason) => {
                self.finish.get_or_insert(reason);
            }
            Chunk::Reasoning(text) => self.aside(text.len(), Event::Reasoning(text)),
            Chunk::Tool(delta) => self.aside(delta.get().len(), Event::Tool(delta)),
            Chunk::Usage(usage) => self.usage = Some(usage),
        }
    }

    /// Counts what goes onto the log; false when it is too much.
    fn fits(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        let limit = self.settings.max_answer_bytes;
        let fits = self.bytes <= limit;
        if !fits {
            self.fail(Failure::new(ErrorCode::AnswerTooLong, format!("the answer is longer than {limit} bytes")));
        }
        fits
    }

    fn aside(&mut self, bytes: usize, event: Event) {
        if self.fits(bytes + EVENT_BYTES) {
            match self.start.delivery {
                Delivery::Hold => self.asides.push(event),
                Delivery::Stream => self.out.push_back(event),
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.finish.is_some() || text.is_empty() || !self.fits(text.len()) {
            return;
        }
        match self.start.delivery {
            Delivery::Hold => self.held.push_str(text),
            Delivery::Stream => {
                let piece = self.emitter.push(text);
                if !piece.is_empty() {
                    self.out.push_back(Event::Delta(piece.to_owned()));
                }
            }
        }
    }

    /// The model's stream has ended after its finish reason: judges the text and ends the answer. `shown` is the text
    /// released so far, all deltas joined, as the log holds it.
    pub fn finish(&mut self, shown: &str, timings: Timings) {
        if self.over {
            return;
        }
        let Some(finish) = self.finish.clone() else {
            let message = "the model's stream ended without a finish reason";
            return self.fail(Failure::new(ErrorCode::ModelTruncated, message));
        };
        let text = match self.start.delivery {
            Delivery::Hold => std::mem::take(&mut self.held),
            Delivery::Stream => {
                let rest = self.emitter.finish();
                if !rest.is_empty() {
                    self.out.push_back(Event::Delta(rest.to_owned()));
                }
                [shown, rest].concat()
            }
        };
        let rules = Rules { grammar: &self.settings.grammar, refusal: &self.settings.refusal };
        let policy = Policy { rules, on_problem: self.settings.on_problem };
        let settlement = settle(text, &finish, &self.start.sources, policy);
        self.settled(settlement, Some(finish), timings);
    }

    /// Nothing was found: refuses without asking a model.
    pub fn refuse(&mut self, timings: Timings) {
        if !self.over {
            let settlement = settle_without_sources(&self.settings.refusal);
            self.settled(settlement, None, timings);
        }
    }

    /// Ends the answer in an error. What was held back is dropped: an unsettled text shows no half marker.
    pub fn fail(&mut self, failure: Failure) {
        if !self.over {
            self.over = true;
            self.out.push_back(Event::Error(failure));
        }
    }

    fn settled(&mut self, settlement: Settlement, finish: Option<FinishReason>, timings: Timings) {
        self.out.extend(std::mem::take(&mut self.asides));
        let Settlement { text, replaced, judgement } = settlement;
        let event = match self.start.delivery {
            Delivery::Stream if replaced => Event::Replace(text, judgement),
            // Nothing was shown yet, so only a refusal by the gateway replaces anything.
            Delivery::Hold if replaced && judgement.verdict == Verdict::Refused => Event::Replace(text, judgement),
            Delivery::Stream => Event::Annotate(judgement),
            Delivery::Hold => {
                if !text.is_empty() {
                    self.out.push_back(Event::Delta(text));
                }
                Event::Annotate(judgement)
            }
        };
        self.out.push_back(event);
        let Self { usage, model_calls, .. } = *self;
        self.out.push_back(Event::Done(Done { finish, usage, model_calls, timings }));
        self.over = true;
    }
}
