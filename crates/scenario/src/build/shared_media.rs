//! The media that paths share, and the buffer size that follows from a path's rates and delays.

use crate::crowd::PlacedBackhaul;
use link::{Delay, Rate};
use sim::{Backhaul, CellSpec, Hop, PathSpec};
use units::Duration;

/// Lower bound of a buffer from Eq. (1), which is zero for paths without delay.
const MIN_BUFFER_BYTES: u64 = 64 << 10;

/// The media that paths share.
#[derive(Clone, Copy)]
pub(super) struct SharedMedia<'a> {
    pub(super) cells: &'a [CellSpec],
    pub(super) backhauls: &'a [PlacedBackhaul],
}

impl SharedMedia<'_> {
    /// The backhaul of the cell that a hop joins.
    fn backhaul(&self, hop: &Hop) -> Option<&Backhaul> {
        let Hop::Cell { cell: joined, .. } = hop else { return None };
        self.backhauls.iter().map(|placed| &placed.backhaul).find(|backhaul| backhaul.cell == *joined)
    }
}

/// Buffer size of Eq. (1) in RFC 6182, section 5.3, for the direction with the higher total rate.
///
/// A rate in steps counts with its maximum, a trace with its mean, a cell with its capacity. The
/// RTT is that of paths with empty queues. A cell's backhaul adds its delay, and limits the rate.
pub(super) fn equation_1(paths: &[&PathSpec], media: SharedMedia<'_>) -> u64 {
    let hops = |path: &PathSpec| {
        let behind = media.backhaul(&path.down);
        let with = |own: &Hop, behind: Option<&Hop>| [Some(own.clone()), behind.cloned()];
        (with(&path.down, behind.map(|b| &b.down)), with(&path.up, behind.map(|b| &b.up)))
    };
    let rate = |hops: &[Option<Hop>]| {
        hops.iter().flatten().map(|hop| rate(hop, media.cells)).min().unwrap_or_default()
    };
    let all: Vec<_> = paths.iter().map(|path| hops(path)).collect();
    let (down, up): (Vec<u64>, Vec<u64>) = all.iter().map(|(down, up)| (rate(down), rate(up))).unzip();
    let total = |rates: &[u64]| rates.iter().map(|&r| u128::from(r)).sum::<u128>();
    let rates = if total(&down) >= total(&up) { down } else { up };
    let rtt = all.iter().map(|(down, up)| {
        down.iter().chain(up).flatten().map(delay).fold(Duration::ZERO, |sum, delay| sum + delay)
    });
    mptcp::receive_buffer(&rates, rtt.max().unwrap_or_default()).max(MIN_BUFFER_BYTES)
}

fn rate(hop: &Hop, cells: &[CellSpec]) -> u64 {
    let rate = match hop {
        Hop::Link(link) => match &link.rate {
            Rate::Fixed(rate) => *rate,
            Rate::Steps(steps) => steps.iter().map(|(_, rate)| *rate).max().unwrap_or_default(),
            Rate::Trace(trace) => trace.mean_rate(),
        },
        Hop::Cell { cell, station } => {
            let config = cells.get(*cell).map(|cell| &cell.config);
            config.map(|config| station.rate(config).min(config.rate)).unwrap_or_default()
        }
    };
    rate.as_bps()
}

fn delay(hop: &Hop) -> Duration {
    let delay = match hop {
        Hop::Link(link) => link.delay,
        Hop::Cell { station, .. } => station.delay,
    };
    match delay {
        Delay::Fixed(time) => time,
        Delay::Uniform { min, max } => (min + max) / 2,
        Delay::Normal { mean, .. } | Delay::Measured { mean, .. } => mean,
    }
}
