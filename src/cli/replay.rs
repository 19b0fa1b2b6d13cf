//! `citewire replay`: recorded streams through the hold-back emitter, beside what a page without one would have shown.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::{SourceEntry, Trouble, paint, read, say};
use crate::answer::holdback::HoldBack;
use crate::cite::check::{Rules, check};
use crate::cite::marker::{Grammar, Marker, Names};
use crate::cite::source::{Source, Sources};

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Streams, one a line: {"deltas":["…"]}, with "sources":[…] or "n":3 if they are known; - for standard input
    file: String,
    /// Where to cut: as recorded, after every character, or at random places
    #[arg(long, value_enum, default_value_t = Cuts::Given)]
    cuts: Cuts,
    /// Seed of the random cuts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Bytes held back at most
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(8..=4096), value_name = "BYTES")]
    hold_limit: u16,
    /// Print the counts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Cuts {
    /// As recorded
    Given,
    /// After every character
    Every,
    /// At random places
    Random,
}

#[derive(Deserialize)]
struct Stream {
    deltas: Vec<String>,
    sources: Option<Vec<SourceEntry>>,
    n: Option<usize>,
}

/// What was counted over all streams.
#[derive(Debug, Default, Serialize)]
struct Counts {
    streams: usize,
    chunks: usize,
    bytes: usize,
    /// Markers, valid or not.
    markers: usize,
    /// Markers that a page would have shown half, without an emitter.
    torn: usize,
    /// Markers that the emitter let through in parts: must be 0.
    leaked: usize,
    /// Bytes that went in and did not come out: must be 0.
    lost_bytes: usize,
    /// Most bytes held at once.
    most_held: usize,
    citations: usize,
    problems: BTreeMap<&'static str, usize>,
}

pub(super) fn run(replay: &Replay) -> Result<ExitCode, Trouble> {
    let text = read(&replay.file)?;
    let mut counts = Counts::default();
    let mut random = Random(replay.seed);
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let stream: Stream = serde_json::from_str(line)
            .map_err(|e| Trouble(format!("{}, line {}: expected {{\"deltas\":[…]}}: {e}", replay.file, i + 1)))?;
        count(stream, replay, &mut random, &mut counts);
    }
    if counts.streams == 0 {
        return Err(Trouble(format!("{}: no streams in it", replay.file)));
    }
    if replay.json {
        say(format_args!("{}\n", serde_json::to_string(&counts).map_err(Trouble::new)?))?;
    } else {
        print(&counts)?;
    }
    let whole = counts.leaked == 0 && counts.lost_bytes == 0;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn count(stream: Stream, replay: &Replay, random: &mut Random, counts: &mut Counts) {
    let text = stream.deltas.concat();
    let grammar = Grammar { hold_limit: replay.hold_limit.into(), ..Grammar::default() };
    let rules = Rules { grammar: &grammar, refusal: "" };
    let sources = match (stream.sources, stream.n) {
        (Some(given), _) => Sources::new(given.into_iter().map(Source::from).collect()),
        (None, Some(n)) => placeholders(n),
        // Nobody knows what they were: as many as the text names, so the range check has nothing to say.
        (None, None) => named_sources(&check(&text, &Sources::default(), rules).markers),
    };
    let report = check(&text, &sources, rules);
    let chunks = match replay.cuts {
        Cuts::Given => stream.deltas,
        Cuts::Every => text.chars().map(String::from).collect(),
        Cuts::Random => random.cut(&text),
    };
    let mut emitter = HoldBack::new(replay.hold_limit.into());
    let (mut shown, mut naive) = (String::with_capacity(text.len()), 0);
    let (mut leaks, mut tears) = (Vec::new(), Vec::new());
    for chunk in &chunks {
        naive += chunk.len();
        shown.push_str(emitter.push(chunk));
        counts.most_held = counts.most_held.max(emitter.held().len());
        tears.push(naive);
        leaks.push(shown.len());
    }
    shown.push_str(emitter.finish());
    counts.streams += 1;
    counts.chunks += chunks.len();
    counts.bytes += text.len();
    counts.markers += report.markers.len();
    counts.torn += cut_markers(&report.markers, &tears);
    counts.leaked += cut_markers(&report.markers, &leaks);
    counts.lost_bytes += if shown == text { 0 } else { text.len().abs_diff(shown.len()).max(1) };
    counts.citations += report.citations.len();
    for problem in &report.problems {
        *counts.problems.entry(problem.code.as_str()).or_default() += 1;
    }
}

/// Markers with one of these places, in rising order, between their brackets.
fn cut_markers(markers: &[Marker], places: &[usize]) -> usize {
    let is_cut = |m: &&Marker| {
        let behind = places.partition_point(|&p| p <= m.brackets.start);
        places.get(behind).is_some_and(|&p| p < m.brackets.end)
    };
    markers.iter().filter(is_cut).count()
}

fn placeholders(n: usize) -> Sources {
    Sources::new((1..=n).map(|i| placeholder(i.to_string())).collect())
}

fn placeholder(id: String) -> Source {
    Source { id, title: None, url: None, text: String::new(), ocr: false }
}

/// One source for every number up to the highest, and one for every id.
fn named_sources(markers: &[Marker]) -> Sources {
    let highest = markers.iter().flat_map(Marker::numbers).max().unwrap_or(0);
    let mut sources: Vec<Source> = (1..=highest).map(|n| placeholder(n.to_string())).collect();
    for item in markers.iter().flat_map(|m| &m.items) {
        if let Names::Unknown(id) = &item.names
            && !sources.iter().any(|s| s.id == *id)
        {
            sources.push(placeholder(id.clone()));
        }
    }
    Sources::new(sources)
}

/// A small generator (SplitMix64) for cuts that a seed reproduces.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Pieces of one to eight characters.
    fn cut(&mut self, text: &str) -> Vec<String> {
        let mut chars = text.chars().peekable();
        let mut pieces = Vec::new();
        while chars.peek().is_some() {
            let len = (self.next() % 8 + 1) as usize;
            pieces.push(chars.by_ref().take(len).collect());
        }
        pieces
    }
}

fn print(counts: &Counts) -> Result<(), Trouble> {
    let zero = |n: usize| if n == 0 { paint::GOOD } else { paint::BAD };
    let rows = [
        ("streams", counts.streams, paint::STRONG, ""),
        ("chunks", counts.chunks, paint::STRONG, ""),
        ("bytes", counts.bytes, paint::STRONG, ""),
        ("markers", counts.markers, paint::STRONG, ""),
        ("torn", counts.torn, paint::WARN, "half markers that a page without hold-back would have shown"),
        ("leaked", counts.leaked, zero(counts.leaked), "must be 0"),
        ("lost bytes", counts.lost_bytes, zero(counts.lost_bytes), "must be 0"),
        ("most held", counts.most_held, paint::STRONG, "bytes"),
        ("citations", counts.citations, paint::STRONG, ""),
    ];
    let (faint, end) = (paint::FAINT, paint::FAINT.render_reset());
    for (name, n, style, note) in rows {
        say(format_args!("{name:<12}{style}{n:>10}{}  {faint}{note}{end}\n", style.render_reset()))?;
    }
    for (code, n) in &counts.problems {
        say(format_args!("{code:<12}{n:>10}\n"))?;
    }
    Ok(())
}
