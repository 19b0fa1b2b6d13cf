//! Turns flags, environment and a TOML file into one typed configuration, once, before any port is bound.
//!
//! One name per setting: flag `--hold-limit`, environment `CITEWIRE_HOLD_LIMIT`, file key `hold_limit`. Flags win over the
//! environment, the environment over the file, the file over the defaults. Unknown file keys are errors.

mod options;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use options::Options;

use crate::answer::event::{Delivery, OnProblem};
use crate::answer::holdback::HOLD_LIMITS;
use crate::cite::marker::Grammar;
use crate::log::memory::Limits;
use crate::session::Deadlines;

/// The refusal sentence, unless the settings name another.
pub const DEFAULT_REFUSAL: &str = "I could not find that in the sources.";

/// What a process does. Every value has been checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on, `host:port`; port 0: any free one.
    pub listen: String,
    /// Who writes the answers.
    pub model: ModelChoice,
    /// Model names that requests may ask for; empty: any.
    pub models: Vec<String>,
    /// What is searched when a request brings no sources.
    pub docs: Docs,
    /// Where the search index of a folder is kept.
    pub index_dir: PathBuf,
    /// Passages taken per question.
    pub top_k: usize,
    /// What counts as a marker.
    pub grammar: Grammar,
    /// The refusal sentence.
    pub refusal: String,
    /// What happens when a check fails, unless the request says otherwise.
    pub on_problem: OnProblem,
    /// When text is shown, unless the request says otherwise.
    pub delivery: Delivery,
    /// Requests may bring their own script for the model.
    pub lab: bool,
    /// Ceilings of requests and answers.
    pub ceilings: Ceilings,
    /// Ceilings of the log.
    pub log: Limits,
    /// How long a model may take.
    pub deadlines: Deadlines,
    /// How long an answer goes on when nobody follows it.
    pub abandon_after: Duration,
    /// How long open answers may go on when the process is told to stop.
    pub drain_timeout: Duration,
    /// File that gets one JSON line per step.
    pub trace: Option<PathBuf>,
}

/// Who writes the answers.
#[derive(Debug, Clone)]
pub enum ModelChoice {
    /// Built in: the best sentences of the passages, no language model.
    Extractive,
    /// Recorded chunks from a file.
    Script(PathBuf),
    /// An OpenAI-compatible server.
    Upstream(Upstream),
}

/// Where an OpenAI-compatible server is.
#[derive(Clone)]
pub struct Upstream {
    /// Base url, `/v1` included.
    pub url: String,
    /// Model asked for when a request names none.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// Longest line read from it, in bytes.
    pub max_line_bytes: usize,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let api_key = self.api_key.as_ref().map(|_| "…");
        f.debug_struct("Upstream")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("api_key", &api_key)
            .finish()
    }
}

/// What is searched when a request brings no sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Docs {
    /// The built-in handbook.
    Builtin,
    /// A folder of Markdown, text and HTML files.
    Folder(PathBuf),
    /// Nothing.
    None,
}

/// Ceilings of requests and answers.
#[derive(Debug, Clone, Copy)]
pub struct Ceilings {
    /// Bytes of an answer's text.
    pub answer_bytes: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Followers of one answer.
    pub followers: usize,
    /// Bytes of one source's text.
    pub source_bytes: usize,
    /// Sources of one request.
    pub sources: usize,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {}: {why}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{}: {why}", path.display())]
    Toml {
        /// Which one.
        path: PathBuf,
        /// Line, column and reason.
        why: Box<toml::de::Error>,
    },
    /// A setting has a value that cannot be.
    #[error("{setting}: {why}")]
    Value {
        /// Which one.
        setting: &'static str,
        /// What was expected and what came.
        why: String,
    },
}

fn bad(setting: &'static str, why: impl Into<String>) -> ConfigError {
    ConfigError::Value { setting, why: why.into() }
}

/// Reads one environment variable; unset and empty are the same.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

impl Config {
    /// Puts flags and environment (`options`), the file that they name, and the defaults together.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting and what was expected.
    pub fn load(options: Options) -> Result<Self, ConfigError> {
        let file = options.config.as_deref().map(Options::from_file).transpose()?.unwrap_or_default();
        let base_url = environment("OPENAI_BASE_URL");
        Self::resolve(options, file, base_url, environment)
    }

