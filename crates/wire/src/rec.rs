//! Options of MPTCP-rec (Cao et al. 2016): the offer, and the extended NR-SACK of its Fig. 3
//! (report). The paper does not give the bytes. This layout uses the MPTCP subtype for private use
//! (0xf, RFC 8684, section 7.2):
//!
//! | Option | Bytes |
//! | --- | --- |
//! | offer | 30, 4, 0xf0, version |
//! | report | 30, 12 + 8n, 0xf1, path, clock (4), rate (4), then n times: from (4), len (4) |
//!
//! A SYN and its SYN/ACK carry the offer beside MP_CAPABLE or MP_JOIN. A report is beside a DSS.

use crate::mptcp_subtype::{KIND, PRIVATE_USE};
use crate::reader::Reader;

const OFFER: u8 = 0;
const REPORT: u8 = 1;
/// Length of a report without blocks.
const REPORT_LEN: usize = 12;
const BLOCK_LEN: usize = 8;

/// An option of MPTCP-rec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecOption {
    /// On SYN and SYN/ACK: the sender supports this version (1) of MPTCP-rec.
    Offer {
        /// Version.
        version: u8,
    },
    /// Report of the receiver to the sender.
    Report(Report),
}

/// Extended NR-SACK: data that the receiver holds beyond the DATA_ACK and will not discard, and the
/// sending rate that it requests for a path. One block fits beside timestamps, three fit without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Path that the rate applies to: the device's address identifier of the subflow, 0 for the
    /// first (RFC 8684, section 3.2).
    pub path: u8,
    /// Receiver's clock at the report, in milliseconds. The latest report on a path is valid, in
    /// any order of arrival.
    pub clock: u32,
    /// Requested sending rate, in bytes per second; 0 if the receiver has none yet.
    pub rate: u32,
    /// Data received beyond the DATA_ACK.
    pub blocks: Blocks,
}

/// Up to three blocks of data: offset from the DATA_ACK and length, in bytes.
#[derive(Clone, Copy, Eq, Default)]
pub struct Blocks {
    blocks: [(u32, u32); Self::MAX],
    len: u8,
}

impl Blocks {
    /// Maximum number of blocks that fit in a segment's options.
    pub const MAX: usize = 3;

    /// Adds a block. Returns false if there are already three.
    pub fn push(&mut self, from: u32, len: u32) -> bool {
        let at = usize::from(self.len);
        if at == Self::MAX {
            return false;
        }
        self.blocks[at] = (from, len);
        self.len += 1;
        true
    }
    /// The blocks in the order of addition.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Removes the last block.
    pub fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }
}

impl PartialEq for Blocks {
    /// Ignores old blocks beyond the length.
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
    /// Value of the option's length field: 4 to 36 bytes, a multiple of 4.
    #[inline]
    pub fn option_len(&self) -> usize {
        match self {
            Self::Offer { .. } => 4,
            Self::Report(report) => REPORT_LEN + BLOCK_LEN * usize::from(report.blocks.len),
        }
    }
}

/// Decodes the bytes after the subtype byte, whose lower half is `nibble`. `None` for any other
/// form or length: another protocol may use the private subtype.
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

/// Appends the option. It needs no padding.
pub(crate) fn emit(option: &RecOption, out: &mut Vec<u8>) {
    let len = option.option_len() as u8;
    match option {
        RecOption::Offer { version } => out.extend([KIND, len, PRIVATE_USE << 4 | OFFER, *version]),
        RecOption::Report(report) => {
            out.extend([KIND, len, PRIVATE_USE << 4 | REPORT, report.path]);
            let blocks = report.blocks.as_slice().iter().flat_map(|&(from, len)| [from, len]);
            out.extend([report.clock, report.rate].into_iter().chain(blocks).flat_map(u32::to_be_bytes));
        }
    }
}
