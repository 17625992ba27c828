//! The options of MPTCP-rec (Cao et al. 2016): the offer to speak it, and the extended NR-SACK of its
//! Fig. 3. The figure's layout did not survive, so the bytes are Tandem's own, in the subtype that RFC 8684
//! reserves for private use (0xf, section 7.2):
//!
//! ```text
//! offer    30 |  4 | 0xf0 | version
//! report   30 | 12 + 8n | 0xf1 | path | clock, 4 bytes | rate, 4 | n times: from, 4 | len, 4
//! ```
//!
//! An offer stands in a SYN and in its answer beside MP_CAPABLE or MP_JOIN. A report stands beside a DSS, to
//! whose DATA_ACK its blocks are relative: with timestamps there is room for one, without for up to three.

use crate::mptcp_option::{EXPERIMENTAL, KIND};
use crate::reader::Reader;

const OFFER: u8 = 0;
const REPORT: u8 = 1;
/// Bytes of a report without blocks.
const REPORT_LEN: usize = 12;
const BLOCK_LEN: usize = 8;

/// An option of MPTCP-rec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecOption {
    /// In a SYN or the answer to one: this end speaks MPTCP-rec, in this version (1).
    Offer {
        /// Version.
        version: u8,
    },
    /// What a receiver tells its sender.
    Report(Report),
}

/// The extended NR-SACK: what a receiver holds beyond its DATA_ACK and will not discard, and how fast it
/// wants a path to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The path that the rate is for: the device's address identifier of its subflow, 0 for the first
    /// (RFC 8684, section 3.2).
    pub path: u8,
    /// The receiver's clock in milliseconds when it was made: of two reports on a path the later counts,
    /// whichever way they came.
    pub clock: u32,
    /// Desired sending rate in bytes per second; 0 where the receiver has none yet.
    pub rate: u32,
    /// What came beyond the DATA_ACK.
    pub blocks: Blocks,
}

/// Up to three blocks of data: where each begins, in bytes beyond the DATA_ACK, and how long it is.
#[derive(Clone, Copy, Eq, Default)]
pub struct Blocks {
    blocks: [(u32, u32); Self::MAX],
    len: u8,
}

impl Blocks {
    /// The most that fit in a segment's options.
    pub const MAX: usize = 3;

    /// Adds a block; a fourth is refused and gives `false`.
    pub fn push(&mut self, from: u32, len: u32) -> bool {
        let at = usize::from(self.len);
        if at == Self::MAX {
            return false;
        }
        self.blocks[at] = (from, len);
        self.len += 1;
        true
    }
    /// The blocks, in the order in which they were added.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
    /// True for none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Takes the last one out.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}

impl PartialEq for Blocks {
    /// What lies beyond the length is left over from before.
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl core::fmt::Debug for Blocks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl RecOption {
    /// The option's length in bytes as its length field says it: 4 to 36, a multiple of 4.
    #[inline]
    pub fn option_len(&self) -> usize {
        match self {
            Self::Offer { .. } => 4,
            Self::Report(report) => REPORT_LEN + BLOCK_LEN * usize::from(report.blocks.len),
        }
    }
}

/// Reads what follows the subtype's byte, whose lower half is `nibble`. `None` for any other form or length: the
/// subtype is private, so that what is not ours may be somebody else's.
pub(crate) fn parse(nibble: u8, reader: &mut Reader<'_>) -> Option<RecOption> {
    let option = match nibble {
        OFFER => RecOption::Offer { version: reader.u8()? },
        REPORT => RecOption::Report(report(reader)?),
        _ => return None,
    };
    reader.is_empty().then_some(option)
}

fn report(reader: &mut Reader<'_>) -> Option<Report> {
    let (path, clock, rate) = (reader.u8()?, reader.u32()?, reader.u32()?);
    let mut blocks = Blocks::default();
    while !reader.is_empty() {
        if !blocks.push(reader.u32()?, reader.u32()?) {
            return None;
        }
    }
    Some(Report { path, clock, rate, blocks })
}

/// Appends the option, which needs no padding.
pub(crate) fn emit(option: &RecOption, out: &mut Vec<u8>) {
    let len = option.option_len() as u8;
    match option {
        RecOption::Offer { version } => out.extend([KIND, len, EXPERIMENTAL << 4 | OFFER, *version]),
        RecOption::Report(report) => {
            out.extend([KIND, len, EXPERIMENTAL << 4 | REPORT, report.path]);
            let blocks = report.blocks.as_slice().iter().flat_map(|&(from, len)| [from, len]);
            out.extend([report.clock, report.rate].into_iter().chain(blocks).flat_map(u32::to_be_bytes));
        }
    }
}