    fn resolve(
        flags: Options,
        file: Options,
        base_url: Option<String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut o = one_model(flags, base_url)?.or(one_model(file, None)?);
        let model = model_choice(&mut o, environment)?;
        let is_upstream = matches!(model, ModelChoice::Upstream(_));
        let docs = docs(o.docs.as_deref(), is_upstream)?;
        let refusal = o.refusal.take().unwrap_or_else(|| DEFAULT_REFUSAL.to_owned());
        if refusal.trim().is_empty() {
            return Err(bad("refusal", "expected a sentence, got nothing"));
        }
        if o.log.as_deref().is_some_and(|log| log != "memory") {
            return Err(bad("log", "expected memory"));
        }
        let grammar = grammar(&mut o)?;
        let top_k = at_least_one("top_k", o.top_k, 6)?;
        let ceilings = ceilings(&o)?;
        if top_k > ceilings.sources {
            return Err(bad("top_k", format!("expected at most max_sources ({}), got {top_k}", ceilings.sources)));
        }
        Ok(Self {
            listen: o.listen.unwrap_or_else(|| "127.0.0.1:8080".to_owned()),
            lab: o.lab.unwrap_or(!is_upstream),
            model,
            models: o.models.unwrap_or_default(),
            docs,
            index_dir: o.index_dir.unwrap_or_else(default_index_dir),
            top_k,
            grammar,
            refusal,
            on_problem: o.on_problem.unwrap_or_default(),
            delivery: o.delivery.unwrap_or_default(),
            ceilings,
            log: Limits {
                max_open: at_least_one("max_answers", o.max_answers, 10_000)?,
                keep: o.keep_answers.map_or(Duration::from_secs(600), |d| d.0),
                max_kept_bytes: o.max_kept_bytes.unwrap_or(512 * MIB),
            },
            deadlines: Deadlines {
                first_chunk: duration("first_chunk_timeout", o.first_chunk_timeout, 60)?,
                idle: duration("idle_timeout", o.idle_timeout, 60)?,
                answer: duration("answer_timeout", o.answer_timeout, 600)?,
            },
            abandon_after: o.abandon_after.map_or(Duration::from_secs(15), |d| d.0),
            drain_timeout: o.drain_timeout.map_or(Duration::from_secs(30), |d| d.0),
            trace: o.trace,
        })
    }
}

/// One layer of settings, with at most one model in it. `base_url` stands in for an upstream that the layer does not name.
fn one_model(mut layer: Options, base_url: Option<String>) -> Result<Options, ConfigError> {
    if layer.script.is_some() && layer.upstream.is_some() {
        return Err(bad("script", "a script stands in for the model, so it cannot be used together with upstream"));
    }
    if layer.script.is_none() {
        layer.upstream = layer.upstream.or(base_url);
    }
    Ok(layer)
}

fn docs(given: Option<&str>, is_upstream: bool) -> Result<Docs, ConfigError> {
    match given {
        None if is_upstream => Ok(Docs::None),
        None | Some("builtin") => Ok(Docs::Builtin),
        Some("none") => Ok(Docs::None),
        Some("") => Err(bad("docs", "expected a folder, builtin or none, got nothing")),
        Some(folder) => Ok(Docs::Folder(PathBuf::from(folder))),
    }
}

fn grammar(o: &mut Options) -> Result<Grammar, ConfigError> {
    let default = Grammar::default();
    let hold_limit = o.hold_limit.unwrap_or(default.hold_limit);
    if !HOLD_LIMITS.contains(&hold_limit) {
        return Err(bad("hold_limit", format!("expected 8 to 4096 bytes, got {hold_limit}")));
    }
    let words = o.marker_words.take().unwrap_or(default.words);
    if words.iter().any(|word| word.trim().is_empty()) {
        return Err(bad("marker_words", "expected words, got an empty one"));
    }
    Ok(Grammar { hold_limit, words })
}

fn ceilings(o: &Options) -> Result<Ceilings, ConfigError> {
    Ok(Ceilings {
        answer_bytes: at_least_one("max_answer_bytes", o.max_answer_bytes, MIB)?,
        body_bytes: at_least_one("max_body_bytes", o.max_body_bytes, 4 * MIB)?,
        followers: at_least_one("max_followers", o.max_followers, 64)?,
        source_bytes: at_least_one("max_source_bytes", o.max_source_bytes, 256 * KIB)?,
        sources: at_least_one("max_sources", o.max_sources, 64)?,
    })
}

