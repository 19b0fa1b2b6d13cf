//! Reads an event stream by the letter of the HTML standard, section 9.2.6, and keeps what the letter would forget: comments,
//! and how each event was written.

use std::collections::VecDeque;

use serde_json::Value;

/// What stands in a stream.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Comment(String),
    Event(Frame),
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: u64,
    pub(crate) kind: String,
    pub(crate) data: Value,
    pub(crate) retry: Option<u64>,
    /// Its lines as they came.
    pub(crate) raw: String,
}

impl Frame {
    /// The text of a delta.
    pub(crate) fn text(&self) -> Option<&str> {
        (self.kind == "delta").then(|| self.data["text"].as_str().unwrap())
    }
}

#[derive(Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    /// A CR was the last byte, so an LF belongs to it.
    after_cr: bool,
    block: Block,
}

#[derive(Default)]
struct Block {
    id: Option<String>,
    event: Option<String>,
    data: Vec<String>,
    retry: Option<u64>,
    raw: String,
}

impl Reader {
    /// Takes bytes as they come and gives out what they complete.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut VecDeque<Item>) {
        for &byte in bytes {
            let belongs = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            match byte {
                b'\n' if belongs => {}
                b'\n' | b'\r' => {
                    let line = String::from_utf8(std::mem::take(&mut self.line)).expect("a stream is UTF-8");
                    out.extend(self.line(&line));
                }
                byte => self.line.push(byte),
            }
        }
    }

    fn line(&mut self, line: &str) -> Option<Item> {
        if line.is_empty() {
            let block = std::mem::take(&mut self.block);
            return (!block.raw.is_empty()).then(|| Item::Event(block.into_frame()));
        }
        if let Some(comment) = line.strip_prefix(':') {
            return Some(Item::Comment(comment.to_owned()));
        }
        let block = &mut self.block;
        block.raw.push_str(line);
        block.raw.push('\n');
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match field {
            "data" => block.data.push(value),
            "event" => block.event = Some(value),
            "id" => block.id = Some(value),
            "retry" => block.retry = Some(value.parse().unwrap()),
            other => panic!("a field that no client knows: {other:?}"),
        }
        None
    }
}

impl Block {
    /// Every block of ours is an event with a number, a name and one line of JSON.
    fn into_frame(self) -> Frame {
        let Self { id, event, data, retry, raw } = self;
        let [json] = &data[..] else { panic!("expected one data line: {raw:?}") };
        let data: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {raw:?}"));
        assert!(data.is_object(), "{raw:?}");
        let id = id.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("no number: {raw:?}"));
        Frame { id, kind: event.unwrap_or_else(|| panic!("no name: {raw:?}")), data, retry, raw }
    }
}

#[test]
fn lines_end_in_three_ways_and_anywhere() {
    let text = ": ping\r\rid:1\r\nevent: delta\ndata: {\"text\":\n\n";
    let good = text.replace(":\n\n", ":\"ü\"}\r\n\r\n");
    for size in 1..good.len() {
        let (mut reader, mut items) = (Reader::default(), VecDeque::new());
        good.as_bytes().chunks(size).for_each(|piece| reader.push(piece, &mut items));
        let [Item::Comment(comment), Item::Event(frame)] = items.make_contiguous() else { panic!("{items:?}") };
        assert_eq!((comment.as_str(), frame.id, frame.text()), (" ping", 1, Some("ü")));
    }
}
