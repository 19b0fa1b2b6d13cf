//! The laws of the pure core as property tests, each also under hostile input.
#![allow(clippy::unwrap_used, clippy::string_slice, clippy::panic, reason = "a test that stumbles must fail")]

mod support;

use citewire::answer::holdback::HoldBack;
use citewire::cite::check::{Rules, check};
use citewire::cite::marker::{Grammar, find};
use proptest::prelude::*;
use support::cases;
use support::hostile::{cut, cuts, sources, text as hostile};

/// The emitter as its rule is written, one character at a time, without a thought for speed.
struct Naive {
    limit: usize,
    held: String,
}

enum Fate {
    /// Everything up to here goes.
    Over(usize),
    TooLong,
    Open,
}

const PAIRS: [(&str, &[&str]); 5] = [
    ("<|", &["|>"]),
    ("\u{E200}", &["\u{E201}"]),
    ("[", &["]", "】", "］"]),
    ("【", &["]", "】", "］"]),
    ("［", &["]", "】", "］"]),
];

impl Naive {
    fn push(&mut self, chunk: &str) -> String {
        let mut out = String::new();
        for c in chunk.chars() {
            self.held.push(c);
            while self.step(&mut out) {}
        }
        out
    }

    fn release(&mut self, to: usize, out: &mut String) -> bool {
        out.push_str(&self.held[..to]);
        self.held.drain(..to);
        to > 0
    }

    fn step(&mut self, out: &mut String) -> bool {
        let lone = |held: &str| held.ends_with('<').then(|| held.len() - 1);
        let first = Self::opener(&self.held, 0).or_else(|| lone(&self.held)).unwrap_or(self.held.len());
        if first > 0 || self.held == "<" {
            return self.release(first, out);
        }
        match self.fate() {
            Fate::Over(end) => self.release(end, out),
            Fate::TooLong => {
                let skip = PAIRS.iter().find(|(o, _)| self.held.starts_with(o)).map_or(1, |(o, _)| o.len());
                let next = Self::opener(&self.held, skip).or_else(|| lone(&self.held)).unwrap_or(self.held.len());
                self.release(next, out)
            }
            Fate::Open => false,
        }
    }

    fn opener(held: &str, from: usize) -> Option<usize> {
        PAIRS.iter().filter_map(|(o, _)| held[from..].find(o).map(|i| from + i)).min()
    }

    fn fate(&self) -> Fate {
        let mut stack: Vec<&[&str]> = Vec::new();
        let mut at = 0;
        while let Some(c) = self.held[at..].chars().next() {
            let rest = &self.held[at..];
            let foreign = stack.last().is_some_and(|closers| closers.len() == 1);
            let opened = PAIRS.iter().find(|(o, _)| rest.starts_with(o));
            let closed = stack.last().and_then(|closers| closers.iter().find(|c| rest.starts_with(**c)));
            let len = opened.map(|o| o.0.len()).or(closed.map(|c| c.len())).unwrap_or(c.len_utf8());
            if at + len > self.limit {
                return Fate::TooLong;
            }
            at += len;
            match (opened, closed) {
                (Some((_, closers)), _) if !foreign => stack.push(closers),
                (None, Some(_)) => {
                    stack.pop();
                    if stack.is_empty() {
                        return Fate::Over(at);
                    }
                }
                _ if matches!(c, '\n' | '\r') => return Fate::Over(at),
                _ => {}
            }
        }
        Fate::Open
    }
}

