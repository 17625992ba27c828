//! Who carried what: Multipath TCP (RFC 8684) in captures.
//!
//! [`Reader`] takes frames out of pcap and pcapng files of any origin, and [`analyse`] says what the
//! connections in them did: which subflows they had, what each carried that was new, what another had
//! carried before (reinjected), what it had carried itself (retransmitted), round trips, what waited beyond a
//! gap, and what was signalled.
//!
//! A file is read once, from its beginning to its end, through a buffer of fixed size. Headers are read where
//! they lie, and payload is not looked at. Whatever the file holds, every table has a bound; where one was hit,
//! [`Summary::notes`] says what was left out. No bytes make anything here panic.
//!
//! | File | What it is |
//! |---|---|
//! | `reader` | files to frames |
//! | `frame` | frames to TCP headers, under any link type, however much was kept |
//! | `tracker` | segments to flows, flows to connections: by key and token, or by data that fit |
//! | `flow` | one TCP connection: handshake, sequence numbers, mappings |
//! | `data` | one direction of a connection: DSNs, gaps |
//! | `seen` | ranges of numbers, and who brought them first |
//! | `rtt`, `sketch`, `series` | round trips, their quantiles, bytes over time: in bounded memory |
//! | `summary` | what comes of it; `tables`, `page`, `csv` show it |

mod csv;
mod data;
mod event;
mod flow;
mod frame;
mod page;
mod reader;
mod rtt;
mod seen;
mod series;
mod sketch;
mod summary;
mod tables;
mod tracker;

pub use event::{Event, Options};
pub use reader::{Ended, Frame, ReadError, Reader};
pub use series::Bin;
pub use sketch::Quantiles;
pub use summary::{
    AskedSummary, Carried, ConnectionSummary, DataSummary, HandshakeSummary, PlainSummary, RttSummary,
    SeriesSet, StreamSeries, SubflowSummary, Summary,
};

use std::io::Read;

/// Packets between two calls of `progress`.
const OFTEN: u64 = 1 << 16;

/// Reads a capture from its beginning to its end; `progress` is told now and then how many bytes were read.
///
/// # Errors
/// Where it is no capture, or the source cannot be read. A capture that is cut or damaged is read up to there,
/// and [`Summary::ended`] and its notes say so.
pub fn analyse<R: Read>(source: R, progress: &mut dyn FnMut(u64)) -> Result<Summary, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut tracker = tracker::Tracker::new();
    while let Some(frame) = reader.next_frame()? {
        tracker.frame(&frame);
        if tracker.packets.is_multiple_of(OFTEN) {
            progress(reader.offset());
        }
    }
    let file = summary::File {
        format: reader.format(),
        bytes: reader.offset(),
        interfaces: reader.interfaces().to_vec(),
        ended: reader.ended().cloned().unwrap_or(Ended::Whole),
        unknown_interface: reader.unknown_interface(),
    };
    Ok(summary::summary(&tracker, file))
}
