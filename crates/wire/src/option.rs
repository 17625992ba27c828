//! TCP options: iterator over a header's options, and encoding.

use crate::error::WireError;
use crate::mptcp_option::{self, MptcpOption};
use crate::mptcp_subtype;
use crate::reader::Reader;
use crate::rec::{self, RecOption};
use crate::segment::{Dss, MptcpSignal, SackBlocks, Segment, TimestampOption};

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Maximum shift; a larger value counts as this one (RFC 7323, section 2.3).
const MAX_WINDOW_SCALE: u8 = 14;

/// One TCP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpOption {
    /// Maximum segment size in bytes (RFC 9293, section 3.2).
    Mss(u16),
    /// Window scale, 0 to 14 (RFC 7323).
    WindowScale(u8),
    /// SACK permitted (RFC 2018).
    SackPermitted,
    /// SACK blocks (RFC 2018).
    Sack(SackBlocks),
    /// Timestamps (RFC 7323).
    Timestamps(TimestampOption),
    /// Data Sequence Signal (RFC 8684).
    Dss(Dss),
    /// Any other MPTCP option (RFC 8684).
    Signal(MptcpSignal),
    /// MPTCP-rec option, in the subtype for private use (RFC 8684, section 7.2).
    Rec(RecOption),
    /// Unknown option, or unknown subtype of MPTCP.
    Unknown {
        /// Option kind.
        kind: u8,
        /// Value of the length field, in bytes.
        len: u8,
    },
    /// Known option, or known subtype of MPTCP, of a wrong length. Receivers ignore it.
    Malformed {
        /// Option kind.
        kind: u8,
        /// Value of the length field, in bytes.
        len: u8,
    },
}

/// Iterator over the options of a TCP header, without padding. It ends at the end-of-options
/// marker, and after an option that overruns the header or has a length below 2, because the start
/// of the next option is unknown.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    bytes: &'a [u8],
    /// Offset of `bytes` from the start of the TCP header.
    offset: usize,
}

/// An option before decoding: its kind, and the bytes after kind and length.
struct RawOption<'a> {
    kind: u8,
    value: &'a [u8],
}

impl<'a> Options<'a> {
    pub(crate) fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// Next option before decoding.
    fn advance(&mut self) -> Option<Result<RawOption<'a>, WireError>> {
        loop {
            let (&kind, rest) = self.bytes.split_first()?;
            let offset = self.offset;
            match kind {
                END => return None,
                NOP => {
                    self.bytes = rest;
                    self.offset += 1;
                }
                _ => {
                    let Some(&len) = rest.first() else {
                        let what = "TCP option";
                        return Some(Err(WireError::Truncated { what, offset, needed: 2, available: 1 }));
                    };
                    let len = usize::from(len);
                    if len < 2 {
                        let (what, expected) = ("TCP option", "at least 2");
                        return Some(Err(WireError::Length { what, offset, found: len, expected }));
                    }
                    let Some((option, rest)) = self.bytes.split_at_checked(len) else {
                        let (what, available) = ("TCP option", self.bytes.len());
                        return Some(Err(WireError::Truncated { what, offset, needed: len, available }));
                    };
                    self.bytes = rest;
                    self.offset += len;
                    return Some(Ok(RawOption { kind, value: &option[2..] }));
                }
            }
        }
    }
}

impl Iterator for Options<'_> {
    type Item = Result<TcpOption, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let option = self.advance()?.map(|raw| parse(&raw));
        if option.is_err() {
            self.bytes = &[];
        }
        Some(option)
    }
}

/// Appends the options of `segment` in the order of Linux. Each option is padded with NOPs to a
/// multiple of four bytes: TCP options at the front, MPTCP options at the end.
pub(crate) fn emit<P>(segment: &Segment<P>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let needed = segment.options_len();
    if needed > Segment::<P>::MAX_OPTIONS_LEN {
        return Err(WireError::OptionsTooLong { needed });
    }
    if let Some(mss) = segment.mss {
        let [high, low] = mss.to_be_bytes();
        out.extend([MSS, 4, high, low]);
    }
    if let Some(TimestampOption { value, echo }) = segment.timestamps {
        let padding = if segment.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
        out.extend(padding);
        out.extend([TIMESTAMPS, 10]);
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    } else if segment.sack_permitted {
        out.extend([NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = segment.window_scale {
        if shift > MAX_WINDOW_SCALE {
            return Err(WireError::Unwritable { what: "window scale", expected: "a shift of 0 to 14" });
        }
        out.extend([NOP, WINDOW_SCALE, 3, shift]);
    }
    if !segment.sack.is_empty() {
        out.extend([NOP, NOP, SACK, 2 + 8 * segment.sack.len() as u8]);
        for (left, right) in segment.sack.as_slice() {
            out.extend(left.to_be_bytes());
            out.extend(right.to_be_bytes());
        }
    }
    if let Some(dss) = &segment.dss {
        mptcp_option::emit_dss(dss, out);
        pad(dss.option_len(), out);
    }
    if let Some(signal) = &segment.signal {
        mptcp_option::emit_signal(signal, out)?;
        pad(signal.option_len(), out);
    }
    if let Some(option) = &segment.rec {
        rec::emit(option, out);
    }
    Ok(())
}

/// Pads an option of `len` bytes.
fn pad(len: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + len.next_multiple_of(4) - len, NOP);
}

fn parse(&RawOption { kind, value }: &RawOption<'_>) -> TcpOption {
    let len = value.len() as u8 + 2;
    let mut reader = Reader(value);
    let option = match kind {
        MSS => reader.u16().map(TcpOption::Mss),
        WINDOW_SCALE => reader.u8().map(|shift| TcpOption::WindowScale(shift.min(MAX_WINDOW_SCALE))),
        SACK_PERMITTED => Some(TcpOption::SackPermitted),
        SACK => sack(&mut reader).map(TcpOption::Sack),
        TIMESTAMPS => timestamps(&mut reader).map(TcpOption::Timestamps),
        mptcp_subtype::KIND => {
            return match mptcp_option::parse(value) {
                Some(MptcpOption::Dss(dss)) => TcpOption::Dss(dss),
                Some(MptcpOption::Signal(signal)) => TcpOption::Signal(signal),
                Some(MptcpOption::Rec(option)) => TcpOption::Rec(option),
                Some(MptcpOption::Unknown(_)) => TcpOption::Unknown { kind, len },
                None => TcpOption::Malformed { kind, len },
            };
        }
        _ => return TcpOption::Unknown { kind, len },
    };
    option.filter(|_| reader.is_empty()).unwrap_or(TcpOption::Malformed { kind, len })
}

fn sack(reader: &mut Reader<'_>) -> Option<SackBlocks> {
    let mut blocks = SackBlocks::default();
    while !reader.is_empty() {
        if !blocks.push(reader.u32()?, reader.u32()?) {
            return None;
        }
    }
    (!blocks.is_empty()).then_some(blocks)
}

fn timestamps(reader: &mut Reader<'_>) -> Option<TimestampOption> {
    Some(TimestampOption { value: reader.u32()?, echo: reader.u32()? })
}
