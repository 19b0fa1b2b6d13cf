//! Turns text into the markers that stand in it, and into what looks like one and is not.
//!
//! Brackets pair innermost first, within one line, and only outside the regions of [`super::context`]. What stands between
//! a pair is read by `content`; what stands around it (a second pair, a link target, a name that it indexes) decides
//! here. Linear in the text: what lies between a pair is read once, and never more than the hold limit of it.
//!
//! Invariant shared with the hold-back emitter: a marker is at most `hold_limit` bytes from first to last bracket, holds no
//! line break and no other opener or closer inside, so an emitter that knows brackets only never cuts one.

mod content;
mod finder;
mod subscript;

use super::context::Region;
use super::source::Sources;
use super::span::Span;

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
    finder::find(text, sources, grammar)
}
