//! Turns the bytes of an answer's body into chunks: events, their JSON, and how it all ends. Knows nothing of sockets.
//!
//! Invariants: chunks come out in the order in which they were sent, and consecutive text is one chunk; an error comes
//! out after everything that was sent before it; the end is good only after a finish reason. Usage comes once, last, because
//! some servers repeat it with every delta.

use std::collections::VecDeque;

use serde_json::value::RawValue;

use super::chunk::{ChatChunk, Delta, invalid};
use crate::answer::event::{Chunk, FinishReason, Usage};
use crate::model::ModelError;
use crate::model::sse::{Decoder, Event, TooLong};

/// Bytes of chunks that are gathered before they are given out although more could be read. Half would merge less under
/// load, double would keep more per stream than its socket does.
const GATHERED_BYTES: usize = 16 * 1024;

/// What the last event says instead of JSON.
const DONE: &[u8] = b"[DONE]";

/// How the server sends its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// One `chat.completion.chunk` per event.
    EventStream,
    /// One `chat.completion`, from servers that do not stream.
    Json,
}

/// How a body ended, as HTTP sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// All of it came, or its length was never said.
    Complete,
    /// The connection broke.
    Cut,
}

/// The state of one answer's body.
#[derive(Debug)]
pub(super) struct Reader {
    body: Body,
    inbox: Inbox,
}

#[derive(Debug)]
enum Body {
    Events(Decoder),
    Json { bytes: Vec<u8>, max_bytes: usize },
}

impl Reader {
    /// A reader at the beginning of a body. No line, event or JSON body may be longer than `max_line_bytes`.
    pub(super) fn new(format: Format, max_line_bytes: usize) -> Self {
        let body = match format {
            Format::EventStream => Body::Events(Decoder::new(max_line_bytes)),
            Format::Json => Body::Json { bytes: Vec::new(), max_bytes: max_line_bytes },
        };
        Self { body, inbox: Inbox::default() }
    }

    /// Takes in a piece of the body.
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        match &mut self.body {
            Body::Events(decoder) => {
                while self.inbox.end.is_none() {
                    match decoder.next_event(&mut piece) {
                        Ok(Some(event)) => self.inbox.take_event(event),
                        Ok(None) => return,
                        Err(too_long) => self.inbox.fail(too_long.into()),
                    }
                }
            }
            Body::Json { bytes, max_bytes } => {
                if bytes.len() + piece.len() > *max_bytes {
                    self.inbox.fail(TooLong { max_line_bytes: *max_bytes }.into());
                } else {
                    bytes.extend_from_slice(piece);
                }
            }
        }
    }

    /// Says that the body is over.
    pub(super) fn finish(&mut self, how: BodyEnd) {
        match &mut self.body {
            Body::Events(decoder) => match decoder.finish() {
                Ok(Some(event)) => self.inbox.take_last_event(event),
                Ok(None) => {}
                Err(too_long) => self.inbox.fail(too_long.into()),
            },
            Body::Json { .. } if how == BodyEnd::Cut => {}
            Body::Json { bytes, .. } => self.inbox.take(bytes, Format::Json),
        }
        self.inbox.close();
    }

    /// True when nothing more needs to be read, now or at all.
    pub(super) fn is_full(&self) -> bool {
        self.inbox.end.is_some() || self.inbox.bytes >= GATHERED_BYTES
    }

    /// The next of what was read, as [`ModelStream::poll_chunk`](crate::model::ModelStream::poll_chunk) gives it out; `None`
    /// when more must be read first.
    pub(super) fn next(&mut self) -> Option<Result<Option<Chunk>, ModelError>> {
        self.inbox.next()
    }
}

/// What was understood and not yet given out.
#[derive(Debug, Default)]
struct Inbox {
    chunks: VecDeque<Chunk>,
    /// Bytes of what the model said, in all of `chunks`.
    bytes: usize,
    /// A finish reason came.
    finished: bool,
    /// The last one counts.
    usage: Option<Usage>,
    /// Nothing more is read.
    end: Option<Result<(), ModelError>>,
}

impl Inbox {
    fn take_event(&mut self, event: Event<'_>) {
        let data = event.data.trim_ascii();
        if data == DONE {
            self.close();
        } else if event.name == b"error" {
            self.fail(ModelError::Failed { status: None });
        } else if !data.is_empty() {
            self.take(data, Format::EventStream);
        }
    }

