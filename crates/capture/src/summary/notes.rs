//! Omissions and anomalies of a capture, as sentences.

use super::File;
use crate::data::Data;
use crate::flow::Stream;
use crate::reader::Ended;
use crate::tracker::{MAX_EVENTS, MAX_FLOWS, MAX_SUBFLOWS, Tracker};

/// Maximum number of listed TCP connections, those with the most bytes first.
pub(super) const MAX_PLAIN: usize = 1000;

/// Notes on a file with `plain` connections of plain TCP.
pub(super) fn notes(tracker: &Tracker, file: &File, plain: usize) -> Vec<String> {
    let mut notes = Vec::new();
    match &file.ended {
        Ended::Whole => {}
        Ended::Cut { offset } => {
            notes.push(format!(
                "the file ends in the middle of the record at byte {offset}, which is left out"
            ));
        }
        Ended::Damaged { offset, what } => {
            notes.push(format!("the file is damaged at byte {offset} ({what}); the rest is left out"));
        }
    }
    let omitted = &tracker.omitted;
    let forgotten: u64 =
        tracker.connections.iter().flat_map(|one| &one.data).map(Data::forgotten).sum::<u64>()
            + tracker.flows.iter().flat_map(|flow| &flow.streams).map(Stream::forgotten).sum::<u64>();
    let elsewhere: u64 = tracker.flows.iter().map(|flow| flow.elsewhere).sum();
    let counts = [
        (
            file.unknown_interface,
            "packets of interfaces that the file does not describe, left out".to_owned(),
        ),
        (omitted.link, "packets of link types that cannot be read, left out".to_owned()),
        (omitted.fragment, "fragments of IP packets, left out".to_owned()),
        (omitted.cut, "packets cut within their headers, left out".to_owned()),
        (omitted.malformed, "packets with impossible lengths, left out".to_owned()),
        (tracker.options.malformed, "options that cannot be read".to_owned()),
        (elsewhere, "segments seen on a second interface, counted once".to_owned()),
        (omitted.flows, format!("segments of flows beyond the first {MAX_FLOWS}, left out")),
        (
            omitted.subflows,
            format!("segments of subflows beyond the first {MAX_SUBFLOWS}, counted as plain TCP"),
        ),
        (omitted.events, format!("events beyond the first {MAX_EVENTS}, left out")),
        (
            forgotten,
            "bytes in gaps beyond the ranges that are remembered: not missing, and older data counts as new"
                .to_owned(),
        ),
        (
            plain.saturating_sub(MAX_PLAIN) as u64,
            "flows of plain TCP, those with the least bytes, not listed".to_owned(),
        ),
    ];
    notes.extend(
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
    );
    notes
}
