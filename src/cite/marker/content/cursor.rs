//! A place in a bracket's content, and the small things that can be read there.

use super::super::super::span::Span;
use super::{Fail, Item, SEPARATORS, digit_value};

/// What a locator begins with. A dot and a plural s may follow each word.
const LOCATORS: [&str; 14] =
    ["section", "sec", "page", "pp", "p", "chapter", "ch", "figure", "fig", "table", "line", "para", "vol", "§"];

/// A place in a bracket's content.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    content: &'a str,
    /// Bytes read.
    read: usize,
    /// Where the content begins in the text.
    base: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(content: &'a str, base: usize) -> Self {
        Self { content, read: 0, base }
    }

    pub(super) fn at(&self) -> usize {
        self.base + self.read
    }

    pub(super) fn rest(&self) -> &'a str {
        self.content.get(self.read..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.read += c.len_utf8();
        Some(c)
    }

    pub(super) fn skip_rest(&mut self) {
        self.read = self.content.len();
    }

    pub(super) fn fail(&self) -> Fail {
        if self.rest().is_empty() { Fail::Open } else { Fail::Never }
    }

    pub(super) fn skip_space(&mut self) {
        let rest = self.rest();
        let line_break = |c| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        self.read += rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() && !line_break(c)).len();
    }

    /// Reads a word for "source" and what may stand between it and a number. `Ok(false)`: there is none.
    pub(super) fn word(&mut self, words: &[String]) -> Result<bool, Fail> {
        let rest = self.rest();
        let longest = words.iter().filter_map(|w| prefix_len(rest, w)).max();
        let behind = |len: usize| rest.get(len..).and_then(|r| r.chars().next());
        match longest.filter(|&len| !behind(len).is_some_and(char::is_alphabetic)) {
            Some(len) => self.read += len,
            None if !rest.is_empty() && words.iter().any(|w| prefix_len(w, rest).is_some()) => return Err(Fail::Open),
            None => return Ok(false),
        }
        self.skip_space();
        if let Some(':' | '：' | '.') = self.peek() {
            self.next();
            self.skip_space();
        }
        Ok(true)
    }

    /// True when a locator stands here; `Err(Open)` when the text ends inside its first word.
    pub(super) fn at_locator(&self) -> Result<bool, Fail> {
        let rest = self.rest();
        let found = LOCATORS.iter().any(|word| {
            let behind = prefix_len(rest, word).and_then(|len| rest.get(len..));
            // A plural s is part of the word, so `pages` is one and `pagesize` is not.
            let behind = behind.map(|b| b.strip_prefix(['s', 'S']).unwrap_or(b));
            behind.is_some_and(|b| *word == "§" || !b.chars().next().is_some_and(char::is_alphabetic))
        });
        let begun =
            !rest.is_empty() && LOCATORS.iter().any(|word| word.len() > rest.len() && prefix_len(word, rest).is_some());
        if !found && begun { Err(Fail::Open) } else { Ok(found) }
    }

    /// Reads a locator, up to a separator, into `item`.
    pub(super) fn locator(&mut self, item: &mut Item) -> Result<(), Fail> {
        let rest = self.rest();
        let len = rest.find(SEPARATORS).unwrap_or(rest.len());
        let text = rest.get(..len).unwrap_or_default().trim_end();
        if !text.chars().any(|c| digit_value(c).is_some()) {
            return Err(if len == rest.len() { Fail::Open } else { Fail::Never });
        }
        let from = self.at();
        self.read += len;
        item.locator = Some(Span::new(item.locator.map_or(from, |l| l.start), from + text.len()));
        item.span.end = from + text.len();
        Ok(())
    }
}

/// Length in `text` of its beginning that equals `word` in any case.
fn prefix_len(text: &str, word: &str) -> Option<usize> {
    let mut chars = text.chars();
    let same = word.chars().all(|w| chars.next().is_some_and(|c| c.to_lowercase().eq(w.to_lowercase())));
    same.then(|| text.len() - chars.as_str().len())
}
