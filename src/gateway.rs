//! Turns a question into an open answer: find sources, refuse when there are none, else ask the model and hand its stream to
//! a session in the log. Everything in front of it (HTTP, the command line) brings a [`Question`] and follows the answer.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::answer::event::{Delivery, ErrorCode, Failure, Format, OnProblem, Start};
use crate::answer::machine::{Answer, Settings};
use crate::cite::source::{Source, Sources};
use crate::config::{Config, Docs, ModelChoice};
use crate::log::live::{Drive, Live, Opening};
use crate::log::tape::Tape;
use crate::log::{AnswerId, AnswerLog, LogError, random_word};
use crate::model::openai::{OpenAi, OpenAiSettings, SettingsError};
use crate::model::script::{Script, ScriptError, ScriptModel};
use crate::model::{Model, ModelRequest};
use crate::prompt::{Message, Prompt};
use crate::retrieve::corpus::Corpus;
use crate::retrieve::inline::Inline;
use crate::retrieve::{RetrieveError, Retriever};
use crate::session::{Facts, Session, refused};
use crate::trace::{Step, Trace};
use crate::wire::native;

/// How long a search may take. It is far below a reader's patience; at double, a stuck search looks like a stuck page.
const RETRIEVE_TIMEOUT: Duration = Duration::from_secs(10);

/// A question, with everything that may come with it. Already checked.
#[derive(Debug, Default)]
pub struct Question {
    /// The question itself.
    pub text: String,
    /// Earlier turns, oldest first.
    pub earlier: Vec<Message>,
    /// The caller's own sources; `None`: the retriever is asked.
    pub sources: Option<Vec<Source>>,
    /// False: the retriever is not asked either.
    pub no_retrieval: bool,
    /// Passages to take; `None`: as configured.
    pub top_k: Option<usize>,
    /// `None`: as configured.
    pub on_problem: Option<OnProblem>,
    /// `None`: as configured.
    pub delivery: Option<Delivery>,
    /// The model to ask for; `None`: the configured one.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens to write.
    pub max_tokens: Option<u32>,
    /// Played in the model's place.
    pub script: Option<Script>,
}

/// Retriever, model and log, ready to answer.
pub struct Gateway {
    config: Config,
    model: Arc<dyn Model>,
    retriever: Option<Arc<dyn Retriever>>,
    docs_description: String,
    log: Arc<dyn AnswerLog>,
    trace: Arc<Trace>,
}

