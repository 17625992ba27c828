//! Figures of one run.

use super::paper::Case;
use qoe::PsnrSeries;
use sim::{Experiment, Outcome};
use units::Bitrate;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Goodput of the application, in Mbit/s.
    pub throughput_mbps: f64,
    /// Energy rate under the `chen2013` profiles, in W.
    pub energy_rate_w: f64,
    /// Energy rate under the `huang2012` profiles, tails included, in W.
    pub measured_rate_w: f64,
    /// Payload received over Wi-Fi, in Mbit/s.
    pub wifi_mbps: f64,
    /// Payload received over LTE, in Mbit/s.
    pub lte_mbps: f64,
    /// Rate received over Wi-Fi with all headers, in Mbit/s.
    pub wifi_wire_mbps: f64,
    /// Rate received over LTE with all headers, in Mbit/s.
    pub lte_wire_mbps: f64,
    /// Goodput of each second, in Mbit/s.
    pub goodput_mbps: Vec<f64>,
    /// Changes of a priority or of the shares by the policy.
    pub policy_changes: u64,
}

/// Runs `experiment` and reads its figures.
pub fn measure(experiment: &Experiment, case: Case) -> Measured {
    read(&sim::run(experiment), case)
}

/// Reads the figures of an outcome.
pub fn read(outcome: &Outcome, case: Case) -> Measured {
    let seconds = outcome.duration_s;
    let path =
        |name: &str| outcome.paths.iter().find(|path| path.name == name).expect("the model has both paths");
    let (wifi, lte) = (path("wifi"), path("lte"));
    // In a single-path case the other interface is off and draws nothing.
    let is_on = |name: &str| match case {
        Case::TcpWifi => name == "wifi",
        Case::TcpLte => name == "lte",
        Case::Mptcp | Case::Emtcp => true,
    };
    let (mut paper_j, mut measured_j) = (0.0, 0.0);
    for path in outcome.paths.iter().filter(|path| is_on(&path.name)) {
        paper_j += path.energy.total_j;
        measured_j += path.also.iter().map(|other| other.total_j).sum::<f64>();
    }
    let wire_mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
    let goodput = outcome.series.column("connection1.goodput_mbps").expect("the model samples every second");
    Measured {
        throughput_mbps: outcome.connections[0].goodput_mbps,
        energy_rate_w: paper_j / seconds,
        measured_rate_w: measured_j / seconds,
        wifi_mbps: wifi.rate_down_mbps,
        lte_mbps: lte.rate_down_mbps,
        wifi_wire_mbps: wire_mbps(wifi.wire_down_bytes),
        lte_wire_mbps: wire_mbps(lte.wire_down_bytes),
        goodput_mbps: goodput.values.clone(),
        policy_changes: outcome.device.policy_changes,
    }
}

/// Mean and standard deviation, in dB, of the PSNR by Eq. (2) over intervals of `interval_s`
/// seconds, clamped at `clamp_db`.
pub fn psnr_of(case: Case, goodput_mbps: &[f64], interval_s: u32, clamp_db: u32) -> (f64, f64) {
    let expected = Bitrate::from_mbps(case.max_bitrate_mbps());
    let mut series = PsnrSeries::new(expected, expected, f64::from(clamp_db));
    for interval in goodput_mbps.chunks_exact(interval_s.max(1) as usize) {
        let mean = interval.iter().sum::<f64>() / interval.len() as f64;
        series.push(Bitrate::from_mbps(mean));
    }
    (series.mean().unwrap_or(f64::NAN), series.sd().unwrap_or(f64::NAN))
}
