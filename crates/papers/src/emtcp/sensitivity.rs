//! Results under other choices of the parameters that the paper leaves open.

use super::calibration::BASE_SHARE;
use super::grid::{BASE_SHARES, Powers};
use super::measure::Measured;
use super::model::Mac;
use super::paper::{BEST_SHARE, Case};
use super::reproduce::{CaseResult, Reproduction, SweepPoint};
use experiments::stats::mean;
use mptcp::CongestionKind;
use report::{Badge, Cell, Column, Row, Table};

/// The multipath cases under one choice of a parameter that the paper does not give.
#[derive(Debug, Clone)]
pub struct Sensitivity {
    /// The parameter.
    pub group: &'static str,
    /// Its value.
    pub choice: String,
    /// Whether the reproduction uses this value.
    pub chosen: bool,
    /// Throughput in Mbit/s and energy rate in W of case 3.
    pub mptcp: (f64, f64),
    /// Throughput in Mbit/s and energy rate in W of case 4; NaN where the choice does not change
    /// it.
    pub emtcp: (f64, f64),
    /// The most efficient share of the sweep; `None` without a sweep.
    pub best_share: Option<f64>,
}

/// A row of the sensitivity table before its runs.
pub(super) struct PlannedChoice {
    pub(super) group: &'static str,
    pub(super) choice: String,
    pub(super) mptcp: usize,
    /// `None` where the choice does not change case 4.
    pub(super) emtcp: Option<usize>,
}

pub(super) const WIFI_TIMING: &str = "Wi-Fi timing";
pub(super) const CONGESTION: &str = "Congestion control";
pub(super) const SCHEDULER: &str = "Scheduler of plain MPTCP";
const BASE_SHARE_GROUP: &str = "Base share of power";
/// Groups of the sensitivity table in the order of its rows.
const CHOICE_GROUPS: [&str; 4] = [BASE_SHARE_GROUP, WIFI_TIMING, CONGESTION, SCHEDULER];

/// The sensitivity table: base shares of power, the choices made, and the alternatives to them.
pub(super) fn sensitivity(
    choices: &[PlannedChoice],
    results: &[CaseResult],
    cases: &[CaseResult],
    sweep: &[SweepPoint],
) -> Vec<Sensitivity> {
    let means = |batch: usize| (results[batch].throughput_mbps.mean, results[batch].energy_rate_w.mean);
    let mut rows = base_shares(cases, sweep);
    rows.extend(chosen_rows(cases));
    rows.extend(choices.iter().map(|planned| Sensitivity {
        group: planned.group,
        choice: planned.choice.clone(),
        chosen: false,
        mptcp: means(planned.mptcp),
        emtcp: planned.emtcp.map_or((f64::NAN, f64::NAN), means),
        best_share: None,
    }));
    rows.sort_by_key(|row| CHOICE_GROUPS.iter().position(|group| *group == row.group));
    rows
}

pub(super) const fn mac_name(mac: Mac) -> &'static str {
    match mac {
        Mac::None => "no overhead",
        Mac::Ofdm => "OFDM, 802.11a",
        Mac::Dsss => "DSSS, 802.11b",
    }
}

/// The choices of the reproduction itself.
fn chosen_rows(cases: &[CaseResult]) -> Vec<Sensitivity> {
    let pair = |case: Case| {
        let result = &cases[case as usize];
        (result.throughput_mbps.mean, result.energy_rate_w.mean)
    };
    let row = |group, choice: &str| Sensitivity {
        group,
        choice: choice.into(),
        chosen: true,
        mptcp: pair(Case::Mptcp),
        emtcp: pair(Case::Emtcp),
        best_share: None,
    };
    vec![
        row(WIFI_TIMING, mac_name(Mac::Ofdm)),
        row(CONGESTION, CongestionKind::Reno.name()),
        Sensitivity { emtcp: (f64::NAN, f64::NAN), ..row(SCHEDULER, "two streams of 1 Mbit/s") },
    ]
}

/// Cases 3 and 4 under each base share of power, with powers fitted to these runs of cases 1 and 2.
/// Energy is linear in the bytes received, so that the measured rates suffice and nothing runs again.
fn base_shares(cases: &[CaseResult], sweep: &[SweepPoint]) -> Vec<Sensitivity> {
    let row = |share: f64| {
        let powers = Powers::fitted(cases, share);
        let energy_rate = |result: &CaseResult| mean_over(&result.runs, |run| powers.energy_rate_w(run));
        let efficiency = |point: &SweepPoint| point.result.throughput_mbps.mean / energy_rate(&point.result);
        let best = sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
        let pair = |case: Case| {
            let result = &cases[case as usize];
            (result.throughput_mbps.mean, energy_rate(result))
        };
        Sensitivity {
            group: BASE_SHARE_GROUP,
            choice: format!("{:.0} %", share * 100.0),
            chosen: share == BASE_SHARE,
            mptcp: pair(Case::Mptcp),
            emtcp: pair(Case::Emtcp),
            best_share: best.map(|point| point.share),
        }
    };
    BASE_SHARES.map(row).to_vec()
}

