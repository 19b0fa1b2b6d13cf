//! Takes invalid numbers out of an answer's text, and touches no other byte.
//!
//! A removal that would make the text read otherwise than "the remaining citations, nothing else" is not made. Whether it
//! would is not guessed but read: the corrected text goes through the marker finder again.

use crate::cite::check::Report;
use crate::cite::marker::{Grammar, Item, Marker, Names, find};
use crate::cite::source::Sources;
use crate::cite::span::Span;

/// Readings of the corrected text at the most. One is the rule; more are needed only around removals that would create a
/// marker. When they are used up, the markers not yet proven stay, with their problems.
const MAX_READINGS: usize = 32;

/// The text without invalid numbers and unknown ids; `None` when nothing can be taken out.
#[must_use]
pub(super) fn strip(text: &str, report: &Report, sources: &Sources, grammar: &Grammar) -> Option<String> {
    let edits: Vec<Edit> = report.markers.iter().filter_map(|m| edit(text, m, sources)).collect();
    let made = vec![false; edits.len()];
    let mut proof = Proof { text, markers: &report.markers, sources, grammar, edits, made, readings: 0 };
    proof.make(0..proof.edits.len());
    let made: Vec<&Edit> = proof.made().collect();
    (!made.is_empty()).then(|| apply(text, &made).0)
}

/// A marker that is to go or to be shortened.
struct Edit {
    /// The marker as written.
    marker: Span,
    /// What to put in its place; empty: it goes whole, with the space before it where that would be left over.
    shorter: String,
    /// What `shorter` must read as.
    numbers: Vec<u32>,
}

/// What to do about one marker; `None` when all of it is valid.
fn edit(text: &str, marker: &Marker, sources: &Sources) -> Option<Edit> {
    let valid = |n: &u32| sources.numbered(*n).is_some();
    let kept: Vec<Option<String>> = marker.items.iter().map(|item| shortened(text, item, sources)).collect();
    let unchanged = marker.items.iter().zip(&kept).all(|(item, k)| k.as_deref() == Some(item.span.of(text)));
    if unchanged {
        return None;
    }
    let numbers: Vec<u32> = marker.numbers().into_iter().filter(valid).collect();
    let mut shorter = String::new();
    if kept.iter().any(Option::is_some) {
        let first = marker.items.first().map_or(marker.span.end, |i| i.span.start);
        shorter.push_str(Span::new(marker.span.start, first).of(text));
        let mut any = false;
        for (i, (item, kept)) in marker.items.iter().zip(&kept).enumerate() {
            let Some(kept) = kept else { continue };
            // The separator before a kept number stays with it, unless it has become the first.
            let before = i.checked_sub(1).and_then(|i| marker.items.get(i)).filter(|_| any);
            if let Some(before) = before {
                shorter.push_str(Span::new(before.span.end, item.span.start).of(text));
            }
            shorter.push_str(kept);
            any = true;
        }
        let last = marker.items.last().map_or(marker.span.end, |i| i.span.end);
        shorter.push_str(Span::new(last, marker.span.end).of(text));
    }
    Some(Edit { marker: marker.span, shorter, numbers })
}

/// The item with its valid part only; `None` when nothing of it is valid.
fn shortened(text: &str, item: &Item, sources: &Sources) -> Option<String> {
    let valid = |n: u32| sources.numbered(n).is_some();
    let whole = item.span.of(text).to_owned();
    match &item.names {
        Names::Unknown(_) => None,
        Names::Number(n) => valid(*n).then_some(whole),
        Names::Range { ends: (a, b), at } => {
            let replaced = |from: &str, to: &str| {
                let mut out = Span::new(item.span.start, at.0.start).of(text).to_owned();
                out.push_str(from);
                if !to.is_empty() {
                    out.push_str(Span::new(at.0.end, at.1.start).of(text));
                    out.push_str(to);
                }
                out + Span::new(at.1.end, item.span.end).of(text)
            };
            let (first, last) = (at.0.of(text), at.1.of(text));
            if valid(*a) && valid(*b) {
                return Some(whole);
            }
            if item.names.is_odd_range() {
                return match (valid(*a), valid(*b)) {
                    (true, _) => Some(replaced(first, "")),
                    (_, true) => Some(replaced(last, "")),
                    _ => None,
                };
            }
            let count = u32::try_from(sources.len()).unwrap_or(u32::MAX);
            let (low, high) = ((*a).max(1), (*b).min(count));
            let low_text = if low == *a { first.to_owned() } else { low.to_string() };
            let high_text = if high == *b { last.to_owned() } else { high.to_string() };
            match low.cmp(&high) {
                std::cmp::Ordering::Less => Some(replaced(&low_text, &high_text)),
                std::cmp::Ordering::Equal => Some(replaced(&low_text, "")),
                std::cmp::Ordering::Greater => None,
            }
        }
    }
}

