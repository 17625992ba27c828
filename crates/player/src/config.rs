//! Configuration of a session: the source and the player.

use crate::http::Network;
use abr::{Manifest, PlayerConfig};
use playback::{Cmcd, Viewing};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// Everything that [`play`](crate::play()) needs.
#[derive(Debug, Clone)]
pub struct Config {
    /// The video.
    pub source: Source,
    /// Rule, buffer, start-up and resume thresholds.
    pub player: PlayerConfig,
    /// Fixes the level, from 0: no adaptation.
    pub level: Option<usize>,
    /// Network settings.
    pub network: Network,
    /// Whether and how requests carry CMCD.
    pub cmcd: Cmcd,
    /// Session identifier; a new UUID if `None`.
    pub id: Option<String>,
    /// CMCD's `cid`, at most 64 characters.
    pub content_id: Option<String>,
    /// Label of the session.
    pub label: Option<String>,
    /// Name of this device, for the record.
    pub device: Option<String>,
    /// Time zone of this device, for the record.
    pub zone: Option<String>,
    /// Display of the viewer, for the record.
    pub viewing: Option<Viewing>,
    /// The viewer leaves after this time.
    pub limit: Option<Duration>,
    /// UNIX socket of an agent on this device, which gets the player's state ten times per second.
    pub agent: Option<PathBuf>,
    /// Checks every byte of a [`Source::Sizes`] against the generated content of this seed.
    pub verify: Option<u64>,
}

/// Source of a video.
#[derive(Debug, Clone)]
pub enum Source {
    /// A manifest on a server: an MPD, or the JSON of [`Manifest::from_json`], recognised by its
    /// first character. Segments of the latter are requested from the same server.
    Url(Url),
    /// A manifest in memory. Its addresses are relative to the base.
    Text {
        /// Name for messages and the record.
        name: String,
        /// Text of the manifest.
        text: String,
        /// Base address.
        base: Option<Url>,
    },
    /// Segments of known sizes, requested at `SERVER/segments/LEVEL/SEGMENT/BYTES`.
    Sizes {
        /// Name for the record.
        name: String,
        /// Segment sizes.
        manifest: Manifest,
        /// Address of a [content server](crate::content).
        server: Url,
    },
    /// One file in one quality, requested in ranges of two seconds, with its bytes spread evenly
    /// over time.
    File {
        /// Address of the file.
        url: Url,
        /// Playback length.
        duration: units::Duration,
    },
}

impl Config {
    /// Configuration for a source and a player, with CMCD in the query and defaults otherwise.
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
            device: None,
            zone: None,
            viewing: None,
            limit: None,
            agent: None,
            verify: None,
        }
    }
}
