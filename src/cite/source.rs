//! The numbered sources of one answer: what a marker's number points at.

use std::sync::Arc;

/// A piece of text that an answer may cite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The caller's or retriever's name for it, unique within one answer, never empty.
    pub id: String,
    /// What a reader sees; absent when nobody gave one.
    pub title: Option<String>,
    /// Where the whole document is; not necessarily `http(s)`, so a page checks before it links.
    pub url: Option<String>,
    /// The passage itself, UTF-8, as it came. Untrusted.
    pub text: String,
    /// The text was read by a machine from a picture, so small reading errors are expected.
    pub ocr: bool,
}

/// The sources of one answer, numbered 1..=N in order. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Sources(Arc<[Source]>);

impl Sources {
    /// Numbers the sources in the order given, from 1.
    #[must_use]
    pub fn new(sources: Vec<Source>) -> Self {
        Self(sources.into())
    }

    /// How many there are: the N of "a marker number outside 1..N".
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The source with this number, counted from 1.
    #[must_use]
    pub fn numbered(&self, n: u32) -> Option<&Source> {
        self.0.get((n as usize).checked_sub(1)?)
    }

    /// The number of the source with exactly this id.
    #[must_use]
    pub fn number_of(&self, id: &str) -> Option<u32> {
        self.0.iter().position(|s| s.id == id).and_then(|i| u32::try_from(i + 1).ok())
    }

    /// Number and source, from 1.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Source)> {
        (1..).zip(self.0.iter())
    }
}
