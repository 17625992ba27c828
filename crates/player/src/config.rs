//! What to play, how, and over what.

use crate::http::Proxy;
use abr::{Manifest, PlayerConfig};
use playback::{Cmcd, Viewing};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// Everything that [`play`](crate::play()) needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// What to play.
    pub source: Source,
    /// How: rule, buffer, what starts the play and ends a stall.
    pub player: PlayerConfig,
    /// Only this level, from 0: no adaptation.
    pub level: Option<usize>,
    /// Over what.
    pub network: Network,
    /// Whether and how the player's state goes with its requests.
    pub cmcd: Cmcd,
    /// The session's identifier; a new UUID where there is none.
    pub id: Option<String>,
    /// CMCD's `cid`, up to 64 characters.
    pub content_id: Option<String>,
    /// Words to find the session by.
    pub label: Option<String>,
    /// The display that the record is to be of.
    pub viewing: Option<Viewing>,
    /// The viewer leaves after so long.
    pub limit: Option<Duration>,
    /// The UNIX socket of an agent on this device that is told ten times a second how the player stands.
    pub agent: Option<PathBuf>,
    /// Every byte of a [`Source::Sizes`] is held against what a content server makes from this seed.
    pub verify: Option<u64>,
}

/// What to play.
#[derive(Debug, Clone)]
pub enum Source {
    /// A manifest on a server: an MPD, or the JSON of [`Manifest::from_json`]. Which it is, its first
    /// character says. Segments of the latter are asked for at the same server.
    Url(Url),
    /// A manifest that was read already. Addresses in it are relative to the base.
    Text {
        /// What it is called, for messages and the record.
        name: String,
        /// The document.
        text: String,
        /// The base.
        base: Option<Url>,
    },
    /// Segments of known sizes, asked for at `SERVER/segments/LEVEL/SEGMENT/BYTES`.
    Sizes {
        /// What it is called, for the record.
        name: String,
        /// The sizes.
        manifest: Manifest,
        /// Where a [content server](crate::content) is.
        server: Url,
    },
    /// One file in one quality, asked for in ranges of two seconds each, as if its bytes were spread
    /// evenly over its time.
    File {
        /// Where it is.
        url: Url,
        /// How long it plays.
        duration: units::Duration,
    },
}

/// How servers are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Through which proxy.
    pub proxy: Option<Proxy>,
    /// Our own sockets speak MPTCP.
    pub mptcp: bool,
    /// How long a connection may take, with TLS and what a proxy does.
    pub connect: Duration,
    /// How long nothing may come, before the answer and in it.
    pub patience: Duration,
    /// How often a request is tried again, after 0.5 s, 1 s, 2 s and so on up to 8 s, or what the server
    /// asks for up to 30 s.
    pub retries: u32,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            proxy: None,
            mptcp: false,
            connect: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            retries: 4,
        }
    }
}

impl Config {
    /// To play a source as `player` says, with CMCD in the query and all else by default.
    pub fn new(source: Source, player: PlayerConfig) -> Self {
        Self {
            source,
            player,
            level: None,
            network: Network::default(),
            cmcd: Cmcd::Query,
            id: None,
            content_id: None,
            label: None,
            viewing: None,
            limit: None,
            agent: None,
            verify: None,
        }
    }
}
