//! One model server: where it is, how to get there, and what every request to it carries.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_openai::config::Config;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use super::SettingsError;
use super::connection::Connection;
use super::pool::Pool;
use crate::model::ModelError;

/// Longest wait for a connection, TLS included. Half fails on slow satellite links, double keeps a reader waiting for a
/// server that is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a new connection will be.
pub(super) type Opening = Pin<Box<dyn Future<Output = Result<Connection, ModelError>> + Send>>;

/// A model server.
pub(super) struct Upstream {
    connector: HttpsConnector<HttpConnector>,
    headers: HeaderMap,
    /// Where to connect; its path is not used.
    server: Uri,
    /// Path and query of chat completions.
    target: Uri,
    pub(super) max_line_bytes: usize,
    pub(super) pool: Pool,
}

impl Upstream {
    /// Prepares everything that does not change between requests. `headers` are the configuration's, with the key.
    ///
    /// # Errors
    /// A url that names no server, or no certificates to check its name with.
    pub(super) fn new(config: &impl Config, headers: HeaderMap, max_line_bytes: usize) -> Result<Self, SettingsError> {
        let server = parse_base(config.api_base())?;
        let mut url = config.url("/chat/completions");
        for (number, (name, value)) in config.query().into_iter().enumerate() {
            url.extend([if number == 0 { "?" } else { "&" }, name, "=", value]);
        }
        let url: Uri = url.parse().map_err(|_| SettingsError::Url { expected: "a path without spaces" })?;
        let host = server.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        let fixed = [
            (ACCEPT, HeaderValue::from_static("text/event-stream")),
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (HOST, host.ok_or(SettingsError::Url { expected: "a host" })?),
            (USER_AGENT, HeaderValue::from_static(concat!("citewire/", env!("CARGO_PKG_VERSION")))),
        ];
        Ok(Self {
            connector: connector(&server)?,
            headers: headers.into_iter().filter_map(|(name, value)| Some((name?, value))).chain(fixed).collect(),
            server,
            target: url.path_and_query().cloned().map(Uri::from).unwrap_or_default(),
            max_line_bytes,
            pool: Pool::default(),
        })
    }

    /// Scheme, host and port, and the base url's path.
    pub(super) fn server(&self) -> &Uri {
        &self.server
    }

    /// A request with this body.
    pub(super) fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// Connects, within [`CONNECT_TIMEOUT`].
    pub(super) fn open(&self) -> Opening {
        let mut connector = self.connector.clone();
        let server = self.server.clone();
        Box::pin(async move {
            let opening = async {
                poll_fn(|cx| connector.poll_ready(cx)).await?;
                let socket = connector.call(server).await?;
                Ok(Connection::over(socket).await?)
            };
            match tokio::time::timeout(CONNECT_TIMEOUT, opening).await {
                Ok(opened) => opened.map_err(|error: Box<dyn Error + Send + Sync>| cannot_reach(root_cause(&*error))),
                Err(_) => Err(cannot_reach(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()))),
            }
        })
    }
}

/// Reads a base url, which may end in a slash or not.
fn parse_base(base: &str) -> Result<Uri, SettingsError> {
    let expect = |expected| SettingsError::Url { expected };
    let url: Uri = base.parse().map_err(|_| expect("a url such as https://host/v1"))?;
    if !matches!(url.scheme_str(), Some("http" | "https")) {
        return Err(expect("http:// or https:// in front"));
    }
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(expect("no user name or password in it"));
    }
    if url.query().is_some() {
        return Err(expect("no query"));
    }
    Ok(url)
}

/// Connects to both schemes; certificates are loaded for `https` only.
fn connector(server: &Uri) -> Result<HttpsConnector<HttpConnector>, SettingsError> {
    let trust = |error: &dyn Error| SettingsError::Trust { why: error.to_string() };
    let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| trust(&error))?;
    let tls = if server.scheme_str() == Some("https") {
        tls.with_native_roots().map_err(|error| trust(&error))?
    } else {
        tls.with_root_certificates(RootCertStore::empty())
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = HttpsConnectorBuilder::new().with_tls_config(tls.with_no_client_auth());
    Ok(https.https_or_http().enable_http1().wrap_connector(tcp))
}

