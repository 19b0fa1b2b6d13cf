//! The records of one answer: a growing text with the end of each delta in it, and the events between.

use crate::answer::event::{Done, Event, Failure, Judgement, Start};

/// The records of one answer, numbered from 1.
#[derive(Debug, Default)]
pub struct Tape {
    text: String,
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    /// Released text up to this byte.
    Delta(usize),
    Event(Box<Event>),
}

/// Bytes after which one read stops. Half doubles the frames of a reader that is far behind; double doubles what a
/// slow reader's connection buffers.
const ONE_READ: usize = 16 * 1024;

/// How far a reader is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Number of the last record read; 0: none.
    seq: u64,
    /// Bytes of text read.
    text: usize,
}

/// What a reader gets: consecutive deltas come as one, with the number of the last.
#[derive(Debug)]
pub enum Item<'a> {
    /// Text that was released.
    Delta(&'a str),
    /// Any other event.
    Event(&'a Event),
}

impl FromIterator<Event> for Tape {
    fn from_iter<T: IntoIterator<Item = Event>>(events: T) -> Self {
        let mut tape = Self::default();
        events.into_iter().for_each(|event| tape.append(event));
        tape
    }
}

impl Tape {
    /// Appends a record.
    pub fn append(&mut self, event: Event) {
        let entry = match event {
            Event::Delta(text) => {
                self.text.push_str(&text);
                Entry::Delta(self.text.len())
            }
            event => Entry::Event(Box::new(event)),
        };
        self.entries.push(entry);
    }

    /// Gives what stands behind the cursor, in order, and moves the cursor. Stops once 16 KiB are given,
    /// so a slow reader costs no second copy of a long answer.
    pub fn read(&self, cursor: &mut Cursor, mut each: impl FnMut(u64, Item<'_>)) {
        let mut left = ONE_READ;
        let from = usize::try_from(cursor.seq).unwrap_or(usize::MAX);
        let mut entries = self.entries.iter().skip(from).peekable();
        while let Some(entry) = entries.next().filter(|_| left > 0) {
            cursor.seq += 1;
            match entry {
                Entry::Delta(end) => {
                    let (start, mut end) = (cursor.text, *end);
                    while let Some(Entry::Delta(next)) = entries.peek().filter(|_| end - start < left) {
                        end = *next;
                        cursor.seq += 1;
                        entries.next();
                    }
                    each(cursor.seq, Item::Delta(self.text.get(start..end).unwrap_or_default()));
                    cursor.text = end;
                    left = left.saturating_sub(end - start);
                }
                Entry::Event(event) => {
                    each(cursor.seq, Item::Event(event));
                    left = left.saturating_sub(event_bytes(event));
                }
            }
        }
    }

    /// The cursor of a reader that has seen record `seq` last. A number that the tape has not reached yet is no place on
    /// it: such a reader begins again.
    #[must_use]
    pub fn cursor_after(&self, seq: u64) -> Cursor {
        // Behind the end of a complete tape is its end.
        let seq = if self.is_over() { seq.min(self.last_seq()) } else { seq };
        let seen = usize::try_from(seq).ok().and_then(|n| self.entries.get(..n));
        let Some(seen) = seen else { return Cursor::default() };
        let text = seen.iter().rev().find_map(|e| match e {
            Entry::Delta(end) => Some(*end),
            Entry::Event(_) => None,
        });
        Cursor { seq, text: text.unwrap_or(0) }
    }

    /// True when nothing stands behind the cursor.
    #[must_use]
    pub fn is_read(&self, cursor: Cursor) -> bool {
        cursor.seq >= self.last_seq()
    }

    /// Number of the last record; 0: none.
    #[must_use]
    pub fn last_seq(&self) -> u64 {
        self.entries.len() as u64
    }

    /// True once `done` or `error` stands on the tape: nothing follows.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.last_event(), Some(Event::Done(_) | Event::Error(_)))
    }

    /// The text released so far.
    #[must_use]
    pub fn released(&self) -> &str {
        &self.text
    }

    /// The fixed facts, once they are on the tape.
    #[must_use]
    pub fn start(&self) -> Option<&Start> {
        self.events().find_map(|e| if let Event::Start(start) = e { Some(start) } else { None })
    }

    /// The text that stands: the replacement if there is one, else what was released.
    #[must_use]
    pub fn standing(&self) -> &str {
        let replaced =
            self.events().rev().find_map(|e| if let Event::Replace(text, _) = e { Some(text) } else { None });
        replaced.map_or(&self.text, String::as_str)
    }

    /// What was decided, once it was.
    #[must_use]
    pub fn judgement(&self) -> Option<&Judgement> {
        self.events().rev().find_map(|e| match e {
            Event::Annotate(judgement) | Event::Replace(_, judgement) => Some(judgement),
            _ => None,
        })
    }

    /// How it ended, if it ended well.
    #[must_use]
    pub fn done(&self) -> Option<&Done> {
        if let Some(Event::Done(done)) = self.last_event() { Some(done) } else { None }
    }

    /// How it ended, if it failed.
    #[must_use]
    pub fn error(&self) -> Option<&Failure> {
        if let Some(Event::Error(failure)) = self.last_event() { Some(failure) } else { None }
    }

    /// Bytes that it keeps, roughly: text, records, sources.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let events: usize = self.events().map(event_bytes).sum();
        self.text.len() + events + self.entries.len() * size_of::<Entry>()
    }

    fn last_event(&self) -> Option<&Event> {
        match self.entries.last()? {
            Entry::Event(event) => Some(event),
            Entry::Delta(_) => None,
        }
    }

    fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.entries.iter().filter_map(|e| match e {
            Entry::Event(event) => Some(event.as_ref()),
            Entry::Delta(_) => None,
        })
    }
}

