//! The command line: one file per subcommand. Colours only on a terminal, results on standard output, all else on standard
//! error.

mod ask;
mod check;
mod paint;
mod replay;
mod serve;

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use serde::Deserialize;

use crate::cite::source::{Source, Sources};
use crate::config::Options;

/// Streaming citation gateway: numbers the sources, holds back half markers, checks every citation.
///
/// Without a command it serves: the demo page on the built-in bike-share handbook, no key, no network.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the gateway and its demo page (the default)
    Serve(Options),
    /// Answer one question in the terminal, streamed, with its sources
    Ask(ask::Ask),
    /// Check a finished answer against its sources; exit 1 when a check finds an error
    Check(check::Check),
    /// Feed recorded streams through the hold-back emitter and count what was torn, leaked or lost
    Replay(replay::Replay),
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("CITEWIRE_LOG_LEVEL")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr).init();
    let result = match cli.command {
        None => serve::run(cli.serve),
        Some(Command::Serve(options)) => serve::run(options),
        Some(Command::Ask(ask)) => ask::run(ask),
        Some(Command::Check(check)) => check::run(&check),
        Some(Command::Replay(replay)) => replay::run(&replay),
    };
    result.unwrap_or_else(|error| {
        anstream::eprintln!("{}error:{} {error}", paint::BAD, paint::BAD.render_reset());
        ExitCode::from(2)
    })
}

/// Why a command could not do its work. One sentence for a person.
struct Trouble(String);

impl Trouble {
    fn new(why: impl fmt::Display) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Trouble> {
    tokio::runtime::Runtime::new().map_err(|e| Trouble(format!("the asynchronous runtime cannot start: {e}")))
}

/// Writes to standard output. A reader that has seen enough (`| head`) ends the process, quietly.
fn say(text: impl fmt::Display) -> Result<(), Trouble> {
    let mut out = anstream::stdout();
    written(write!(out, "{text}").and_then(|()| out.flush()))
}

fn written(result: std::io::Result<()>) -> Result<(), Trouble> {
    match result {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(e) => Err(Trouble(format!("cannot write to standard output: {e}"))),
    }
}

/// Reads a file, or standard input for `-`.
fn read(path: &str) -> Result<String, Trouble> {
    let read = if path == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    let text = read.map_err(|e| Trouble(format!("cannot read {path}: {e}")))?;
    Ok(text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum SourcesFile {
    List(Vec<SourceEntry>),
    Object { sources: Vec<SourceEntry> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceEntry {
    id: String,
    title: Option<String>,
    url: Option<String>,
    text: String,
    #[serde(default)]
    ocr: bool,
}

impl From<SourceEntry> for Source {
    fn from(entry: SourceEntry) -> Self {
        let SourceEntry { id, title, url, text, ocr } = entry;
        Self { id, title, url, text, ocr }
    }
}

#[derive(Debug, Args)]
struct SourcesArg {
    /// Sources as JSON: a list of {"id","title","url","text"}, an object with that list under "sources", or one object a line
    #[arg(long, value_name = "FILE")]
    sources: String,
}

/// Reads sources from a JSON or JSON-lines file.
fn read_sources(path: &str) -> Result<Sources, Trouble> {
    let text = read(path)?;
    let expected =
        "expected a list of {\"id\",\"title\",\"url\",\"text\"}, {\"sources\":[…]}, or one such object a line";
    let whole: Result<SourcesFile, _> = serde_json::from_str(&text);
    let entries = match whole {
        Ok(SourcesFile::List(entries) | SourcesFile::Object { sources: entries }) => entries,
        Err(_) => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let entry = |(i, line): (usize, &str)| {
                serde_json::from_str(line).map_err(|e| Trouble(format!("{path}, line {}: {expected}: {e}", i + 1)))
            };
            lines.map(entry).collect::<Result<Vec<SourceEntry>, _>>()?
        }
    };
    let sources = Sources::new(entries.into_iter().map(Source::from).collect());
    if let Some((n, _)) = sources.iter().find(|(n, s)| sources.number_of(&s.id) != Some(*n)) {
        return Err(Trouble(format!("{path}: source {n} has the id of an earlier one; ids must be unique")));
    }
    Ok(sources)
}
