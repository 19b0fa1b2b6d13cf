//! Turns a question into what it asks about: concepts, each one a word and the words that may stand for it in an answer.
//!
//! No text is query syntax: every character is either part of a word or divides words, so any question is safe.

use std::collections::HashSet;

use super as words;

/// Most concepts that are read from one question; the rest of a longer one is ignored. Someone who pastes a page asks
/// about its beginning; at double the search takes twice as long and finds the same.
const MOST_CONCEPTS: usize = 64;

/// Bytes of a question that are looked at: room for [`MOST_CONCEPTS`] words with much between them.
const MOST_BYTES: usize = 8192;

/// A question, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What it is about, in order, no concept twice.
    pub concepts: Vec<Concept>,
    /// What kind of answer it wants.
    pub wants: Wants,
}

/// One thing that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concept {
    /// The stem of the word itself.
    pub word: String,
    /// Stems that may stand for it in an answer.
    pub also: Vec<String>,
    /// The question makes sense without it: a text that holds it fits better, but one that does not still fits.
    pub hint: bool,
}

/// The kind of answer that a question wants, as its first words tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// "how old", "what age": a number of years.
    Age,
    /// No particular kind.
    Anything,
    /// "how many": a number.
    Count,
    /// "how long": a number of minutes, days and so on.
    Duration,
    /// "how much", "what does it cost": a sum of money.
    Money,
    /// "where": a place.
    Place,
    /// "when", "what time": an hour, a day or a month.
    Time,
    /// "how do I": something to do.
    Way,
}

/// Phrases that ask for something in words that say nothing by themselves. Each is replaced by one word, if any, that is
/// then looked up in [`ALSO`].
const PHRASES: &[(&[&str], Option<&str>, Wants)] = &[
    (&["how", "do", "i"], None, Wants::Way),
    (&["how", "do", "you"], None, Wants::Way),
    (&["how", "do", "we"], None, Wants::Way),
    (&["how", "expensive"], Some("cost"), Wants::Money),
    (&["how", "far"], Some("distance"), Wants::Anything),
    (&["how", "fast"], Some("speed"), Wants::Anything),
    (&["how", "long"], Some("duration"), Wants::Duration),
    (&["how", "many"], None, Wants::Count),
    (&["how", "much", "do", "i", "have", "to", "pay"], Some("cost"), Wants::Money),
    (&["how", "much", "do", "i", "pay"], Some("cost"), Wants::Money),
    (&["how", "much", "time"], Some("duration"), Wants::Duration),
    (&["how", "much"], Some("cost"), Wants::Money),
    (&["how", "old"], Some("age"), Wants::Age),
    (&["how", "soon"], None, Wants::Duration),
    (&["how", "tall"], Some("height"), Wants::Anything),
    (&["money", "back"], Some("refund"), Wants::Anything),
    (&["opening", "hours"], Some("open"), Wants::Time),
    (&["opening", "times"], Some("open"), Wants::Time),
    (&["what", "age"], Some("age"), Wants::Age),
    (&["what", "day"], None, Wants::Time),
    (&["what", "time"], None, Wants::Time),
    (&["what", "should", "i"], None, Wants::Way),
    (&["what", "to", "do"], None, Wants::Way),
    (&["when"], None, Wants::Time),
    (&["where"], None, Wants::Place),
];

/// Words that ask for a rule. They say how an answer is put, not what it is about, so they are hints.
const HINTS: &[&str] = &["must", "need", "needed", "required"];

/// Words that ask for something, and the words that may stand for it in an answer. General English only: these pairs are
/// used on documents of any kind. A pair belongs here if a reader would take one for the other in most texts.
const ALSO: &[(&str, &str)] = &[
    ("accident crash collision", "accident crash collision"),
    ("age old young", "age old year young"),
    ("address", "address street"),
    ("annual year yearly", "annual year yearly"),
    ("back return", "back return"),
    ("bicycle bike cycle", "bicycle bike cycle"),
    ("broke broken damaged defective faulty", "broken damage defective fault faulty"),
    ("buy purchase", "buy purchase"),
    ("cancel terminate", "cancel terminate"),
    ("cell mobile phone smartphone", "phone smartphone"),
    ("cheap cheaper cheapest charge cost expensive fee price", "charge cost discount dollar euro fee free pound price"),
    ("child daughter kid son teenager toddler", "child teenager"),
    ("close shut", "close shut"),
    ("compulsory mandatory must need needed required", "compulsory must required"),
    ("contact reach", "call contact email hotline phone"),
    ("distance far", "distance kilometre metre mile"),
    ("drunk alcohol drink", "alcohol drunk"),
    ("duration", "day duration hour last long minute month time week"),
    ("ebike electric", "ebike electric"),
    ("forget lose missing", "forget lose missing"),
    ("height tall", "centimetre height tall"),
    ("hurt injure injury", "hurt injure injury"),
    ("limit maximum", "exceed limit maximum"),
    ("mail parcel post", "mail parcel post"),
    ("pavement sidewalk", "pavement sidewalk"),
    ("refund reimburse", "back refund reimburse"),
    ("rent hire rental", "hire rent rental"),
    ("pensioner senior", "pensioner senior"),
    ("speed fast", "fast kilometre mile speed"),
    ("steal theft thief", "steal theft thief"),
    ("store keep", "keep store"),
    ("student pupil", "pupil student"),
    ("tire tyre", "tire tyre"),
    ("weekday", "friday monday weekday working"),
];

