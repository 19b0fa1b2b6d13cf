//! The settings as written, by flag, environment or file: all optional, none checked beyond its type.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

use crate::answer::event::{Delivery, OnProblem};

/// A time as it is written: `300ms`, `15s`, `10m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = humantime::parse_duration(text).map(Self);
        parsed.map_err(|_| format!("expected a time such as 300ms, 15s or 10m, got {text:?}"))
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for OnProblem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        word(text, "annotate, strip or refuse")
    }
}

impl FromStr for Delivery {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        word(text, "stream or hold")
    }
}

/// Reads a word as the wire does.
fn word<'a, T: Deserialize<'a>>(text: &'a str, expected: &str) -> Result<T, String> {
    let reader = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text);
    T::deserialize(reader).map_err(|_| format!("expected {expected}, got {text:?}"))
}

macro_rules! options {
    ($($(#[$doc:meta])+ $name:ident: $type:ty, $env:literal, $value:literal $(, $extra:ident = $by:literal)?;)+) => {
        /// Every setting, as a flag, an environment variable and a file key of one name.
        #[derive(Debug, Clone, Default, clap::Args, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Options {
            /// Settings file (TOML); flags and environment win over it
            #[arg(long, env = "CITEWIRE_CONFIG", value_name = "FILE", hide_env_values = true)]
            #[serde(skip)]
            pub config: Option<PathBuf>,
            $($(#[$doc])+
            #[arg(long, env = $env, value_name = $value, hide_env_values = true $(, $extra = $by)?)]
            pub $name: Option<$type>,)+
        }

        impl Options {
            /// These settings, and where they are silent the other ones. A model named here sets aside the other's.
            pub(super) fn or(self, mut other: Self) -> Self {
                if self.script.is_some() || self.upstream.is_some() {
                    (other.script, other.upstream) = (None, None);
                }
                Self { config: self.config, $($name: self.$name.or(other.$name),)+ }
            }
        }
    };
}

options! {
    /// Address to listen on [default: 127.0.0.1:8080]
    listen: String, "CITEWIRE_LISTEN", "HOST:PORT";
    /// Documents to search: a folder of Markdown, text and HTML files, `builtin` (the bike-share handbook) or `none`
    /// [default: builtin, with an upstream none]
    docs: String, "CITEWIRE_DOCS", "DIR|builtin|none";
    /// Base url of an OpenAI-compatible server, such as http://127.0.0.1:11434/v1; OPENAI_BASE_URL is read too, and
    /// OPENAI_API_KEY for the key
    upstream: String, "CITEWIRE_UPSTREAM", "URL";
    /// Model to ask the upstream for
    model: String, "CITEWIRE_MODEL", "NAME";
    /// Model names that a request may ask for, with commas [default: any]
    models: Vec<String>, "CITEWIRE_MODELS", "NAMES", value_delimiter = ',';
    /// Play recorded chunks instead of asking a model: one {"chunks":["…"],"gap_ms":120,"finish":"stop"} a line
    script: PathBuf, "CITEWIRE_SCRIPT", "FILE";
    /// Environment variable that holds the upstream's key [default: OPENAI_API_KEY]
    api_key_env: String, "CITEWIRE_API_KEY_ENV", "NAME";
    /// What to do when a check finds an error: annotate, strip or refuse [default: annotate]
    on_problem: OnProblem, "CITEWIRE_ON_PROBLEM", "WHAT";
    /// Show text as it comes (stream) or only once it is checked (hold) [default: stream]
    delivery: Delivery, "CITEWIRE_DELIVERY", "WHEN";
    /// The sentence that stands for "not in the sources" [default: I could not find that in the sources.]
    refusal: String, "CITEWIRE_REFUSAL", "SENTENCE";
    /// Write one JSON line per step of every answer (never its texts)
    trace: PathBuf, "CITEWIRE_TRACE", "FILE";
    /// Passages taken per question [default: 6]
    top_k: usize, "CITEWIRE_TOP_K", "N";
    /// Where the search index of a folder is kept [default: the user's cache folder]
    index_dir: PathBuf, "CITEWIRE_INDEX_DIR", "DIR";
    /// Let requests bring their own script for the model (true or false) [default: true, with an upstream false]
    lab: bool, "CITEWIRE_LAB", "BOOL";
    /// Bytes held back at most, and of a marker, 8 to 4096 [default: 128]
    hold_limit: usize, "CITEWIRE_HOLD_LIMIT", "BYTES";
    /// Words for "source" inside a marker, with commas [default: source, doc, id, …]
    marker_words: Vec<String>, "CITEWIRE_MARKER_WORDS", "WORDS", value_delimiter = ',';
    /// How long an answer goes on when nobody follows it [default: 15s]
    abandon_after: Span, "CITEWIRE_ABANDON_AFTER", "TIME";
    /// How long a finished answer is kept [default: 10m]
    keep_answers: Span, "CITEWIRE_KEEP_ANSWERS", "TIME";
    /// Longest wait for the model's first chunk [default: 60s]
    first_chunk_timeout: Span, "CITEWIRE_FIRST_CHUNK_TIMEOUT", "TIME";
    /// Longest silence between two chunks [default: 60s]
    idle_timeout: Span, "CITEWIRE_IDLE_TIMEOUT", "TIME";
    /// Longest time for a whole answer [default: 10m]
    answer_timeout: Span, "CITEWIRE_ANSWER_TIMEOUT", "TIME";
    /// How long open answers may go on after a stop signal [default: 30s]
    drain_timeout: Span, "CITEWIRE_DRAIN_TIMEOUT", "TIME";
    /// Answers open at once [default: 10000]
    max_answers: usize, "CITEWIRE_MAX_ANSWERS", "N";
    /// Followers of one answer at once [default: 64]
    max_followers: usize, "CITEWIRE_MAX_FOLLOWERS", "N";
    /// Longest answer [default: 1048576]
    max_answer_bytes: usize, "CITEWIRE_MAX_ANSWER_BYTES", "BYTES";
    /// Memory for finished answers; the oldest go first [default: 536870912]
    max_kept_bytes: usize, "CITEWIRE_MAX_KEPT_BYTES", "BYTES";
    /// Sources of one request [default: 64]
    max_sources: usize, "CITEWIRE_MAX_SOURCES", "N";
    /// Longest source [default: 262144]
    max_source_bytes: usize, "CITEWIRE_MAX_SOURCE_BYTES", "BYTES";
    /// Longest request body [default: 4194304]
    max_body_bytes: usize, "CITEWIRE_MAX_BODY_BYTES", "BYTES";
    /// Longest line read from the upstream [default: 1048576]
    max_line_bytes: usize, "CITEWIRE_MAX_LINE_BYTES", "BYTES";
    /// Where answers are kept: memory [default: memory]
    log: String, "CITEWIRE_LOG", "WHERE";
}
