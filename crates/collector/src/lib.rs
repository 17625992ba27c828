//! The collector of sessions: takes the records that players send (docs/reference/session.md), keeps them in SQLite, lists,
//! compares and charts them.
//!
//! [`run`] serves until it is told to stop. A record that was answered with 201 is on the disk: the database
//! is in WAL mode with `synchronous=FULL`, so that each commit is flushed before it is acknowledged.
//!
//! | Who may | |
//! |---|---|
//! | reach it | programs of this host; elsewhere only with a token ([`Config::check`]) |
//! | speak to it | who names it by an address, `localhost` or a name that it was told: a page of another name, which its owner lets point here (DNS rebinding), may not |
//! | send from a page | pages of its own, and of origins that it was told |

mod access;
mod pages;
mod routes;
mod store;

pub use store::{Kept, Store, StoreError};

use player::content::{Content, Log};
use player::serve::{self, Limits};
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

/// How it serves.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// What who sends or reads has to know: as a bearer token (RFC 6750), or as the password of a browser's
    /// dialogue (RFC 7617).
    pub token: Option<String>,
    /// Names under which it may be spoken to, beside `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Origins whose pages may send and read, such as `https://example.org`.
    pub origins: Vec<String>,
    /// Where the player's page is, to be served at `/`.
    pub web: Option<PathBuf>,
    /// What to play, to be served at `/content/`.
    pub content: Option<Content>,
    /// Where it is noted what was served when.
    pub log: Option<Log>,
}

impl Config {
    /// Whether it may listen there; why not otherwise. Beyond this host everybody could read and write.
    pub fn check(&self, address: SocketAddr) -> Result<(), String> {
        if address.ip().is_loopback() || self.token.is_some() {
            return Ok(());
        }
        Err(format!(
            "{address} can be reached from other hosts, and there is no token that they would have to know"
        ))
    }
}

/// Serves at a socket that listens, until `stop` is done and what was being answered has been.
///
/// # Errors
/// Where the socket cannot be used.
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
        let log = config.log.clone();
        let site = Arc::new(routes::Site::new(config, store));
        let answer = move |_peer, request| {
            let site = Arc::clone(&site);
            async move { site.answer(request).await }
        };
        serve::run(listener, Limits::default(), log, answer, stop).await;
        Ok(())
    })
}
