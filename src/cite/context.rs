//! Turns Markdown text into the regions in which brackets are not citations: code, maths, HTML, escapes, definition lines.
//!
//! Two passes, both linear on any text: lines first (fences, indented code, HTML blocks, definitions; this file), then the
//! inline constructs of each run of ordinary lines (`inline`). Links are not found here, since what is a link depends on
//! which brackets pair: the marker finder asks `link::target` when it sees a pair.
//!
//! This is not a renderer's Markdown. Where real answers break its letter, the reading that keeps their citations wins: a
//! fence may be closed with markers behind it, and may be indented however deep.

mod fence;
mod head;
mod html;
mod inline;
pub(crate) mod link;

use super::span::Span;
use fence::{Closers, Fence, closes_fence, opens_fence};
use head::Head;
use html::{BlockEnd, html_block};

/// Why brackets in a region do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Inline, fenced or indented code, `<code>`, `<pre>`, comments.
    Code,
    /// A line that defines a link or footnote: `[1]: https://…`.
    Definition,
    /// A backslash and the character that it makes literal.
    Escape,
    /// A tag with its attributes, or an address in angle brackets.
    Html,
    /// LaTeX between dollars or in `\(…\)`, `\[…\]`.
    Maths,
}

/// A stretch of text in which brackets do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Where.
    pub span: Span,
    /// Why.
    pub kind: Kind,
}

/// All regions of `text`, in order, none inside another. Linear in the length of `text`.
///
/// ```
/// use citewire::cite::context::{regions, Kind};
/// let found = regions("use `a[1]` here [1]");
/// assert_eq!((found.len(), found[0].kind, found[0].span.start), (1, Kind::Code, 4));
/// ```
#[must_use]
pub fn regions(text: &str) -> Vec<Region> {
    let mut pass = BlockPass {
        text,
        regions: Vec::new(),
        segment: None,
        state: State::Text,
        in_list: false,
        quotes: 0,
        closers: None,
    };
    let mut after_blank = true;
    for line in lines(text) {
        after_blank = pass.line(line, after_blank);
    }
    pass.end(text.len());
    let mut regions = pass.regions;
    regions.sort_by_key(|r| (r.span.start, std::cmp::Reverse(r.span.end)));
    let mut covered = 0;
    regions.retain(|r| {
        let new = r.span.end > covered;
        covered = covered.max(r.span.end);
        new
    });
    regions
}

/// What the block pass is inside of.
enum State {
    /// In a fence since byte `start`.
    Fence { fence: Fence, start: usize },
    /// In an HTML block since byte `start`, until this end occurs.
    Html { end: BlockEnd, start: usize },
    /// Lines of indented code.
    Indented,
    /// Ordinary lines.
    Text,
}

struct BlockPass<'a> {
    text: &'a str,
    regions: Vec<Region>,
    /// Ordinary lines that share one inline context, so far.
    segment: Option<Span>,
    state: State,
    in_list: bool,
    quotes: usize,
    /// Built at the first fence in a list.
    closers: Option<Closers>,
}

impl BlockPass<'_> {
    /// Takes one line (without its break); says whether the next line stands behind a blank one.
    fn line(&mut self, line: Span, after_blank: bool) -> bool {
        match self.state {
            State::Fence { fence, start } => {
                let written = line.of(self.text);
                if let Some(rest) = closes_fence(written, fence) {
                    self.code(Span::new(start, line.start + rest));
                    self.state = State::Text;
                    self.extend(Span::new(line.start + rest, line.end));
                    return false;
                }
                let head = Head::read(written);
                let outside = |column| !head.blank && head.indent < column;
                if head.quotes < fence.quotes || fence.column.is_some_and(outside) {
                    self.code(Span::new(start, line.start));
                    self.state = State::Text;
                    return self.ordinary(line, true);
                }
                false
            }
            State::Html { end, start } => {
                if let Some(at) = end.find(line.of(self.text).as_bytes()) {
                    self.code(Span::new(start, line.start + at));
                    self.state = State::Text;
                    self.extend(Span::new(line.start + at, line.end));
                }
                false
            }
            State::Indented | State::Text => self.ordinary(line, after_blank),
        }
    }

    fn ordinary(&mut self, line: Span, after_blank: bool) -> bool {
        let head = Head::read(line.of(self.text));
        if head.blank {
            self.flush();
            return true;
        }
        let body = line.start + head.body;
        let content = Span::new(body, line.end).of(self.text);
        let fresh = after_blank || head.quotes > self.quotes;
        self.quotes = head.quotes;
        if let Some((mark, len)) = opens_fence(content) {
            self.flush();
            self.in_list |= head.item;
            let text = self.text;
            let mut is_closed = || self.closers.get_or_insert_with(|| Closers::new(text)).any(line.end, mark, len);
            let in_list_and_open = self.in_list && head.body > 0 && !is_closed();
            let column = in_list_and_open.then_some(head.body);
            self.state = State::Fence { fence: Fence { mark, len, quotes: head.quotes, column }, start: body };
            return false;
        }
        if head.item {
            self.in_list = true;
        } else if fresh && head.indent < 2 {
            self.in_list = false;
        }
        let goes_on = matches!(self.state, State::Indented);
        if head.indent >= 4 && !head.item && !self.in_list && (fresh || goes_on) {
            self.flush();
            self.code(line);
            self.state = State::Indented;
            return false;
        }
        self.state = State::Text;
        if let Some(end) = html_block(content) {
            self.flush();
            self.state = State::Html { end, start: body };
            return false;
        }
        if !head.item && head.quotes == 0 && head.indent < 4 && link::definition(content).is_some() {
            self.flush();
            self.regions.push(Region { span: Span::new(body, line.end), kind: Kind::Definition });
            return false;
        }
        let alone = stands_alone(content);
        if head.item || alone || (fresh && !after_blank) {
            self.flush();
        }
        self.extend(line);
        if alone {
            self.flush();
        }
        false
    }

    fn code(&mut self, span: Span) {
        self.regions.push(Region { span, kind: Kind::Code });
    }

    fn extend(&mut self, line: Span) {
        let start = self.segment.map_or(line.start, |s| s.start);
        self.segment = Some(Span::new(start, line.end));
    }

    fn flush(&mut self) {
        if let Some(segment) = self.segment.take() {
            inline::scan(self.text, segment, &mut self.regions);
        }
    }

    fn end(&mut self, len: usize) {
        self.flush();
        if let State::Fence { start, .. } | State::Html { start, .. } = self.state {
            self.code(Span::new(start, len));
        }
    }
}

