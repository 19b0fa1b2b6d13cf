//! Turns bytes that arrive in pieces of any size into Server-Sent Events (WHATWG HTML, section 9.2).
//!
//! Invariants: the same bytes give the same events, however they are cut; what is kept between two reads is at most one
//! unfinished block, and neither a line nor an event's data may pass the decoder's ceiling. An event that lies whole in one
//! read is lent out of that read, not copied. `id` and `retry` are ignored: nobody reconnects to a model's answer.

/// Some servers begin a stream with it; it is no part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Buffers that grew past this many bytes for one long line are given back afterwards. Half would free the buffers of ordinary
/// chunks, double would keep more per stream than the stream's socket.
const KEPT_CAPACITY: usize = 4 * 1024;

/// One event, lent out of the decoder or of the bytes it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// What its `event` line says; empty for the default, `message`.
    pub name: &'a [u8],
    /// Its `data` lines, joined with `\n`.
    pub data: &'a [u8],
}

/// A line, or the data of one event, passed the decoder's ceiling. The stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line or an event of more than {max_line_bytes} bytes")]
pub struct TooLong {
    /// The ceiling.
    pub max_line_bytes: usize,
}

/// The decoder's memory between two reads.
///
/// ```
/// use citewire::model::sse::Decoder;
///
/// let mut decoder = Decoder::new(1024);
/// let mut read = &b"data: one\r\n\r\ndata: tw"[..];
/// assert_eq!(decoder.next_event(&mut read)?.unwrap().data, b"one");
/// assert_eq!(decoder.next_event(&mut read)?, None);
/// let mut read = &b"o\n\n"[..];
/// assert_eq!(decoder.next_event(&mut read)?.unwrap().data, b"two");
/// # Ok::<(), citewire::model::sse::TooLong>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    max_line_bytes: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Name of the block that is being read.
    name: Vec<u8>,
    /// Data of the block that is being read; `None` before its first `data` line.
    data: Option<Vec<u8>>,
    /// `name` and `data` belong to an event that was given out and make room for the next block.
    given: bool,
    /// The first line has not ended: a byte-order mark may stand before it.
    at_start: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
}

impl Decoder {
    /// A decoder at the beginning of a stream, with a ceiling for one line and for the data of one event, in bytes.
    #[must_use]
    pub fn new(max_line_bytes: usize) -> Self {
        Self {
            max_line_bytes,
            line: Vec::new(),
            name: Vec::new(),
            data: None,
            given: false,
            at_start: true,
            after_cr: false,
        }
    }

    /// The next event that ends in `read`, which is advanced past it; `None` when all of `read` is taken in.
    ///
    /// # Errors
    /// [`TooLong`]; events that ended before it were given out.
    pub fn next_event<'d, 'r: 'd>(&'d mut self, read: &mut &'r [u8]) -> Result<Option<Event<'d>>, TooLong> {
        self.forget_given();
        // The only data line so far, as long as it can be lent.
        let mut lent: Option<&'r [u8]> = None;
        while let Some(tail) = self.take_line(read) {
            self.check(self.line.len() + tail.len())?;
            if self.line.is_empty() {
                match self.field(tail) {
                    Field::Data(value) if lent.is_none() && self.data.is_none() => lent = Some(value),
                    Field::End if lent.is_some() || self.data.is_some() => return Ok(Some(self.give(lent))),
                    field => self.apply(field, &mut lent)?,
                }
            } else {
                let mut joined = std::mem::take(&mut self.line);
                joined.extend_from_slice(tail);
                let field = self.field(&joined);
                self.apply(field, &mut lent)?;
                self.line = emptied(joined);
            }
        }
        self.check(self.line.len() + read.len())?;
        self.line.extend_from_slice(std::mem::take(read));
        if let Some(value) = lent {
            self.append(value)?;
        }
        Ok(None)
    }

