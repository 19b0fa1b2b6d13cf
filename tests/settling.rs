//! The laws of settling and of the answer machine as property tests.
#![allow(clippy::unwrap_used, reason = "a test that stumbles must fail")]

mod support;

use citewire::answer::event::{
    Chunk, Delivery, ErrorCode, Event, Failure, FinishReason, Format, Judgement, OnProblem, Start, Timings, Usage,
    Verdict,
};
use citewire::answer::machine::{Answer, Settings};
use citewire::answer::settle::{Policy, settle};
use citewire::cite::check::{Code, Rules, Severity, check};
use citewire::cite::marker::{Grammar, find};
use citewire::cite::source::Sources;
use proptest::prelude::*;
use support::hostile::{cut, cuts, sources, text};

const REFUSAL: &str = "Not in the sources.";

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// What strip leaves is the old text with some bytes gone, and reads as the old citations less the ones taken out.
    #[test]
    fn strip_creates_no_marker_and_touches_no_other_byte(text in text()) {
        let (grammar, sources) = (Grammar::default(), sources());
        let rules = Rules { grammar: &grammar, refusal: REFUSAL };
        let policy = Policy { rules, on_problem: OnProblem::Strip };
        let before = check(&text, &sources, rules);
        let settlement = settle(text.clone(), &FinishReason::new("stop"), &sources, policy);
        let after = find(&settlement.text, &sources, &grammar).markers;
        let numbers = |markers: &[citewire::cite::marker::Marker]| -> Vec<u32> {
            markers.iter().flat_map(citewire::cite::marker::Marker::numbers).filter(|n| (1..=3).contains(n)).collect()
        };
        prop_assert_eq!(numbers(&after), numbers(&before.markers), "{:?}", settlement.text);
        let mut rest = text.chars();
        for c in settlement.text.chars() {
            // A range that is cut to its valid part gets a new end, always one of 1..=3.
            prop_assert!(rest.any(|r| r == c) || "123".contains(c), "{:?} from {:?}", settlement.text, text);
        }
        let odd = |report: &citewire::cite::check::Report| {
            let codes = report.problems.iter().map(|p| p.code);
            codes.filter(|c| matches!(c, Code::UnclosedMarker | Code::LooksLikeCitation | Code::MarkerDefinition)).count()
        };
        prop_assert!(odd(&check(&settlement.text, &sources, rules)) <= odd(&before), "{:?} from {:?}", settlement.text, text);
        let same = settlement.text == text;
        prop_assert_eq!(settlement.replaced, !same);
        prop_assert_eq!(settlement.judgement.problems.iter().any(|p| p.fixed), !same);
    }

    #[test]
    fn verdicts_follow_from_problems(text in text(), strip in any::<bool>()) {
        let (grammar, sources) = (Grammar::default(), sources());
        let rules = Rules { grammar: &grammar, refusal: REFUSAL };
        let on_problem = if strip { OnProblem::Refuse } else { OnProblem::Annotate };
        let settlement = settle(text, &FinishReason::new("stop"), &sources, Policy { rules, on_problem });
        let Judgement { verdict, problems, citations, needs_human_review, .. } = settlement.judgement;
        let worst = problems.iter().map(|p| p.code.severity()).max();
        let expected = match worst {
            Some(Severity::Error) if strip => Verdict::Refused,
            Some(Severity::Error | Severity::Warning) => Verdict::Annotated,
            _ => Verdict::Clean,
        };
        prop_assert_eq!(verdict, expected);
        prop_assert_eq!(needs_human_review, verdict == Verdict::Refused);
        if verdict == Verdict::Refused {
            prop_assert_eq!(settlement.text.as_str(), REFUSAL);
            prop_assert!(citations.is_empty());
        }
    }

    /// Whatever is put in and in whatever order, what comes out obeys the event grammar, and the text is whole.
    #[test]
    fn events_obey_their_grammar(text in text(), cuts in cuts(), hold in any::<bool>(), ops in prop::collection::vec(0u8..8, 0..12)) {
        let mut answer = answer(hold, OnProblem::Annotate, sources());
        let mut events = Vec::new();
        let mut ops = ops.into_iter();
        for chunk in cut(&text, &cuts) {
            match ops.next().unwrap_or(7) {
                0 => answer.push(Chunk::Reasoning("[1".to_owned())),
                1 => answer.push(Chunk::Usage(Usage::default())),
                2 => answer.push(Chunk::Finish(FinishReason::new("stop"))),
                3 => answer.fail(Failure::new(ErrorCode::ModelError, "x")),
                4 => answer.finish(&released(&events), Timings::default()),
                _ => answer.push(Chunk::Text(chunk)),
            }
            events.extend(std::iter::from_fn(|| answer.poll()));
        }
        answer.finish(&released(&events), Timings::default());
        events.extend(std::iter::from_fn(|| answer.poll()));
        let word = events.iter().map(letter).collect::<String>();
        let (body, end) = word.split_at(word.len() - 1);
        prop_assert!(word.starts_with('s') && answer.is_over(), "{word}");
        let body = body.trim_start_matches('s').trim_end_matches(['a', 'r']);
        prop_assert!(body.chars().all(|c| c == 'd' || c == 'n'), "{word}");
        let settled = word.chars().filter(|c| matches!(c, 'a' | 'r')).count();
        prop_assert_eq!(settled, usize::from(end == "D"), "{}", word);
    }

    #[test]
    fn a_streamed_answer_is_its_model_s_text(text in text(), cuts in cuts(), hold in any::<bool>()) {
        let mut answer = answer(hold, OnProblem::Annotate, sources());
        let mut events = Vec::new();
        for chunk in cut(&text, &cuts) {
            answer.push(Chunk::Text(chunk));
            events.extend(std::iter::from_fn(|| answer.poll()));
        }
        answer.push(Chunk::Finish(FinishReason::new("stop")));
        answer.finish(&released(&events), Timings::default());
        events.extend(std::iter::from_fn(|| answer.poll()));
        prop_assert_eq!(released(&events), text);
    }
}

