//! Combinations of stream model, congestion control and base share of power, each held against all
//! figures that the paper prints.

use super::calibration::{BASE_SHARE, split_power};
use super::claims::{Claim, Figures};
use super::measure::Measured;
use super::model::{Stream, Variant};
use super::paper::{BEST_SHARE, Case};
use super::reproduce::{CaseResult, SweepPoint};
use experiments::stats::mean;
use mptcp::CongestionKind;
use units::Power;

/// The four congestion controls of the paper's transport.
pub const CONTROLS: [CongestionKind; 4] = [
    CongestionKind::Lia,
    CongestionKind::LinkedIncreases,
    CongestionKind::FullyCoupled,
    CongestionKind::Reno,
];
/// The default of the paper's transport, there called RTT compensator.
pub const DEFAULT_CONTROL: CongestionKind = CONTROLS[0];
/// Base shares of power.
pub const BASE_SHARES: [f64; 5] = [0.0, 0.25, BASE_SHARE, 0.75, 1.0];
/// Offload shares of each family's sweep.
const SHARES: [f64; 7] = [0.0, 0.08, 0.16, BEST_SHARE, 0.32, 0.6, 1.0];
/// Seeds of each run with coupled windows. They starve LTE, so that few runs tell.
pub(super) const MAX_SEEDS_COUPLED: u64 = 3;

/// A family before its runs, with indices of batches.
pub(super) struct PlannedFamily {
    stream: Stream,
    congestion: CongestionKind,
    mptcp: usize,
    emtcp: usize,
    sweep: Vec<(f64, usize)>,
}

/// Runs of one stream model with one congestion control.
#[derive(Debug, Clone)]
pub struct Family {
    /// How the sender takes data from the application.
    pub stream: Stream,
    /// Congestion control of both subflows.
    pub congestion: CongestionKind,
    /// Case 3.
    pub mptcp: CaseResult,
    /// Case 4.
    pub emtcp: CaseResult,
    /// Offload shares.
    pub sweep: Vec<SweepPoint>,
}

/// A family under one base share of power.
#[derive(Debug, Clone)]
pub struct Combination {
    /// How the sender takes data from the application.
    pub stream: Stream,
    /// Congestion control of both subflows.
    pub congestion: CongestionKind,
    /// Share of an interface's power in cases 1 and 2 that does not depend on the rate.
    pub base_share: f64,
    /// Its figures beside the paper's.
    pub figures: Figures,
    /// The figures held against the printed ones.
    pub claims: Vec<Claim>,
}

/// Adds the runs of all families, with the seeds of a case and of a sweep point; `add` adds a batch
/// and returns its index.
pub(super) fn plan(seeds: [u64; 2], mut add: impl FnMut(Case, Variant, u64) -> usize) -> Vec<PlannedFamily> {
    let mut families = Vec::new();
    for stream in Stream::ALL {
        for congestion in CONTROLS {
            let is_coupled = congestion != CongestionKind::Reno;
            let [of_case, of_point] = seeds.map(|n| if is_coupled { n.min(MAX_SEEDS_COUPLED) } else { n });
            let mptcp = add(Case::Mptcp, Variant::plain(stream, congestion), of_case);
            let mut at = |share, seeds| add(Case::Emtcp, Variant::share(stream, congestion, share), seeds);
            let emtcp = at(BEST_SHARE, of_case);
            let sweep = SHARES.map(|share| (share, at(share, of_point))).to_vec();
            families.push(PlannedFamily { stream, congestion, mptcp, emtcp, sweep });
        }
    }
    families
}

impl PlannedFamily {
    pub(super) fn family(&self, results: &[CaseResult]) -> Family {
        let point = |&(share, batch): &(f64, usize)| SweepPoint { share, result: results[batch].clone() };
        Family {
            stream: self.stream,
            congestion: self.congestion,
            mptcp: results[self.mptcp].clone(),
            emtcp: results[self.emtcp].clone(),
            sweep: self.sweep.iter().map(point).collect(),
        }
    }
}

/// Base power and power per Mbit/s of both interfaces, fitted to cases 1 and 2.
#[derive(Debug, Clone, Copy)]
pub struct Powers {
    wifi: (Power, Power),
    lte: (Power, Power),
}

impl Powers {
    /// Powers with this base share that draw the printed energy in the runs of cases 1 and 2.
    pub fn fitted(cases: &[CaseResult], base_share: f64) -> Self {
        let split = |case: Case, rate: fn(&Measured) -> f64| {
            let runs = &cases[case as usize].runs;
            let rate_mbps = mean(&runs.iter().map(rate).collect::<Vec<_>>());
            split_power(Power::from_watts(case.printed().energy_rate_w), base_share, rate_mbps)
        };
        Self {
            wifi: split(Case::TcpWifi, |run| run.wifi_wire_mbps),
            lte: split(Case::TcpLte, |run| run.lte_wire_mbps),
        }
    }

    /// Energy rate of a multipath run, in W: linear in the bytes received.
    pub fn energy_rate_w(&self, run: &Measured) -> f64 {
        let part = |(base, per_mbps): (Power, Power), mbps: f64| base.as_watts() + per_mbps.as_watts() * mbps;
        part(self.wifi, run.wifi_wire_mbps) + part(self.lte, run.lte_wire_mbps)
    }
}

/// All combinations, by family and then by base share.
pub(super) fn combinations(families: &[Family], cases: &[CaseResult]) -> Vec<Combination> {
    let mut all = Vec::new();
    for family in families {
        for base_share in BASE_SHARES {
            let powers = Powers::fitted(cases, base_share);
            let figures =
                Figures::new(&family.mptcp, &family.emtcp, &family.sweep, &|run| powers.energy_rate_w(run));
            let claims = figures.claims();
            let Family { stream, congestion, .. } = *family;
            all.push(Combination { stream, congestion, base_share, figures, claims });
        }
    }
    all
}

impl Combination {
    /// Number of printed figures that hold.
    pub fn held(&self) -> usize {
        self.claims.iter().filter(|claim| claim.holds == Some(true)).count()
    }

    /// Whether the figure with this name holds.
    pub(super) fn meets(&self, prediction: &str) -> bool {
        self.claims.iter().any(|claim| claim.prediction == prediction && claim.holds == Some(true))
    }
}