/// The pieces of a text in these chunks, what `finish` gave last; the limit is watched on the way.
fn pieces(chunks: &[String], limit: usize) -> Result<Vec<String>, TestCaseError> {
    let mut emitter = HoldBack::new(limit);
    let mut pieces = Vec::new();
    for chunk in chunks {
        pieces.push(emitter.push(chunk).to_owned());
        prop_assert!(emitter.held().len() <= limit, "law 4: {} bytes held", emitter.held().len());
    }
    pieces.push(emitter.finish().to_owned());
    prop_assert_eq!(emitter.held(), "");
    Ok(pieces)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn law_1_no_byte_is_lost(text in hostile(), cuts in cuts(), limit in 8usize..200) {
        let chunks = cut(&text, &cuts);
        prop_assert_eq!(pieces(&chunks, limit)?.concat(), text);
    }

    #[test]
    fn law_2_the_cutting_does_not_matter(text in hostile(), cuts in cuts()) {
        let (grammar, sources) = (Grammar::default(), sources());
        let rules = Rules { grammar: &grammar, refusal: "" };
        let joined = pieces(&cut(&text, &cuts), grammar.hold_limit)?.concat();
        let (a, b) = (check(&text, &sources, rules), check(&joined, &sources, rules));
        prop_assert_eq!((a.markers, a.problems), (b.markers, b.problems));
    }

    #[test]
    fn law_3_no_piece_ends_inside_a_marker(text in hostile(), cuts in cuts(), limit in 8usize..200) {
        let grammar = Grammar { hold_limit: limit, ..Grammar::default() };
        let found = find(&text, &sources(), &grammar);
        let mut at = 0;
        for piece in pieces(&cut(&text, &cuts), limit)? {
            at += piece.len();
            for marker in &found.markers {
                let inside = marker.brackets.start < at && at < marker.brackets.end;
                prop_assert!(!inside, "{:?} cut at {at} in {text:?}", marker.brackets);
            }
        }
    }

    #[test]
    fn the_emitter_equals_its_naive_form(text in hostile(), cuts in cuts(), limit in 8usize..200) {
        let (mut emitter, mut naive) = (HoldBack::new(limit), Naive { limit, held: String::new() });
        for chunk in cut(&text, &cuts) {
            prop_assert_eq!(emitter.push(&chunk), naive.push(&chunk), "chunk {:?} of {:?}", chunk, text);
            prop_assert_eq!(emitter.held(), naive.held.as_str());
        }
    }

    #[test]
    fn markers_are_apart_in_order_and_within_the_limit(text in hostile(), limit in 8usize..200) {
        let grammar = Grammar { hold_limit: limit, ..Grammar::default() };
        let found = find(&text, &sources(), &grammar);
        let mut end = 0;
        for marker in &found.markers {
            prop_assert!(marker.span.start >= end, "{:?}", found.markers);
            prop_assert!(marker.brackets.len() <= limit);
            prop_assert!(text.get(marker.span.start..marker.span.end).is_some());
            prop_assert!(!marker.brackets.of(&text).contains(['\n', '\r']));
            end = marker.span.end;
        }
    }

    #[test]
    fn checks_take_any_text(text in any::<String>()) {
        let grammar = Grammar::default();
        let _ = check(&text, &sources(), Rules { grammar: &grammar, refusal: "No." });
    }
}

/// Texts in which law 3 was broken once.
#[test]
fn law_3_holds_where_foreign_spans_cross() {
    for text in ["<|\u{e200}\u{e202}|>\u{e201}", "\u{e200}<|file-\u{e201}x|>", "<|[1†a|>]", "[1†a\u{e200}]\u{e201}"]
    {
        let found = find(text, &sources(), &Grammar::default());
        let mut emitter = HoldBack::new(128);
        let mut at = 0;
        for c in text.chars() {
            at += emitter.push(c.encode_utf8(&mut [0; 4])).len();
            assert!(
                !found.markers.iter().any(|m| m.brackets.start < at && at < m.brackets.end),
                "{text:?} cut at {at}"
            );
        }
    }
}

#[test]
fn law_5_text_without_a_candidate_is_not_copied() {
    let mut emitter = HoldBack::new(128);
    for chunk in ["hello", " wor", "ld] 】 a > b", &"long text ".repeat(1000)] {
        let piece = emitter.push(chunk);
        assert_eq!((piece.as_ptr(), piece.len()), (chunk.as_ptr(), chunk.len()), "{chunk:.20}");
    }
    let chunk = "free [1";
    assert_eq!(emitter.push(chunk).as_ptr(), chunk.as_ptr());
    assert_eq!(emitter.held(), "[1");
}

