//! The case files through the public functions of the core.

mod support;

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
