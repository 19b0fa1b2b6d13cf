//! How results look in a terminal. `anstream` takes the colours out where there is none.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::answer::event::{Judgement, Reason, Verdict};
use crate::cite::check::{Problem, Severity};
use crate::cite::source::Sources;
use crate::cite::span::Span;

pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARN: Style = AnsiColor::Yellow.on_default();
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const STRONG: Style = Style::new().bold();
pub(super) const FAINT: Style = Style::new().dimmed();

/// The verdict in words.
pub(super) fn verdict(judgement: &Judgement) -> String {
    let bad = judgement.problems.iter().filter(|p| p.n.is_some() || p.id.is_some()).filter(|p| !p.fixed).count();
    let good = judgement.citations.len();
    let style = match judgement.verdict {
        Verdict::Clean => GOOD,
        Verdict::Annotated | Verdict::Corrected => WARN,
        Verdict::Refused | Verdict::Unchecked => STRONG,
    };
    let words = match (judgement.verdict, judgement.reason) {
        (Verdict::Clean, _) => format!("clean: {good} of {good} citations in range"),
        (Verdict::Annotated, _) if good + bad == 0 => "annotated: no citation in this answer".to_owned(),
        (Verdict::Annotated, _) => format!("annotated: {good} of {} citations in range", good + bad),
        (Verdict::Corrected, _) => "corrected: citations that pointed to no source were removed".to_owned(),
        (Verdict::Refused, Some(Reason::NoSources)) => "refused: no source was found, so no model was asked".to_owned(),
        (Verdict::Refused, Some(Reason::CheckFailed)) => "refused: the answer failed a check".to_owned(),
        (Verdict::Refused, _) => "refused: the sources do not answer this".to_owned(),
        (Verdict::Unchecked, _) => "not checked: no sources were given".to_owned(),
    };
    format!("{style}{words}{}", style.render_reset())
}

/// One line per problem.
pub(super) fn problems(judgement: &Judgement) -> String {
    let mut out = String::new();
    for problem in &judgement.problems {
        let style = severity_style(problem);
        let place = problem.at.map(|at| format!(" (bytes {}..{})", at.bytes.start, at.bytes.end)).unwrap_or_default();
        let fixed = if problem.fixed { ", removed" } else { "" };
        let _ = writeln!(
            out,
            "  {style}{}{}  {}{FAINT}{place}{fixed}{}",
            problem.code,
            style.render_reset(),
            one_line(&problem.message),
            FAINT.render_reset()
        );
    }
    out
}

/// The sources with the cited ones marked.
pub(super) fn sources(sources: &Sources, judgement: &Judgement) -> String {
    let mut out = String::new();
    for (n, source) in sources.iter() {
        let cited = judgement.citations.iter().any(|c| c.n == n);
        let style = if cited { STRONG } else { FAINT };
        let title = one_line(source.title.as_deref().unwrap_or(&source.id));
        let url = source.url.as_deref().map(|u| format!("  {}", one_line(u))).unwrap_or_default();
        let note = if cited { "" } else { "  (not cited)" };
        let _ =
            writeln!(out, "  {style}[{n}] {title}{}{url}{FAINT}{note}{}", style.render_reset(), FAINT.render_reset());
    }
    out
}

/// The text with citations in bold and problems underlined.
pub(super) fn answer(text: &str, judgement: &Judgement) -> String {
    let marks = judgement
        .problems
        .iter()
        .filter(|p| !p.fixed)
        .filter_map(|p| Some((p.at?.bytes, severity_style(p).underline())));
    let cited = judgement.citations.iter().map(|c| (c.at.bytes, GOOD));
    let mut marks: Vec<(Span, Style)> = marks.chain(cited).collect();
    marks.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
    let (mut out, mut at) = (String::new(), 0);
    for (span, style) in marks {
        if span.start < at {
            continue;
        }
        out.push_str(&visible(Span::new(at, span.start).of(text)));
        let _ = write!(out, "{style}{}{}", visible(span.of(text)), style.render_reset());
        at = span.end;
    }
    out + &visible(text.get(at..).unwrap_or_default())
}

/// Text from strangers without the control characters that a terminal would obey.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{FFFD}' } else { c }).collect()
}

fn one_line(text: &str) -> String {
    visible(text).replace('\n', " ")
}

fn severity_style(problem: &Problem) -> Style {
    match problem.code.severity() {
        Severity::Error => BAD,
        Severity::Warning => WARN,
        Severity::Info => FAINT,
    }
}