fn run(bytes: &[u8], mark: u8) -> usize {
    bytes.iter().take_while(|&&b| b == mark).count()
}

/// Lines that share no inline context with their neighbours: headings, table rows, rules.
fn stands_alone(content: &str) -> bool {
    match content.as_bytes().first() {
        Some(b'#') => {
            let level = run(content.as_bytes(), b'#');
            level <= 6 && matches!(content.as_bytes().get(level), None | Some(b' ' | b'\t'))
        }
        Some(b'|') => true,
        Some(&b @ (b'-' | b'=' | b'*' | b'_')) => content.bytes().all(|c| c == b || c == b' '),
        _ => false,
    }
}

/// The lines of `text` without their breaks (LF, CRLF or CR).
fn lines(text: &str) -> impl Iterator<Item = Span> + '_ {
    let bytes = text.as_bytes();
    let mut next = 0;
    std::iter::from_fn(move || {
        let start = next;
        let rest = bytes.get(start..).filter(|r| !r.is_empty())?;
        let end = memchr::memchr2(b'\n', b'\r', rest).map_or(bytes.len(), |i| start + i);
        next = end + if rest.get(end - start..).is_some_and(|b| b.starts_with(b"\r\n")) { 2 } else { 1 };
        Some(Span::new(start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with every region replaced by `·`, so that a table reads like what is left.
    fn left(text: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        for region in regions(text) {
            out.push_str(text.get(at..region.span.start).unwrap_or("?"));
            out.push('·');
            at = region.span.end;
        }
        out + text.get(at..).unwrap_or("?")
    }

    #[test]
    fn blocks() {
        for (text, expected) in [
            ("```\na\n```\nb", "·\nb"),
            ("> ```\n> a\n> ```\nb", "> ·\nb"),
            ("- ```\n  a\n  ```\nb", "- ·\nb"),
            ("```\na\n``` [2].\nb", "· [2].\nb"),
            ("```\na\n``` x\nb", "·"),
            ("> ```\n> a\n\nb", "> ·\nb"),
            ("> ```\n> a\n> ```\n> b", "> ·\n> b"),
            ("- a\n  ```\n  b\n\nc", "- a\n  ·c"),
            ("- a\n  ```\nb\n  ```\nc", "- a\n  ·\nc"),
            ("1. ```\n   a\n2. b", "1. ·2. b"),
            ("<PRE>\n\n[1]</Pre > x", "· x"),
            ("~~~ x`y\na\n~~~", "·"),
            ("``` a`b\nc", "``` a`b\nc"),
            ("a\n\n    b\n\n    c\nd", "a\n\n·\n\n·\nd"),
            ("a\n    b", "a\n    b"),
            ("- a\n\n      b\n\nc\n\n    d", "- a\n\n      b\n\nc\n\n·"),
            ("\tx", "·"),
            ("<!--\n\n[1]\n--> x", "· x"),
            ("<pre>\n\n[1]</pre> x", "· x"),
            ("<!-- a --> b", "· b"),
            ("<!-- a\n\nb", "·"),
            ("[1]: https://a.example\nb", "·\nb"),
            ("a ` b\n\nc ` d", "a ` b\n\nc ` d"),
            ("- a ` b\n- c ` d", "- a ` b\n- c ` d"),
            ("| a ` b |\n| c ` d |", "| a ` b |\n| c ` d |"),
            ("# a ` b\nc ` d", "# a ` b\nc ` d"),
            ("a `\nb` c", "a · c"),
            ("a\r\n\r\n    b\r\nc", "a\r\n\r\n·\r\nc"),
        ] {
            assert_eq!(left(text), expected, "{text:?}");
        }
    }

    #[test]
    fn inlines() {
        for (text, expected) in [
            (r"\[1] \\[2]", r"·1] ·[2]"),
            (r"\(a\) b \[c\]", "· b ·"),
            (r"\(a", "·a"),
            ("``b`c`` d", "· d"),
            (r"\`a` b", "·a` b"),
            ("$x$ is $5", "· is $5"),
            ("$5 or $6", "$5 or $6"),
            ("$ x$ and $y $", "$ x$ and $y $"),
            ("$$a\nb$$ c", "· c"),
            ("$$ave", "$$ave"),
            ("$5 `a` 6$", "$5 · 6$"),
            ("<a title=\"[1]\" b='x' c=d e>f</a>", "·f·"),
            ("x < y [1] and z > w", "x < y [1] and z > w"),
            ("<y [1] and z>", "<y [1] and z>"),
            ("<https://e.example/[1]> a", "· a"),
            ("a <code>[1]</code> b", "a · b"),
            ("a <CODE>[1]</Code > b", "a · b"),
            ("a <code>[1] b", "a ·[1] b"),
            ("<|file-1|>", "<|file-1|>"),
            ("a <!-- b --> c <!-- d", "a · c <!-- d"),
        ] {
            assert_eq!(left(text), expected, "{text:?}");
        }
    }
}