impl Question {
    /// Reads any text as a question.
    ///
    /// ```
    /// use citewire::words::question::{Question, Wants};
    /// let question = Question::read("How much is the monthly pass?");
    /// assert_eq!(question.wants, Wants::Money);
    /// assert_eq!(question.concepts[1].word, "month");
    /// ```
    #[must_use]
    pub fn read(text: &str) -> Self {
        let words = words::all(text.get(..text.floor_char_boundary(MOST_BYTES)).unwrap_or(text));
        let mut question = Self { concepts: Vec::new(), wants: Wants::Anything };
        let mut seen = HashSet::new();
        let mut rest = words.as_slice();
        while let Some((first, behind)) = rest.split_first() {
            if question.concepts.len() == MOST_CONCEPTS {
                break;
            }
            let phrase = PHRASES.iter().find(|(phrase, ..)| starts_with(rest, phrase));
            let (word, after) = match phrase {
                Some((phrase, word, _)) => (*word, rest.get(phrase.len()..).unwrap_or_default()),
                None => (Some(first.as_str()).filter(|word| !words::is_stop_word(word)), behind),
            };
            if let (Some((.., wants)), Wants::Anything) = (phrase, question.wants) {
                question.wants = *wants;
            }
            question.concepts.extend(word.map(Concept::of).filter(|concept| seen.insert(concept.word.clone())));
            rest = after;
        }
        if question.wants == Wants::Anything
            && question.concepts.iter().any(|concept| concept.stems().any(|stem| stem == "cost"))
        {
            question.wants = Wants::Money;
        }
        question
    }
}

impl Concept {
    fn of(word: &str) -> Self {
        let hint = HINTS.contains(&word);
        let word = words::stem(word);
        let also =
            ALSO.iter().filter(|(asked, _)| stems(asked).any(|stem| stem == word)).flat_map(|(_, found)| stems(found));
        let also = also.filter(|stem| *stem != word).collect();
        Self { word, also, hint }
    }

    /// How much it says that a text holds this concept, as `holding` of `total` texts do; see [`words::weight`]. A small
    /// number and one that no text holds say no more than the most common word: they are about the asker ("I am 67",
    /// "my order 48213"), not about the answer.
    #[must_use]
    pub fn weight(&self, holding: usize, total: usize) -> f32 {
        let little = self.is_small_number() || (holding == 0 && self.is_number());
        words::weight(if little { total } else { holding }, total)
    }

    /// True for a number of one or two digits, which stands in all kinds of texts.
    #[must_use]
    pub fn is_small_number(&self) -> bool {
        self.is_number() && self.word.len() < 3
    }

    fn is_number(&self) -> bool {
        self.word.chars().all(|c| c.is_ascii_digit())
    }

    /// The word and the others, the word first.
    pub fn stems(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.word.as_str()).chain(self.also.iter().map(String::as_str))
    }
}

fn stems(list: &'static str) -> impl Iterator<Item = String> {
    list.split(' ').map(words::stem)
}

fn starts_with(words: &[String], phrase: &[&str]) -> bool {
    words.len() >= phrase.len() && words.iter().zip(phrase).all(|(word, expected)| word == expected)
}

#[cfg(test)]
mod tests {
    use super::{MOST_CONCEPTS, Question, Wants};

    #[track_caller]
    fn check(text: &str, wants: Wants, concepts: &[&str]) {
        let question = Question::read(text);
        let found: Vec<&str> = question.concepts.iter().map(|concept| concept.word.as_str()).collect();
        assert_eq!((question.wants, found.as_slice()), (wants, concepts), "{text:?}");
    }

    #[test]
    fn questions() {
        check("How much is the monthly pass?", Wants::Money, &["cost", "month", "pass"]);
        check("What does the e-bike cost? The E-BIKE!", Wants::Money, &["ebik", "cost"]);
        check("how long can I ride", Wants::Duration, &["durat", "ride"]);
        check("When is the desk open on Sundays?", Wants::Time, &["desk", "open", "sunday"]);
        check("How many docks are there?", Wants::Count, &["dock"]);
        check("Can I get my money back?", Wants::Anything, &["refund"]);
        check("", Wants::Anything, &[]);
        check("???", Wants::Anything, &[]);
        check("title:(a OR b)~2 \"c d\" -e^5 [x TO y]", Wants::Anything, &["titl", "b", "2", "c", "e", "5", "x", "y"]);
    }

    #[test]
    fn other_words_may_answer() {
        let question = Question::read("Is my kid insured?");
        assert_eq!(question.concepts[0].stems().collect::<Vec<_>>(), ["kid", "child", "teenag"]);
        assert_eq!(question.concepts[1].stems().collect::<Vec<_>>(), ["insur"]);
    }

    #[test]
    fn long_questions_are_bounded() {
        let long: String = (0..100_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(Question::read(&long).concepts.len(), MOST_CONCEPTS);
    }
}