fn mean_over(runs: &[Measured], value: impl Fn(&Measured) -> f64) -> f64 {
    mean(&runs.iter().map(value).collect::<Vec<_>>())
}

impl Reproduction {
    /// Results for other values of the parameters that the paper does not give.
    pub fn sensitivity_table(&self) -> Table {
        let mut table = Table::new("Other choices of parameters that the paper leaves open")
            .column(Column::text("choice"))
            .column(Column::number("MPTCP").unit("Mbit/s").key("mptcp_mbps"))
            .column(Column::number("MPTCP").unit("W").key("mptcp_w"))
            .column(Column::number("eMTCP").unit("Mbit/s").key("emtcp_mbps"))
            .column(Column::number("eMTCP").unit("W").key("emtcp_w"))
            .column(Column::number("best share").unit("%"));
        let (mptcp, emtcp) = (Case::Mptcp.printed(), Case::Emtcp.printed());
        table = table.row(
            Row::new([
                Cell::text("printed in the paper"),
                Cell::number(mptcp.throughput_mbps, 3),
                Cell::number(mptcp.energy_rate_w, 3),
                Cell::number(emtcp.throughput_mbps, 3),
                Cell::number(emtcp.energy_rate_w, 3),
                Cell::number(BEST_SHARE * 100.0, 0),
            ])
            .strong(),
        );
        let mut group = "";
        for row in &self.sensitivity {
            if row.group != group {
                group = row.group;
                table = table.row(Row::heading(group));
            }
            let choice = Cell::text(&row.choice);
            let choice = if row.chosen { choice.badge(Badge::filled("chosen")) } else { choice };
            let figure = |value: f64| if value.is_nan() { Cell::empty() } else { Cell::number(value, 3) };
            table = table.row(Row::new([
                choice,
                figure(row.mptcp.0),
                figure(row.mptcp.1),
                figure(row.emtcp.0),
                figure(row.emtcp.1),
                row.best_share.map_or_else(Cell::empty, |share| Cell::number(share * 100.0, 0)),
            ]));
        }
        table
            .note(format!(
                "{} seeds for each alternative. The base share needs no other runs, because energy is linear in the \
                 bytes received; the powers of each are fitted to these runs of cases 1 and 2. For each timing of the Wi-Fi cell, the rate of the other sinks is fitted again to \
                 case 1.",
                self.sweep_seeds
            ))
            .note(
                "Two streams: the application offers 1 Mbit/s to each interface, which follows from the paper’s \
                 11 Mbit/s for ten sinks. The other schedulers send the next data on any path with a free window.",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::super::model::Stream;
    use super::*;

    fn case(case: Case, wifi_mbps: f64, lte_mbps: f64) -> CaseResult {
        let run = Measured {
            throughput_mbps: wifi_mbps + lte_mbps,
            // Not that of the fitted powers, as with seeds other than those of the fit.
            energy_rate_w: 0.6,
            measured_rate_w: 1.0,
            wifi_mbps,
            lte_mbps,
            wifi_wire_mbps: wifi_mbps,
            lte_wire_mbps: lte_mbps,
            goodput_mbps: vec![1.0; 60],
            policy_changes: 0,
        };
        CaseResult::new(case, Stream::TwoStreams, &Calibration::shipped(), vec![run])
    }

    #[test]
    fn energy_rates_are_linear_in_the_base_share() {
        let cases = [
            case(Case::TcpWifi, 0.9, 0.0),
            case(Case::TcpLte, 0.0, 1.0),
            case(Case::Mptcp, 0.7, 0.8),
            case(Case::Emtcp, 0.8, 0.6),
        ];
        let rows = base_shares(&cases, &[]);
        let [first, last] = [0, rows.len() - 1].map(|i| rows[i].mptcp.1);
        for (row, share) in rows.iter().zip(BASE_SHARES) {
            let expected = first + (last - first) * share;
            assert!((row.mptcp.1 - expected).abs() < 1e-5, "{}: {}, {expected}", row.choice, row.mptcp.1);
        }
    }
}
