//! What is read off one run.

use super::paper::Case;
use qoe::PsnrSeries;
use sim::{Experiment, Outcome};
use units::Bitrate;

/// The figures of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Delivered in order to the application, in Mbit/s.
    pub throughput_mbps: f64,
    /// Drawn under `chen2013`, in W.
    pub energy_rate_w: f64,
    /// Drawn under `huang2012`, with tails, in W.
    pub measured_rate_w: f64,
    /// Payload received over Wi-Fi, in Mbit/s.
    pub wifi_mbps: f64,
    /// Payload received over LTE, in Mbit/s.
    pub lte_mbps: f64,
    /// The same with all headers.
    pub wifi_wire_mbps: f64,
    /// The same with all headers.
    pub lte_wire_mbps: f64,
    /// Delivered in each second, in Mbit/s.
    pub goodput_mbps: Vec<f64>,
    /// How often the policy changed a priority or the shares.
    pub policy_changes: u64,
}

/// Runs `experiment` and reads its figures.
pub fn measure(experiment: &Experiment, case: Case) -> Measured {
    read(&sim::run(experiment), case)
}

/// The figures of an outcome.
pub fn read(outcome: &Outcome, case: Case) -> Measured {
    let seconds = outcome.duration_s;
    let path = |name: &str| outcome.paths.iter().find(|path| path.name == name).expect("the model has it");
    let (wifi, lte) = (path("wifi"), path("lte"));
    // An interface that a single-path case does not use is off.
    let on = |name: &str| match case {
        Case::TcpWifi => name == "wifi",
        Case::TcpLte => name == "lte",
        Case::Mptcp | Case::Emtcp => true,
    };
    let used = outcome.paths.iter().filter(|path| on(&path.name));
    let (mut own, mut measured) = (0.0, 0.0);
    for path in used {
        own += path.energy.total_j;
        measured += path.also.iter().map(|other| other.total_j).sum::<f64>();
    }
    let wire = |bytes: u64| bytes as f64 * 8e-6 / seconds;
    let goodput = outcome.series.column("connection1.goodput_mbps").expect("it is recorded");
    Measured {
        throughput_mbps: outcome.connections[0].goodput_mbps,
        energy_rate_w: own / seconds,
        measured_rate_w: measured / seconds,
        wifi_mbps: wifi.rate_down_mbps,
        lte_mbps: lte.rate_down_mbps,
        wifi_wire_mbps: wire(wifi.wire_down_bytes),
        lte_wire_mbps: wire(lte.wire_down_bytes),
        goodput_mbps: goodput.values.clone(),
        policy_changes: outcome.device.policy_changes,
    }
}

/// PSNR by Eq. (2) over intervals of `interval_s` seconds, at most `clamp_db`: mean and standard
/// deviation, in dB.
pub fn psnr_of(case: Case, goodput_mbps: &[f64], interval_s: u32, clamp_db: u32) -> (f64, f64) {
    let expected = Bitrate::from_mbps(case.max_bitrate_mbps());
    let mut series = PsnrSeries::new(expected, expected, f64::from(clamp_db));
    for interval in goodput_mbps.chunks_exact(interval_s.max(1) as usize) {
        let mean = interval.iter().sum::<f64>() / interval.len() as f64;
        series.push(Bitrate::from_mbps(mean));
    }
    (series.mean().unwrap_or(f64::NAN), series.sd().unwrap_or(f64::NAN))
}
