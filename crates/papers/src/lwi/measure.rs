//! What is read off a run.

use experiments::video::all_fetched_s;
use report::Estimate;
use session::Record;
use sim::Outcome;
use units::Duration;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How many stalls there were.
    pub stalls: usize,
    /// How long they were together, in seconds.
    pub stalled_s: f64,
    /// T_init, in seconds.
    pub load_s: f64,
    /// Until the whole video had come, in seconds; NaN where it never did.
    pub fetched_s: f64,
    /// By the paper's formula and levels.
    pub mos: f64,
    /// The level of the frequency of stalls, from 1 to 3.
    pub frequency_level: u8,
    /// Payload to the device over Wi-Fi and over LTE, in bytes; copies count. Counted where the links end.
    pub payload: [u64; 2],
    /// The same as a capture of the device's interfaces has it, where there is one.
    pub captured: Option<[u64; 2]>,
    /// What the radios of Wi-Fi and LTE drew, in joules, until the run ended; NaN where that is not known.
    pub radio_j: [f64; 2],
    /// How late an emulator wrote one packet in a hundred at least, where there was one.
    pub late: Option<Duration>,
    /// The video was played to its end.
    pub complete: bool,
}

impl Run {
    /// Of a run of [`model::experiment`](super::model::experiment), in simulation or on a kernel; `None` where it
    /// played no video.
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
            mos: kpis.mos,
            frequency_level: kpis.levels.frequency,
            payload: [payload(0), payload(1)],
            captured: None,
            radio_j: [energy(0), energy(1)],
            late: None,
            complete: session.complete,
        })
    }

    /// Of a session that a player tells of, whose payload was counted on the paths.
    pub fn of_record(record: &Record, payload: [u64; 2]) -> Self {
        let last = record.segments.iter().map(|segment| segment.arrived_s).fold(f64::NAN, f64::max);
        Self {
            stalls: record.stalls.len(),
            stalled_s: record.kpis.stalled_s,
            load_s: record.kpis.initial_load_s,
            fetched_s: if record.complete { last } else { f64::NAN },
            mos: record.kpis.mok.mos,
            frequency_level: record.kpis.mok.frequency_level,
            payload,
            captured: None,
            radio_j: [f64::NAN; 2],
            late: None,
            complete: record.complete,
        }
    }

    /// Of the payload, the part over Wi-Fi, in percent: by the capture, where there is one.
    pub fn over_wifi_percent(&self) -> f64 {
        let [wifi, lte] = self.captured.unwrap_or(self.payload).map(|bytes| bytes as f64);
        100.0 * wifi / (wifi + lte)
    }

    /// By how many bytes a path's payload in the capture is at most off what was counted, where there is a capture.
    pub fn capture_off_bytes(&self) -> Option<u64> {
        let off = |captured: [u64; 2]| self.payload.iter().zip(captured).map(|(a, b)| a.abs_diff(b)).max();
        self.captured.and_then(off)
    }
}

/// The mean length of a stall over all stalls of all runs, with the 95 % interval of the jackknife, which leaves out
/// one run after the other (Efron and Stein 1981). NaN where nothing stalled.
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
    /// One that played well, for tests to make others of.
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
    fn the_mean_stall_by_hand() {
        // Three stalls of 2 s in the mean. Without the first run 4 s, without the second 1 s.
        let estimate = mean_stall(&[run(2, 2.0), run(1, 4.0)]);
        assert!((estimate.mean - 2.0).abs() < 1e-12);
        // The two are 1.5 from their mean, and (n - 1) / n is a half.
        assert!((estimate.ci95 - 1.96 * 2.25_f64.sqrt()).abs() < 1e-12);
        assert!(mean_stall(&[run(0, 0.0)]).mean.is_nan());
    }

    #[test]
    fn the_split_is_that_of_the_capture_where_there_is_one() {
        let counted = run(0, 0.0);
        assert!((counted.over_wifi_percent() - 75.0).abs() < 1e-12);
        assert_eq!(counted.capture_off_bytes(), None);
        let captured = Run { captured: Some([4, 6]), ..counted };
        assert!((captured.over_wifi_percent() - 40.0).abs() < 1e-12);
        assert_eq!(captured.capture_off_bytes(), Some(5));
    }
}
