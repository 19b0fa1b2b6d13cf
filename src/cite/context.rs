//! Turns Markdown text into the regions in which brackets are not citations: code, maths, HTML, escapes, definition lines.
//!
//! Two passes, both linear on any text: lines first (fences, indented code, HTML blocks, definitions; this file), then the
//! inline constructs of each run of ordinary lines (`inline`). Links are not found here, since what is a link depends on
//! which brackets pair: the marker finder asks [`link::target`] when it sees a pair.
//!
//! This is not a renderer's Markdown. Where real answers break its letter, the reading that keeps their citations wins: a
//! fence may be closed with markers behind it, and may be indented however deep.

mod inline;
pub(crate) mod link;

use memchr::memmem;

use super::span::Span;

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
    let mut pass =
        BlockPass { text, regions: Vec::new(), segment: None, state: State::Text, in_list: false, quotes: 0 };
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
    /// In a fence of `len` times `mark`, since byte `start`.
    Fence { mark: u8, len: usize, start: usize },
    /// In an HTML block since byte `start`, until `end` occurs.
    Html { end: &'static str, start: usize },
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
}

impl BlockPass<'_> {
    /// Takes one line (without its break); says whether the next line stands behind a blank one.
    fn line(&mut self, line: Span, after_blank: bool) -> bool {
        match self.state {
            State::Fence { mark, len, start } => {
                if let Some(rest) = closes_fence(line.of(self.text), mark, len) {
                    self.code(Span::new(start, line.start + rest));
                    self.state = State::Text;
                    self.extend(Span::new(line.start + rest, line.end));
                }
                false
            }
            State::Html { end, start } => {
                if let Some(at) = memmem::find(line.of(self.text).as_bytes(), end.as_bytes()) {
                    let stop = line.start + at + end.len();
                    self.code(Span::new(start, stop));
                    self.state = State::Text;
                    self.extend(Span::new(stop, line.end));
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
            self.state = State::Fence { mark, len, start: body };
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

/// The beginning of a line: block quote signs, list markers, indentation.
struct Head {
    /// Columns of white space behind the quote signs, before anything else.
    indent: usize,
    quotes: usize,
    /// A list marker stands here.
    item: bool,
    /// Nothing but white space and quote signs.
    blank: bool,
    /// Bytes before the content.
    body: usize,
}

impl Head {
    fn read(line: &str) -> Self {
        let bytes = line.as_bytes();
        let mut head = Self { indent: 0, quotes: 0, item: false, blank: false, body: 0 };
        loop {
            let (columns, at) = white_space(bytes, head.body);
            match bytes.get(at) {
                None => {
                    head.blank = !head.item;
                    head.body = at;
                    return head;
                }
                Some(b'>') if !head.item => {
                    head.quotes += 1;
                    head.indent = 0;
                    // One space behind the sign belongs to the sign.
                    head.body = at + 1 + usize::from(bytes.get(at + 1) == Some(&b' '));
                }
                Some(_) => {
                    if !head.item {
                        head.indent = columns;
                    }
                    head.body = at;
                    match list_marker(bytes, at) {
                        Some(len) => {
                            head.item = true;
                            head.body = at + len;
                        }
                        None => return head,
                    }
                }
            }
        }
    }
}

/// Columns of white space at `at` (a tab reaches the next multiple of four), and where it ends.
fn white_space(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut columns = 0;
    while let Some(b @ (b' ' | b'\t')) = bytes.get(at) {
        columns = if *b == b' ' { columns + 1 } else { (columns / 4 + 1) * 4 };
        at += 1;
    }
    (columns, at)
}

/// Length of a list marker at `at`: `- `, `* `, `+ `, `1. `, `1) `.
fn list_marker(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let digits = rest.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let len = match rest.get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..10).contains(&digits) => digits + 1,
        _ => return None,
    };
    matches!(rest.get(len), None | Some(b' ' | b'\t')).then_some(len)
}

fn opens_fence(content: &str) -> Option<(u8, usize)> {
    let bytes = content.as_bytes();
    let mark = *bytes.first().filter(|b| matches!(b, b'`' | b'~'))?;
    let len = run(bytes, mark);
    let info_may_follow = mark == b'~' || memchr::memchr(b'`', bytes.get(len..)?).is_none();
    (len >= 3 && info_may_follow).then_some((mark, len))
}

/// If the line closes the fence: where the text behind the fence begins.
fn closes_fence(line: &str, mark: u8, len: usize) -> Option<usize> {
    let at = line.len() - line.trim_start_matches([' ', '\t', '>']).len();
    let got = run(line.as_bytes().get(at..)?, mark);
    let rest = line.get(at + got..)?;
    (got >= len && (rest.trim().is_empty() || only_markers(rest))).then_some(at + got)
}

fn run(bytes: &[u8], mark: u8) -> usize {
    bytes.iter().take_while(|&&b| b == mark).count()
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

/// What ends the HTML block that begins here, if one begins and does not end on the same line.
fn html_block(content: &str) -> Option<&'static str> {
    const BLOCKS: [(&str, &str); 5] = [
        ("<!--", "-->"),
        ("<pre", "</pre>"),
        ("<script", "</script>"),
        ("<style", "</style>"),
        ("<textarea", "</textarea>"),
    ];
    let bytes = content.as_bytes();
    let (_, end) = BLOCKS.iter().find(|(begin, _)| {
        let named = bytes.get(..begin.len()).is_some_and(|b| b.eq_ignore_ascii_case(begin.as_bytes()));
        named && (*begin == "<!--" || matches!(bytes.get(begin.len()), None | Some(b' ' | b'\t' | b'>')))
    })?;
    memmem::find(bytes, end.as_bytes()).is_none().then_some(end)
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
            ("a <code>[1] b", "a ·[1] b"),
            ("<|file-1|>", "<|file-1|>"),
            ("a <!-- b --> c <!-- d", "a · c <!-- d"),
        ] {
            assert_eq!(left(text), expected, "{text:?}");
        }
    }
}
