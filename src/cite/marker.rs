//! Turns text into the markers that stand in it, and into what looks like one and is not.
//!
//! Brackets pair innermost first, within one line, and only outside the regions of [`super::context`]. What stands between
//! a pair is read by `content`; what stands around it (a second pair, a link target, a name that it indexes) decides
//! here. Linear in the text: what lies between a pair is read once, and never more than the hold limit of it.
//!
//! Invariant shared with the hold-back emitter: a marker is at most `hold_limit` bytes from first to last bracket, holds no
//! line break and no other opener or closer inside, so an emitter that knows brackets only never cuts one.

mod content;
mod subscript;

use super::context::{self, Kind, Region, link};
use super::source::Sources;
use super::span::Span;
use content::Reading;

/// Words that may stand before a number: `[Source 1]`. The single source for the grammar and for the prompt.
pub const MARKER_WORDS: [&str; 16] = [
    "source",
    "sources",
    "doc",
    "document",
    "id",
    "citation",
    "cite",
    "reference",
    "ref",
    "Quelle",
    "fuente",
    "fonte",
    "출처",
    "来源",
    "來源",
    "出典",
];

/// Bytes of a marker at the most, brackets included, and of text that the emitter holds back. Chosen so that a list of
/// twenty sources fits. At half, long lists become prose; at double, a stray bracket delays twice the text.
pub const HOLD_LIMIT: usize = 128;

/// What counts as a marker.
#[derive(Debug, Clone)]
pub struct Grammar {
    /// Longest marker in bytes, 8..=4096. The emitter's limit and this one are the same number.
    pub hold_limit: usize,
    /// Words for "source", any case.
    pub words: Vec<String>,
}

impl Default for Grammar {
    fn default() -> Self {
        Self { hold_limit: HOLD_LIMIT, words: MARKER_WORDS.map(str::to_owned).to_vec() }
    }
}

/// A citation as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// All of it, a linked url included.
    pub span: Span,
    /// From the first bracket to the last.
    pub brackets: Span,
    /// What it names, in the order written.
    pub items: Vec<Item>,
}

impl Marker {
    /// Every number that it names, valid or not, each once, in the order written.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        let mut numbers = Vec::new();
        for n in self.items.iter().flat_map(|item| item.names.numbers()) {
            if !numbers.contains(&n) {
                numbers.push(n);
            }
        }
        numbers
    }
}

/// One entry of a marker, between separators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What goes when it is removed: its own word, its number, its locator.
    pub span: Span,
    /// What it points at.
    pub names: Names,
    /// Page, section or lines behind the number, kept as text.
    pub locator: Option<Span>,
}

/// What one entry of a marker points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// One source by number.
    Number(u32),
    /// Sources by first and last number, with where the two stand.
    Range {
        /// First and last as written.
        ends: (u32, u32),
        /// Where the first and the last number stand.
        at: (Span, Span),
    },
    /// An id that no source has.
    Unknown(String),
}

/// The widest range that is read as all its numbers: `last - first`.
const WIDEST: u32 = 8;

impl Names {
    /// True for a range that is too wide or does not run forwards, so that only its ends are read.
    #[must_use]
    pub fn is_odd_range(&self) -> bool {
        matches!(self, Self::Range { ends: (a, b), .. } if a >= b || b - a > WIDEST)
    }

    fn numbers(&self) -> Vec<u32> {
        match self {
            Self::Number(n) => vec![*n],
            Self::Range { ends: (a, b), .. } if self.is_odd_range() => vec![*a, *b],
            Self::Range { ends: (a, b), .. } => (*a..=*b).collect(),
            Self::Unknown(_) => Vec::new(),
        }
    }
}

/// Everything that [`find`] saw.
#[derive(Debug, Default)]
pub struct Found {
    /// The markers, in order; no two share a byte.
    pub markers: Vec<Marker>,
    /// Bracketed text that names a source in a way the grammar cannot read.
    pub look_alikes: Vec<Span>,
    /// Labels of definition lines that hold numbers, with these.
    pub definitions: Vec<(Span, Vec<u32>)>,
    /// The text ends inside a marker that begins here.
    pub unclosed: Option<Span>,
    /// The regions in which nothing counts, in order.
    pub regions: Vec<Region>,
}

/// The form in which models are asked to cite source `n`. [`find`] reads it in every setting.
#[must_use]
pub fn write(n: u32) -> String {
    format!("[{n}]")
}

/// Finds the markers of `text`. Never fails; linear in the length of `text`.
///
/// ```
/// use citewire::cite::{marker::{find, Grammar}, source::Sources};
/// let found = find("Open daily [1, 3], see `v[2]`.", &Sources::default(), &Grammar::default());
/// assert_eq!(found.markers.len(), 1);
/// assert_eq!(found.markers[0].numbers(), [1, 3]);
/// ```
#[must_use]
pub fn find(text: &str, sources: &Sources, grammar: &Grammar) -> Found {
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
