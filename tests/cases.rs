//! The case files through the public functions of the core.

mod support;

use citewire::answer::event::{FinishReason, OnProblem, Verdict};
use citewire::answer::settle::{Policy, settle};
use citewire::cite::check::{Report, Rules, check};
use citewire::cite::marker::Grammar;
use citewire::cite::span::Ruler;
use support::{Case, CaseProblem, cases};

fn report(case: &Case) -> Report {
    check(&case.text(), &case.sources(), Rules { grammar: &Grammar::default(), refusal: &case.refusal })
}

#[test]
fn markers_and_problems() {
    let all: Vec<Case> = ["markers", "holdback"].into_iter().flat_map(cases).collect();
    assert_eq!(all.len(), 174);
    let wrong: Vec<String> = all.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(case: &Case) -> Option<String> {
    let (text, report) = (case.text(), report(case));
    let ruler = Ruler::new(&text);
    let markers: Vec<_> = report
        .markers
        .iter()
        .filter(|m| !m.numbers().is_empty())
        .map(|m| {
            let at = ruler.locate(m.span);
            let units = |s: citewire::cite::span::Span| [s.start, s.end];
            (m.span.of(&text).to_owned(), m.numbers(), units(at.bytes), units(at.utf16), units(at.code_points))
        })
        .collect();
    let mut problems: Vec<CaseProblem> = report
        .problems
        .iter()
        .map(|p| CaseProblem {
            code: p.code.to_string(),
            severity: format!("{:?}", p.code.severity()).to_lowercase(),
            n: p.n,
            id: p.id.clone(),
            hint: p.hint.map(|_| "zero_based".to_owned()),
        })
        .collect();
    problems.sort();
    let expected = case.sorted_problems();
    if markers == case.markers && problems == expected {
        return None;
    }
    Some(format!(
        "{}: {text:?}\n  got      {markers:?}\n  expected {:?}\n  got      {problems:?}\n  expected {expected:?}",
        case.name, case.markers
    ))
}

#[test]
fn strip_takes_out_invalid_numbers_and_nothing_else() {
    for case in cases("strip") {
        let grammar = Grammar::default();
        let rules = Rules { grammar: &grammar, refusal: &case.refusal };
        let policy = Policy { rules, on_problem: OnProblem::Strip };
        let settlement = settle(case.text(), &FinishReason::new("stop"), &case.sources(), policy);
        assert_eq!(Some(&settlement.text), case.stripped.as_ref(), "{}", case.name);
        let left = check(&settlement.text, &case.sources(), rules);
        let markers: Vec<_> =
            left.markers.iter().map(|m| (m.span.of(&settlement.text).to_owned(), m.numbers())).collect();
        let expected: Vec<_> = case.markers.iter().map(|m| (m.0.clone(), m.1.clone())).collect();
        assert_eq!(markers, expected, "{}", case.name);
        let mut problems: Vec<_> = settlement.judgement.problems.iter().map(|p| (p.code.to_string(), p.n)).collect();
        let mut all: Vec<_> = case.problems.iter().map(|p| (p.code.clone(), p.n)).collect();
        problems.sort();
        all.sort();
        assert_eq!(problems, all, "{}", case.name);
        let changed = settlement.text != case.text();
        assert_eq!(settlement.judgement.verdict == Verdict::Corrected, changed, "{}", case.name);
    }
}
