//! Session collector: stores playback records (docs/reference/session.md) in SQLite, lists,
//! compares and charts them. [`run`] serves until it is stopped.
//!
//! A record answered with 201 is on disk: in WAL mode with `synchronous=FULL` each commit is
//! flushed before its acknowledgement. Access control: loopback, or a token ([`Config::check`]);
//! only known host names, against DNS rebinding; only its own pages and configured origins may
//! post, and only its own pages and clients without an origin may delete.

mod access;
mod memory;
mod pages;
mod query;
mod routes;
mod store;
mod token_gate;

pub use store::{Filter, Kept, Now, Place, Retention, Store, StoreError};

use player::content::{Content, Log};
use player::serve::{Limits, Server};
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tls::ServerTls;
use tokio::sync::watch;

/// Interval at which sessions beyond the limits are deleted.
const RETENTION_INTERVAL: Duration = Duration::from_secs(60);

/// Configuration of the collector.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Secret of all clients: a bearer token (RFC 6750), or the password of basic authentication
    /// (RFC 7617).
    pub token: Option<String>,
    /// Accepted host names, in addition to `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// Origins with access to the API, such as `https://example.org`.
    pub origins: Vec<String>,
    /// Directory of the player's page, served at `/`.
    pub web: Option<PathBuf>,
    /// Video content, served at `/content/`.
    pub content: Option<Content>,
    /// Requests for content need the token as well. Otherwise any page may play it.
    pub private_content: bool,
    /// TLS of connections; a new value counts from the next connection on. `None` for clear text.
    pub tls: Option<watch::Receiver<ServerTls>>,
    /// Whether clients may send the token in clear text over a network.
    pub clear_token: bool,
    /// Log of served content with timestamps.
    pub log: Option<Log>,
    /// Sessions beyond these limits are deleted once a minute.
    pub retention: Retention,
}

/// Reason for which the collector must not listen on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Other hosts could read and write.
    #[error("{0} is reachable from other hosts, and no token is configured")]
    NoToken(SocketAddr),
    /// Anybody on the way could read the token.
    #[error("the token would cross a network in clear text on the way to {0}")]
    ClearToken(SocketAddr),
}

impl Config {
    /// Checks that the collector may listen on `address`.
    ///
    /// # Errors
    /// Other hosts could read and write without a token, or would send it in clear text.
    pub fn check(&self, address: SocketAddr) -> Result<(), AddressError> {
        if address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        if self.token.is_none() {
            return Err(AddressError::NoToken(address));
        }
        if self.tls.is_none() && !self.clear_token {
            return Err(AddressError::ClearToken(address));
        }
        Ok(())
    }
}

/// Serves on `listener` until `stop` completes and pending requests are answered.
///
/// # Errors
/// If the socket cannot be used.
pub fn run(
    listener: TcpListener,
    config: Config,
    store: Store,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let server = Server {
            limits: Limits::public(),
            log: config.log.clone(),
            tls: config.tls.clone(),
            ..Server::default()
        };
        let tls_failures = Arc::clone(&server.tls_failures);
        let (limits, kept) = (config.retention, store.clone());
        let sweep = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(RETENTION_INTERVAL);
            loop {
                ticks.tick().await;
                let store = kept.clone();
                // A busy database is tried again at the next tick. Without limits this dates arrivals.
                let _ = tokio::task::spawn_blocking(move || store.retain(limits, Now::read())).await;
            }
        });
        let site = Arc::new(routes::Site::new(config, store, tls_failures));
        let respond = move |peer, request| Arc::clone(&site).respond(peer, request);
        server.run(listener, respond, stop).await;
        sweep.abort();
        Ok::<_, io::Error>(())
    })?;
    // A deletion may take minutes. The end of the process rolls its batch back.
    runtime.shutdown_timeout(Limits::public().grace);
    Ok(())
}
