//! Walks a text once and pairs its brackets: what stands around a pair decides here what it is.

use super::super::context::{self, Kind, Region, link};
use super::super::source::Sources;
use super::super::span::Span;
use super::content::{self, Reading};
use super::{Found, Grammar, Item, Marker, Names, subscript};

/// See [`super::find`].
pub(super) fn find(text: &str, sources: &Sources, grammar: &Grammar) -> Found {
    let mut finder = Finder {
        text,
        reader: content::Reader { sources, words: &grammar.words },
        limit: grammar.hold_limit,
        open: Vec::new(),
        foreign: None,
        regions: 0,
        link_end: 0,
        subscript_end: None,
        found: Found { regions: context::regions(text), ..Found::default() },
    };
    finder.run();
    finder.found
}

/// An opening bracket that waits for its partner.
struct Opener {
    at: usize,
    /// Where the text between the brackets begins.
    inside: usize,
    /// Regions entered before it: another count at its partner means that one lies between.
    regions: usize,
    /// The last pair that was closed directly inside this one.
    inner: Option<Inner>,
}

/// A closed pair.
#[derive(Clone, Copy)]
struct Inner {
    span: Span,
    /// Its place among the found markers, if it is one that nothing was linked to.
    marker: Option<usize>,
}

struct Finder<'a> {
    text: &'a str,
    reader: content::Reader<'a>,
    limit: usize,
    /// Unclosed brackets of this line.
    open: Vec<Opener>,
    /// An unclosed foreign opener of this line.
    foreign: Option<(Foreign, Opener)>,
    /// Regions entered so far.
    regions: usize,
    /// Brackets before this byte stand in a link's target.
    link_end: usize,
    /// Where the last subscript ended.
    subscript_end: Option<usize>,
    found: Found,
}

/// The two kinds of foreign spans.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Foreign {
    /// `<|…|>`
    Pipe,
    /// U+E200 … U+E201
    PrivateUse,
}

