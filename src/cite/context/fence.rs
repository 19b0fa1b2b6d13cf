//! Fenced code: what opens a fence and what closes it.

use super::{lines, run};

/// What closes a fence: `len` times `mark`, or the end of what it stands in.
#[derive(Clone, Copy)]
pub(super) struct Fence {
    pub(super) mark: u8,
    pub(super) len: usize,
    /// Quote signs before it: a line with fewer ends the quote and the fence.
    pub(super) quotes: usize,
    /// For a fence in a list that nothing closes: a line that is indented less ends the list item and the fence.
    pub(super) column: Option<usize>,
}

pub(super) fn opens_fence(content: &str) -> Option<(u8, usize)> {
    let bytes = content.as_bytes();
    let mark = *bytes.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let len = run(bytes, mark);
    let info_may_follow = mark == b'~' || memchr::memchr(b'`', bytes.get(len..)?).is_none();
    (len >= 3 && info_may_follow).then_some((mark, len))
}

/// If the line closes the fence: where the text behind the fence begins.
pub(super) fn closes_fence(line: &str, fence: Fence) -> Option<usize> {
    let (at, got, rest) = fence_at(line, fence.mark)?;
    (got >= fence.len && is_fence_end(rest)).then_some(at + got)
}

/// Behind white space and quote signs: where the run of `mark` begins, its length, and the rest of the line.
fn fence_at(line: &str, mark: u8) -> Option<(usize, usize, &str)> {
    let at = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
    let got = run(line.as_bytes().get(at..)?, mark);
    Some((at, got, line.get(at + got..)?))
}

fn is_fence_end(rest: &str) -> bool {
    rest.trim().is_empty() || only_markers(rest)
}

/// Lines that can close a fence: where each begins, and the longest run of each mark on it or behind it.
pub(super) struct Closers(Vec<(usize, [usize; 2])>);

impl Closers {
    /// Looks through `text` once.
    pub(super) fn new(text: &str) -> Self {
        let mut found: Vec<(usize, [usize; 2])> = Vec::new();
        for line in lines(text) {
            let longest = |mark| match fence_at(line.of(text), mark) {
                Some((_, got, rest)) if got >= 3 && is_fence_end(rest) => got,
                _ => 0,
            };
            let runs = [longest(b'`'), longest(b'~')];
            if runs != [0, 0] {
                found.push((line.start, runs));
            }
        }
        let mut behind = [0, 0];
        for (_, runs) in found.iter_mut().rev() {
            behind = [behind[0].max(runs[0]), behind[1].max(runs[1])];
            *runs = behind;
        }
        Self(found)
    }

    /// True when a line at or behind byte `at` can close a fence of `len` times `mark`.
    pub(super) fn any(&self, at: usize, mark: u8, len: usize) -> bool {
        let next = self.0.partition_point(|(start, _)| *start < at);
        self.0.get(next).is_some_and(|(_, runs)| runs[usize::from(mark == b'~')] >= len)
    }
}

/// True for text such as ` [2][3].`: bracketed groups with a digit each, nothing else but space and punctuation.
fn only_markers(rest: &str) -> bool {
    let (mut open, mut digit, mut groups) = (false, false, 0);
    for c in rest.chars() {
        match c {
            '[' | '【' | '［' if !open => (open, digit) = (true, false),
            ']' | '】' | '］' if open && digit => (open, groups) = (false, groups + 1),
            _ if open => digit |= c.is_numeric(),
            '.' | ',' | ';' | ':' => {}
            _ if c.is_whitespace() => {}
            _ => return false,
        }
    }
    groups > 0 && !open
}
