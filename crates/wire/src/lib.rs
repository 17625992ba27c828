//! Bytes and meaning: IPv4, IPv6, TCP and Multipath TCP (RFC 8684), and pcapng files.
//!
//! Inside Tandem a [`Segment`] is a struct. It becomes bytes only at an edge: a TUN device, a
//! capture. The payload is generic: [`bytes::Bytes`] where a wire is real, a [`Span`] (where in the
//! stream, how long) where only the simulator looks, so that a simulated gigabyte moves none.

mod payload;
mod segment;

pub use payload::{Payload, Span};
pub use segment::{Dss, Flags, MapOption, Mapping, MptcpSignal, SackBlocks, Segment, TimestampOption};
