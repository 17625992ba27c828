//! What a middlebox is told at the start.

use crate::Options;
use units::{Duration, Instant, Probability};

/// One middlebox.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MiddleboxConfig {
    /// What it does.
    pub meddling: Meddling,
    /// Which directions it looks at. Rewritten sequence numbers and an address translator's mappings
    /// concern both, whatever this says.
    pub directions: Directions,
    /// From when on: before, it passes everything as it is. A box that comes in the middle of a
    /// connection is a change of route.
    pub from: Instant,
    /// Until when.
    pub until: Option<Instant>,
}

/// What a middlebox does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meddling {
    /// Looks for options that it does not like.
    StripOptions {
        /// Which.
        options: Options,
        /// In which segments.
        on: On,
        /// What it does where it finds one.
        finding: Finding,
        /// How likely it is to, segment by segment.
        chance: Probability,
    },
    /// Adds an offset to the sequence numbers of each direction, and takes it from what acknowledges
    /// them: a firewall that draws its own initial sequence numbers.
    RewriteSequence {
        /// Added to what the device sends.
        up: u32,
        /// Added to what the server sends.
        down: u32,
        /// SACK blocks are translated too. Some boxes leave them alone, and the sender gets blocks
        /// that it never sent.
        sack: bool,
    },
    /// Cuts payload into pieces, as segmentation offload does: each piece has all options of the
    /// whole, the same mapping among them (RFC 8684, section 3.3). A SYN stays whole.
    Split {
        /// The most payload of a piece, in bytes; 0 counts as 1.
        mss: u16,
    },
    /// Merges payload that follows on what is held. The options of the first segment stay, those of
    /// the others are lost; the acknowledgement and the window are the last's.
    Coalesce {
        /// The most payload of a merged segment, in bytes; 64 KiB for receive offload.
        most: u32,
        /// How long a segment is held at most.
        hold: Duration,
    },
    /// An address translator whose mapping of a connection ends when nothing has passed for a while.
    /// What then comes from the server is dropped.
    ForgetNat {
        /// How long a mapping lives idle: RFC 5382 asks for 2 h 4 min, many gateways have minutes.
        idle: Duration,
        /// What becomes of the device's next segment.
        forgotten: Forgotten,
    },
    /// Changes bytes, keeps their number, and makes the TCP checksum right again: an application
    /// gateway. Only the data checksum of Multipath TCP can notice (RFC 8684, section 3.3.1).
    Corrupt {
        /// Of each segment with payload.
        chance: Probability,
    },
}

/// In which segments options are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum On {
    /// SYN and SYN/ACK.
    Syn,
    /// All but those.
    NotSyn,
    /// Those that carry payload.
    Data,
    /// Every one.
    #[default]
    All,
}

/// What is done where an option is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Finding {
    /// The option is taken out; the segment passes.
    #[default]
    Strip,
    /// The segment is dropped: a firewall that takes the unknown for an attack.
    Drop,
}

/// What an address translator does with a segment of the device for which it has no mapping (any
/// more) and that is no SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forgotten {
    /// A mapping with the same port as before: only what came meanwhile was lost.
    #[default]
    Renew,
    /// A mapping with another port: the server does not know the connection.
    NewPort,
    /// A reset, as RFC 9293 (section 3.5.2) has it for a connection that does not exist.
    Reset,
    /// Nothing: the segment is dropped until a SYN comes.
    Drop,
}

/// Directions of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Directions {
    /// What the device sends.
    Up,
    /// What the server sends.
    Down,
    /// Both.
    #[default]
    Both,
}

impl MiddleboxConfig {
    /// In both directions, all the time.
    pub const fn new(meddling: Meddling) -> Self {
        Self { meddling, directions: Directions::Both, from: Instant::ZERO, until: None }
    }

    pub(crate) fn acts(&self, now: Instant, from_device: bool) -> bool {
        let here = match self.directions {
            Directions::Up => from_device,
            Directions::Down => !from_device,
            Directions::Both => true,
        };
        let both = matches!(self.meddling, Meddling::RewriteSequence { .. } | Meddling::ForgetNat { .. });
        (here || both) && now >= self.from && self.until.is_none_or(|until| now < until)
    }
}

impl Meddling {
    /// Every kind's name, and a line on what it does.
    pub const NAMES: [(&'static str, &'static str); 6] = [
        ("strip-options", "takes options out, or drops what has them"),
        ("rewrite-sequence", "adds an offset to sequence numbers"),
        ("split", "cuts segments into smaller ones"),
        ("coalesce", "merges segments; options after the first are lost"),
        ("forget-nat", "an address translator that forgets idle connections"),
        ("corrupt", "changes bytes and makes the TCP checksum right again"),
    ];

    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::StripOptions { .. } => "strip-options",
            Self::RewriteSequence { .. } => "rewrite-sequence",
            Self::Split { .. } => "split",
            Self::Coalesce { .. } => "coalesce",
            Self::ForgetNat { .. } => "forget-nat",
            Self::Corrupt { .. } => "corrupt",
        }
    }
}
