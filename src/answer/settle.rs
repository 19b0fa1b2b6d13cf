//! Turns a complete text and what the checks say of it into a settlement: keep, strip or refuse.

use std::collections::HashMap;

use super::event::{Finish, FinishReason, Judgement, OnProblem, Reason, Verdict};
use super::strip::strip;
use crate::cite::check::{Code, Problem, Report, Rules, Severity, check};
use crate::cite::source::Sources;

/// How answers are settled.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// What the checks need.
    pub rules: Rules<'a>,
    /// What to do about errors.
    pub on_problem: OnProblem,
}

/// A judged text.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The text that stands.
    pub text: String,
    /// It is not what the model wrote.
    pub replaced: bool,
    /// What was decided about it.
    pub judgement: Judgement,
}

/// Judges `text`, the whole of what a model wrote. Linear in the text.
#[must_use]
pub fn settle(text: String, finish: &FinishReason, sources: &Sources, policy: Policy<'_>) -> Settlement {
    let report = checked(&text, finish, sources, policy.rules);
    let failed = report.problems.iter().any(|p| p.code.severity() == Severity::Error);
    match policy.on_problem {
        OnProblem::Refuse if failed => refused(policy.rules.refusal, Reason::CheckFailed, report.problems),
        OnProblem::Strip if failed => match strip(&text, &report, sources, policy.rules.grammar) {
            Some(stripped) => corrected(stripped, report, finish, sources, policy.rules),
            None => kept(text, report, sources),
        },
        _ => kept(text, report, sources),
    }
}

/// The settlement of a question for which nothing was found: the refusal, no model call.
#[must_use]
pub fn settle_without_sources(refusal: &str) -> Settlement {
    refused(refusal, Reason::NoSources, Vec::new())
}

/// All checks; an answer that ends in tool calls need not cite.
fn checked(text: &str, finish: &FinishReason, sources: &Sources, rules: Rules<'_>) -> Report {
    let mut report = check(text, sources, rules);
    match finish.reason {
        Finish::Length | Finish::ContentFilter => {
            let message = format!("the model was cut off: {}", finish.as_sent);
            report.problems.push(Problem::new(Code::Truncated, message));
        }
        Finish::ToolCalls | Finish::FunctionCall => report.problems.retain(|p| p.code != Code::NoCitations),
        Finish::Stop => {}
    }
    report
}

fn kept(text: String, report: Report, sources: &Sources) -> Settlement {
    let worst = report.problems.iter().map(|p| p.code.severity()).max();
    let verdict = match worst {
        Some(Severity::Error | Severity::Warning) => Verdict::Annotated,
        _ if report.is_refusal => Verdict::Refused,
        _ if sources.is_empty() && report.markers.is_empty() => Verdict::Unchecked,
        _ => Verdict::Clean,
    };
    let refused = verdict == Verdict::Refused;
    let judgement = Judgement {
        verdict,
        reason: refused.then_some(Reason::ModelRefused),
        citations: report.citations,
        problems: report.problems,
        needs_human_review: refused,
    };
    Settlement { text, replaced: false, judgement }
}

fn corrected(
    stripped: String,
    first: Report,
    finish: &FinishReason,
    sources: &Sources,
    rules: Rules<'_>,
) -> Settlement {
    let standing = checked(&stripped, finish, sources, rules);
    let key = |p: &Problem| (p.code, p.n, p.id.clone());
    let mut still: HashMap<_, usize> = HashMap::new();
    for problem in &standing.problems {
        *still.entry(key(problem)).or_default() += 1;
    }
    // Each problem of the new text answers for one like it of the first text; the others are fixed.
    let is_fixed =
        |p: &Problem| still.get_mut(&key(p)).is_none_or(|n| n.checked_sub(1).map(|less| *n = less).is_none());
    let fixed = first.problems.into_iter().filter(is_fixed).map(|p| Problem { fixed: true, ..p });
    let problems = fixed.chain(standing.problems).collect();
    let judgement = Judgement {
        verdict: if standing.is_refusal { Verdict::Refused } else { Verdict::Corrected },
        reason: Some(Reason::Strip),
        citations: standing.citations,
        problems,
        needs_human_review: standing.is_refusal,
    };
    Settlement { text: stripped, replaced: true, judgement }
}

/// The refusal in the place of whatever was written.
fn refused(refusal: &str, reason: Reason, problems: Vec<Problem>) -> Settlement {
    let judgement = Judgement {
        verdict: Verdict::Refused,
        reason: Some(reason),
        citations: Vec::new(),
        problems: problems.into_iter().map(|p| Problem { fixed: true, ..p }).collect(),
        needs_human_review: true,
    };
    Settlement { text: refusal.to_owned(), replaced: true, judgement }
}