    /// Takes an event that no blank line ended. If it cannot be understood, it was cut.
    fn take_last_event(&mut self, event: Event<'_>) {
        if event.data.trim_ascii() == DONE || ChatChunk::parse(event.data).is_ok() {
            self.take_event(event);
        }
    }

    fn take(&mut self, data: &[u8], format: Format) {
        let taken = ChatChunk::parse(data).and_then(|chunk| self.take_chunk(&chunk, format));
        if let Err(error) = taken {
            self.fail(error);
        }
    }

    fn take_chunk(&mut self, chunk: &ChatChunk<'_>, format: Format) -> Result<(), ModelError> {
        self.usage = chunk.usage().or(self.usage);
        if let Some(choice) = chunk.choice() {
            match format {
                Format::EventStream => choice.delta.iter().try_for_each(|delta| self.take_delta(delta))?,
                Format::Json => choice.message()?.iter().try_for_each(|message| self.take_delta(message))?,
            }
        }
        if chunk.is_error() {
            return Err(ModelError::Failed { status: None });
        }
        if let Some(reason) = chunk.choice().and_then(|choice| choice.finish_reason.as_ref()) {
            self.take_finish(reason.as_str());
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &Delta<'_>) -> Result<(), ModelError> {
        if let Some(reasoning) = delta.reasoning() {
            self.take_text(Kind::Reasoning, reasoning.as_str())?;
        }
        for text in [&delta.content, &delta.refusal].into_iter().flatten() {
            self.take_text(Kind::Text, text.as_str())?;
        }
        if let Some(calls) = delta.tool_calls.filter(|calls| calls.get() != "[]") {
            self.expect_unfinished()?;
            self.bytes += calls.get().len();
            self.chunks.push_back(Chunk::Tool(one_line(calls)));
        }
        Ok(())
    }

    fn take_text(&mut self, kind: Kind, text: &str) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.expect_unfinished()?;
        self.bytes += text.len();
        match (kind, self.chunks.back_mut()) {
            (Kind::Reasoning, Some(Chunk::Reasoning(last))) | (Kind::Text, Some(Chunk::Text(last))) => {
                last.push_str(text)
            }
            (Kind::Reasoning, _) => self.chunks.push_back(Chunk::Reasoning(text.to_owned())),
            (Kind::Text, _) => self.chunks.push_back(Chunk::Text(text.to_owned())),
        }
        Ok(())
    }

    /// Takes the first finish reason; some servers send an empty one with every chunk, or the same one twice.
    fn take_finish(&mut self, reason: &str) {
        if !reason.is_empty() && !self.finished {
            self.finished = true;
            self.chunks.push_back(Chunk::Finish(FinishReason::new(reason)));
        }
    }

    /// The text was complete when the finish reason came, and others have acted on that.
    fn expect_unfinished(&self) -> Result<(), ModelError> {
        if self.finished { Err(invalid("the end of the stream", "more text after the finish reason")) } else { Ok(()) }
    }

    /// Ends the stream with an error, unless it has ended before.
    fn fail(&mut self, error: ModelError) {
        self.end.get_or_insert(Err(error));
    }

    /// Ends the stream, unless it has ended before; silence is not success.
    fn close(&mut self) {
        self.end.get_or_insert(if self.finished { Ok(()) } else { Err(ModelError::Truncated) });
    }

    fn next(&mut self) -> Option<Result<Option<Chunk>, ModelError>> {
        if let Some(chunk) = self.chunks.pop_front() {
            if self.chunks.is_empty() {
                self.bytes = 0;
            }
            return Some(Ok(Some(chunk)));
        }
        if self.end.is_some()
            && let Some(usage) = self.usage.take()
        {
            return Some(Ok(Some(Chunk::Usage(usage))));
        }
        self.end.take().map(|end| end.map(|()| None))
    }
}

/// Whose words they are.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Reasoning,
    Text,
}

/// The same JSON without line breaks: they are legal between its tokens, and would end a line of ours.
fn one_line(json: &RawValue) -> Box<RawValue> {
    let text = json.get();
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return json.to_owned();
    }
    RawValue::from_string(text.replace(['\n', '\r'], " ")).unwrap_or_else(|_| json.to_owned())
}

impl From<TooLong> for ModelError {
    fn from(TooLong { max_line_bytes }: TooLong) -> Self {
        invalid(&format!("at most {max_line_bytes} bytes in a line, an event or a body"), "more")
    }
}

#[cfg(test)]
mod tests;
