//! Takes invalid numbers out of an answer's text, and touches no other byte.
//!
//! A removal that would make the text read otherwise than "the remaining citations, nothing else" is not made. Whether it
//! would is not guessed but read: the corrected text goes through the marker finder again.

use std::collections::BTreeSet;

use crate::cite::check::{Code, Report};
use crate::cite::marker::{Grammar, Item, Marker, Names, find};
use crate::cite::source::Sources;
use crate::cite::span::Span;

/// Readings of the corrected text at the most. One is the rule; each further one follows from removals that would have created
/// something, and these are given up. What does not read right after the last one stays as it was.
const MAX_READINGS: usize = 8;

/// The text without invalid numbers and unknown ids; `None` when nothing can be taken out.
#[must_use]
pub(super) fn strip(text: &str, report: &Report, sources: &Sources, grammar: &Grammar) -> Option<String> {
    let mut edits: Vec<Edit> = report.markers.iter().filter_map(|m| edit(text, m, sources)).collect();
    let was_closed = !report.problems.iter().any(|p| p.code == Code::UnclosedMarker);
    let proof = Proof { text, markers: &report.markers, sources, grammar, was_closed };
    for _ in 0..MAX_READINGS {
        if edits.is_empty() {
            return None;
        }
        let (new, blamed) = proof.read(&edits);
        if blamed.is_empty() {
            return Some(new);
        }
        let mut index = 0..;
        edits.retain(|_| !index.next().is_some_and(|i| blamed.contains(&i)));
    }
    None
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
fn apply(text: &str, edits: &[Edit]) -> (String, Vec<usize>) {
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
fn cuts(text: &str, edits: &[Edit]) -> Vec<Span> {
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
    /// The text does not end inside a marker.
    was_closed: bool,
}

impl Proof<'_> {
    /// The text with `edits` made, and those of them that keep it from reading as exactly the remaining citations, each where
    /// it must be, with nothing else that looks like one.
    fn read(&self, edits: &[Edit]) -> (String, BTreeSet<usize>) {
        let (new, starts) = apply(self.text, edits);
        let expected = self.expected(edits, &starts);
        let found = find(&new, self.sources, self.grammar);
        let mut blame = Blame { new: &new, starts: &starts, blamed: BTreeSet::new(), line: None };
        let mut expected = expected.into_iter().peekable();
        for marker in &found.markers {
            while let Some((missing, _)) = expected.next_if(|(start, _)| *start < marker.span.start) {
                blame.line(missing);
            }
            if expected
                .next_if(|(start, numbers)| *start == marker.span.start && *numbers == marker.numbers())
                .is_none()
            {
                blame.inside(marker.span);
            }
        }
        expected.for_each(|(missing, _)| blame.line(missing));
        for look_alike in &found.look_alikes {
            if blame.edits_in(Span::new(look_alike.start + 1, look_alike.end)).next().is_some() {
                blame.inside(*look_alike);
            }
        }
        if let Some(unclosed) = found.unclosed.filter(|_| self.was_closed) {
            blame.inside(unclosed);
        }
        let blamed = blame.blamed;
        (new, blamed)
    }

    /// Where each remaining marker begins in the new text, and what it must name.
    fn expected(&self, edits: &[Edit], starts: &[usize]) -> Vec<(usize, Vec<u32>)> {
        let mut expected = Vec::new();
        let mut edits = edits.iter().zip(starts).peekable();
        // How far the text behind the last edit has moved towards the front.
        let mut moved = 0;
        for marker in self.markers {
            if let Some((edit, start)) = edits.next_if(|(e, _)| e.marker == marker.span) {
                if !edit.shorter.is_empty() {
                    expected.push((*start, edit.numbers.clone()));
                }
                moved = marker.span.end.saturating_sub(start + edit.shorter.len());
            } else {
                expected.push((marker.span.start - moved, marker.numbers()));
            }
        }
        expected
    }
}

/// Collects the edits that have to do with what reads wrong.
struct Blame<'a> {
    new: &'a str,
    /// Where each edit was made.
    starts: &'a [usize],
    blamed: BTreeSet<usize>,
    /// The line that was blamed last: each is looked at once.
    line: Option<Span>,
}

impl Blame<'_> {
    /// The edits made in this span, its ends included.
    fn edits_in(&self, span: Span) -> std::ops::Range<usize> {
        self.starts.partition_point(|&s| s < span.start)..self.starts.partition_point(|&s| s <= span.end)
    }

    /// Something stands here that should not: the edits in it, or else on its line.
    fn inside(&mut self, span: Span) {
        let edits = self.edits_in(span);
        if edits.is_empty() { self.line(span.start) } else { self.blamed.extend(edits) }
    }

    /// Something is wrong on the line of this place: its edits, or else all of them.
    fn line(&mut self, at: usize) {
        if self.line.is_some_and(|line| (line.start..=line.end).contains(&at)) {
            return;
        }
        let (before, behind) = self.new.split_at_checked(at).unwrap_or((self.new, ""));
        let start = before.rfind(['\n', '\r']).map_or(0, |i| i + 1);
        let end = behind.find(['\n', '\r']).map_or(self.new.len(), |i| at + i);
        self.line = Some(Span::new(start, end));
        let edits = self.edits_in(Span::new(start, end));
        self.blamed.extend(if edits.is_empty() { 0..self.starts.len() } else { edits });
    }
}