fn answer(hold: bool, on_problem: OnProblem, sources: Sources) -> Answer {
    let start = Start {
        answer: "ans_x".to_owned(),
        format: Format::Prose,
        delivery: if hold { Delivery::Hold } else { Delivery::Stream },
        model: "m".to_owned(),
        sources,
        retrieved: false,
    };
    let settings =
        Settings { grammar: Grammar::default(), refusal: REFUSAL.to_owned(), on_problem, max_answer_bytes: 1 << 20 };
    Answer::new(start, settings)
}

fn released(events: &[Event]) -> String {
    events.iter().filter_map(|e| if let Event::Delta(text) = e { Some(text.as_str()) } else { None }).collect()
}

fn letter(event: &Event) -> char {
    match event {
        Event::Annotate(_) => 'a',
        Event::Delta(_) => 'd',
        Event::Done(_) => 'D',
        Event::Error(_) => 'E',
        Event::Reasoning(_) | Event::Tool(_) => 'n',
        Event::Replace(..) => 'r',
        Event::Start(_) => 's',
    }
}

/// One answer from chunks to events, as letters, with the judgement.
fn run(hold: bool, on_problem: OnProblem, sources: Sources, text: &str, finish: &str) -> (String, Option<Judgement>) {
    let mut answer = answer(hold, on_problem, sources);
    answer.push(Chunk::Text(text.to_owned()));
    answer.push(Chunk::Finish(FinishReason::new(finish)));
    let mut events: Vec<Event> = std::iter::from_fn(|| answer.poll()).collect();
    answer.finish(&released(&events), Timings::default());
    events.extend(std::iter::from_fn(|| answer.poll()));
    let judgement = events.iter().find_map(|e| match e {
        Event::Annotate(judgement) | Event::Replace(_, judgement) => Some(judgement.clone()),
        _ => None,
    });
    (events.iter().map(letter).collect(), judgement)
}

