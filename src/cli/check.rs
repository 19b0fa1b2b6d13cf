//! `citewire check`: every check on a finished answer, no model.

use std::process::ExitCode;

use clap::Args;

use super::{SourcesArg, Trouble, paint, read, read_sources, say};
use crate::answer::event::{FinishReason, OnProblem};
use crate::answer::settle::{Policy, settle};
use crate::cite::check::{Rules, Severity};
use crate::cite::marker::Grammar;
use crate::config::DEFAULT_REFUSAL;
use crate::wire::native;

#[derive(Debug, Args)]
pub(super) struct Check {
    #[command(flatten)]
    sources: SourcesArg,
    /// File with the answer's text; - or nothing: standard input
    #[arg(default_value = "-")]
    answer: String,
    /// Show what this would do about errors: annotate, strip or refuse
    #[arg(long, value_name = "WHAT", default_value = "annotate")]
    on_problem: OnProblem,
    /// The sentence that stands for "not in the sources"
    #[arg(long, value_name = "SENTENCE", default_value = DEFAULT_REFUSAL)]
    refusal: String,
    /// Print the judgement as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(check: &Check) -> Result<ExitCode, Trouble> {
    let sources = read_sources(&check.sources.sources)?;
    let text = read(&check.answer)?;
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    let grammar = Grammar::default();
    let rules = Rules { grammar: &grammar, refusal: &check.refusal };
    let policy = Policy { rules, on_problem: check.on_problem };
    let settlement = settle(text, &FinishReason::new("stop"), &sources, policy);
    let judgement = &settlement.judgement;
    if check.json {
        let json = native::checked(&settlement.text, judgement, &sources);
        say(format_args!("{}\n", String::from_utf8_lossy(&json)))?;
    } else {
        say(format_args!("{}\n\n", paint::answer(&settlement.text, judgement)))?;
        say(format_args!("{}\n{}", paint::verdict(judgement), paint::problems(judgement)))?;
        say(format_args!("\nSources\n{}", paint::sources(&sources, judgement)))?;
    }
    let errors = judgement.problems.iter().any(|p| p.code.severity() == Severity::Error);
    Ok(if errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
