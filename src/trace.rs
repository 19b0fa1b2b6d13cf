//! Leaves a trace of every answer: one JSON line per step in a file, and the same as tracing events.
//!
//! Lines hold numbers, names and codes. Question and source text are never in them.

use std::fs::File;
use std::io::{LineWriter, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::answer::event::{Finish, Reason, Usage, Verdict};
use crate::log::lock;
use crate::prompt::PROMPT_VERSION;

/// Where traces go.
#[derive(Default)]
pub struct Trace {
    file: Option<Mutex<LineWriter<File>>>,
}

/// One step of an answer, with what went in and what came out.
#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the field names say it")]
pub enum Step<'a> {
    /// The checks ran.
    Check { text_bytes: usize, sources: usize, citations: usize, problems: &'a [&'static str] },
    /// What was decided.
    Decision { verdict: Option<Verdict>, reason: Option<Reason>, error: Option<&'a str>, model_calls: u32 },
    /// The model was asked.
    LlmCall {
        model: &'a str,
        attempts: u32,
        finish_reason: Option<Finish>,
        usage: Option<Usage>,
        error: Option<&'a str>,
    },
    /// Passages were looked for.
    Retrieve { retriever: &'a str, top_k: usize, found: Option<usize>, error: Option<&'a str> },
}

#[derive(Serialize)]
struct Line<'a> {
    /// Milliseconds since the Unix epoch.
    at: u64,
    answer: &'a str,
    prompt_version: &'static str,
    #[serde(flatten)]
    step: Step<'a>,
    duration_ms: f64,
}

impl Trace {
    /// Traces into a file, which is created or appended to.
    ///
    /// # Errors
    /// When the file cannot be opened for writing.
    pub fn to_file(path: &Path) -> std::io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { file: Some(Mutex::new(LineWriter::new(file))) })
    }

    /// Writes one step that took `duration`.
    pub fn step(&self, answer: &str, duration: Duration, step: Step<'_>) {
        tracing::debug!(answer, duration_ms = duration.as_secs_f64() * 1e3, ?step, "step");
        let Some(file) = &self.file else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let duration_ms = (duration.as_secs_f64() * 1e6).round() / 1e3;
        let line = Line { at, answer, prompt_version: PROMPT_VERSION, step, duration_ms };
        if let Ok(mut bytes) = serde_json::to_vec(&line) {
            bytes.push(b'\n');
            if let Err(error) = lock(file).write_all(&bytes) {
                tracing::warn!(%error, "the trace file cannot be written");
            }
        }
    }
}