#[test]
fn what_each_ending_looks_like() {
    use OnProblem::{Annotate, Refuse, Strip};
    let good = "Free [1].";
    for (hold, on_problem, text, finish, word, verdict, codes) in [
        (false, Annotate, good, "stop", "sdaD", Verdict::Clean, vec![]),
        (true, Annotate, good, "stop", "sdaD", Verdict::Clean, vec![]),
        (false, Annotate, "Free [9].", "stop", "sdaD", Verdict::Annotated, vec![Code::OutOfRange, Code::NoCitations]),
        (false, Strip, "Free [1, 9].", "stop", "sdrD", Verdict::Corrected, vec![Code::OutOfRange]),
        (true, Strip, "Free [1, 9].", "stop", "sdaD", Verdict::Corrected, vec![Code::OutOfRange]),
        (false, Strip, "Free.", "stop", "sdaD", Verdict::Annotated, vec![Code::NoCitations]),
        (false, Refuse, "Free [1, 9].", "stop", "sdrD", Verdict::Refused, vec![Code::OutOfRange]),
        (true, Refuse, "Free [1, 9].", "stop", "srD", Verdict::Refused, vec![Code::OutOfRange]),
        (false, Refuse, good, "length", "sdrD", Verdict::Refused, vec![Code::Truncated]),
        (false, Annotate, good, "content_filter", "sdaD", Verdict::Annotated, vec![Code::Truncated]),
        (false, Annotate, REFUSAL, "stop", "sdaD", Verdict::Refused, vec![]),
        (false, Annotate, "Free.", "tool_calls", "sdaD", Verdict::Clean, vec![]),
        (false, Annotate, "", "stop", "saD", Verdict::Annotated, vec![Code::NoCitations]),
    ] {
        let (got, judgement) = run(hold, on_problem, sources(), text, finish);
        let judgement = judgement.unwrap();
        let found: Vec<Code> = judgement.problems.iter().map(|p| p.code).collect();
        assert_eq!(
            (got.as_str(), judgement.verdict, found),
            (word, verdict, codes),
            "{text:?} {finish} {on_problem:?}"
        );
    }
    let (_, judgement) = run(false, Annotate, Sources::default(), "Hello.", "stop");
    assert_eq!(judgement.unwrap().verdict, Verdict::Unchecked);
    let (_, judgement) = run(false, Annotate, Sources::default(), "Hello [1].", "stop");
    assert_eq!(judgement.unwrap().verdict, Verdict::Annotated);
}

#[test]
fn a_text_over_its_limit_fails_and_never_looks_complete() {
    let mut answer = answer(false, OnProblem::Annotate, sources());
    answer.push(Chunk::Text("x".repeat(1 << 20)));
    answer.push(Chunk::Text("y".to_owned()));
    answer.push(Chunk::Finish(FinishReason::new("stop")));
    let events: Vec<Event> = std::iter::from_fn(|| answer.poll()).collect();
    assert!(matches!(events.last(), Some(Event::Error(f)) if f.code == ErrorCode::AnswerTooLong));
}

#[test]
fn removals_that_would_create_something_stay_and_the_others_are_made() {
    for (text, expected) in [
        ("ok [1]. x [9] y [[9]1] z [9].", "ok [1]. x y [[9]1] z."),
        (&"x [9] y [[9]1] ".repeat(60), &"x y [[9]1] ".repeat(60)),
        ("A [1]. See [[9]", "A [1]. See [[9]"),
        ("A [1] [cite=, [9]1] and [9].", "A [1] [cite=, [9]1] and."),
        ("A [2].\n[1][9]: http://a.example\nB [9]", "A [2].\n[1][9]: http://a.example\nB"),
    ] {
        let (grammar, sources) = (Grammar::default(), sources());
        let rules = Rules { grammar: &grammar, refusal: REFUSAL };
        let policy = Policy { rules, on_problem: OnProblem::Strip };
        let settlement = settle(text.to_owned(), &FinishReason::new("stop"), &sources, policy);
        assert_eq!(settlement.text, expected);
    }
}

#[test]
fn strip_of_a_long_hostile_text_ends_in_time() {
    let (grammar, sources) = (Grammar::default(), sources());
    let rules = Rules { grammar: &grammar, refusal: REFUSAL };
    for unit in ["[9]", "[[9]1]", "[9] [[9]1] ", "[1][9]: http://x\n", "[2-9] "] {
        let text = unit.repeat(300_000 / unit.len());
        let policy = Policy { rules, on_problem: OnProblem::Strip };
        let settlement = settle(text, &FinishReason::new("stop"), &sources, policy);
        assert!(!settlement.judgement.problems.is_empty(), "{unit:?}");
    }
}
