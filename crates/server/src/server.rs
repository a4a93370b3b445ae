//! The server as its callers see it: bind, say where, run until told to end.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::{App, Example};
use crate::config::{ConfigProblem, ServerConfig};
use crate::crawls::Registry;
use crate::listen;
use crate::routes;

/// Why a server cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// What it was told is not safe.
    #[error(transparent)]
    Config(#[from] ConfigProblem),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
}

/// A server that has its address and waits to be run.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the address. From here on clients can connect; they are answered once the server runs.
    pub async fn bind(
        config: ServerConfig,
        registry: Arc<Registry>,
        examples: Vec<Example>,
    ) -> Result<Self, ServerError> {
        let mut checked = config.check()?;
        let address = checked.config.listen;
        let bind = |source| ServerError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        checked.config.listen = address;
        let app = Arc::new(App::new(checked, registry, examples));
        Ok(Self { app, listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What control and updates need.
    pub fn token(&self) -> &str {
        self.app.checked.token.secret()
    }

    /// The interface's address with the token in it, for the operator's browser. The part behind `#` is not sent anywhere.
    pub fn link(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token())
    }

    /// Serves until `shutdown` completes.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let heartbeat = tokio::spawn(self.app.clone().heartbeat());
        let router = routes::router(self.app.clone());
        let app = self.app.clone();
        let ending = async move {
            shutdown.await;
            app.end();
        };
        listen::serve(self.listener, router, self.app.limits(), ending).await;
        let _ = heartbeat.await;
    }
}
