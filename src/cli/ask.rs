//! `citewire ask`: one question, answered in the terminal without a server.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::{Trouble, paint, read_sources, runtime};
use crate::answer::event::{Event, Judgement};
use crate::cite::source::Sources;
use crate::config::{Config, Options};
use crate::gateway::{Gateway, Question, record};
use crate::log::live::{Live, Progress};
use crate::log::memory::MemoryLog;
use crate::log::tape::Item;

#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The question
    question: String,
    /// Use these sources instead of searching: JSON list of {"id","title","url","text"}, or one such object a line
    #[arg(long, value_name = "FILE")]
    sources: Option<String>,
    /// Print the record as JSON instead
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(ask: Ask) -> Result<ExitCode, Trouble> {
    if ask.question.trim().is_empty() {
        return Err(Trouble::new("the question must not be empty"));
    }
    let sources = ask.sources.as_deref().map(read_sources).transpose()?;
    let config = Config::load(ask.options).map_err(Trouble::new)?;
    runtime()?.block_on(async {
        let log = MemoryLog::new(config.log);
        let gateway = Gateway::build(config, Arc::<MemoryLog>::clone(&log)).map_err(Trouble::new)?;
        tokio::spawn(async move { log.sweep_forever().await });
        let sources = sources.map(|s| s.iter().map(|(_, source)| source.clone()).collect());
        let question = Question { text: ask.question, sources, ..Question::default() };
        let live = gateway.open(question).await.map_err(|f| Trouble(f.message))?;
        follow(&live, ask.json).await
    })
}

async fn follow(live: &Arc<Live>, json: bool) -> Result<ExitCode, Trouble> {
    let mut follower = live.follow(0).map_err(Trouble::new)?;
    let mut out = anstream::stdout();
    let mut sources = Sources::default();
    let mut failed = None;
    let mut show = |item: Item<'_>| -> std::io::Result<()> {
        match item {
            Item::Delta(text) => write!(out, "{}", paint::visible(text))?,
            Item::Event(Event::Start(start)) => sources = start.sources.clone(),
            Item::Event(Event::Annotate(judgement)) => settled(&mut out, judgement, &sources)?,
            Item::Event(Event::Replace(text, judgement)) => {
                writeln!(out, "\n{}", paint::visible(text))?;
                settled(&mut out, judgement, &sources)?;
            }
            Item::Event(Event::Error(failure)) => failed = Some(failure.clone()),
            Item::Event(_) => {}
        }
        out.flush()
    };
    let mut written = Ok(());
    loop {
        let progress = std::future::poll_fn(|cx| {
            follower.poll_records(cx, |_, item| {
                if !json && written.is_ok() {
                    written = show(item);
                }
            })
        });
        if progress.await == Progress::End {
            break;
        }
    }
    super::written(written)?;
    if json {
        let record = record(live).ok_or_else(|| Trouble::new("the answer has no beginning"))?;
        super::say(format_args!("{}\n", String::from_utf8_lossy(&record)))?;
    }
    match live.with_tape(|tape| tape.error().cloned()).or(failed) {
        Some(failure) => {
            let (bad, reset) = (paint::BAD, paint::BAD.render_reset());
            anstream::eprintln!("\n{bad}{}{reset}: {}", failure.code.as_str(), failure.message);
            Ok(ExitCode::FAILURE)
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

fn settled(out: &mut impl std::io::Write, judgement: &Judgement, sources: &Sources) -> std::io::Result<()> {
    write!(out, "\n\n{}\n{}", paint::verdict(judgement), paint::problems(judgement))?;
    if !sources.is_empty() {
        write!(out, "\nSources\n{}", paint::sources(sources, judgement))?;
    }
    Ok(())
}