    /// The block that was begun and not ended by a blank line when the stream ended. The standard throws it away; servers
    /// that leave the last blank line out make it worth a look.
    ///
    /// # Errors
    /// [`TooLong`].
    pub fn finish(&mut self) -> Result<Option<Event<'_>>, TooLong> {
        self.forget_given();
        let last = std::mem::take(&mut self.line);
        let field = self.field(&last);
        self.apply(field, &mut None)?;
        Ok(if self.data.is_some() { Some(self.give(None)) } else { None })
    }

    /// Cuts the rest of a line off `read`; `None` when its end is not there.
    fn take_line<'r>(&mut self, read: &mut &'r [u8]) -> Option<&'r [u8]> {
        if let (true, Some((first, rest))) = (self.after_cr, read.split_first()) {
            self.after_cr = false;
            if *first == b'\n' {
                *read = rest;
            }
        }
        let end = memchr::memchr2(b'\n', b'\r', read)?;
        let (line, rest) = read.split_at_checked(end)?;
        let (ending, rest) = rest.split_first()?;
        self.after_cr = *ending == b'\r';
        *read = rest;
        Some(line)
    }

    /// Reads a whole line; the stream's first may begin with a byte-order mark.
    fn field<'l>(&mut self, line: &'l [u8]) -> Field<'l> {
        let first = std::mem::replace(&mut self.at_start, false);
        Field::parse(if first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line })
    }

    fn apply(&mut self, field: Field<'_>, lent: &mut Option<&[u8]>) -> Result<(), TooLong> {
        match field {
            Field::Data(value) => {
                if let Some(first) = lent.take() {
                    self.append(first)?;
                }
                self.append(value)?;
            }
            Field::Name(name) => {
                self.name.clear();
                self.name.extend_from_slice(name);
            }
            // A block without data is no event.
            Field::End => self.name.clear(),
            Field::Other => {}
        }
        Ok(())
    }

    fn append(&mut self, value: &[u8]) -> Result<(), TooLong> {
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        self.check(self.data.as_ref().map_or(0, Vec::len))
    }

    fn give<'d>(&'d mut self, lent: Option<&'d [u8]>) -> Event<'d> {
        self.given = true;
        Event { name: &self.name, data: lent.or(self.data.as_deref()).unwrap_or_default() }
    }

    fn forget_given(&mut self) {
        if std::mem::take(&mut self.given) {
            self.name.clear();
            self.data = None;
        }
    }

    fn check(&self, bytes: usize) -> Result<(), TooLong> {
        if bytes > self.max_line_bytes { Err(TooLong { max_line_bytes: self.max_line_bytes }) } else { Ok(()) }
    }
}

/// What one line says.
#[derive(Clone, Copy)]
enum Field<'l> {
    Data(&'l [u8]),
    /// A blank line: the block is over.
    End,
    Name(&'l [u8]),
    /// A comment, or a field that is not for us.
    Other,
}

impl<'l> Field<'l> {
    fn parse(line: &'l [u8]) -> Self {
        if line.is_empty() {
            return Self::End;
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, rest) = line.split_at_checked(colon).unwrap_or((line, b""));
        let value = rest.strip_prefix(b":").unwrap_or(rest);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => Self::Data(value),
            b"event" => Self::Name(value),
            _ => Self::Other,
        }
    }
}

