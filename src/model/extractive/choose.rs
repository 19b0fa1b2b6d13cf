//! Chooses the sentences that answer a question.
//!
//! Every concept of the question has a weight, an idf over the sentences. A sentence covers a concept fully by the word
//! itself, and less by a word that may stand for it, by its title, or by the text around it; what it covers of the whole
//! weight is its worth. One that holds the kind of thing the question wants, such as a sum of money, is worth more.

use std::collections::HashSet;

use super::kind::holds;
use super::sentence::sentences;
use crate::cite::source::{Source, Sources};
use crate::words;
use crate::words::question::{Concept, Question};

/// Most sentences of an answer: more is a page, not an answer.
const MOST_SENTENCES: usize = 5;

/// Share of the question's weight that a source must hold before one of its sentences opens an answer. For sources
/// that no retriever chose it is the floor; below that of the corpus, so that what the corpus found is not refused here.
const FLOOR: f32 = 0.47;

/// What the opening sentence must cover itself, with its title.
const LEAST_COVERED: f32 = 0.35;

/// Further sentences of the opening one's source are worth at least this share of it.
const TAIL: f32 = 0.6;

/// Sentences of other sources are worth at least this share of the opening one.
const TAIL_ELSEWHERE: f32 = 0.9;

/// Sentences that share this part of their words say the same.
const DUPLICATE: f32 = 0.7;

/// What it is worth to hold the wanted kind of thing.
const WANTED: f32 = 0.3;

/// What it is worth to hold two neighbouring concepts of the question as neighbours ("monthly pass").
const NEIGHBOURS: f32 = 0.1;

/// What the first source is worth more than the last: they come in the retriever's order.
const ORDER: f32 = 0.15;

/// What a beginning that points back ("It", "They") costs.
const POINTS_BACK: f32 = 0.1;

/// Fewest sentences that the weights are made for. In less text a word that occurs at all would seem common.
const LEAST_SENTENCES: usize = 50;

/// Bytes read of all sources together, but at least [`LEAST_PER_SOURCE`] of each.
const MOST_BYTES: usize = 256 << 10;

/// Bytes read of one source however many there are.
const LEAST_PER_SOURCE: usize = 4 << 10;

/// Words at the beginning of a sentence that say what the sentence before was about.
const BACKWARD: &[&str] =
    &["both", "he", "it", "its", "otherwise", "she", "that", "their", "then", "these", "they", "this"];

/// A sentence of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    /// The number of its source.
    pub(super) n: u32,
    /// The sentence as it stands there.
    pub(super) text: String,
}

/// A source, read.
struct Reading {
    n: u32,
    title: HashSet<String>,
    /// The words of title and sentences.
    all: HashSet<String>,
    sentences: Vec<Sentence>,
}

struct Sentence {
    text: String,
    words: HashSet<String>,
    /// Neighbouring words.
    pairs: HashSet<(String, String)>,
}

/// A sentence that may be chosen.
struct Candidate<'a> {
    n: u32,
    /// Its place in its source.
    place: usize,
    sentence: &'a Sentence,
    /// Whether its source holds enough for it to open the answer.
    may_open: bool,
    worth: f32,
}

/// The question and what each of its concepts weighs.
struct Judge {
    question: Question,
    weights: Vec<f32>,
}

/// Two to [`MOST_SENTENCES`] sentences, the best first; one when its source has no other; none when no sentence answers `question`.
pub(super) fn choose(question: &str, sources: &Sources) -> Vec<Chosen> {
    let most = (MOST_BYTES / sources.len().max(1)).max(LEAST_PER_SOURCE);
    let readings: Vec<Reading> = sources.iter().map(|(n, source)| Reading::of(n, source, most)).collect();
    let judge = Judge::new(Question::read(question), &readings);
    let mut candidates: Vec<Candidate<'_>> =
        readings.iter().flat_map(|reading| judge.candidates(reading, sources.len())).collect();
    candidates.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let Some(best) = candidates.iter().find(|candidate| candidate.may_open) else { return Vec::new() };
    let mut chosen = vec![best];
    for candidate in &candidates {
        let tail = if candidate.n == best.n { TAIL } else { TAIL_ELSEWHERE };
        let worthy = candidate.worth >= best.worth * tail && (candidate.n == best.n || candidate.may_open);
        if chosen.len() < MOST_SENTENCES && worthy && candidate.goes_with(&chosen) {
            chosen.push(candidate);
        }
    }
    if chosen.len() == 1 {
        // One sentence says little about where it stands; its neighbour in the source gives it a context.
        let neighbours = [best.place.checked_add(1), best.place.checked_sub(1)].into_iter().flatten();
        let at = |place: usize| candidates.iter().find(move |c| c.n == best.n && c.place == place);
        chosen.extend(neighbours.filter_map(at).find(|c| c.goes_with(&[best])));
    }
    // What follows the best sentence in its source comes next, so that "It" still points at it.
    chosen.sort_by_key(|c| (c.n != best.n, c.place < best.place, c.n, c.place));
    chosen.into_iter().map(|c| Chosen { n: c.n, text: c.sentence.text.clone() }).collect()
}

