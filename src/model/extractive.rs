//! Answers with sentences of the sources, word for word, without any language model: the model of a gateway that was
//! given none.
//!
//! It picks the sentences that fit the question best, puts each one's marker before its full stop and streams the result
//! word by word. It says nothing that the sources do not say, and the refusal sentence when none of theirs fits. It writes
//! prose only, whatever the prompt asks for, and does the same for the same request every time.

mod choose;
mod kind;
mod sentence;

use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};

use self::choose::{Chosen, choose};
use super::{Model, ModelError, ModelRequest, ModelStream};
use crate::answer::event::{Chunk, FinishReason, Usage};

/// Time between two words. At half of it nobody sees that the answer streams; at double a long answer drags.
pub const DEFAULT_GAP: Duration = Duration::from_millis(15);

/// A model that quotes.
#[derive(Debug, Clone)]
pub struct Extractive {
    gap: Duration,
}

impl Extractive {
    /// A model that waits `gap` before each word after the first; zero sends all of them at once.
    #[must_use]
    pub fn new(gap: Duration) -> Self {
        Self { gap }
    }
}

impl Default for Extractive {
    fn default() -> Self {
        Self::new(DEFAULT_GAP)
    }
}

impl Model for Extractive {
    fn name(&self) -> &'static str {
        "extractive"
    }

    fn call(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        Box::new(Call::Waiting { request: Box::new(request), gap: self.gap })
    }
}

/// The text of the answer to `request`: one to four cited sentences, or the refusal.
#[must_use]
pub fn compose(request: &ModelRequest) -> String {
    let cited: Vec<String> = choose(&request.question, &request.sources).iter().map(cite).collect();
    if cited.is_empty() { request.refusal.clone() } else { cited.join(" ") }
}

/// What ends a statement.
const STOPS: [char; 5] = ['.', '!', '。', '！', '…'];

/// The sentence with its marker before the full stop; one that has none gets it, one that ends in a quote keeps it whole.
fn cite(chosen: &Chosen) -> String {
    let Chosen { n, text } = chosen;
    let body = text.trim_end_matches(STOPS);
    let end = text.strip_prefix(body).unwrap_or_default();
    match end {
        "" if text.trim_end_matches(sentence::CLOSERS).ends_with(STOPS) => format!("{text} [{n}]"),
        "" => format!("{text} [{n}]."),
        end => format!("{body} [{n}]{end}"),
    }
}

/// A running call.
enum Call {
    /// Nobody has asked for a chunk yet.
    Waiting {
        request: Box<ModelRequest>,
        gap: Duration,
    },
    Writing {
        chunks: std::vec::IntoIter<Chunk>,
        ticks: Option<Interval>,
    },
}

impl ModelStream for Call {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, ModelError>> {
        loop {
            match self {
                Self::Waiting { request, gap } => {
                    *self = Self::Writing { chunks: chunks(request).into_iter(), ticks: ticks(*gap) };
                }
                Self::Writing { chunks, ticks } => {
                    if let Some(ticks) = ticks {
                        ready!(ticks.poll_tick(cx));
                    }
                    return Poll::Ready(Ok(chunks.next()));
                }
            }
        }
    }
}

/// Ticks a `gap` apart, the first at once.
fn ticks(gap: Duration) -> Option<Interval> {
    (!gap.is_zero()).then(|| {
        let mut ticks = tokio::time::interval(gap);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks
    })
}

