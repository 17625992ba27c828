//! Wire formats: IPv4, IPv6, TCP, Multipath TCP (RFC 8684), MPTCP-rec and pcapng.
//!
//! Inside Tandem a segment is a [`Segment`]; bytes exist only at a TUN device or in a capture. The
//! payload is [`bytes::Bytes`] for a real kernel and a [`Span`] (stream offset and length) in the
//! simulator. Each protocol has a `Packet` that reads fields from a byte slice, and a decoded
//! representation ([`ipv4::Repr`], [`ipv6::Repr`], [`Segment`]). No input makes this crate panic;
//! [`WireError`] names the invalid field and its byte offset.

pub mod capture;
pub mod checksum;
mod error;
mod filler;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
mod mptcp_option;
mod mptcp_subtype;
mod option;
mod payload;
pub mod pcapng;
mod reader;
mod rec;
mod segment;
mod span;
pub mod tcp;

pub use checksum::{dss_checksum, dss_pseudo_header};
pub use error::WireError;
pub use ip::Ecn;
pub use payload::Payload;
pub use rec::{Blocks, RecOption, Report};
pub use segment::{Dss, Flags, MapOption, Mapping, MptcpSignal, SackBlocks, Segment, TimestampOption};
pub use span::Span;
