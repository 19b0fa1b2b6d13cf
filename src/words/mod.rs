//! Turns text into the words that carry its meaning: folded to plain lower-case letters, stop words left out, stemmed.
//!
//! The index, the floor and the extractive model all read text through [`content`], so a word that one of them knows is
//! a word that all of them know. The rules are those of English; words of other languages are kept as they are, only
//! folded, and an ideograph or kana is a word of its own.

pub mod question;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// Longest word in characters. Longer runs are keys, hashes or encoded data, which nobody asks for by name.
const LONGEST_WORD: usize = 40;

/// Words that questions and documents share whatever they are about, and what is left of contractions ("don't", "I'll").
const STOP_WORDS: &str = "\
    a about actually after again ain allowed already also always am an and any anybody anyone anything are aren as \
    at available be because been before being but by can cannot come comes coming could couldn currently d did didn \
    do does doesn doing don during either else ever exactly explain for from get gets getting give given gives go \
    goes going got had happen happened happens has hasn have haven having he hello her here hers hey hi him his how \
    i if in into is isn it its just kind know less let ll m made make makes making many may me mean means might mine \
    more much mustn my never no nor not now of off offer offered offers often ok okay on one only or other our ours \
    out own permitted please possible put re really s same shall she should shouldn so some somebody someone \
    something sort still such t take taken takes taking tell than thank thanks that the their theirs them then there \
    these they thing things this those to too took up us use used using ve very want wants was wasn way ways we were \
    what whatever when where whether which while who whom whose why will with won would wouldn yet you your yours \
    yourself";

/// Forms that no stemmer brings together, each with the form that stands for it.
const IRREGULAR: &[(&str, &str)] = &[
    ("bought", "buy"),
    ("brought", "bring"),
    ("caught", "catch"),
    ("children", "child"),
    ("feet", "foot"),
    ("fell", "fall"),
    ("fallen", "fall"),
    ("forgot", "forget"),
    ("forgotten", "forget"),
    ("found", "find"),
    ("held", "hold"),
    ("kept", "keep"),
    ("left", "leave"),
    ("lent", "lend"),
    ("lost", "lose"),
    ("men", "man"),
    ("paid", "pay"),
    ("ran", "run"),
    ("ridden", "ride"),
    ("rode", "ride"),
    ("sent", "send"),
    ("sold", "sell"),
    ("spent", "spend"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("thrown", "throw"),
    ("women", "woman"),
    ("worn", "wear"),
    ("wore", "wear"),
    ("written", "write"),
];

/// The words of `text` that carry meaning, in order, as stems.
///
/// ```
/// use citewire::words::content;
/// assert_eq!(content("What do the E-bikes cost?"), ["ebik", "cost"]);
/// assert_eq!(content("Children's café: $3.50"), ["child", "cafe", "dollar", "3.50"]);
/// ```
#[must_use]
pub fn content(text: &str) -> Vec<String> {
    all(text).iter().filter(|word| !is_stop_word(word)).map(|word| stem(word)).collect()
}

/// Every word of `text` in order, folded but not stemmed, stop words included.
#[must_use]
pub fn all(text: &str) -> Vec<String> {
    let mut words = Words::default();
    let plain = if text.is_ascii() { Cow::from(text) } else { text.nfkd().filter(|c| !is_accent(*c)).nfc().collect() };
    let mut chars = plain.chars().flat_map(char::to_lowercase).peekable();
    while let Some(c) = chars.next() {
        words.push(c, chars.peek().copied());
    }
    words.end_word();
    words.done
}

/// The form that stands for `word`, which is folded already.
#[must_use]
pub fn stem(word: &str) -> String {
    let regular = IRREGULAR.iter().find(|(form, _)| *form == word).map_or(word, |(_, regular)| regular);
    Stemmer::new(Algorithm::English).stem(regular).into_owned()
}

/// How much finding a word says, when `holding` of `total` texts hold it: an inverse document frequency that stays above
/// 1 for a word that all of them hold and is highest for one that none does.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^24 where it matters")]
pub fn weight(holding: usize, total: usize) -> f32 {
    (2.0 + total as f32 / (holding as f32 + 1.0)).ln()
}

/// True for a folded word that says nothing about what a text is about.
pub(super) fn is_stop_word(word: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.split_whitespace().collect());
    SET.contains(word)
}

#[derive(Default)]
struct Words {
    done: Vec<String>,
    word: String,
}

impl Words {
    fn push(&mut self, c: char, next: Option<char>) {
        match c {
            _ if is_ideograph_or_kana(c) => self.whole_word(c.encode_utf8(&mut [0; 4])),
            _ if c.is_alphanumeric() => self.word.push(c),
            '$' => self.whole_word("dollar"),
            '€' => self.whole_word("euro"),
            '£' => self.whole_word("pound"),
            '.' if self.ends_in_digit() && next.is_some_and(|n| n.is_ascii_digit()) => self.word.push(c),
            ',' if self.ends_in_digit() && next.is_some_and(|n| n.is_ascii_digit()) => {}
            '-' | '\u{2010}' | '\u{2011}' if self.is_one_letter() && next.is_some_and(char::is_alphabetic) => {}
            _ => self.end_word(),
        }
    }

    fn whole_word(&mut self, word: &str) {
        self.end_word();
        self.done.push(word.to_owned());
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() && self.word.chars().count() <= LONGEST_WORD {
            self.done.push(self.word.clone());
        }
        self.word.clear();
    }

    fn ends_in_digit(&self) -> bool {
        self.word.ends_with(|c: char| c.is_ascii_digit())
    }

    /// The `e` of "e-bike" and the `t` of "t-shirt" belong to the word behind the hyphen.
    fn is_one_letter(&self) -> bool {
        self.word.len() == 1 && !self.ends_in_digit()
    }
}

/// The marks of Latin, Greek and Cyrillic letters; those of other scripts make other sounds.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}')
}

fn is_ideograph_or_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::{all, content, weight};

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(content(text), expected, "{text:?}");
    }

    #[test]
    fn content_words() {
        check("", &[]);
        check("???", &[]);
        check("How can I do it?", &[]);
        check("riding rides ridden", &["ride", "ride", "ride"]);
        check("stolen children's E-bikes", &["steal", "child", "ebik"]);
        check("electric e‑bike", &["electr", "ebik"]);
        check("1,000 km for 3.50, or 12.", &["1000", "km", "3.50", "12"]);
        check("ÉCOLE ﬁne ＡＢＣ", &["ecol", "fine", "abc"]);
        check("€5 £6 $7", &["euro", "5", "pound", "6", "dollar", "7"]);
        check("自転車 bike", &["自", "転", "車", "bike"]);
        check(&"x".repeat(41), &[]);
        check("don't I'll we've", &[]);
    }

    #[test]
    fn all_words_keep_their_form() {
        assert_eq!(all("How long may I ride?"), ["how", "long", "may", "i", "ride"]);
    }

    #[test]
    fn rarer_words_weigh_more() {
        assert!(weight(0, 80) > weight(1, 80) && weight(1, 80) > weight(79, 80));
        assert!(weight(80, 80) > 1.0);
        assert!(weight(0, 0) > 0.0);
    }
}
