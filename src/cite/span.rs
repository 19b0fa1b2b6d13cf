//! Byte ranges in a text, and the same places counted in UTF-16 units and code points.

/// A half-open range of UTF-8 bytes. Ends always stand on character boundaries of the text they were made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A range from `start` up to, not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end, "a span ends where it starts or later");
        Self { start, end }
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// True when it covers no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The text it covers; empty when it does not fit `text`.
    #[must_use]
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// True when the two share at least one byte.
    #[must_use]
    pub fn overlaps(self, other: Span) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// A span in all three units that clients count in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Located {
    /// UTF-8 bytes.
    pub bytes: Span,
    /// UTF-16 code units, what JavaScript strings count.
    pub utf16: Span,
    /// Unicode code points, what Python strings count.
    pub code_points: Span,
}

/// Bytes between two marks of a [`Ruler`]. Half costs twice the memory, double twice the time of a lookup.
const STEP: usize = 256;

/// Converts byte offsets of one text. Made once per text in linear time; a lookup looks at 256 bytes at most.
///
/// ```
/// use citewire::cite::span::{Ruler, Span};
/// let located = Ruler::new("né 🐸 [1]").locate(Span::new(9, 12));
/// assert_eq!((located.utf16.start, located.code_points.start), (6, 5));
/// ```
#[derive(Debug)]
pub struct Ruler<'a> {
    text: &'a str,
    /// UTF-16 units and code points before every `STEP`th byte.
    marks: Vec<(usize, usize)>,
}

impl<'a> Ruler<'a> {
    /// Measures the text.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let mut marks = Vec::with_capacity(text.len() / STEP + 1);
        let mut at = (0, 0);
        for block in text.as_bytes().chunks(STEP) {
            marks.push(at);
            let (utf16, code_points) = count(block);
            at = (at.0 + utf16, at.1 + code_points);
        }
        marks.push(at);
        Self { text, marks }
    }

    /// The same place in all three units. An offset past the end counts as the end.
    #[must_use]
    pub fn locate(&self, span: Span) -> Located {
        let (start, end) = (self.at(span.start), self.at(span.end));
        Located { bytes: span, utf16: Span::new(start.0, end.0), code_points: Span::new(start.1, end.1) }
    }

    fn at(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let block = offset / STEP;
        let before = self.marks.get(block).copied().unwrap_or_default();
        let rest = count(self.text.as_bytes().get(block * STEP..offset).unwrap_or_default());
        (before.0 + rest.0, before.1 + rest.1)
    }
}

/// UTF-16 units and code points that begin in these bytes.
fn count(bytes: &[u8]) -> (usize, usize) {
    let code_points = bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count();
    let astral = bytes.iter().filter(|&&b| b >= 0xF0).count();
    (code_points + astral, code_points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_counting_characters() {
        let text = "井の中 🐸 né 👨‍👩‍👧 ".repeat(60);
        let ruler = Ruler::new(&text);
        for (i, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let got = ruler.locate(Span::new(i, i));
            let before = text.get(..i).unwrap_or("");
            assert_eq!(got.utf16.start, before.encode_utf16().count(), "utf16 at {i}");
            assert_eq!(got.code_points.start, before.chars().count(), "code points at {i}");
        }
    }
}