impl Finder<'_> {
    fn run(&mut self) {
        let regions = std::mem::take(&mut self.found.regions);
        let mut at = 0;
        for region in &regions {
            self.scan(at, region.span.start);
            self.enter(region);
            at = region.span.end;
        }
        self.scan(at, self.text.len());
        self.found.unclosed = self.unclosed(&regions);
        self.found.regions = regions;
        self.found.markers.sort_by_key(|m| m.span);
    }

    /// A region begins: what was open cannot become a marker across it, except that a line may go on.
    fn enter(&mut self, region: &Region) {
        if region.kind == Kind::Definition {
            let line = region.span.of(self.text);
            if let Some(label) = link::definition(line) {
                let span = Span::new(region.span.start, region.span.start + label.end);
                let inside = Span::new(span.start + 1, span.end - 1);
                if let Reading::Marker(items) = self.reader.read(self.text, inside) {
                    let numbers = Marker { span, brackets: span, items }.numbers();
                    self.found.definitions.push((span, numbers));
                }
            }
        }
        if memchr::memchr2(b'\n', b'\r', region.span.of(self.text).as_bytes()).is_some() {
            self.new_line();
        }
        self.subscript_end = None;
        self.regions += 1;
    }

    fn new_line(&mut self) {
        self.open.clear();
        self.foreign = None;
    }

    /// Takes the ordinary text from `from` to `to`.
    fn scan(&mut self, from: usize, to: usize) {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < to {
            let Some(&b) = bytes.get(at) else { return };
            let len = match b {
                b'[' => self.opener(at, 1),
                b']' => self.closer(at, 1),
                b'\n' | b'\r' => {
                    self.new_line();
                    1
                }
                b'<' if bytes.get(at + 1) == Some(&b'|') => self.foreign_opener(Foreign::Pipe, at, 2),
                b'|' if bytes.get(at + 1) == Some(&b'>') => self.foreign_closer(Foreign::Pipe, at, 2),
                0xE3 | 0xEE | 0xEF => self.wide(at),
                _ => 1,
            };
            at += len;
        }
    }

    /// The three-byte brackets.
    fn wide(&mut self, at: usize) -> usize {
        match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            Some('【' | '［') => self.opener(at, 3),
            Some('】' | '］') => self.closer(at, 3),
            Some('\u{E200}') => self.foreign_opener(Foreign::PrivateUse, at, 3),
            Some('\u{E201}') => self.foreign_closer(Foreign::PrivateUse, at, 3),
            _ => 1,
        }
    }

    fn opener(&mut self, at: usize, len: usize) -> usize {
        if at >= self.link_end {
            let opener = self.begin(at, len);
            self.open.push(opener);
        }
        len
    }

    fn begin(&self, at: usize, len: usize) -> Opener {
        Opener { at, inside: at + len, regions: self.regions, inner: None }
    }

    fn foreign_opener(&mut self, kind: Foreign, at: usize, len: usize) -> usize {
        if at >= self.link_end {
            self.foreign = Some((kind, self.begin(at, len)));
        }
        len
    }

    fn foreign_closer(&mut self, kind: Foreign, at: usize, len: usize) -> usize {
        let Some((_, opener)) = self.foreign.take_if(|(k, o)| *k == kind && o.inside <= at) else { return len };
        let (span, inside) = (Span::new(opener.at, at + len), Span::new(opener.inside, at));
        if content::holds_foreign_bracket(inside.of(self.text)) {
            return len;
        }
        let items = match kind {
            Foreign::Pipe => self.reader.file(self.text, inside),
            Foreign::PrivateUse => self.reader.private_use(self.text, inside),
        };
        if !items.is_empty() && span.len() <= self.limit && opener.regions == self.regions {
            // Brackets inside were read as they came; the foreign span covers them.
            pop_while(&mut self.found.markers, |m| m.span.start >= span.start);
            pop_while(&mut self.found.look_alikes, |s| s.start >= span.start);
            pop_while(&mut self.open, |o| o.at >= span.start);
            self.found.markers.push(Marker { span, brackets: span, items });
        }
        len
    }

    fn closer(&mut self, at: usize, len: usize) -> usize {
        if at < self.link_end {
            return len;
        }
        let Some(opener) = self.open.pop() else { return len };
        let pair = Span::new(opener.at, at + len);
        let marker = self.pair(&opener, pair, Span::new(opener.inside, at));
        if let Some(outer) = self.open.last_mut() {
            outer.inner = Some(Inner { span: pair, marker });
        }
        len
    }

    /// Judges a closed pair; gives its place among the markers if it became one that may still be doubled.
    fn pair(&mut self, opener: &Opener, pair: Span, inside: Span) -> Option<usize> {
        if let Some(target) = link::target(self.text, pair.end) {
            self.linked(opener, pair, inside, target);
            return None;
        }
        match opener.inner {
            None if pair.len() <= self.limit && opener.regions == self.regions => self.innermost(pair, inside),
            None => None,
            Some(inner) => {
                let double = inner.span == inside && pair.len() <= self.limit;
                let marker = inner.marker.filter(|_| double)?;
                let found = self.found.markers.get_mut(marker)?;
                (found.span, found.brackets) = (pair, pair);
                None
            }
        }
    }

    fn innermost(&mut self, pair: Span, inside: Span) -> Option<usize> {
        match self.reader.read(self.text, inside) {
            Reading::Marker(items) => {
                if subscript::is_one(self.text, pair, self.subscript_end) {
                    self.subscript_end = Some(pair.end);
                    return None;
                }
                self.found.markers.push(Marker { span: pair, brackets: pair, items });
                Some(self.found.markers.len() - 1)
            }
            Reading::LooksLike => {
                self.found.look_alikes.push(pair);
                None
            }
            Reading::Prose => None,
        }
    }

    /// A pair with a link target behind it: a citation when the target is the source's own url, else a link, and nothing
    /// in a link is a citation.
    fn linked(&mut self, opener: &Opener, pair: Span, inside: Span, target: link::Target) {
        let innermost = match opener.inner {
            None => Some(inside),
            Some(inner) if inner.span == inside && inner.marker.is_some() => {
                let (open, close) = (first_len(inside.of(self.text)), last_len(inside.of(self.text)));
                Some(Span::new(inside.start + open, inside.end - close))
            }
            Some(_) => None,
        };
        pop_while(&mut self.found.markers, |m| m.span.start >= pair.start);
        pop_while(&mut self.found.look_alikes, |s| s.start >= pair.start);
        self.link_end = target.span.end;
        let Some(innermost) = innermost.filter(|_| pair.len() <= self.limit) else { return };
        let image = self.text.get(..pair.start).is_some_and(|before| before.ends_with('!'));
        if image || opener.regions != self.regions {
            return;
        }
        if let Reading::Marker(items) = self.reader.read(self.text, innermost)
            && let [Item { names: Names::Number(n), .. }] = items.as_slice()
            && self.reader.sources.numbered(*n).is_some_and(|s| s.url.as_deref() == Some(target.url.of(self.text)))
        {
            let span = Span::new(pair.start, target.span.end);
            self.found.markers.push(Marker { span, brackets: pair, items });
        }
    }

    fn unclosed(&self, regions: &[Region]) -> Option<Span> {
        let end = self.text.len();
        if regions.last().is_some_and(|r| r.span.end == end && r.kind == Kind::Code) {
            return None;
        }
        let (opener, begins) = match (&self.foreign, self.open.last()) {
            (Some((Foreign::PrivateUse, opener)), _) => (opener, true),
            (Some((Foreign::Pipe, opener)), _) => (opener, content::begins_file(self.behind(opener))),
            (None, Some(opener)) => (opener, opener.inner.is_none() && self.reader.begins(self.behind(opener))),
            (None, None) => return None,
        };
        let fits = end - opener.at < self.limit && opener.regions == self.regions;
        (begins && fits).then(|| Span::new(opener.at, end))
    }

    fn behind(&self, opener: &Opener) -> &str {
        Span::new(opener.inside, self.text.len()).of(self.text)
    }
}

fn pop_while<T>(items: &mut Vec<T>, gone: impl Fn(&T) -> bool) {
    while items.last().is_some_and(&gone) {
        items.pop();
    }
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

fn last_len(text: &str) -> usize {
    text.chars().next_back().map_or(0, char::len_utf8)
}
