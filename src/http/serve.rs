//! Sockets and connections: listens, serves HTTP/1.1, and drains when told to stop.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{App, router};
use crate::answer::event::{ErrorCode, Failure};
use crate::config::Config;
use crate::gateway::{BuildError, Gateway};
use crate::log::memory::MemoryLog;

/// Connections that may wait to be accepted. A page with many readers reconnects all at once after a restart.
const BACKLOG: u32 = 4096;

/// Bytes that one connection buffers in each direction before it stops reading or asking for more. Half would cut large
/// request heads; double doubles what a slow reader costs.
const CONNECTION_BUFFER: usize = 32 * 1024;

/// How long a request's head may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the last frames of stopped answers may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A gateway with its routes, not yet on a port.
pub struct Server {
    app: Arc<App>,
    log: Arc<MemoryLog>,
}

/// A server on its port.
pub struct Listening {
    server: Server,
    listener: TcpListener,
}

impl Server {
    /// Builds the gateway that `config` describes.
    ///
    /// # Errors
    /// [`BuildError`] names the setting.
    pub fn build(config: Config) -> Result<Self, BuildError> {
        let log = MemoryLog::new(config.log);
        let gateway = Gateway::build(config, Arc::<MemoryLog>::clone(&log))?;
        Ok(Self { app: Arc::new(App { gateway, draining: AtomicBool::new(false) }), log })
    }

    /// The gateway behind the routes.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        &self.app.gateway
    }

    /// Takes the configured port.
    ///
    /// # Errors
    /// When the address cannot be resolved or is taken.
    pub async fn listen(self) -> std::io::Result<Listening> {
        let mut last = std::io::Error::other("the address names no host");
        let addresses: Vec<_> = tokio::net::lookup_host(&self.app.gateway.config().listen).await?.collect();
        for address in addresses {
            match bind(address) {
                Ok(listener) => return Ok(Listening { server: self, listener }),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listening {
    /// Where it listens.
    ///
    /// # Errors
    /// When the system cannot say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The gateway behind the routes.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        self.server.gateway()
    }

    /// Serves until `stop` is ready, then drains: no new connections or answers, open answers go on until they end or the
    /// deadline passes. Says how many the deadline cut.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> usize {
        let Self { server: Server { app, log }, listener } = self;
        let sweeper = tokio::spawn({
            let log = Arc::clone(&log);
            async move { log.sweep_forever().await }
        });
        let router = router(Arc::clone(&app));
        let connections = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = listener.accept() => match accepted {
                    Ok((socket, _)) => spawn_connection(socket, router.clone(), &connections),
                    Err(error) => {
                        // Out of file descriptors, most likely: give the open connections a moment to end.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        drop(listener);
        app.draining.store(true, Ordering::Relaxed);
        let drained = connections.shutdown();
        let mut drained = std::pin::pin!(drained);
        let mut cut = 0;
        if tokio::time::timeout(app.gateway.config().drain_timeout, &mut drained).await.is_err() {
            cut = log.stop_all(&Failure::new(ErrorCode::ShuttingDown, "the server is restarting"));
            let _ = tokio::time::timeout(LAST_WORDS, drained).await;
        }
        // Answers without a reader have no connection that was waited for.
        cut += log.stop_all(&Failure::new(ErrorCode::ShuttingDown, "the server is restarting"));
        sweeper.abort();
        cut
    }
}

fn spawn_connection(socket: TcpStream, router: axum::Router, connections: &GracefulShutdown) {
    // Without it a small frame waits for the acknowledgement of the one before, 40 ms.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(CONNECTION_BUFFER)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection ended early");
        }
    });
}