/// The buffer, ready for the next line.
fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    buffer.shrink_to(KEPT_CAPACITY);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Events = Result<Vec<(String, String)>, TooLong>;

    fn owned(event: Event<'_>) -> (String, String) {
        (String::from_utf8_lossy(event.name).into_owned(), String::from_utf8_lossy(event.data).into_owned())
    }

    /// Decodes the pieces; `finish` as the last step.
    fn decode<'p>(max: usize, pieces: impl IntoIterator<Item = &'p [u8]>) -> Events {
        let mut decoder = Decoder::new(max);
        let mut events = Vec::new();
        for mut piece in pieces {
            while let Some(event) = decoder.next_event(&mut piece)? {
                events.push(owned(event));
            }
            assert!(piece.is_empty(), "everything is taken in");
        }
        events.extend(decoder.finish()?.map(owned));
        Ok(events)
    }

    fn check(stream: &[u8], expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
        assert_eq!(decode(1024, [stream]).as_ref(), Ok(&expected), "whole: {}", stream.escape_ascii());
        assert_eq!(decode(1024, stream.chunks(1)).as_ref(), Ok(&expected), "by bytes: {}", stream.escape_ascii());
    }

    #[test]
    fn the_standard_line_by_line() {
        check(b"", &[]);
        check(b"data: a\n\n", &[("", "a")]);
        check(b"data:a\n\n", &[("", "a")]);
        check(b"data:  a\n\n", &[("", " a")]);
        check(b"data: a: b\n\n", &[("", "a: b")]);
        check(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", &[("", "a"), ("", "b"), ("", "c")]);
        check(b"data: a\r\n\ndata: b\n\r\n", &[("", "a"), ("", "b")]);
        check(b"data: a\ndata: b\ndata\ndata:\n\n", &[("", "a\nb\n\n")]);
        check(b"data\n\n", &[("", "")]);
        check(b"data:\n\n", &[("", "")]);
        check(b": comment\n:\n: \n\ndata: a\n: another\n\n", &[("", "a")]);
        check(b"event: error\ndata: a\n\ndata: b\n\n", &[("error", "a"), ("", "b")]);
        check(b"event: lost\n\ndata: b\n\n", &[("", "b")]);
        check(b"event: first\nevent: second\ndata: a\n\n", &[("second", "a")]);
        check(b"id: 1\nretry: 5\nfoo: bar\nDATA: x\n data: y\ndatax: z\n\n", &[]);
        check(b"\n\n\n\r\r\r\r\n\r\n", &[]);
        check(b"data: \xFF\n\n", &[("", "\u{FFFD}")]);
    }

    #[test]
    fn one_byte_order_mark_at_the_start_only() {
        check(b"\xEF\xBB\xBFdata: a\n\n", &[("", "a")]);
        check(b"\xEF\xBB\xBF\n\xEF\xBB\xBFdata: a\n\n", &[]);
        check(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n", &[]);
        check(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n", &[("", "a")]);
        check(b"data: \xEF\xBB\xBFa\n\n", &[("", "\u{FEFF}a")]);
    }

    #[test]
    fn the_last_block_may_lack_its_blank_line() {
        check(b"data: a\n", &[("", "a")]);
        check(b"data: a", &[("", "a")]);
        check(b"data: a\n\ndata: b\r", &[("", "a"), ("", "b")]);
        check(b"event: error\ndata: a\ndata: b", &[("error", "a\nb")]);
        check(b"data: a\n\ndat", &[("", "a")]);
        check(b"\xEF\xBB\xBFdata: a", &[("", "a")]);
    }

    #[test]
    fn a_line_and_an_event_have_a_ceiling() {
        let too_long = Err(TooLong { max_line_bytes: 16 });
        assert!(decode(16, [&b"data: 0123456789\n\n"[..]]).is_ok(), "16 bytes are allowed");
        for stream in [
            &b"data: 0123456789a\n\n"[..],
            b"data: 0123456789a",
            b": a comment of many bytes",
            b"data: 012345678\ndata: 0123456\n",
        ] {
            assert_eq!(decode(16, [stream]), too_long, "whole: {}", stream.escape_ascii());
            assert_eq!(decode(16, stream.chunks(1)), too_long, "by bytes: {}", stream.escape_ascii());
        }
    }

    #[test]
    fn an_event_in_one_read_is_lent() {
        let stream = b"data: lent\n\n";
        let mut decoder = Decoder::new(64);
        let event = decoder.next_event(&mut &stream[..]).unwrap().unwrap();
        assert!(stream.as_ptr_range().contains(&event.data.as_ptr()));
    }

    #[test]
    fn a_long_line_does_not_keep_its_memory() {
        let mut decoder = Decoder::new(1 << 20);
        let long = vec![b'x'; 1 << 16];
        for mut piece in [&b"data: "[..], &long, b"\n\n"] {
            while decoder.next_event(&mut piece).unwrap().is_some() {}
        }
        assert!(decoder.next_event(&mut &b"data: next\n"[..]).unwrap().is_none());
        assert!(decoder.line.capacity() <= KEPT_CAPACITY);
    }

    /// Streams made of everything that means something to the decoder.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let words = ["\n", "\r", "\r\n", "\n\n", "data", "event", ":", " ", "a", "ü🗼", "\u{FEFF}", "data: x\n\n"];
        let piece = prop::sample::select(words.to_vec());
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn any_cutting_gives_the_same_events(stream in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8), max in 8usize..64) {
            let mut ends: Vec<usize> = cuts.iter().map(|c| c.index(stream.len() + 1)).chain([stream.len()]).collect();
            ends.sort_unstable();
            let mut start = 0;
            let pieces = ends.iter().map(|end| &stream[std::mem::replace(&mut start, *end)..*end]);
            prop_assert_eq!(decode(max, pieces), decode(max, [&stream[..]]));
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(64, bytes.chunks(1)), decode(64, [&bytes[..]]));
        }

        #[test]
        fn the_same_as_a_naive_reading(stream in stream()) {
            let text = String::from_utf8(stream.clone()).unwrap();
            prop_assert_eq!(decode(4096, [&stream[..]]).unwrap(), naive(&text));
        }
    }

    /// The standard's algorithm over the whole text at once.
    fn naive(text: &str) -> Vec<(String, String)> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
        let (mut events, mut name, mut data) = (Vec::new(), String::new(), String::new());
        for line in text.split('\n').chain([""]) {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            match field {
                "" if line.is_empty() => {
                    let name = std::mem::take(&mut name);
                    let data = std::mem::take(&mut data);
                    events.extend(data.strip_suffix('\n').map(|data| (name, data.to_owned())));
                }
                "data" => data.extend([value.strip_prefix(' ').unwrap_or(value), "\n"]),
                "event" => value.strip_prefix(' ').unwrap_or(value).clone_into(&mut name),
                _ => {}
            }
        }
        events
    }
}