/// The text with these edits (in order) made, and where in it each edited marker's place is.
fn apply(text: &str, edits: &[&Edit]) -> (String, Vec<usize>) {
    let gone = cuts(text, edits);
    let mut out = String::with_capacity(text.len());
    let mut starts = Vec::with_capacity(edits.len());
    let mut at = 0;
    for (edit, cut) in edits.iter().zip(&gone) {
        out.push_str(Span::new(at, cut.start).of(text));
        starts.push(out.len());
        out.push_str(&edit.shorter);
        at = cut.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, starts)
}

/// What goes for each edit: the marker, with one space before it if white space, punctuation or the end follows.
fn cuts(text: &str, edits: &[&Edit]) -> Vec<Span> {
    let mut cuts: Vec<Span> = Vec::with_capacity(edits.len());
    let mut next: Option<(Span, bool)> = None;
    for edit in edits.iter().rev() {
        let end = edit.marker.end;
        // What follows a marker whose neighbour goes too is what follows the neighbour.
        let space_goes = edit.shorter.is_empty()
            && match next {
                Some((cut, space_goes)) if cut.start == end => space_goes,
                _ => closes(text.get(end..).and_then(|rest| rest.chars().next())),
            };
        let space = text.get(..edit.marker.start).is_some_and(|before| before.ends_with(' '));
        let cut = Span::new(edit.marker.start - usize::from(space_goes && space), end);
        next = Some((cut, space_goes));
        cuts.push(cut);
    }
    cuts.reverse();
    cuts
}

/// True for what needs no space before it.
fn closes(c: Option<char>) -> bool {
    c.is_none_or(|c| c.is_whitespace() || ".,;:!?)]}'\"*_~|%-…。，、；：！？）】』」》〉”’»–—·।؟،؛".contains(c))
}

/// Finds out which removals can be made.
struct Proof<'a> {
    text: &'a str,
    markers: &'a [Marker],
    sources: &'a Sources,
    grammar: &'a Grammar,
    edits: Vec<Edit>,
    /// Which edits are made.
    made: Vec<bool>,
    readings: usize,
}

impl Proof<'_> {
    /// Makes the edits of `range` beside those made already: all when they hold together, else as many halves as hold.
    fn make(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() || self.readings >= MAX_READINGS {
            return;
        }
        self.set(range.clone(), true);
        if self.holds() {
            return;
        }
        self.set(range.clone(), false);
        if range.len() > 1 {
            let middle = range.start + range.len() / 2;
            self.make(range.start..middle);
            self.make(middle..range.end);
        }
    }

    fn set(&mut self, range: std::ops::Range<usize>, to: bool) {
        if let Some(made) = self.made.get_mut(range) {
            made.fill(to);
        }
    }

    fn made(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().zip(&self.made).filter_map(|(edit, made)| made.then_some(edit))
    }

    /// True when the new text reads as exactly the remaining citations, each where it must be.
    fn holds(&mut self) -> bool {
        self.readings += 1;
        let edits: Vec<&Edit> = self.made().collect();
        let (new, starts) = apply(self.text, &edits);
        let mut expected: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut edits = edits.iter().zip(starts).peekable();
        // How far the text behind the last edit has moved towards the front.
        let mut moved = 0;
        for marker in self.markers {
            if let Some((edit, start)) = edits.next_if(|(e, _)| e.marker == marker.span) {
                if !edit.shorter.is_empty() {
                    expected.push((start, edit.numbers.clone()));
                }
                moved = marker.span.end.saturating_sub(start + edit.shorter.len());
            } else {
                expected.push((marker.span.start - moved, marker.numbers()));
            }
        }
        let read = find(&new, self.sources, self.grammar).markers;
        read.iter().map(|m| (m.span.start, m.numbers())).eq(expected)
    }
}
