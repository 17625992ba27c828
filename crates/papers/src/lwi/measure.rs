//! Metrics of one run.

use experiments::video::all_fetched_s;
use playback::Record;
use report::Estimate;
use sim::Outcome;
use units::Duration;

/// The metrics of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Number of stalls.
    pub stalls: usize,
    /// Total length of the stalls, in seconds.
    pub stalled_s: f64,
    /// Initial load time (T_init), in seconds.
    pub load_s: f64,
    /// Time until the whole video has arrived, in seconds; NaN if it never does.
    pub fetched_s: f64,
    /// MOS by the paper's formula and levels; NaN without a picture.
    pub mos: f64,
    /// Level of the stall frequency, from 1 to 3.
    pub frequency_level: u8,
    /// Payload to the device over Wi-Fi and LTE, in bytes, counted at the links' ends; duplicates
    /// count.
    pub payload: [u64; 2],
    /// That payload in a capture of the device's interfaces; `None` without a capture.
    pub captured: Option<[u64; 2]>,
    /// Energy of the Wi-Fi and LTE radios until the run's end, in joules; NaN if unknown.
    pub radio_j: [f64; 2],
    /// 99th percentile of the emulator's delay in writing packets; `None` in simulation.
    pub late: Option<Duration>,
    /// Whether the video was played to its end.
    pub complete: bool,
}

impl Run {
    /// Reads a run of [`model::experiment`](super::model::experiment), simulated or on a kernel;
    /// `None` if it played no video.
    pub fn read(outcome: &Outcome) -> Option<Self> {
        let session = outcome.connections.first()?.video.as_ref()?;
        let kpis = session.kpis();
        let payload = |path: usize| outcome.paths.get(path).map_or(0, |path| path.payload_down_bytes);
        let energy = |path: usize| outcome.paths.get(path).map_or(f64::NAN, |path| path.energy.total_j);
        Some(Self {
            stalls: session.stalls.len(),
            stalled_s: kpis.stalled.as_secs_f64(),
            load_s: kpis.initial.as_secs_f64(),
            fetched_s: all_fetched_s(session).unwrap_or(f64::NAN),
            mos: kpis.mos.unwrap_or(f64::NAN),
            frequency_level: kpis.levels.frequency,
            payload: [payload(0), payload(1)],
            captured: None,
            radio_j: [energy(0), energy(1)],
            late: None,
            complete: session.complete,
        })
    }

    /// Reads a playback record; `payload` is the payload counted on the paths.
    pub fn from_record(record: &Record, payload: [u64; 2]) -> Self {
        let last = record.segments.iter().map(|segment| segment.arrived_s).fold(f64::NAN, f64::max);
        Self {
            stalls: record.stalls.len(),
            stalled_s: record.kpis.stalled_s,
            load_s: record.kpis.initial_load_s,
            fetched_s: if record.complete { last } else { f64::NAN },
            mos: record.kpis.mok.mos.unwrap_or(f64::NAN),
            frequency_level: record.kpis.mok.frequency_level,
            payload,
            captured: None,
            radio_j: [f64::NAN; 2],
            late: None,
            complete: record.complete,
        }
    }

    /// Share of the payload over Wi-Fi, in percent, from the capture if there is one.
    pub fn over_wifi_percent(&self) -> f64 {
        let [wifi, lte] = self.captured.unwrap_or(self.payload).map(|bytes| bytes as f64);
        100.0 * wifi / (wifi + lte)
    }

    /// Largest difference on a path between captured and counted payload, in bytes; `None` without
    /// a capture.
    pub fn capture_difference_bytes(&self) -> Option<u64> {
        let largest =
            |captured: [u64; 2]| self.payload.iter().zip(captured).map(|(a, b)| a.abs_diff(b)).max();
        self.captured.and_then(largest)
    }
}

/// Mean length over all stalls of all runs, with the 95 % confidence interval of the jackknife,
/// which omits each run once (Efron and Stein 1981). NaN without stalls.
pub fn mean_stall(runs: &[Run]) -> Estimate {
    let count: usize = runs.iter().map(|run| run.stalls).sum();
    let length: f64 = runs.iter().map(|run| run.stalled_s).sum();
    let n = runs.len() as f64;
    let without: Vec<f64> =
        runs.iter().map(|run| (length - run.stalled_s) / (count - run.stalls) as f64).collect();
    let mean = without.iter().sum::<f64>() / n;
    let variance = without.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() * (n - 1.0) / n;
    Estimate::new(length / count as f64, 1.96 * variance.sqrt())
}

#[cfg(test)]
impl Run {
    /// A run without stalls, as a template for tests.
    pub(super) const fn sample() -> Self {
        Self {
            stalls: 0,
            stalled_s: 0.0,
            load_s: 1.0,
            fetched_s: 60.0,
            mos: 3.0,
            frequency_level: 1,
            payload: [3, 1],
            captured: None,
            radio_j: [f64::NAN; 2],
            late: None,
            complete: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stalls: usize, stalled_s: f64) -> Run {
        Run { stalls, stalled_s, ..Run::sample() }
    }

    #[test]
    fn mean_stall_matches_hand_computed_jackknife() {
        // Three stalls with a mean of 2 s; 4 s without the first run, 1 s without the second.
        let estimate = mean_stall(&[run(2, 2.0), run(1, 4.0)]);
        assert!((estimate.mean - 2.0).abs() < 1e-12);
        // Both differ from their mean by 1.5, and (n - 1) / n is one half.
        assert!((estimate.ci95 - 1.96 * 2.25_f64.sqrt()).abs() < 1e-12);
        assert!(mean_stall(&[run(0, 0.0)]).mean.is_nan());
    }

    #[test]
    fn wifi_share_uses_the_capture_if_there_is_one() {
        let counted = run(0, 0.0);
        assert!((counted.over_wifi_percent() - 75.0).abs() < 1e-12);
        assert_eq!(counted.capture_difference_bytes(), None);
        let captured = Run { captured: Some([4, 6]), ..counted };
        assert!((captured.over_wifi_percent() - 40.0).abs() < 1e-12);
        assert_eq!(captured.capture_difference_bytes(), Some(5));
    }
}
