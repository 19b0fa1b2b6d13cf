//! Inline constructs of one run of lines: code spans, escapes, maths, tags, comments, addresses in angle brackets.
//!
//! Code binds tighter than maths: dollars are paired last, and never across code. Every search either consumes what it
//! finds or remembers that there is nothing to find, so the whole is linear on hostile text too.

use std::collections::HashMap;

use memchr::{memchr_iter, memmem};

use super::super::span::Span;
use super::html::closing_tag;
use super::{Kind, Region, run};

/// Elements whose content is code.
const CODE_TAGS: [&str; 2] = ["code", "pre"];

/// Adds the regions of `segment` to `regions`.
pub(super) fn scan(text: &str, segment: Span, regions: &mut Vec<Region>) {
    let Some(bytes) = text.as_bytes().get(..segment.end) else { return };
    let mut pass =
        Pass { bytes, at: segment.start, ticks: None, dollars: Vec::new(), code_spans: 0, absent: Vec::new(), regions };
    while let Some(b) = pass.next_special() {
        match b {
            b'\\' => pass.backslash(),
            b'`' => pass.backticks(),
            b'$' => pass.dollar(),
            _ => pass.angle(),
        }
    }
    pass.pair_dollars();
}

struct Dollars {
    at: usize,
    len: usize,
    /// Code spans before it: two dollars with code between them are no pair.
    code_spans: usize,
}

struct Pass<'a> {
    /// The text up to the end of the segment.
    bytes: &'a [u8],
    at: usize,
    /// For each length of a run of backticks, where such runs begin. Built at the first backtick.
    ticks: Option<HashMap<usize, Vec<usize>>>,
    dollars: Vec<Dollars>,
    code_spans: usize,
    /// Needles known not to occur from here on.
    absent: Vec<&'static [u8]>,
    regions: &'a mut Vec<Region>,
}

impl Pass<'_> {
    fn next_special(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        let step = rest.iter().position(|b| matches!(b, b'\\' | b'`' | b'$' | b'<'))?;
        self.at += step;
        rest.get(step).copied()
    }

    fn peek(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.at + offset).copied()
    }

    /// Closes a region that begins here and goes on behind it.
    fn take(&mut self, end: usize, kind: Kind) {
        self.regions.push(Region { span: Span::new(self.at, end), kind });
        self.code_spans += usize::from(kind == Kind::Code);
        self.at = end;
    }

    /// Where `needle` next begins at or behind `from`.
    fn find(&mut self, needle: &'static [u8], from: usize) -> Option<usize> {
        if self.absent.contains(&needle) {
            return None;
        }
        let found = self.bytes.get(from..).and_then(|rest| memmem::find(rest, needle));
        if found.is_none() {
            self.absent.push(needle);
        }
        found.map(|i| from + i)
    }

    fn backslash(&mut self) {
        let close = match self.peek(1) {
            Some(b'(') => self.find_escaped(b"\\)"),
            Some(b'[') => self.find_escaped(b"\\]"),
            _ => None,
        };
        match (close, self.peek(1)) {
            (Some(end), _) => self.take(end, Kind::Maths),
            (None, Some(b)) if b.is_ascii_punctuation() => self.take(self.at + 2, Kind::Escape),
            _ => self.at += 1,
        }
    }

    /// Where `\)` or `\]` ends that is not itself behind a backslash.
    fn find_escaped(&mut self, needle: &'static [u8]) -> Option<usize> {
        let mut from = self.at + 2;
        loop {
            let found = self.find(needle, from)?;
            let before = self.bytes.get(from..found).unwrap_or_default();
            let slashes = before.iter().rev().take_while(|&&b| b == b'\\').count();
            if slashes % 2 == 0 {
                return Some(found + needle.len());
            }
            from = found + 1;
        }
    }

    fn backticks(&mut self) {
        let len = run(self.bytes.get(self.at..).unwrap_or_default(), b'`');
        let (bytes, start) = (self.bytes, self.at);
        let runs = self.ticks.get_or_insert_with(|| tick_runs(bytes, start));
        let close = runs.get(&len).and_then(|starts| {
            let after = starts.partition_point(|&s| s < start + len);
            starts.get(after).copied()
        });
        match close {
            Some(close) => self.take(close + len, Kind::Code),
            None => self.at += len,
        }
    }

    fn dollar(&mut self) {
        let len = run(self.bytes.get(self.at..).unwrap_or_default(), b'$');
        self.dollars.push(Dollars { at: self.at, len, code_spans: self.code_spans });
        self.at += len;
    }

    fn angle(&mut self) {
        if self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"<!--")) {
            match self.find(b"-->", self.at + 4) {
                Some(end) => self.take(end + 3, Kind::Code),
                None => self.at += 4,
            }
            return;
        }
        let Some(end) = tag_end(self.bytes, self.at).or_else(|| address_end(self.bytes, self.at)) else {
            self.at += 1;
            return;
        };
        let name = self.bytes.get(self.at + 1..end).unwrap_or_default();
        let tag = name.split(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
        let close =
            CODE_TAGS.iter().find(|t| tag.eq_ignore_ascii_case(t.as_bytes())).and_then(|t| self.closing_tag(t, end));
        match close {
            Some(end) => self.take(end, Kind::Code),
            None => self.take(end, Kind::Html),
        }
    }

    /// Where `</name>` ends, at or behind `from`.
    fn closing_tag(&mut self, name: &'static str, from: usize) -> Option<usize> {
        if self.absent.contains(&name.as_bytes()) {
            return None;
        }
        let found = self.bytes.get(from..).and_then(|rest| closing_tag(rest, name));
        if found.is_none() {
            self.absent.push(name.as_bytes());
        }
        found.map(|i| from + i)
    }

    /// `$$…$$`, and `$…$` that opens before a non-space and closes after a non-space that no digit follows.
    fn pair_dollars(&mut self) {
        let dollars = std::mem::take(&mut self.dollars);
        let mut rest = dollars.as_slice();
        let mut no_display = false;
        while let Some((open, later)) = rest.split_first() {
            rest = later;
            let close = if open.len >= 2 {
                let found = if no_display { None } else { later.iter().position(|d| d.len >= 2) };
                no_display |= found.is_none();
                found
            } else {
                later.first().is_some_and(|close| self.inline_maths(open, close)).then_some(0)
            };
            let Some(close) = close else { continue };
            let Some(closer) = later.get(close).filter(|c| c.code_spans == open.code_spans) else { continue };
            let span = Span::new(open.at, closer.at + closer.len);
            self.regions.push(Region { span, kind: Kind::Maths });
            rest = later.get(close + 1..).unwrap_or_default();
        }
    }

    fn inline_maths(&self, open: &Dollars, close: &Dollars) -> bool {
        let byte = |i: usize| self.bytes.get(i).copied();
        close.len == 1
            && byte(open.at + 1).is_some_and(|b| !b.is_ascii_whitespace())
            && byte(close.at - 1).is_some_and(|b| !b.is_ascii_whitespace())
            && !byte(close.at + 1).is_some_and(|b| b.is_ascii_digit())
    }
}

