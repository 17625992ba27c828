//! Common Media Client Data (CTA-5004, 2020, version 1): player state in requests.
//!
//! [`State::of_request`] parses it from the query or the header fields of a request.
//! [`State::message`] encodes a request that reports it to a local agent. Unknown keys and invalid
//! values are ignored. `tandem-` keys are custom keys, as CTA-5004 permits, and never reach a
//! server.

mod read;
mod write;

pub use write::{encoded, quoted};

use units::{Bitrate, Bytes, Duration};

/// Player state from CMCD; every part is optional.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct State {
    /// `sid`: session ID, at most 64 characters.
    pub session: Option<String>,
    /// `ot`: type of the requested object.
    pub object: Option<Object>,
    /// `bl`: buffer level, in milliseconds on the wire.
    pub buffer: Option<Duration>,
    /// `br`: bitrate of the requested object, in kbit/s on the wire.
    pub bitrate: Option<Bitrate>,
    /// `d`: duration of the requested object, in milliseconds on the wire.
    pub duration: Option<Duration>,
    /// `mtp`: throughput measured by the player, in kbit/s on the wire.
    pub throughput: Option<Bitrate>,
    /// `pr`: playback rate from 0 (paused) to 100; `None` is 1, real time.
    pub speed: Option<f64>,
    /// `su`: playback waits for the object, at startup, after a seek, or in a stall.
    pub urgent: bool,
    /// `bs`: the buffer ran empty since the previous request.
    pub starved: bool,
    /// `tandem-missing`: bytes of the object not yet received.
    pub missing: Option<Bytes>,
    /// `tandem-done`: the player sends no further requests.
    pub done: bool,
}

/// Object type (`ot`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    /// `m`: manifest.
    Manifest,
    /// `a`: audio.
    Audio,
    /// `v`: video.
    Video,
    /// `av`: multiplexed audio and video.
    AudioVideo,
    /// `i`: initialization segment.
    Init,
    /// `c`: captions.
    Caption,
    /// `tt`: timed text.
    TimedText,
    /// `k`: decryption key.
    Key,
    /// `o`: other.
    Other,
}

impl Object {
    /// Every type with its token.
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

    /// Token of the type.
    pub fn token(self) -> &'static str {
        Self::ALL.iter().find(|(object, _)| *object == self).map_or("o", |(_, token)| token)
    }
}

impl State {
    /// Whether it describes a media buffer: a media object with a known buffer level, a stall, or
    /// the end of requests.
    pub fn is_of_a_buffer(&self) -> bool {
        let played = match self.object {
            None | Some(Object::Audio | Object::Video | Object::AudioVideo) => true,
            Some(_) => false,
        };
        played && (self.buffer.is_some() || self.urgent || self.done)
    }

    /// Buffer level after `later` without further data: zero in a stall, `None` if unknown.
    pub fn buffer_after(&self, later: Duration) -> Option<Duration> {
        if self.urgent {
            return Some(Duration::ZERO);
        }
        let played = later.mul_f64(self.speed.unwrap_or(1.0));
        self.buffer.map(|buffer| buffer.saturating_sub(played))
    }

    /// Missing bytes as reported, else the object size estimated from bitrate and duration; `None`
    /// if unknown.
    pub fn missing_or_whole(&self) -> Option<Bytes> {
        self.missing.or_else(|| Some(self.bitrate?.over(self.duration?)))
    }
}
