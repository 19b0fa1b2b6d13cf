//! Asks any OpenAI-compatible server over HTTP/1.1 and turns its event stream into chunks.
//!
//! async-openai gives the request's types, the configuration and the authentication headers. We send and read ourselves,
//! because its reader hides a cut connection, panics on a byte-order mark and queues without bound. No task is spawned: a
//! call owns its connection and drives it while it is polled, and closes it when it is dropped.
//!
//! - `request` writes the body, `upstream` knows where to send it, `pool` keeps connections between calls;
//! - `connection` drives one connection, `head` judges a response's head;
//! - `reader` and `chunk` turn the body into chunks, without any I/O;
//! - `call` puts them together.
//!
//! Threat: the server is not trusted. Whatever it sends ends in chunks or in a typed error, within bounded memory.

mod call;
mod chunk;
mod connection;
mod head;
mod pool;
mod reader;
mod request;
mod upstream;

use std::fmt;
use std::sync::Arc;

use async_openai::config::{AzureConfig, Config, OpenAIConfig};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use self::call::Call;
use self::upstream::Upstream;
use super::{Model, ModelRequest, ModelStream};

/// Ceiling of one line of a model's stream, in bytes, unless the settings say otherwise. Half might cut tool calls that carry a
/// document, double doubles what a hostile server can make each stream hold.
pub const DEFAULT_MAX_LINE_BYTES: usize = 1024 * 1024;

/// Where the model is and how to ask it.
#[derive(Clone)]
pub struct OpenAiSettings {
    /// Up to and with the version, such as `https://api.openai.com/v1`; for Azure the resource's endpoint.
    pub base_url: String,
    /// Sent with every request; `None` for servers that want no key.
    pub api_key: Option<String>,
    /// The model to ask for when a request names none.
    pub model: String,
    /// Ceiling of one line and of one event of the stream, in bytes.
    pub max_line_bytes: usize,
}

/// What Azure needs besides.
#[derive(Debug, Clone)]
pub struct AzureDeployment {
    /// Name of the deployment.
    pub deployment: String,
    /// Such as `2024-10-21`.
    pub api_version: String,
}

/// Why no server can be asked with these settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The key cannot be sent in a header.
    #[error("the api key holds characters that no header can carry")]
    Key,
    /// The system's certificates cannot be used.
    #[error("no certificates to check the model server with: {why}")]
    Trust {
        /// The operating system's or TLS library's reason.
        why: String,
    },
    /// The base url is not one.
    #[error("the model server's base url is wrong: expected {expected}")]
    Url {
        /// What is missing or too much.
        expected: &'static str,
    },
}

/// An OpenAI-compatible server as a model. Clones share their connections.
///
/// ```
/// use citewire::model::openai::{DEFAULT_MAX_LINE_BYTES, OpenAi, OpenAiSettings};
///
/// let settings = OpenAiSettings {
///     base_url: "http://127.0.0.1:7000/v1".to_owned(),
///     api_key: None,
///     model: "small".to_owned(),
///     max_line_bytes: DEFAULT_MAX_LINE_BYTES,
/// };
/// let model = OpenAi::new(settings)?;
/// # Ok::<(), citewire::model::openai::SettingsError>(())
/// ```
#[derive(Clone)]
pub struct OpenAi {
    model: String,
    upstream: Arc<Upstream>,
}

impl OpenAi {
    /// Asks a server that speaks OpenAI's protocol. Nothing is connected yet.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn new(settings: OpenAiSettings) -> Result<Self, SettingsError> {
        let key = checked_key(settings.api_key.as_deref(), "Bearer ")?;
        // Organisation and project would come from the environment, unasked.
        let config = OpenAIConfig::new()
            .with_api_base(settings.base_url.trim_end_matches('/'))
            .with_api_key(key)
            .with_org_id("")
            .with_project_id("");
        Self::with_config(&config, &AUTHORIZATION, settings)
    }

    /// Asks a deployment on Azure. Nothing is connected yet.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn azure(settings: OpenAiSettings, azure: AzureDeployment) -> Result<Self, SettingsError> {
        let key = checked_key(settings.api_key.as_deref(), "")?;
        let config = AzureConfig::new()
            .with_api_base(settings.base_url.trim_end_matches('/'))
            .with_api_key(key)
            .with_deployment_id(azure.deployment)
            .with_api_version(azure.api_version);
        Self::with_config(&config, &HeaderName::from_static("api-key"), settings)
    }

    fn with_config(config: &impl Config, key: &HeaderName, settings: OpenAiSettings) -> Result<Self, SettingsError> {
        let mut headers: HeaderMap = config.headers();
        if settings.api_key.is_none() {
            headers.remove(key);
        }
        headers.values_mut().for_each(|value| value.set_sensitive(true));
        let upstream = Upstream::new(config, headers, settings.max_line_bytes)?;
        Ok(Self { model: settings.model, upstream: Arc::new(upstream) })
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        &self.model
    }

    fn call(&self, request: ModelRequest) -> Box<dyn ModelStream> {
        Box::new(Call::new(Arc::clone(&self.upstream), request::body(request, &self.model)))
    }
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi")
            .field("model", &self.model)
            .field("server", self.upstream.server())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenAiSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiSettings")
            // A password before the host is refused later; it is not shown either.
            .field("base_url", &self.base_url.rsplit('@').next())
            .field("model", &self.model)
            .field("max_line_bytes", &self.max_line_bytes)
            .finish_non_exhaustive()
    }
}

/// The key, or an empty one, once it is known that async-openai can put it behind `prefix` into a header: it would panic.
fn checked_key<'k>(key: Option<&'k str>, prefix: &str) -> Result<&'k str, SettingsError> {
    let key = key.unwrap_or_default();
    HeaderValue::from_str(&format!("{prefix}{key}")).map(|_| key).map_err(|_| SettingsError::Key)
}
