//! Wire formats: IPv4, IPv6, TCP, Multipath TCP (RFC 8684) and pcapng.
//!
//! Inside Tandem a segment is a [`Segment`]; bytes exist only at a TUN device or in a capture. The
//! payload is [`bytes::Bytes`] for a real kernel and a [`Span`] (stream offset and length) in the
//! simulator. Each protocol has a `Packet` that reads fields from a byte slice, and a decoded
//! representation ([`ipv4::Repr`], [`ipv6::Repr`], [`Segment`]). No input makes this crate panic;
//! [`WireError`] names the invalid field and its byte offset.
//!
//! | Specification | Module |
//! | --- | --- |
//! | RFC 791 (IPv4) | [`ipv4`] |
//! | RFC 8200 (IPv6) | [`ipv6`] |
//! | RFC 9293 (TCP), 7323 (timestamps, window scale), 2018 (SACK) | [`tcp`] |
//! | RFC 8684 (MPTCP): options | [`tcp`], [`Dss`], [`MptcpSignal`] |
//! | Cao et al. 2016 (MPTCP-rec): options | [`RecOption`] |
//! | RFC 1071 (Internet checksum), RFC 8684, section 3.3.1 (DSS checksum) | [`checksum`] |
//! | draft-ietf-opsawg-pcapng | [`pcapng`] |

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
