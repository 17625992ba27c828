//! Common Media Client Data (CTA-5004, 2020, version 1), as far as it says how a player stands.
//!
//! A player tells it with each request, as one argument of the query or as header fields: read by
//! [`State::of_request`]. [`State::message`] is a request of the same kind that says nothing else, by which a player,
//! or a proxy that its requests pass, tells an agent on the same device.
//!
//! | Key | Meaning | Here |
//! |---|---|---|
//! | `bl` | what is in the buffer, in ms | [`buffer`](State::buffer) |
//! | `br` | the bitrate of what is asked for, in kbit/s | [`bitrate`](State::bitrate) |
//! | `bs` | the buffer ran dry since the request before | [`starved`](State::starved) |
//! | `d` | how long what is asked for plays, in ms | [`duration`](State::duration) |
//! | `mtp` | what the network was measured to carry, in kbit/s | [`throughput`](State::throughput) |
//! | `ot` | what is asked for | [`object`](State::object) |
//! | `pr` | how fast it plays: 1 is real time, 0 is a pause | [`speed`](State::speed) |
//! | `sid` | the session | [`session`](State::session) |
//! | `su` | nothing is played until it comes | [`urgent`](State::urgent) |
//! | `tandem-missing` | what is still to come of it, in bytes | [`missing`](State::missing) |
//! | `tandem-done` | nothing more will be asked for | [`done`](State::done) |
//!
//! The last two are keys of our own, with a prefix and a hyphen as CTA-5004 asks of them; no server ever sees them.
//!
//! What cannot be read of a key leaves it unknown, and other keys are passed over: players are many, and a later version
//! of CTA-5004 has more kinds of value.

mod read;
mod write;

pub use write::{encoded, quoted};

use units::{Bitrate, Bytes, Duration};

/// How a player stands, as far as it tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// The session's identifier, of at most 64 characters.
    pub session: Option<String>,
    /// What is asked for.
    pub object: Option<Object>,
    /// What is in the buffer.
    pub buffer: Option<Duration>,
    /// The bitrate of what is asked for.
    pub bitrate: Option<Bitrate>,
    /// How long it plays.
    pub duration: Option<Duration>,
    /// What the network was measured to carry.
    pub throughput: Option<Bitrate>,
    /// How fast it plays, from 0 to 100; 1 where nothing is said.
    pub speed: Option<f64>,
    /// Nothing is played until it comes: at the start, after a jump, in a stall.
    pub urgent: bool,
    /// The buffer ran dry since the request before.
    pub starved: bool,
    /// What is still to come of what is asked for.
    pub missing: Option<Bytes>,
    /// Nothing more will be asked for.
    pub done: bool,
}

/// What is asked for (`ot`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// `m`: a manifest.
    Manifest,
    /// `a`: sound.
    Audio,
    /// `v`: pictures.
    Video,
    /// `av`: both in one.
    AudioVideo,
    /// `i`: what a decoder needs before the first segment.
    Init,
    /// `c`: captions.
    Caption,
    /// `tt`: timed text.
    TimedText,
    /// `k`: a key.
    Key,
    /// `o`: anything else.
    Other,
}

impl Object {
    /// Every kind, with its token.
    pub const ALL: [(Self, &'static str); 9] = [
        (Self::Manifest, "m"),
        (Self::Audio, "a"),
        (Self::Video, "v"),
        (Self::AudioVideo, "av"),
        (Self::Init, "i"),
        (Self::Caption, "c"),
        (Self::TimedText, "tt"),
        (Self::Key, "k"),
        (Self::Other, "o"),
    ];

    /// Its token.
    pub fn token(self) -> &'static str {
        Self::ALL.iter().find(|(object, _)| *object == self).map_or("o", |(_, token)| token)
    }
}

impl State {
    /// Whether it says something of a buffer: what is asked for is played, and how much there is, or that there is
    /// nothing, is known.
    pub fn is_of_a_buffer(&self) -> bool {
        let played = match self.object {
            None | Some(Object::Audio | Object::Video | Object::AudioVideo) => true,
            Some(_) => false,
        };
        played && (self.buffer.is_some() || self.urgent || self.done)
    }

    /// How much is in the buffer `later`, if nothing comes until then: what plays grows less. Nothing is in it
    /// while nothing is played for want of it; `None` where nobody knows.
    pub fn buffer_after(&self, later: Duration) -> Option<Duration> {
        if self.urgent {
            return Some(Duration::ZERO);
        }
        let played = later.mul_f64(self.speed.unwrap_or(1.0));
        self.buffer.map(|buffer| buffer.saturating_sub(played))
    }

    /// What is still to come: what was told, else all that its bitrate and its time come to; `None` where
    /// nobody knows.
    pub fn missing_or_whole(&self) -> Option<Bytes> {
        self.missing.or_else(|| Some(self.bitrate?.over(self.duration?)))
    }
}
