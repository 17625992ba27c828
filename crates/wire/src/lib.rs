//! Bytes and meaning: IPv4, IPv6, TCP and Multipath TCP (RFC 8684), and pcapng files.
//!
//! Inside Tandem a [`Segment`] is a struct. It becomes bytes only at an edge: a TUN device, a
//! capture. The payload is generic: [`bytes::Bytes`] where a wire is real, a [`Span`] (where in the
//! stream, how long) where only the simulator looks, so that a simulated gigabyte moves none.
//!
//! Each protocol has a `Packet`, which reads fields where they lie in a slice of bytes, and a
//! representation of what they mean ([`ipv4::Repr`], [`ipv6::Repr`]; of TCP it is the [`Segment`]).
//! No input, however malformed, makes anything here panic; a [`WireError`] says what was wrong and
//! at which byte.
//!
//! | specification | module |
//! | --- | --- |
//! | RFC 791 (IPv4) | [`ipv4`] |
//! | RFC 8200 (IPv6) | [`ipv6`] |
//! | RFC 9293 (TCP), 7323 (timestamps, window scale), 2018 (SACK) | [`tcp`] |
//! | RFC 8684 (MPTCP): options | [`tcp`], [`Dss`], [`MptcpSignal`] |
//! | Cao et al. 2016 (MPTCP-rec): options | [`RecOption`] |
//! | RFC 8684, section 3.3.1: the DSS checksum | [`dss_checksum`] |
//! | RFC 1071 (internet checksum) | [`checksum`] |
//! | draft-ietf-opsawg-pcapng | [`pcapng`] |

pub mod capture;
pub mod checksum;
mod error;
mod filler;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
mod mptcp_option;
mod option;
mod payload;
pub mod pcapng;
mod reader;
mod rec;
mod segment;
pub mod tcp;

pub use checksum::{dss_checksum, dss_pseudo_header};
pub use error::WireError;
pub use ip::Ecn;
pub use payload::{Payload, Span};
pub use rec::{Blocks, RecOption, Report};
pub use segment::{Dss, Flags, MapOption, Mapping, MptcpSignal, SackBlocks, Segment, TimestampOption};