/// Bytes that an event keeps, roughly.
fn event_bytes(event: &Event) -> usize {
    let judged = |judgement: &Judgement| {
        let citations = judgement.citations.iter().map(|c| size_of_val(c) + c.marker.len());
        let problems =
            judgement.problems.iter().map(|p| size_of_val(p) + p.message.len() + p.id.as_ref().map_or(0, String::len));
        citations.chain(problems).sum::<usize>()
    };
    let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let beside = match event {
        Event::Annotate(judgement) => judged(judgement),
        Event::Delta(text) | Event::Reasoning(text) => text.len(),
        Event::Replace(text, judgement) => text.len() + judged(judgement),
        Event::Start(start) => {
            start.sources.iter().map(|(_, s)| s.text.len() + s.id.len() + of(&s.title) + of(&s.url)).sum()
        }
        Event::Tool(delta) => delta.get().len(),
        Event::Done(_) | Event::Error(_) => 0,
    };
    size_of_val(event) + beside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tape() -> Tape {
        let event = |text| match text {
            "|" => Event::Reasoning(String::new()),
            text => Event::Delta(text.to_owned()),
        };
        ["a", "b", "|", "c", "|", "d", "e"].map(event).into_iter().collect()
    }

    fn rest(tape: &Tape, mut cursor: Cursor) -> String {
        let mut out = String::new();
        tape.read(&mut cursor, |seq, item| match item {
            Item::Delta(text) => out += &format!("{seq}:{text} "),
            Item::Event(_) => out += &format!("{seq}:| "),
        });
        assert!(tape.is_read(cursor));
        out
    }

    #[test]
    fn a_reader_that_is_behind_gets_merged_deltas() {
        let tape = tape();
        for (seq, expected) in [
            (0, "2:ab 3:| 4:c 5:| 7:de "),
            (1, "2:b 3:| 4:c 5:| 7:de "),
            (2, "3:| 4:c 5:| 7:de "),
            (3, "4:c 5:| 7:de "),
            (6, "7:e "),
            (7, ""),
            (8, "2:ab 3:| 4:c 5:| 7:de "),
        ] {
            assert_eq!(rest(&tape, tape.cursor_after(seq)), expected, "after {seq}");
        }
    }
}