/// Why a gateway cannot be built from its configuration.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The documents cannot be searched.
    #[error("docs: {0}")]
    Docs(#[from] RetrieveError),
    /// The script is not one.
    #[error("script: {0}")]
    Script(#[from] ScriptError),
    /// The script cannot be read.
    #[error("script: cannot read the file: {0}")]
    ScriptFile(std::io::Error),
    /// The trace cannot be written.
    #[error("trace: cannot open the file: {0}")]
    Trace(std::io::Error),
    /// The upstream cannot be used.
    #[error("upstream: {0}")]
    Upstream(#[from] SettingsError),
}

impl Gateway {
    /// Opens what the configuration names: model, documents, trace.
    ///
    /// # Errors
    /// [`BuildError`] names the setting.
    pub fn build(config: Config, log: Arc<dyn AnswerLog>) -> Result<Self, BuildError> {
        let trace = config.trace.as_deref().map(Trace::to_file).transpose().map_err(BuildError::Trace)?;
        let (retriever, docs_description) = retriever(&config)?;
        Ok(Self {
            model: model(&config)?,
            retriever,
            docs_description,
            log,
            trace: Arc::new(trace.unwrap_or_default()),
            config,
        })
    }

    /// The configuration that it was built from.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where its answers are.
    #[must_use]
    pub fn log(&self) -> &Arc<dyn AnswerLog> {
        &self.log
    }

    /// The model's name, for people.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.model.name()
    }

    /// The model in a few words, for the start-up message.
    #[must_use]
    pub fn model_description(&self) -> String {
        match &self.config.model {
            ModelChoice::Extractive => "extractive: the best sentences of the documents, no language model".to_owned(),
            ModelChoice::Script(path) => format!("script {}", path.display()),
            ModelChoice::Upstream(upstream) => format!("{} at {}", upstream.model, upstream.url),
        }
    }

    /// The documents in a few words, for the start-up message.
    #[must_use]
    pub fn docs_description(&self) -> &str {
        &self.docs_description
    }

    /// What is searched, for people; `None`: only the requests' own sources are used.
    #[must_use]
    pub fn docs_name(&self) -> Option<&str> {
        self.retriever.as_deref().map(Retriever::name)
    }

    /// Finds sources and opens the answer. The model is asked when somebody follows it.
    ///
    /// # Errors
    /// What keeps the answer from beginning: the search failed, or the log is full.
    pub async fn open(&self, mut question: Question) -> Result<Arc<Live>, Failure> {
        let began = Instant::now();
        let no_randomness = || Failure::new(ErrorCode::Internal, "the system has no randomness to make an id from");
        let id = AnswerId::random().ok_or_else(no_randomness)?;
        let retrieved = question.sources.is_none();
        let found = self.find_sources(&mut question, &id, began).await?;
        let retrieve = found.as_ref().map(|(_, took)| *took).filter(|_| retrieved);
        let is_empty_handed = found.as_ref().is_some_and(|(sources, _)| sources.is_empty());
        let sources = found.map(|(sources, _)| sources).unwrap_or_default();
        let model: Arc<dyn Model> = match question.script.clone() {
            Some(script) => Arc::new(ScriptModel::new(script)),
            None => Arc::clone(&self.model),
        };
        let start = Start {
            answer: id.as_str().to_owned(),
            format: Format::Prose,
            delivery: question.delivery.unwrap_or(self.config.delivery),
            model: question.model.clone().unwrap_or_else(|| model.name().to_owned()),
            sources: sources.clone(),
            retrieved,
        };
        let facts = Facts {
            answer: start.answer.clone(),
            model: start.model.clone(),
            sources: start.sources.len(),
            trace: Arc::clone(&self.trace),
        };
        let answer = Answer::new(start, self.settings(&question));
        let text = question.text.clone();
        let (tape, driver) = if is_empty_handed {
            (refused(answer, &facts, began, retrieve), None)
        } else {
            let fence = random_word().ok_or_else(no_randomness)?;
            let stream = model.call(self.request(question, sources, &fence));
            let mut session = Session::new(answer, stream, facts, self.config.deadlines, began, retrieve);
            let mut tape = Tape::default();
            session.begin(&mut tape);
            (tape, Some(Box::new(session) as Box<dyn Drive>))
        };
        let opening = Opening {
            id,
            question: text,
            tape,
            driver,
            abandon_after: self.config.abandon_after,
            max_followers: self.config.ceilings.followers,
        };
        self.log.open(opening).map_err(|e| log_failure(&e))
    }

    /// Asks the request's own sources or else the retriever. `None`: there is neither, so nothing can be cited.
    async fn find_sources(
        &self,
        question: &mut Question,
        id: &AnswerId,
        began: Instant,
    ) -> Result<Option<(Sources, Duration)>, Failure> {
        let inline = question.sources.take().map(Inline::new);
        let configured = self.retriever.as_deref().filter(|_| !question.no_retrieval);
        let Some(retriever) = inline.as_ref().map(|i| i as &dyn Retriever).or(configured) else {
            return Ok(None);
        };
        let top_k = question.top_k.unwrap_or(self.config.top_k);
        let search = tokio::time::timeout(RETRIEVE_TIMEOUT, retriever.retrieve(&question.text, top_k));
        let found = search.await.unwrap_or(Err(RetrieveError::Timeout));
        let took = began.elapsed();
        let code = found.as_ref().err().map(retrieve_code);
        let step = Step::Retrieve {
            retriever: retriever.name(),
            top_k,
            found: found.as_ref().ok().map(Vec::len),
            error: code.map(ErrorCode::as_str),
        };
        self.trace.step(id.as_str(), took, step);
        match found {
            Ok(found) => Ok(Some((Sources::new(found), took))),
            Err(error) => {
                tracing::warn!(%error, "the document search failed");
                Err(Failure::new(retrieve_code(&error), "the document search failed"))
            }
        }
    }

    fn settings(&self, question: &Question) -> Settings {
        Settings {
            grammar: self.config.grammar.clone(),
            refusal: self.config.refusal.clone(),
            on_problem: question.on_problem.unwrap_or(self.config.on_problem),
            max_answer_bytes: self.config.ceilings.answer_bytes,
        }
    }

    fn request(&self, question: Question, sources: Sources, fence: &str) -> ModelRequest {
        let refusal = &self.config.refusal;
        let Question { text, earlier, .. } = &question;
        let messages = Prompt { question: text, earlier, sources: &sources, refusal, fence }.messages();
        ModelRequest {
            model: question.model,
            messages,
            question: question.text,
            sources,
            refusal: refusal.clone(),
            temperature: question.temperature,
            max_tokens: question.max_tokens,
        }
    }
}

fn model(config: &Config) -> Result<Arc<dyn Model>, BuildError> {
    Ok(match &config.model {
        ModelChoice::Extractive => Arc::new(crate::model::extractive::Extractive::default()),
        ModelChoice::Script(path) => {
            let text = std::fs::read_to_string(path).map_err(BuildError::ScriptFile)?;
            Arc::new(ScriptModel::new(Script::from_json_lines(&text)?))
        }
        ModelChoice::Upstream(upstream) => Arc::new(OpenAi::new(OpenAiSettings {
            base_url: upstream.url.clone(),
            api_key: upstream.api_key.clone(),
            model: upstream.model.clone(),
            max_line_bytes: upstream.max_line_bytes,
        })?),
    })
}

/// The retriever, and what it searches in words.
fn retriever(config: &Config) -> Result<(Option<Arc<dyn Retriever>>, String), BuildError> {
    let corpus = match &config.docs {
        Docs::None => return Ok((None, "none: each request brings its own sources".to_owned())),
        Docs::Builtin => Corpus::builtin()?,
        Docs::Folder(folder) => Corpus::open(folder, &config.index_dir)?,
    };
    let size = corpus.size();
    if size.passages == 0 {
        tracing::warn!("no documents to search: every question without sources of its own will be refused");
    }
    let description = format!("{}: {} documents, {} passages", corpus.name(), size.documents, size.passages);
    Ok((Some(Arc::new(corpus)), description))
}

fn retrieve_code(error: &RetrieveError) -> ErrorCode {
    match error {
        RetrieveError::Timeout => ErrorCode::RetrieverTimeout,
        RetrieveError::Index { .. } | RetrieveError::Read { .. } => ErrorCode::RetrieverFailed,
    }
}

/// An answer's record as it is now, as one flat JSON object; `None` while it has no beginning.
#[must_use]
pub fn record(live: &Live) -> Option<Vec<u8>> {
    live.with_tape(|tape| {
        Some(native::record(&native::Record {
            start: tape.start()?,
            question: live.question(),
            text: tape.standing(),
            judgement: tape.judgement(),
            done: tape.done(),
            error: tape.error(),
        }))
    })
}

/// The client's view of a log that does not do what was asked.
#[must_use]
pub fn log_failure(error: &LogError) -> Failure {
    let code = match error {
        LogError::Full { .. } => ErrorCode::TooManyAnswers,
        LogError::Followers { .. } => ErrorCode::RateLimited,
    };
    Failure { retry_after: Some(1), ..Failure::new(code, error.to_string()) }
}
