//! Configuration of an application.

use crate::Vbr;
use abr::Video;
use core::fmt;
use core::str::FromStr;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration, Instant};

/// Configuration of one application: its data, direction, start and stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficConfig {
    /// The data that it writes.
    pub kind: Kind,
    /// The writer: the server (`Down`) or the device (`Up`).
    pub direction: Direction,
    /// Time of the first write.
    pub start: Instant,
    /// Time from which it produces no more data. A bulk transfer, a file or a video ends there; a
    /// timed writer ([`Kind::Cbr`], [`Kind::OnOff`], [`Kind::Vbr`]) with [`OnFull::Wait`] still
    /// writes its backlog.
    pub stop: Option<Instant>,
    /// Effect of a full send buffer on a timed write; the other kinds always wait.
    pub on_full: OnFull,
    /// Index of the path that carries it by plain TCP in a simulation; `None` for the transport of
    /// the experiment.
    pub tcp_path: Option<usize>,
}

/// The data of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// As much as the send buffer accepts, until the stop.
    Bulk,
    /// Packets at a constant rate.
    Cbr {
        /// Rate of the written data, without headers.
        rate: Bitrate,
        /// Size of one write.
        packet: Bytes,
    },
    /// Constant rate in on periods, nothing in off periods; begins with an on period.
    OnOff {
        /// Rate in on periods.
        rate: Bitrate,
        /// Size of one write.
        packet: Bytes,
        /// Length of an on period; its mean if `exponential`.
        on: Duration,
        /// Length of an off period; its mean if `exponential`.
        off: Duration,
        /// The lengths of the periods are exponentially distributed instead of fixed.
        exponential: bool,
    },
    /// Writes of mixed sizes at a varying rate.
    Vbr(Vbr),
    /// A fixed number of bytes, as fast as the send buffer accepts them.
    File {
        /// Size of the file.
        size: Bytes,
    },
    /// The responses to the requests of a [`abr::Viewer`], always from the server.
    Video(Arc<Video>),
}

/// Writer of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// The server, to the device.
    #[default]
    Down,
    /// The device, to the server.
    Up,
}

/// Effect of a full send buffer on a timed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFull {
    /// The packet is dropped: a live source does not wait, as in ns-3's on/off application.
    Drop,
    /// The packet is kept and written when the send buffer has room.
    #[default]
    Wait,
}

impl TrafficConfig {
    /// An application that sends `kind` from the server to the device, from time zero and without
    /// a stop, with [`OnFull::Wait`].
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            direction: Direction::Down,
            start: Instant::ZERO,
            stop: None,
            on_full: OnFull::Wait,
            tcp_path: None,
        }
    }
}

impl Kind {
    /// Name and one-line description of every kind.
    pub const NAMES: [(&'static str, &'static str); 6] = [
        ("bulk", "as much as the send buffer accepts"),
        ("cbr", "packets at a constant rate"),
        ("on-off", "constant rate while on, nothing while off"),
        ("vbr", "packets of mixed sizes at a varying rate"),
        ("file", "a fixed number of bytes, as fast as possible"),
        ("video", "adaptive video, segment by segment"),
    ];

    /// Name of the kind.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Cbr { .. } => "cbr",
            Self::OnOff { .. } => "on-off",
            Self::Vbr(_) => "vbr",
            Self::File { .. } => "file",
            Self::Video(_) => "video",
        }
    }

    /// Mean offered rate between start and stop; `None` for kinds without a rate of their own.
    pub fn mean_rate(&self) -> Option<Bitrate> {
        match *self {
            Self::Bulk | Self::File { .. } | Self::Video(_) => None,
            Self::Cbr { rate, .. } => Some(rate),
            Self::Vbr(vbr) => Some(vbr.mean_rate()),
            Self::OnOff { rate, on, off, .. } => {
                let (on, off) = (u128::from(on.as_nanos()), u128::from(off.as_nanos()));
                let mean = (u128::from(rate.as_bps()) * on).checked_div(on + off).unwrap_or(0);
                Some(Bitrate::from_bps(mean as u64))
            }
        }
    }
}

/// Error of parsing a word that has two valid values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordError {
    written: String,
    valid: [&'static str; 2],
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.valid;
        write!(f, "`{}` is neither `{a}` nor `{b}`", self.written)
    }
}
impl core::error::Error for WordError {}

macro_rules! two_words {
    ($name:ident: $a:literal => $first:ident, $b:literal => $second:ident) => {
        impl FromStr for $name {
            type Err = WordError;
            fn from_str(text: &str) -> Result<Self, WordError> {
                match text.trim() {
                    $a => Ok(Self::$first),
                    $b => Ok(Self::$second),
                    other => Err(WordError { written: other.to_owned(), valid: [$a, $b] }),
                }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    Self::$first => $a,
                    Self::$second => $b,
                })
            }
        }
    };
}
two_words!(Direction: "down" => Down, "up" => Up);
two_words!(OnFull: "drop" => Drop, "wait" => Wait);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_and_print() {
        for word in ["down", "up"] {
            assert_eq!(word.parse::<Direction>().unwrap().to_string(), word);
        }
        for word in ["drop", "wait"] {
            assert_eq!(word.parse::<OnFull>().unwrap().to_string(), word);
        }
        assert_eq!("left".parse::<Direction>().unwrap_err().to_string(), "`left` is neither `down` nor `up`");
    }

    #[test]
    fn mean_rate_of_on_off_is_duty_cycle_times_rate() {
        let (rate, packet) = (Bitrate::from_mbps(2.0), Bytes::new(1040));
        let kind = |on, off| Kind::OnOff {
            rate,
            packet,
            on: Duration::from_secs(on),
            off: Duration::from_secs(off),
            exponential: false,
        };
        assert_eq!(kind(1, 3).mean_rate(), Some(Bitrate::from_mbps(0.5)));
        assert_eq!(kind(0, 0).mean_rate(), Some(Bitrate::ZERO));
        assert_eq!(Kind::Bulk.mean_rate(), None);
    }
}