/// The whole answer as a model would send it: words, finish reason, usage.
fn chunks(request: &ModelRequest) -> Vec<Chunk> {
    let text = compose(request);
    let words = |text: &str| text.split_whitespace().count() as u64;
    let prompt_tokens = request.messages.iter().map(|message| words(&message.content)).sum();
    let completion_tokens = words(&text);
    let usage = Usage { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    let end = [Chunk::Finish(FinishReason::new("stop")), Chunk::Usage(usage)];
    pieces(&text).into_iter().map(Chunk::Text).chain(end).collect()
}

/// `text` cut before every word and, as language models do it, inside every marker.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in text.chars() {
        let torn = pieces.last().is_some_and(|piece| piece.ends_with('['));
        if torn || c == ' ' {
            pieces.push(String::new());
        }
        pieces.last_mut().into_iter().for_each(|piece| piece.push(c));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::{DEFAULT_GAP, Extractive, cite, compose, pieces};
    use crate::answer::event::{Chunk, Finish};
    use crate::cite::source::{Source, Sources};
    use crate::model::extractive::choose::Chosen;
    use crate::model::{Model, ModelRequest};
    use crate::prompt::{Message, Role};

    const REFUSAL: &str = "I could not find that in the sources.";

    fn request(question: &str, texts: &[&str]) -> ModelRequest {
        let source = |(n, text): (usize, &&str)| Source {
            id: n.to_string(),
            title: None,
            url: None,
            text: (*text).to_owned(),
            ocr: false,
        };
        ModelRequest {
            model: None,
            messages: vec![Message { role: Role::User, content: question.to_owned() }],
            question: question.to_owned(),
            sources: Sources::new(texts.iter().enumerate().map(source).collect()),
            refusal: REFUSAL.to_owned(),
            temperature: None,
            max_tokens: None,
        }
    }

    #[track_caller]
    fn check(question: &str, texts: &[&str], expected: &str) {
        assert_eq!(compose(&request(question, texts)), expected, "{question:?} on {texts:?}");
    }

    #[test]
    fn markers_stand_before_the_end() {
        let check = |text: &str, expected| assert_eq!(cite(&Chosen { n: 7, text: text.to_owned() }), expected);
        check("It costs 25 dollars.", "It costs 25 dollars [7].");
        check("It costs 25 dollars", "It costs 25 dollars [7].");
        check("It is free!", "It is free [7]!");
        check("And so on...", "And so on [7]...");
        check("He said \"no.\"", "He said \"no.\" [7]");
        check("It is free (for all)", "It is free (for all) [7].");
        check("無料です。", "無料です [7]。");
    }

    #[test]
    fn sentences_are_chosen_from_any_source() {
        check("How much is the bike pass?", &["The pass costs 25 dollars."], "The pass costs 25 dollars [1].");
        check(
            "What does the cat eat?",
            &["Dogs chew bones.", "The cat\neats fish. It sleeps."],
            "The cat eats fish [2].",
        );
        check(
            "What does the cat eat?",
            &["- the cat eats fish\n- the dog chews"],
            "the cat eats fish [1]. the dog chews [1].",
        );
    }

    #[test]
    fn nothing_fits() {
        check("What is the capital of France?", &["The bike pass costs 25 dollars."], REFUSAL);
        check("", &["The bike pass costs 25 dollars."], REFUSAL);
        check("What does the cat eat?", &[], REFUSAL);
        check("What does the cat eat?", &["", "???", "| cat | eats |"], REFUSAL);
    }

    #[test]
    fn false_markers_are_never_written() {
        let texts = ["The cat eats fish, see [3]. The cat eats `[2]` mice. 【1】 The cat eats. The cat eats birds."];
        check("What does the cat eat?", &texts, "The cat eats birds [1].");
        check("What does the cat eat?", &["| the cat | eats fish |\n|---|---|\n| the cat | eats mice |"], REFUSAL);
        check("What does the cat eat?", &["# The cat eats\n\n```\nthe cat eats bytes here\n```\n"], REFUSAL);
    }

    #[test]
    fn pieces_are_words_and_torn_markers() {
        assert_eq!(pieces("It is free [1]."), ["It", " is", " free", " [", "1]."]);
    }

    async fn stream(model: &Extractive, request: ModelRequest) -> Vec<Chunk> {
        let mut stream = model.call(request);
        let mut chunks = Vec::new();
        while let Some(chunk) = poll_fn(|cx| stream.poll_chunk(cx)).await.unwrap() {
            chunks.push(chunk);
        }
        chunks
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_streams_and_ends_properly() {
        let request = request("How much is the pass?", &["The pass costs 25 dollars."]);
        let started = tokio::time::Instant::now();
        let chunks = stream(&Extractive::default(), request.clone()).await;
        assert!(started.elapsed() >= DEFAULT_GAP * 6);
        let text: String =
            chunks.iter().filter_map(|c| if let Chunk::Text(text) = c { Some(text.as_str()) } else { None }).collect();
        assert_eq!(text, "The pass costs 25 dollars [1].");
        let [.., Chunk::Finish(finish), Chunk::Usage(usage)] = chunks.as_slice() else { panic!("{chunks:?}") };
        assert_eq!(finish.reason, Finish::Stop);
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (5, 6, 11));

        let started = tokio::time::Instant::now();
        assert_eq!(stream(&Extractive::new(Duration::ZERO), request).await.len(), chunks.len());
        assert!(started.elapsed().is_zero());
    }
}