impl Reading {
    fn of(n: u32, source: &Source, most_bytes: usize) -> Self {
        let text = source.text.get(..source.text.floor_char_boundary(most_bytes)).unwrap_or(&source.text);
        let sentences: Vec<Sentence> = sentences(text).into_iter().map(Sentence::of).collect();
        let title: HashSet<String> = words::content(source.title.as_deref().unwrap_or_default()).into_iter().collect();
        let all = sentences.iter().flat_map(|sentence| &sentence.words).chain(&title).cloned().collect();
        Self { n, title, all, sentences }
    }
}

impl Sentence {
    fn of(text: String) -> Self {
        let words = words::content(&text);
        let pairs = words.iter().cloned().zip(words.iter().skip(1).cloned()).collect();
        Self { pairs, words: words.into_iter().collect(), text }
    }
}

impl Judge {
    fn new(question: Question, readings: &[Reading]) -> Self {
        let sentences = || readings.iter().flat_map(|r| r.sentences.iter().map(move |s| (&r.title, &s.words)));
        let total = sentences().count().max(LEAST_SENTENCES);
        let weigh = |concept: &Concept| {
            let holding = sentences().filter(|(title, words)| any(concept, title) || any(concept, words)).count();
            concept.weight(holding, total)
        };
        let weights = question.concepts.iter().map(weigh).collect();
        Self { question, weights }
    }

    fn candidates<'a>(&self, reading: &'a Reading, sources: usize) -> Vec<Candidate<'a>> {
        let known = |concept: &Concept| !concept.hint && any(concept, &reading.all);
        let fits = self.share(|concept| if known(concept) { 1.0 } else { 0.0 }) >= FLOOR;
        let order = ORDER * (1.0 - (reading.n - 1) as f32 / sources as f32);
        let judged = reading.sentences.iter().enumerate().map(|(place, sentence)| {
            let covered = self.share(|concept| credit(concept, sentence, reading));
            let wanted = if holds(&self.question, &sentence.text) { WANTED } else { 0.0 };
            let neighbours = if self.has_neighbours(sentence) { NEIGHBOURS } else { 0.0 };
            let back = if points_back(&sentence.text) { POINTS_BACK } else { 0.0 };
            let may_open = fits && covered >= LEAST_COVERED;
            Candidate { n: reading.n, place, sentence, may_open, worth: covered + wanted + neighbours + order - back }
        });
        judged.collect()
    }

    fn has_neighbours(&self, sentence: &Sentence) -> bool {
        let words = self.question.concepts.iter().map(|concept| &concept.word);
        words.clone().zip(words.skip(1)).any(|(one, next)| sentence.pairs.contains(&(one.clone(), next.clone())))
    }

    /// The share of the question's weight that `credit` grants, each concept from 0 to 1. Hints come on top.
    fn share(&self, credit: impl Fn(&Concept) -> f32) -> f32 {
        let weighed = || self.question.concepts.iter().zip(&self.weights);
        let total: f32 = weighed().filter(|(concept, _)| !concept.hint).map(|(_, weight)| weight).sum();
        let granted: f32 = weighed().map(|(concept, weight)| weight * credit(concept)).sum();
        if total > 0.0 { granted / total } else { 0.0 }
    }
}

impl Candidate<'_> {
    /// Whether it adds something to what is chosen and can be understood behind it.
    fn goes_with(&self, chosen: &[&Candidate<'_>]) -> bool {
        let follows = chosen.iter().any(|c| c.n == self.n && c.place + 1 == self.place);
        let says_the_same = chosen.iter().any(|c| similarity(&c.sentence.words, &self.sentence.words) >= DUPLICATE);
        !says_the_same && (follows || !points_back(&self.sentence.text))
    }
}

/// How well a sentence covers a concept, from 0 to 1.
fn credit(concept: &Concept, sentence: &Sentence, reading: &Reading) -> f32 {
    let also = |words: &HashSet<String>| concept.also.iter().any(|word| words.contains(word));
    let credit = if sentence.words.contains(&concept.word) {
        1.0
    } else if also(&sentence.words) {
        0.8
    } else if reading.title.contains(&concept.word) {
        0.75
    } else if also(&reading.title) {
        0.55
    } else if any(concept, &reading.all) {
        0.2
    } else {
        0.0
    };
    if concept.hint { credit / 4.0 } else { credit }
}

fn any(concept: &Concept, words: &HashSet<String>) -> bool {
    concept.stems().any(|stem| words.contains(stem))
}

/// Shared words as a share of all words of both.
fn similarity(a: &HashSet<String>, b: &HashSet<String>) -> f32 {
    let shared = a.intersection(b).count();
    shared as f32 / (a.len() + b.len() - shared).max(1) as f32
}

fn points_back(sentence: &str) -> bool {
    let first = sentence.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    BACKWARD.contains(&first.as_str())
}
