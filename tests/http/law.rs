//! The event grammar, held against every stream that any test here reads:
//! `start (status | delta | reasoning | tool)* (annotate | replace) done` or `start (status | delta | reasoning | tool)* error`.

use crate::sse::{Frame, Item};

/// How far a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Begin,
    Body,
    /// In a resumed stream: any place behind `start`.
    Somewhere,
    Settled,
    Over,
}

/// A stream's state before the law.
pub(crate) struct Law {
    at: At,
    last_id: u64,
    greeted: bool,
}

impl Law {
    /// A stream that begins behind record `after`; 0: at the start.
    pub(crate) fn after(after: u64) -> Self {
        Self { at: if after == 0 { At::Begin } else { At::Somewhere }, last_id: after, greeted: false }
    }

    /// The next thing in the stream is lawful.
    pub(crate) fn see(&mut self, item: &Item) {
        match item {
            Item::Comment(comment) => assert_eq!(comment, " ping"),
            Item::Event(frame) => {
                assert!(self.greeted, "the first bytes are a comment: {}", frame.raw);
                self.event(frame);
            }
        }
        self.greeted = true;
    }

    fn event(&mut self, frame: &Frame) {
        let Frame { id, kind, data, retry, raw } = frame;
        // A start on a resumed stream means: begin again.
        let again = kind == "start" && self.at == At::Somewhere;
        if kind == "start" {
            assert_eq!(*id, 1, "{raw}");
        } else {
            assert!(*id > self.last_id, "{id} after {}: {raw}", self.last_id);
        }
        self.last_id = *id;
        assert_eq!(*retry, (kind == "start").then_some(3000), "{raw}");
        self.at = match (self.at, kind.as_str()) {
            (At::Begin, "start") => At::Body,
            (At::Somewhere, "start") if again => At::Body,
            (At::Body | At::Somewhere, "delta" | "reasoning") => {
                assert_ne!(data["text"].as_str(), Some(""), "{raw}");
                At::Body
            }
            (At::Body | At::Somewhere, "status" | "tool") => At::Body,
            (At::Body | At::Somewhere, "annotate" | "replace") => At::Settled,
            (At::Settled | At::Somewhere, "done") | (At::Body | At::Somewhere, "error") => At::Over,
            (at, _) => panic!("{at:?}: {raw}"),
        };
    }

    /// A stream may end here.
    pub(crate) fn ended(&self) {
        assert_eq!(self.at, At::Over, "the stream ended without done or error");
    }
}
