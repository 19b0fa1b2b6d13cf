//! Case files for the tests: small inputs with the right answers, one JSON object a line.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::panic, reason = "a test that cannot read its cases must fail")]

pub(crate) mod hostile;

use citewire::cite::source::{Source, Sources};
use serde::Deserialize;

/// One case of `tests/data/{markers,holdback,strip}.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    n: Option<usize>,
    sources: Option<Vec<CaseSource>>,
    #[serde(default)]
    pub(crate) refusal: String,
    pub(crate) chunks: Vec<String>,
    pub(crate) markers: Vec<CaseMarker>,
    pub(crate) problems: Vec<CaseProblem>,
    pub(crate) pieces: Option<Vec<String>>,
    pub(crate) stripped: Option<String>,
}

/// As written, numbers, bytes, UTF-16 units, code points.
pub(crate) type CaseMarker = (String, Vec<u32>, [usize; 2], [usize; 2], [usize; 2]);

#[derive(Debug, Deserialize, serde::Serialize)]
pub(crate) struct CaseSource {
    id: String,
    title: Option<String>,
    url: Option<String>,
    text: String,
}

#[derive(Debug, Clone, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CaseProblem {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) n: Option<u32>,
    pub(crate) id: Option<String>,
    pub(crate) hint: Option<String>,
}

impl Case {
    pub(crate) fn text(&self) -> String {
        self.chunks.concat()
    }

    pub(crate) fn sources(&self) -> Sources {
        let given = self.sources.as_ref().map(|sources| {
            sources.iter().map(|s| Source {
                id: s.id.clone(),
                title: s.title.clone(),
                url: s.url.clone(),
                text: s.text.clone(),
                ocr: false,
            })
        });
        match given {
            Some(given) => Sources::new(given.collect()),
            None => Sources::new((1..=self.n.unwrap_or(0)).map(numbered).collect()),
        }
    }

    /// The problems in an order of their own, for comparison.
    pub(crate) fn sorted_problems(&self) -> Vec<CaseProblem> {
        let mut problems = self.problems.clone();
        problems.sort();
        problems
    }
}

/// A source that is only there to be counted.
pub(crate) fn numbered(n: usize) -> Source {
    Source { id: format!("source-{n}"), title: None, url: None, text: format!("Text {n}."), ocr: false }
}

/// The cases of one file.
pub(crate) fn cases(file: &str) -> Vec<Case> {
    let path = format!("{}/tests/data/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{file}: {e}: {line}"))).collect()
}
