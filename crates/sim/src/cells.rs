//! Load of the shared cells: its recorder, and the outcome of a crowd of devices.

use crate::experiment::Setup;
use crate::media::Port;
use crate::network::{Medium, Network};
use crate::outcome::Outcome;
use crate::world::World;
use link::{CellKind, LinkStats};
use serde::Serialize;
use units::{Duration, Instant};

/// Results of several devices that share cells.
#[derive(Debug, Clone, PartialEq)]
pub struct CrowdOutcome {
    /// One for each device.
    pub devices: Vec<Outcome>,
    /// One for each cell.
    pub cells: Vec<CellOutcome>,
}

/// Load and packets of a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellOutcome {
    /// Name of the cell.
    pub name: String,
    /// Kind of the cell: `wifi` or `lte`.
    pub kind: &'static str,
    /// Stations of devices and backhauls; a device in a Wi-Fi cell has one for each direction.
    pub stations: usize,
    /// Share of the time in which the medium was in use, from 0 to 1, background stations included.
    pub load: f64,
    /// Mean rate of the packets of these stations that left the cell, with headers, in Mbit/s.
    pub rate_mbps: f64,
    /// Packets of these stations.
    pub packets: CellPackets,
    /// Packets of the backhaul, if a device's path crosses one. Packets of a backhaul that is a station
    /// of another cell count there too.
    pub backhaul: Option<BackhaulOutcome>,
    /// Load over time.
    #[serde(skip)]
    pub samples: Vec<CellSample>,
}

/// Packets between a cell and the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BackhaulOutcome {
    /// Towards the cell.
    pub down: CellPackets,
    /// From the cell.
    pub up: CellPackets,
}

/// Packets of a cell or of a direction of its backhaul. `entered + duplicated` equals the sum of all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CellPackets {
    /// Packets that reached the cell.
    pub entered: u64,
    /// Further copies made by an impairment.
    pub duplicated: u64,
    /// Packets that left the cell.
    pub delivered: u64,
    /// Packets dropped by a full queue.
    pub dropped: u64,
    /// Packets lost by the loss model.
    pub lost: u64,
    /// Packets lost because they were corrupted.
    pub damaged: u64,
    /// Packets that wait or propagate at the end of the run.
    pub waiting: u64,
}

/// Load of a cell over one sampling interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellSample {
    /// End of the interval, in seconds.
    pub time_s: f64,
    /// Share of the interval in which the medium was in use, from 0 to 1, background stations
    /// included.
    pub load: f64,
    /// Rate of the packets of devices and backhauls that left the cell, with headers, in Mbit/s.
    pub rate_mbps: f64,
    /// Data in the queues of their stations at the end of the interval, in kB.
    pub queued_kb: f64,
}

/// Recorder of the load of all cells.
#[derive(Debug)]
pub(crate) struct CellRecorder {
    interval: Duration,
    cells: Vec<RecordedCell>,
}

#[derive(Debug, Default)]
struct RecordedCell {
    samples: Vec<CellSample>,
    busy: Duration,
    bytes: u64,
}

impl CellRecorder {
    pub(crate) fn new(setup: &Setup<'_>) -> Self {
        let cells = setup.cells.iter().map(|_| RecordedCell::default()).collect();
        Self { interval: setup.cell_sample, cells }
    }

    /// Adds a sample of each cell. Cells are the first media.
    pub(crate) fn record(&mut self, now: Instant, media: &mut [Medium]) {
        let seconds = self.interval.as_secs_f64();
        for (cell, medium) in self.cells.iter_mut().zip(media) {
            let busy = medium.busy_time(now);
            let bytes = total(medium).bytes_delivered;
            let queued: u64 = (0..medium.station_count()).map(|i| medium.queued(now, i)).sum();
            cell.samples.push(CellSample {
                time_s: now.as_secs_f64(),
                load: busy.saturating_sub(cell.busy).as_secs_f64() / seconds,
                rate_mbps: (bytes - cell.bytes) as f64 * 8e-6 / seconds,
                queued_kb: queued as f64 * 1e-3,
            });
            (cell.busy, cell.bytes) = (busy, bytes);
        }
    }

    /// Outcomes of the cells of a run that has ended.
    pub(crate) fn into_outcome(self, world: &mut World<'_>) -> Vec<CellOutcome> {
        let (now, seconds) = (world.now, world.setup.duration.as_secs_f64());
        let backhauls: Vec<_> = (0..self.cells.len()).map(|cell| world.network.backhaul(cell)).collect();
        let cells = self.cells.into_iter().zip(world.setup.cells).zip(&mut world.network.media);
        cells
            .zip(backhauls)
            .map(|(((recorded, spec), medium), backhaul)| {
                let stats = total(medium);
                let stations = medium.station_count();
                CellOutcome {
                    name: spec.name.clone(),
                    kind: match spec.config.kind {
                        CellKind::Wifi => "wifi",
                        CellKind::Lte => "lte",
                    },
                    stations,
                    load: medium.busy_time(now).as_secs_f64() / seconds,
                    rate_mbps: stats.bytes_delivered as f64 * 8e-6 / seconds,
                    packets: CellPackets::new(&stats, (0..stations).map(|i| medium.in_flight(i)).sum()),
                    backhaul,
                    samples: recorded.samples,
                }
            })
            .collect()
    }
}

impl Network {
    /// Packets of the backhaul of a cell, if a path crosses it.
    fn backhaul(&self, cell: usize) -> Option<BackhaulOutcome> {
        let [down, up] = self.paths.iter().find(|path| path.down.medium == cell)?.backhaul?;
        let packets =
            |port: Port| CellPackets::new(&self.stats(port), self.media[port.medium].in_flight(port.station));
        Some(BackhaulOutcome { down: packets(down), up: packets(up) })
    }
}

impl CellPackets {
    fn new(stats: &LinkStats, waiting: u64) -> Self {
        Self {
            entered: stats.pushed,
            duplicated: stats.duplicated,
            delivered: stats.delivered,
            dropped: stats.dropped_full + stats.dropped_early,
            lost: stats.lost,
            damaged: stats.corrupted,
            waiting,
        }
    }
}

/// Counters of all stations of a medium.
fn total(medium: &Medium) -> LinkStats {
    (0..medium.station_count()).map(|i| medium.stats(i)).fold(LinkStats::default(), |sum, stats| LinkStats {
        pushed: sum.pushed + stats.pushed,
        delivered: sum.delivered + stats.delivered,
        dropped_full: sum.dropped_full + stats.dropped_full,
        dropped_early: sum.dropped_early + stats.dropped_early,
        marked: sum.marked + stats.marked,
        lost: sum.lost + stats.lost,
        corrupted: sum.corrupted + stats.corrupted,
        duplicated: sum.duplicated + stats.duplicated,
        bytes_delivered: sum.bytes_delivered + stats.bytes_delivered,
    })
}