fn model_choice(o: &mut Options, environment: impl Fn(&str) -> Option<String>) -> Result<ModelChoice, ConfigError> {
    if let Some(script) = o.script.take() {
        return Ok(ModelChoice::Script(script));
    }
    let Some(url) = o.upstream.take() else {
        if o.model.is_some() {
            tracing::warn!("the setting model is ignored: no upstream is set that could be asked for it");
        }
        return Ok(ModelChoice::Extractive);
    };
    let Some(model) = o.model.take().filter(|m| !m.trim().is_empty()) else {
        let why = "an upstream (--upstream, CITEWIRE_UPSTREAM or OPENAI_BASE_URL) needs the name of a model, such as \
                   --model gpt-4.1-mini";
        return Err(bad("model", why));
    };
    let api_key = environment(o.api_key_env.as_deref().unwrap_or("OPENAI_API_KEY"));
    let max_line_bytes = at_least_one("max_line_bytes", o.max_line_bytes, MIB)?;
    Ok(ModelChoice::Upstream(Upstream { url, model, api_key, max_line_bytes }))
}

fn at_least_one(setting: &'static str, given: Option<usize>, default: usize) -> Result<usize, ConfigError> {
    match given {
        Some(0) => Err(bad(setting, "expected at least 1, got 0")),
        given => Ok(given.unwrap_or(default)),
    }
}

fn duration(setting: &'static str, given: Option<options::Span>, seconds: u64) -> Result<Duration, ConfigError> {
    match given {
        Some(d) if d.0.is_zero() => Err(bad(setting, "expected a time such as 300ms or 15s, got 0")),
        given => Ok(given.map_or(Duration::from_secs(seconds), |d| d.0)),
    }
}

/// The user's cache folder, or the system's temporary one.
fn default_index_dir() -> PathBuf {
    let dirs = directories::ProjectDirs::from("", "", "citewire");
    dirs.map_or_else(|| std::env::temp_dir().join("citewire"), |d| d.cache_dir().to_owned()).join("index")
}

impl Options {
    fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|why| ConfigError::File { path: path.to_owned(), why })?;
        toml::from_str(&text).map_err(|why| ConfigError::Toml { path: path.to_owned(), why: Box::new(why) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(flags: Options, file: &str, base_url: Option<&str>) -> Result<Config, String> {
        let file = toml::from_str(file).map_err(|e: toml::de::Error| e.message().to_owned())?;
        let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-test".to_owned());
        Config::resolve(flags, file, base_url.map(str::to_owned), key).map_err(|e| e.to_string())
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = Options { top_k: Some(3), ..Options::default() };
        let config = resolve(flags, "top_k = 4\nrefusal = 'No.'\nidle_timeout = '300ms'", None).unwrap();
        assert_eq!((config.top_k, config.refusal.as_str()), (3, "No."));
        assert_eq!(config.deadlines.idle, Duration::from_millis(300));
    }

    #[test]
    fn an_upstream_sets_the_defaults_of_docs_and_lab() {
        let config = resolve(Options::default(), "model = 'm'", Some("http://a/v1")).unwrap();
        assert!(matches!(&config.model, ModelChoice::Upstream(u) if u.api_key.as_deref() == Some("sk-test")));
        assert_eq!((config.docs, config.lab), (Docs::None, false));
        assert!(!format!("{:?}", config.model).contains("sk-test"), "no key in debug output");
        let config = resolve(Options::default(), "", None).unwrap();
        assert_eq!((config.docs, config.lab), (Docs::Builtin, true));
    }

    #[test]
    fn bad_values_name_their_setting() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options
        };
        for (flags, file, expected) in [
            (with(|_| {}), "hold_limt = 3", "unknown field `hold_limt`"),
            (with(|_| {}), "idle_timeout = 3", "invalid type: integer"),
            (with(|_| {}), "idle_timeout = 'soon'", "expected a time such as"),
            (with(|_| {}), "on_problem = 'retry'", "unknown variant `retry`"),
            (with(|o| o.hold_limit = Some(4)), "", "hold_limit: expected 8 to 4096 bytes, got 4"),
            (with(|o| o.max_answers = Some(0)), "", "max_answers: expected at least 1, got 0"),
            (with(|o| o.top_k = Some(65)), "", "top_k: expected at most"),
            (with(|o| o.upstream = Some("http://a".into())), "", "model: an upstream (--upstream"),
            (with(|o| o.log = Some("redis://a".into())), "", "log: expected memory"),
            (with(|o| (o.script, o.upstream) = (Some("s".into()), Some("http://a".into()))), "", "script: a script"),
        ] {
            let error = resolve(flags, file, None).unwrap_err();
            assert!(error.contains(expected), "{error:?} should contain {expected:?}");
        }
    }
}
