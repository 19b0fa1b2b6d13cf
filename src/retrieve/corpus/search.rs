//! Finds the passages for a question, or nothing.
//!
//! **Ranking** is BM25 over the words of title and text, any of the question's concepts being enough to be found, times
//! the share of the question that the passage covers.
//!
//! **The floor** decides whether the documents can answer at all, because a question that they cannot answer must not cost
//! a model call. BM25 scores have no fixed scale, so the floor looks at coverage. Every concept of the question has a
//! weight, an idf over the passages; a word that no passage holds has the highest. Some passage must hold concepts of at
//! least [`FLOOR`] of the whole weight, one of which is rare enough to tell passages apart. So one unknown word outweighs
//! any single known one ("How do I rent a *helicopter*?" is refused however well "rent" fits), and two known ones outweigh
//! it. Small and unknown numbers weigh as little as the most common word.

use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, TermQuery};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, DocSet, Searcher, Term};

use super::index::{Fields, Index};
use crate::cite::source::Source;
use crate::words::question::{Concept, Question};

/// Share of the question's weight that one passage must hold. At 0.6 questions with one odd word are refused; at 0.4 a
/// single fitting word carries a question about something else.
const FLOOR: f32 = 0.5;

/// Passages ranked below this share of the best one are noise beside it.
const TAIL: f32 = 0.3;

/// What a word in the title adds to the same word in the text, where title words stand as well.
const TITLE_BOOST: f32 = 0.6;

/// What a word that stands for another counts.
const ALSO_BOOST: f32 = 0.6;

/// What a hint counts.
const HINT_BOOST: f32 = 0.6;

/// Fewest passages looked at; the best one by BM25 is hardly ever the best one by coverage from further down.
const CANDIDATES: usize = 24;

/// In a corpus of fewer passages every word is in most of them, so none counts as too common.
const SMALL_CORPUS: usize = 8;

/// A concept, and what the passages know of it.
struct Asked<'a> {
    concept: &'a Concept,
    /// The stems that some passage holds, with what each counts.
    known: Vec<(&'a str, f32)>,
    weight: f32,
    common: bool,
}

/// A passage that holds at least one concept.
struct Candidate {
    at: DocAddress,
    score: f32,
    /// Share of the question's weight that it holds.
    share: f32,
    holds_rare: bool,
}

/// The passages for `question`, best first, at most `top_k`; none when the documents cannot answer it.
pub(super) fn search(index: &Index, question: &Question, top_k: usize) -> tantivy::Result<Vec<Source>> {
    let searcher = index.searcher();
    let asked = weigh(&searcher, index.fields, question)?;
    if top_k == 0 || asked.iter().all(|asked| asked.known.is_empty()) {
        return Ok(Vec::new());
    }
    let limit = top_k.max(CANDIDATES).min(count(&searcher)).max(1);
    let mut candidates: Vec<Candidate> = searcher
        .search(&query(index.fields, &asked), &TopDocs::with_limit(limit).order_by_score())?
        .into_iter()
        .map(|(score, at)| Candidate { at, score, share: 0.0, holds_rare: false })
        .collect();
    cover(&searcher, index.fields, &asked, &mut candidates)?;
    if !candidates.iter().any(|candidate| candidate.share >= FLOOR && candidate.holds_rare) {
        return Ok(Vec::new());
    }
    candidates.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
    let least = candidates.first().map_or(0.0, Candidate::rank) * TAIL;
    let kept = candidates.iter().take(top_k).take_while(|candidate| candidate.rank() >= least);
    kept.map(|candidate| index.source(&searcher, candidate.at)).collect()
}

impl Candidate {
    fn rank(&self) -> f32 {
        self.score * self.share
    }
}

/// Looks every concept up.
fn weigh<'a>(searcher: &Searcher, fields: Fields, question: &'a Question) -> tantivy::Result<Vec<Asked<'a>>> {
    let total = count(searcher);
    let weigh_one = |concept: &'a Concept| {
        let mut known = Vec::new();
        let mut holding = 0;
        for stem in concept.stems() {
            let passages = searcher.doc_freq(&Term::from_field_text(fields.words, stem))?;
            if passages > 0 {
                known.push((stem, if stem == concept.word { 1.0 } else { ALSO_BOOST }));
            }
            holding = holding.max(usize::try_from(passages).unwrap_or(usize::MAX));
        }
        let common = concept.is_small_number() || (total >= SMALL_CORPUS && holding > total / 2);
        Ok(Asked { concept, known, weight: concept.weight(holding, total), common })
    };
    question.concepts.iter().map(weigh_one).collect()
}

/// How many passages there are.
fn count(searcher: &Searcher) -> usize {
    usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX)
}

/// Any of the concepts; each by its best word, in the text and in the title.
fn query(fields: Fields, asked: &[Asked<'_>]) -> BooleanQuery {
    let word = |field, stem: &str, boost: f32| -> Box<dyn Query> {
        let term = TermQuery::new(Term::from_field_text(field, stem), IndexRecordOption::WithFreqs);
        Box::new(BoostQuery::new(Box::new(term), boost))
    };
    let best_word = |field, asked: &Asked<'_>, boost: f32| -> Box<dyn Query> {
        let words = asked.known.iter().map(|(stem, counts)| word(field, stem, boost * counts));
        Box::new(DisjunctionMaxQuery::new(words.collect()))
    };
    let clauses = asked.iter().filter(|asked| !asked.known.is_empty()).flat_map(|asked| {
        let boost = if asked.concept.hint { HINT_BOOST } else { 1.0 };
        [best_word(fields.words, asked, boost), best_word(fields.title_words, asked, boost * TITLE_BOOST)]
    });
    BooleanQuery::new(clauses.map(|clause| (Occur::Should, clause)).collect())
}

/// Finds out which concepts each candidate holds, from the posting lists.
fn cover(
    searcher: &Searcher,
    fields: Fields,
    asked: &[Asked<'_>],
    candidates: &mut [Candidate],
) -> tantivy::Result<()> {
    candidates.sort_by_key(|candidate| candidate.at);
    let total: f32 = asked.iter().filter(|asked| !asked.concept.hint).map(|asked| asked.weight).sum();
    for asked in asked.iter().filter(|asked| !asked.concept.hint) {
        let mut held = vec![false; candidates.len()];
        for (stem, _) in &asked.known {
            mark(searcher, &Term::from_field_text(fields.words, stem), candidates, &mut held)?;
        }
        for (candidate, _) in candidates.iter_mut().zip(held).filter(|(_, held)| *held) {
            candidate.share += asked.weight / total;
            candidate.holds_rare |= !asked.common;
        }
    }
    Ok(())
}

/// Marks the candidates, sorted by address, that hold `term`.
fn mark(searcher: &Searcher, term: &Term, candidates: &[Candidate], held: &mut [bool]) -> tantivy::Result<()> {
    for (segment, reader) in (0..).zip(searcher.segment_readers()) {
        let inverted = reader.inverted_index(term.field())?;
        let Some(mut postings) = inverted.read_postings(term, IndexRecordOption::Basic)? else { continue };
        for (candidate, held) in candidates.iter().zip(held.iter_mut()) {
            if candidate.at.segment_ord == segment && postings.doc() <= candidate.at.doc_id {
                *held |= postings.seek(candidate.at.doc_id) == candidate.at.doc_id;
            }
        }
    }
    Ok(())
}
