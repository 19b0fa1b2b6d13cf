//! Turns an answer's text into judged citations and a list of problems. Bad text is data: every marker is judged, nothing
//! stops at the first fault.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use super::marker::{self, Found, Grammar, Marker, Names};
use super::source::Sources;
use super::span::{Located, Ruler, Span};

/// Citations listed at the most. A page of prose has dozens; a text made of nothing but markers has hundreds of thousands, and
/// a list of them would be three hundred times its size.
pub const MAX_CITATIONS: usize = 10_000;

/// Problems of one kind listed at the most; one more says how many are not.
pub const MAX_OF_A_KIND: usize = 1_000;

/// What every check needs to know besides the text.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// What counts as a marker.
    pub grammar: &'a Grammar,
    /// The sentence that says "not in the sources"; empty: no text is the refusal.
    pub refusal: &'a str,
}

/// What the checks found.
#[derive(Debug, Default)]
pub struct Report {
    /// The markers as written, valid or not.
    pub markers: Vec<Marker>,
    /// One entry per marker and valid number, in order.
    pub citations: Vec<Citation>,
    /// What is wrong, in the order of the text; problems of the whole answer come last.
    pub problems: Vec<Problem>,
    /// The text is exactly the refusal sentence.
    pub is_refusal: bool,
}

/// A marker's valid number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The source's number, 1..=N.
    pub n: u32,
    /// The marker as written, a linked url included.
    pub marker: String,
    /// Where it stands.
    pub at: Located,
}

/// Something that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which check; its severity follows.
    pub code: Code,
    /// Where in the text, when it has a place.
    pub at: Option<Located>,
    /// One line for a person.
    pub message: String,
    /// The number that it is about.
    pub n: Option<u32>,
    /// The id that it is about.
    pub id: Option<String>,
    /// What may explain it.
    pub hint: Option<Hint>,
    /// The correction removed it; its span is then in the first text.
    pub fixed: bool,
}

/// Which check found a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Bracketed text that names a source and cannot be read.
    LooksLikeCitation,
    /// A line `[1]: url` written by the model.
    MarkerDefinition,
    /// No valid citation, and not the refusal.
    NoCitations,
    /// A number outside 1..=N.
    OutOfRange,
    /// A range that is too wide or does not run forwards.
    RangeTooWide,
    /// The refusal sentence together with citations.
    RefusalWithCitations,
    /// The model was cut off.
    Truncated,
    /// The answer ends inside a marker.
    UnclosedMarker,
    /// A foreign marker with an id that no source has.
    UnknownSource,
}

/// How much a problem weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Worth a look.
    Warning,
    /// Triggers `on_problem`.
    Error,
}

/// What may explain a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// The model seems to count from zero.
    ZeroBased,
}

impl Code {
    /// How much it weighs.
    #[must_use]
    pub fn severity(self) -> Severity {
        match self {
            Self::NoCitations
            | Self::OutOfRange
            | Self::RefusalWithCitations
            | Self::Truncated
            | Self::UnclosedMarker
            | Self::UnknownSource => Severity::Error,
            Self::LooksLikeCitation | Self::MarkerDefinition | Self::RangeTooWide => Severity::Warning,
        }
    }

    /// The name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LooksLikeCitation => "looks_like_citation",
            Self::MarkerDefinition => "marker_definition",
            Self::NoCitations => "no_citations",
            Self::OutOfRange => "out_of_range",
            Self::RangeTooWide => "range_too_wide",
            Self::RefusalWithCitations => "refusal_with_citations",
            Self::Truncated => "truncated",
            Self::UnclosedMarker => "unclosed_marker",
            Self::UnknownSource => "unknown_source",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Problem {
    /// A problem of the whole answer.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, at: None, message: message.into(), n: None, id: None, hint: None, fixed: false }
    }

    fn at(code: Code, at: Located, message: impl Into<String>) -> Self {
        Self { at: Some(at), ..Self::new(code, message) }
    }
}

/// Runs every check about markers. Linear in the text; never fails.
///
/// ```
/// use citewire::cite::{check::{check, Code, Rules}, marker::Grammar, source::Sources};
/// let grammar = Grammar::default();
/// let report = check("See [7].", &Sources::default(), Rules { grammar: &grammar, refusal: "" });
/// assert_eq!(report.problems[0].code, Code::OutOfRange);
/// assert_eq!(report.problems[0].message, "citation out of range: 7");
/// ```
#[must_use]
pub fn check(text: &str, sources: &Sources, rules: Rules<'_>) -> Report {
    let found = marker::find(text, sources, rules.grammar);
    let mut problems = Listed::default();
    let mut citations = Vec::new();
    let ruler = Ruler::new(text);
    let zero_based = counts_from_zero(&found.markers, sources);
    for marker in &found.markers {
        judge(
            marker,
            marker.span.of(text),
            ruler.locate(marker.span),
            sources,
            zero_based,
            &mut citations,
            &mut problems,
        );
    }
    odd_texts(text, &ruler, &found).for_each(|p| problems.push(p));
    let mut problems = problems.into_order();
    let is_refusal = same_sentence(text, rules.refusal);
    let refuses = is_refusal || same_sentence(&less_markers(text, &found.markers), rules.refusal);
    if refuses && !found.markers.is_empty() {
        problems.push(Problem::new(Code::RefusalWithCitations, "the refusal must have no citations"));
    } else if !refuses && !sources.is_empty() && citations.is_empty() {
        problems.push(Problem::new(Code::NoCitations, "an answer without citations must be the refusal"));
    }
    Report { markers: found.markers, citations, problems, is_refusal }
}

