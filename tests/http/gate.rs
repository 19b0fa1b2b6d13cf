//! A gateway on a free port, and short ways to ask it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use citewire::config::{Config, Options};
use citewire::http::Server;
use citewire::log::AnswerLog;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Client, PATIENCE, Reply, Stream, request};
use crate::upstream::within;

/// The headers of a request for events.
pub(crate) const ASK: [(&str, &str); 2] = [("content-type", "application/json"), ("accept", "text/event-stream")];
/// The headers of a request for the record.
pub(crate) const ASK_JSON: [(&str, &str); 2] = [("content-type", "application/json"), ("accept", "application/json")];

/// A running gateway.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    pub(crate) log: Arc<dyn AnswerLog>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<usize>,
}

impl Gate {
    /// A gateway that plays scripts, with the settings that `set` changes.
    pub(crate) async fn start(set: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options {
            listen: Some("127.0.0.1:0".to_owned()),
            docs: Some("none".to_owned()),
            script: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/script.jsonl").into()),
            ..Options::default()
        };
        set(&mut options);
        let server = Server::build(Config::load(options).unwrap()).unwrap();
        let listening = server.listen().await.unwrap();
        let (address, log) = (listening.address().unwrap(), Arc::clone(listening.gateway().log()));
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(listening.serve(async move {
            // A test that ends without a word takes the server with it.
            let _ = stopped.await;
        }));
        Self { address, log, stop, served }
    }

    /// A gateway in front of a model server at this address.
    pub(crate) async fn before(upstream: &str, set: impl FnOnce(&mut Options)) -> Self {
        Self::start(|o| {
            (o.script, o.model, o.upstream) = (None, Some("small".to_owned()), Some(format!("http://{upstream}/v1")));
            set(o);
        })
        .await
    }

    /// Tells it to stop; the handle gives the number of answers that it cut.
    pub(crate) fn stop(self) -> JoinHandle<usize> {
        let _ = self.stop.send(());
        self.served
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut client = self.client().await;
        client.send(request(method, path, headers, body)).await;
        client.reply().await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send("POST", path, &ASK_JSON, body.to_string().as_bytes()).await
    }

    /// Asks for events.
    pub(crate) async fn ask(&self, body: &Value) -> Stream {
        self.ask_over(self.client().await, body).await
    }

    pub(crate) async fn ask_over(&self, mut client: Client, body: &Value) -> Stream {
        client.send(request("POST", "/v1/answers", &ASK, body.to_string().as_bytes())).await;
        Stream::begin(client, 0).await
    }

    /// Follows an answer from behind record `after`.
    pub(crate) async fn follow(&self, id: &str, after: u64) -> Stream {
        self.follow_over(self.client().await, id, after).await
    }

    pub(crate) async fn follow_over(&self, mut client: Client, id: &str, after: u64) -> Stream {
        let after_text = after.to_string();
        let headers: &[_] = if after == 0 { &[] } else { &[("last-event-id", after_text.as_str())] };
        client.send(request("GET", &format!("/v1/answers/{id}/events"), headers, b"")).await;
        Stream::begin(client, after).await
    }

    pub(crate) async fn delete(&self, id: &str) -> Reply {
        self.send("DELETE", &format!("/v1/answers/{id}"), &[], b"").await
    }

    pub(crate) async fn record(&self, id: &str) -> Value {
        let reply = self.get(&format!("/v1/answers/{id}")).await;
        assert_eq!(reply.head.status, 200, "{}", reply.text());
        reply.json()
    }

    /// Asks for the record until it is `wanted`. Between two looks a paused clock gets its turn.
    pub(crate) async fn record_when(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        within(PATIENCE, async {
            loop {
                let record = self.record(id).await;
                if wanted(&record) {
                    return record;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await
    }
}

/// Sources that are only there to be counted.
pub(crate) fn sources(n: usize) -> Value {
    (1..=n).map(|n| json!({"id": format!("source-{n}"), "text": format!("Text {n}.")})).collect()
}

/// A question with two sources, answered by this script.
pub(crate) fn scripted(script: &Value) -> Value {
    json!({"question": "What does it cost?", "sources": sources(2), "script": script})
}

/// A question with two sources, answered in these chunks.
pub(crate) fn chunks(chunks: &[&str]) -> Value {
    scripted(&json!({"chunks": chunks}))
}

/// A question with two sources.
pub(crate) fn question() -> Value {
    json!({"question": "What does it cost?", "sources": sources(2)})
}

/// A setting that is a time.
pub(crate) fn time<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Option<T> {
    Some(text.parse().unwrap())
}

/// How long a future takes, and what it gives.
pub(crate) async fn timed<T>(what: impl Future<Output = T>) -> (Duration, T) {
    let began = tokio::time::Instant::now();
    let out = what.await;
    (began.elapsed(), out)
}
