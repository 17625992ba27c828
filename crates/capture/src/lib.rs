//! Multipath TCP (RFC 8684) in captures: which subflow carried which data.
//!
//! [`Reader`] takes frames from pcap and pcapng files. [`analyse`] reports connections and
//! subflows, with new, reinjected and retransmitted payload, round trips, out-of-order data and
//! signals.
//!
//! A file is read once, through a buffer of fixed size. Headers are parsed in place, payload is
//! ignored. Every table has a limit; [`Summary::notes`] names those that were reached. No input
//! causes a panic.

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
pub use reader::{Ended, Frame, ReadError, Reader, is_capture};
pub use series::Bin;
pub use sketch::Quantiles;
pub use summary::{
    Carried, ConnectionSummary, DataSummary, HandshakeSummary, PlainSummary, RateRequestSummary, RttSummary,
    SeriesSet, StreamSeries, SubflowSummary, Summary,
};

use std::io::Read;

/// Packets between two calls of `progress`.
const PACKETS_PER_PROGRESS: u64 = 1 << 16;

/// Reads a capture to its end; `progress` gets the number of bytes read.
///
/// # Errors
/// If it is not a capture, or the source cannot be read. A truncated or damaged capture is read up
/// to that place, which [`Summary::ended`] and the notes name.
pub fn analyse<R: Read>(source: R, progress: &mut dyn FnMut(u64)) -> Result<Summary, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut tracker = tracker::Tracker::new();
    while let Some(frame) = reader.next_frame()? {
        tracker.frame(&frame);
        if tracker.packets.is_multiple_of(PACKETS_PER_PROGRESS) {
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