fn judge(
    marker: &Marker,
    written: &str,
    at: Located,
    sources: &Sources,
    zero_based: bool,
    citations: &mut Vec<Citation>,
    problems: &mut Listed,
) {
    for n in marker.numbers() {
        if sources.numbered(n).is_some() && citations.len() == MAX_CITATIONS {
            continue;
        } else if sources.numbered(n).is_some() {
            citations.push(Citation { n, marker: written.to_owned(), at });
        } else {
            let problem = Problem::at(Code::OutOfRange, at, format!("citation out of range: {n}"));
            problems.push(Problem { n: Some(n), hint: zero_based.then_some(Hint::ZeroBased), ..problem });
        }
    }
    let mut unknown: Vec<&str> = Vec::new();
    for item in &marker.items {
        match &item.names {
            Names::Unknown(id) if !unknown.contains(&id.as_str()) => {
                unknown.push(id);
                let problem = Problem::at(Code::UnknownSource, at, format!("unknown source: {id}"));
                problems.push(Problem { id: Some(id.clone()), ..problem });
            }
            Names::Range { ends: (a, b), .. } if item.names.is_odd_range() => {
                let message =
                    format!("range {a}-{b} is not a range of up to nine sources in order: only its ends were read");
                problems.push(Problem::at(Code::RangeTooWide, at, message));
            }
            _ => {}
        }
    }
}

/// A list of problems with a ceiling per kind.
#[derive(Default)]
struct Listed {
    problems: Vec<Problem>,
    /// How many of each kind came.
    counts: BTreeMap<Code, usize>,
}

impl Listed {
    fn push(&mut self, problem: Problem) {
        let count = self.counts.entry(problem.code).or_default();
        *count += 1;
        if *count <= MAX_OF_A_KIND {
            self.problems.push(problem);
        }
    }

    /// The problems in the order of the text, then one for each kind of which not all are listed.
    fn into_order(mut self) -> Vec<Problem> {
        self.problems.sort_by_key(|p| p.at.map(|at| at.bytes.start));
        let more = self.counts.iter().filter_map(|(code, count)| Some((*code, count.checked_sub(MAX_OF_A_KIND)?)));
        let more = more.filter(|(_, more)| *more > 0);
        self.problems
            .extend(more.map(|(code, more)| Problem::new(code, format!("{more} more of this kind are not listed"))));
        self.problems
    }
}

/// Zero occurs, and all numbers are in 0..N.
fn counts_from_zero(markers: &[Marker], sources: &Sources) -> bool {
    let mut zero = false;
    for n in markers.iter().flat_map(Marker::numbers) {
        if n as usize >= sources.len() {
            return false;
        }
        zero |= n == 0;
    }
    zero
}

fn odd_texts<'a>(text: &'a str, ruler: &'a Ruler<'_>, found: &'a Found) -> impl Iterator<Item = Problem> + 'a {
    let look_alikes = found.look_alikes.iter().map(|span| {
        let message = format!("looks like a citation but cannot be read: {}", span.of(text));
        Problem::at(Code::LooksLikeCitation, ruler.locate(*span), message)
    });
    let definitions = found.definitions.iter().flat_map(|(span, numbers)| {
        let at = ruler.locate(*span);
        numbers.iter().map(move |n| {
            let problem = Problem::at(Code::MarkerDefinition, at, format!("the answer defines marker {n} itself"));
            Problem { n: Some(*n), ..problem }
        })
    });
    let unclosed = found
        .unclosed
        .map(|span| Problem::at(Code::UnclosedMarker, ruler.locate(span), "the answer ends inside an unclosed marker"));
    look_alikes.chain(definitions).chain(unclosed)
}

/// Equal after NFC, trimming and folding runs of white space; never when `sentence` is empty.
#[must_use]
pub fn same_sentence(text: &str, sentence: &str) -> bool {
    let words = |s: &str| s.split_whitespace().map(|word| word.nfc().collect::<String>()).collect::<Vec<_>>();
    let sentence = words(sentence);
    !sentence.is_empty() && text.split_whitespace().map(|word| word.nfc().collect::<String>()).eq(sentence)
}

fn less_markers(text: &str, markers: &[Marker]) -> String {
    let mut rest = String::new();
    let mut at = 0;
    for marker in markers {
        rest.push_str(Span::new(at, marker.span.start.max(at)).of(text));
        at = marker.span.end;
    }
    rest + text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ceilings() {
        let grammar = Grammar::default();
        let text = "[1][7]".repeat(MAX_CITATIONS + 5);
        let source =
            super::super::source::Source { id: "a".into(), title: None, url: None, text: "t".into(), ocr: false };
        let report = check(&text, &Sources::new(vec![source]), Rules { grammar: &grammar, refusal: "" });
        assert_eq!(report.citations.len(), MAX_CITATIONS);
        assert_eq!(report.problems.len(), MAX_OF_A_KIND + 1);
        let last = report.problems.last().map(|p| (p.code, p.message.as_str()));
        assert_eq!(last, Some((Code::OutOfRange, "9005 more of this kind are not listed")));
    }

    #[test]
    fn refusal_sentences() {
        for (text, expected) in [
            ("I could not find that.", true),
            ("  I could \n not find that. ", true),
            ("i could not find that.", false),
            ("I could not find that", false),
            ("", false),
        ] {
            assert_eq!(same_sentence(text, "I could not find that."), expected, "{text:?}");
        }
        assert!(same_sentence("ne\u{301}", "né"), "NFC");
        assert!(!same_sentence("", ""), "no refusal is configured");
    }
}