/// All runs of backticks from `start` on: length → where they begin.
fn tick_runs(bytes: &[u8], start: usize) -> HashMap<usize, Vec<usize>> {
    let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut next = start;
    for at in memchr_iter(b'`', bytes.get(start..).unwrap_or_default()).map(|i| start + i) {
        if at >= next {
            let len = run(bytes.get(at..).unwrap_or_default(), b'`');
            runs.entry(len).or_default().push(at);
            next = at + len;
        }
    }
    runs
}

/// Where the open or closing tag that begins at `at` ends, by CommonMark's grammar of inline HTML.
fn tag_end(bytes: &[u8], at: usize) -> Option<usize> {
    let closing = bytes.get(at + 1) == Some(&b'/');
    let mut i = at + 1 + usize::from(closing);
    bytes.get(i).filter(|b| b.is_ascii_alphabetic())?;
    i = skip(bytes, i, |b| b.is_ascii_alphanumeric() || b == b'-');
    loop {
        let next = skip(bytes, i, |b| b.is_ascii_whitespace());
        match bytes.get(next)? {
            b'>' => return Some(next + 1),
            b'/' if !closing && bytes.get(next + 1) == Some(&b'>') => return Some(next + 2),
            b if next > i && !closing && (b.is_ascii_alphabetic() || matches!(b, b'_' | b':')) => {
                i = attribute_end(bytes, next)?;
            }
            _ => return None,
        }
    }
}

fn attribute_end(bytes: &[u8], at: usize) -> Option<usize> {
    let name = skip(bytes, at, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.' | b'-'));
    let equals = skip(bytes, name, |b| b.is_ascii_whitespace());
    if bytes.get(equals) != Some(&b'=') {
        return Some(name);
    }
    let value = skip(bytes, equals + 1, |b| b.is_ascii_whitespace());
    match bytes.get(value)? {
        &quote @ (b'"' | b'\'') => Some(value + 2 + memchr::memchr(quote, bytes.get(value + 1..)?)?),
        _ => {
            let end = skip(bytes, value, |b| {
                !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'=' | b'<' | b'>' | b'`')
            });
            (end > value).then_some(end)
        }
    }
}

/// Where `<scheme:…>` ends.
fn address_end(bytes: &[u8], at: usize) -> Option<usize> {
    let scheme = skip(bytes, at + 1, |b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
    let named = (2..=32).contains(&(scheme - at - 1)) && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
    if !named || bytes.get(scheme) != Some(&b':') {
        return None;
    }
    let end = skip(bytes, scheme, |b| b > b' ' && b != b'<' && b != b'>');
    (bytes.get(end) == Some(&b'>')).then_some(end + 1)
}

fn skip(bytes: &[u8], at: usize, pass: impl Fn(u8) -> bool) -> usize {
    at + bytes.get(at..).unwrap_or_default().iter().take_while(|&&b| pass(b)).count()
}