#[test]
fn every_two_cut_split_of_every_case() {
    for case in ["markers", "holdback"].into_iter().flat_map(cases) {
        let text = case.text();
        // In the few long texts the places near a bracket and every sixteenth between them must do.
        let near = |i: usize| {
            text.len() < 400
                || i.is_multiple_of(16)
                || text.as_bytes()[i.saturating_sub(3)..(i + 3).min(text.len())].contains(&b'[')
        };
        let places = text.char_indices().map(|(i, _)| i).filter(|&i| near(i)).chain([text.len()]);
        let places: Vec<usize> = places.collect();
        let spans: Vec<_> =
            find(&text, &case.sources(), &Grammar::default()).markers.iter().map(|m| m.brackets).collect();
        for (i, &a) in places.iter().enumerate() {
            for &b in &places[i..] {
                let mut emitter = HoldBack::new(128);
                let mut out = String::with_capacity(text.len());
                for chunk in [&text[..a], &text[a..b], &text[b..]] {
                    out.push_str(emitter.push(chunk));
                    let at = out.len();
                    assert!(!spans.iter().any(|s| s.start < at && at < s.end), "{} cut at {a}, {b}", case.name);
                }
                out.push_str(emitter.finish());
                assert_eq!(out, text, "{}", case.name);
            }
        }
    }
}

#[test]
fn the_worked_pieces_of_every_case() {
    for case in cases("holdback") {
        let mut emitter = HoldBack::new(128);
        let mut pieces: Vec<String> = case.chunks.iter().map(|c| emitter.push(c).to_owned()).collect();
        pieces.push(emitter.finish().to_owned());
        pieces.retain(|p| !p.is_empty());
        assert_eq!(Some(pieces), case.pieces, "{}", case.name);
    }
}

/// Units that a hostile model could repeat.
const HOSTILE: [&str; 42] = [
    "[",
    "]",
    "`",
    "$",
    "<",
    "\\",
    "9",
    "<|",
    "\u{E200}",
    "<|\u{E200}",
    "<|[",
    "[<|",
    "[1",
    "[[1]",
    "[1](",
    "](",
    "[a](<",
    "[1](a ",
    "\\(",
    "\\[",
    "<a b=\"",
    "<a b='x' ",
    "<!--",
    "<code>",
    "<pre>",
    "`` ` ",
    "$$ ",
    "$x ",
    "[1]: /a\n",
    "- [1]\n",
    "> ",
    "    [1]\n\n",
    "```\n",
    "[^1]",
    "【1】",
    "\u{E200}c\u{E202}x\u{E201}",
    "<|file-x|>",
    "[x <|file-x|>",
    "[Source ",
    "a[0]",
    "a[0] - ",
    "![1](",
];

/// Megabytes of what a hostile model could write, whole and byte by byte, at both ends of the hold limit. Linear work is
/// what lets this test end at all; a quadratic step would take hours.
#[test]
fn hostile_megabytes() {
    let sources = sources();
    for limit in [8, 128, 4096] {
        let grammar = Grammar { hold_limit: limit, ..Grammar::default() };
        for pattern in HOSTILE {
            let bytes = if pattern.len() == 1 { 1_000_000 } else { 200_000 };
            let text = pattern.repeat(bytes / pattern.len());
            let _ = check(&text, &sources, Rules { grammar: &grammar, refusal: "No." });
            let mut emitter = HoldBack::new(limit);
            let mut given = emitter.push(&text).len();
            for c in text.chars().take(100_000) {
                given += emitter.push(c.encode_utf8(&mut [0; 4])).len();
                assert!(emitter.held().len() <= limit);
            }
            let fed: usize = text.chars().take(100_000).map(char::len_utf8).sum();
            assert_eq!(given + emitter.finish().len(), text.len() + fed, "{pattern:?}");
        }
    }
}