fn cannot_reach(why: String) -> ModelError {
    ModelError::Unreachable { why }
}

/// The innermost error's words: what the operating system or the TLS library said.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::{AzureDeployment, OpenAi, OpenAiSettings};
    use super::*;

    fn settings(base_url: &str, api_key: Option<&str>) -> OpenAiSettings {
        OpenAiSettings {
            base_url: base_url.to_owned(),
            api_key: api_key.map(str::to_owned),
            model: "small".to_owned(),
            max_line_bytes: 1024,
        }
    }

    fn check(base_url: &str, expected: &str) {
        let shown = match OpenAi::new(settings(base_url, None)) {
            Ok(model) => {
                let request = model.upstream.request(Bytes::new());
                assert!(!request.headers().contains_key("authorization"), "no key was given");
                format!("{:?} {}", request.headers()["host"], request.uri())
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{base_url}");
    }

    #[test]
    fn base_urls() {
        check("http://127.0.0.1:7000/v1", "\"127.0.0.1:7000\" /v1/chat/completions");
        check("http://127.0.0.1:7000/v1/", "\"127.0.0.1:7000\" /v1/chat/completions");
        check("http://localhost", "\"localhost\" /chat/completions");
        check("http://[::1]:80/", "\"[::1]:80\" /chat/completions");
        check("https://api.openai.com/v1", "\"api.openai.com\" /v1/chat/completions");
        let wrong = |expected| format!("the model server's base url is wrong: expected {expected}");
        check("", &wrong("a url such as https://host/v1"));
        check("http:///v1", &wrong("a url such as https://host/v1"));
        check("http://", &wrong("http:// or https:// in front"));
        check("http://host/a path", &wrong("a url such as https://host/v1"));
        check("/v1", &wrong("http:// or https:// in front"));
        check("localhost:7000", &wrong("http:// or https:// in front"));
        check("ftp://host/v1", &wrong("http:// or https:// in front"));
        check("http://name:password@host/v1", &wrong("no user name or password in it"));
        check("http://host/v1?key=x", &wrong("no query"));
    }

    #[test]
    fn keys_are_sent_and_never_shown() {
        let settings = settings("http://host/v1", Some("sk-secret"));
        let model = OpenAi::new(settings.clone()).unwrap();
        let request = model.upstream.request(Bytes::new());
        assert_eq!(request.headers()["authorization"], "Bearer sk-secret");
        for shown in [format!("{settings:?}"), format!("{model:?}"), format!("{:?}", request.headers())] {
            assert!(!shown.contains("secret"), "{shown}");
        }
        for key in ["line\nbreak", "\0"] {
            let error = OpenAi::new(OpenAiSettings { api_key: Some(key.to_owned()), ..settings.clone() }).unwrap_err();
            assert!(matches!(error, SettingsError::Key) && !error.to_string().contains(key), "{error}");
        }
    }

    #[test]
    fn azure_has_its_own_path_and_header() {
        let deployment = AzureDeployment { deployment: "mine".to_owned(), api_version: "2024-10-21".to_owned() };
        let model =
            OpenAi::azure(settings("https://res.openai.azure.com/", Some("secret")), deployment.clone()).unwrap();
        let request = model.upstream.request(Bytes::new());
        assert_eq!(request.uri(), "/openai/deployments/mine/chat/completions?api-version=2024-10-21");
        assert_eq!(request.headers()["api-key"], "secret");
        assert_eq!(request.headers()["host"], "res.openai.azure.com");
        let spaced = AzureDeployment { deployment: "not mine".to_owned(), ..deployment };
        let error = OpenAi::azure(settings("https://res.openai.azure.com", None), spaced).unwrap_err();
        assert!(matches!(error, SettingsError::Url { .. }), "{error}");
    }
}
