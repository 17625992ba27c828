//! The paper's figures for cases 3 and 4 and Fig. 4, and whether a model's figures agree.

use super::measure::Measured;
use super::paper::{BEST_SHARE, Case};
use super::reproduce::{CaseResult, SweepPoint};
use experiments::stats::{estimate, mean};
use qoe::Level;
use report::{Cell, Column, Estimate, Row, Table};

/// Allowed difference of a predicted throughput from the printed one, in percent.
const THROUGHPUT_TOLERANCE_PERCENT: f64 = 5.0;
/// Allowed difference of a predicted energy rate from the printed one, in percent.
const ENERGY_TOLERANCE_PERCENT: f64 = 10.0;
/// Allowed difference of eMTCP's saving and gain of lifespan, in percentage points.
const SAVING_TOLERANCE_POINTS: f64 = 5.0;
/// Allowed range of the best offload share.
const BEST_SHARE_RANGE: (f64, f64) = (0.16, 0.32);

/// Name of the claim that eMTCP saves the printed energy.
pub(super) const SAVING: &str = "energy that eMTCP saves";
/// Name of the claim that eMTCP loses throughput.
pub(super) const LOSS: &str = "eMTCP loses throughput";
/// Name of the claim that the efficiency falls beyond the best share.
pub(super) const FALL: &str = "efficiency falls beyond it";

/// A printed figure and whether the model's agrees.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The figure.
    pub prediction: String,
    /// The printed value and the tolerance.
    pub target: String,
    /// The model's value.
    pub measured: String,
    /// Whether the model's value is within the tolerance; `None` if the runs are too few to tell.
    pub holds: Option<bool>,
}

/// Figures of cases 3 and 4 and of the sweep for one model.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Throughput of MPTCP and eMTCP, in Mbit/s.
    pub throughput_mbps: [f64; 2],
    /// Energy rate of MPTCP and eMTCP, in W.
    pub energy_rate_w: [f64; 2],
    /// PSNR of MPTCP and eMTCP, in dB.
    pub psnr_db: [f64; 2],
    /// Change of the throughput from MPTCP to eMTCP, in percent.
    pub throughput_change: Estimate,
    /// Offload share with the highest energy efficiency.
    pub best_share: f64,
    /// Change of the efficiency from the best share to a share of 100 %, in percent.
    pub fall: Estimate,
}

/// Change between runs of the same seeds, in percent.
fn change(from: &[Measured], to: &[Measured], figure: &dyn Fn(&Measured) -> f64) -> Estimate {
    let pairs = from.iter().zip(to).map(|(a, b)| (figure(b) / figure(a) - 1.0) * 100.0);
    estimate(&pairs.collect::<Vec<_>>())
}

fn difference_percent(value: f64, reference: f64) -> f64 {
    (value - reference) / reference * 100.0
}

impl Figures {
    /// Figures of a model; `energy` gives the energy rate of a run in W.
    pub fn new(
        mptcp: &CaseResult,
        emtcp: &CaseResult,
        sweep: &[SweepPoint],
        energy: &dyn Fn(&Measured) -> f64,
    ) -> Self {
        let efficiency = |run: &Measured| run.throughput_mbps / energy(run);
        let over = |result: &CaseResult, figure: &dyn Fn(&Measured) -> f64| {
            mean(&result.runs.iter().map(figure).collect::<Vec<_>>())
        };
        let at = |point: &SweepPoint| over(&point.result, &efficiency);
        let best = sweep.iter().max_by(|a, b| at(a).total_cmp(&at(b)));
        let fall = best
            .zip(sweep.last())
            .map(|(best, last)| change(&best.result.runs, &last.result.runs, &efficiency));
        let both = [mptcp, emtcp];
        Self {
            throughput_mbps: both.map(|result| result.throughput_mbps.mean),
            energy_rate_w: both.map(|result| over(result, energy)),
            psnr_db: both.map(|result| result.psnr_db.mean),
            throughput_change: change(&mptcp.runs, &emtcp.runs, &|run| run.throughput_mbps),
            best_share: best.map_or(f64::NAN, |point| point.share),
            fall: fall.unwrap_or(Estimate::exact(f64::NAN)),
        }
    }

    /// Energy that eMTCP saves, in percent of MPTCP's.
    pub fn saving_percent(&self) -> f64 {
        -difference_percent(self.energy_rate_w[1], self.energy_rate_w[0])
    }

    /// Every printed figure beside this model's.
    pub fn claims(&self) -> Vec<Claim> {
        let both = [Case::Mptcp, Case::Emtcp].into_iter().enumerate();
        let mut claims: Vec<Claim> = both.flat_map(|(i, case)| self.case_claims(i, case)).collect();
        claims.extend(self.psnr_claims());
        claims.extend(self.saving_claims());
        claims.extend(self.sweep_claims());
        claims
    }

    fn case_claims(&self, i: usize, case: Case) -> [Claim; 2] {
        let (name, printed) = (case.title(), case.printed());
        let throughput = difference_percent(self.throughput_mbps[i], printed.throughput_mbps);
        let energy = difference_percent(self.energy_rate_w[i], printed.energy_rate_w);
        [
            Claim {
                prediction: format!("throughput of {name}"),
                target: format!(
                    "within {THROUGHPUT_TOLERANCE_PERCENT:.0} % of {} Mbit/s",
                    printed.throughput_mbps
                ),
                measured: format!("{:.3} Mbit/s, {throughput:+.1} %", self.throughput_mbps[i]),
                holds: Some(throughput.abs() <= THROUGHPUT_TOLERANCE_PERCENT),
            },
            Claim {
                prediction: format!("energy rate of {name}"),
                target: format!("within {ENERGY_TOLERANCE_PERCENT:.0} % of {} W", printed.energy_rate_w),
                measured: format!("{:.3} W, {energy:+.1} %", self.energy_rate_w[i]),
                holds: Some(energy.abs() <= ENERGY_TOLERANCE_PERCENT),
            },
        ]
    }

    fn psnr_claims(&self) -> [Claim; 2] {
        let (mptcp, emtcp) = (Case::Mptcp.printed(), Case::Emtcp.printed());
        let level = |psnr_db: f64| Level::of(psnr_db);
        [
            Claim {
                prediction: "PSNR of MPTCP".into(),
                target: format!(
                    "within its printed deviation, {:.1} dB, of {:.1} dB",
                    mptcp.psnr_sd_db, mptcp.psnr_db
                ),
                measured: format!("{}, {:.1} dB", level(self.psnr_db[0]).name(), self.psnr_db[0]),
                holds: Some((self.psnr_db[0] - mptcp.psnr_db).abs() <= mptcp.psnr_sd_db),
            },
            Claim {
                prediction: "quality of eMTCP".into(),
                target: level(emtcp.psnr_db).name().into(),
                measured: format!("{}, {:.1} dB", level(self.psnr_db[1]).name(), self.psnr_db[1]),
                holds: Some(level(self.psnr_db[1]) == level(emtcp.psnr_db)),
            },
        ]
    }

    fn saving_claims(&self) -> [Claim; 3] {
        let (mptcp, emtcp) = (Case::Mptcp.printed(), Case::Emtcp.printed());
        let points = |prediction: &str, ours: f64, printed: f64| Claim {
            prediction: prediction.into(),
            target: format!("within {SAVING_TOLERANCE_POINTS:.0} points of {printed:.1} %"),
            measured: format!("{ours:.1} %"),
            holds: Some((ours - printed).abs() <= SAVING_TOLERANCE_POINTS),
        };
        let saving = -difference_percent(emtcp.energy_rate_w, mptcp.energy_rate_w);
        let gain = difference_percent(emtcp.lifespan_s, mptcp.lifespan_s);
        [
            points(SAVING, self.saving_percent(), saving),
            points(
                "lifespan that eMTCP gains",
                difference_percent(self.energy_rate_w[0], self.energy_rate_w[1]),
                gain,
            ),
            Claim {
                prediction: LOSS.into(),
                target: "loses, printed 2.1 %".into(),
                measured: shown(self.throughput_change, 2),
                holds: is_fall(self.throughput_change),
            },
        ]
    }

    fn sweep_claims(&self) -> [Claim; 2] {
        let (low, high) = BEST_SHARE_RANGE;
        let percent = |share: f64| share * 100.0;
        [
            Claim {
                prediction: "best offload share".into(),
                target: format!(
                    "{:.0} to {:.0} %, printed {:.0} %",
                    percent(low),
                    percent(high),
                    percent(BEST_SHARE)
                ),
                measured: format!("{:.0} %", percent(self.best_share)),
                holds: Some((low..=high).contains(&self.best_share)),
            },
            Claim {
                prediction: FALL.into(),
                target: "falls up to a share of 100 %".into(),
                measured: shown(self.fall, 1),
                holds: is_fall(self.fall),
            },
        ]
    }
}

/// The change, with its interval if there is one.
fn shown(change: Estimate, decimals: usize) -> String {
    let mean = format!("{:+.decimals$} %", change.mean);
    if change.ci95.is_finite() { format!("{mean} ± {:.decimals$}", change.ci95) } else { mean }
}

/// Whether the whole interval is below zero; `None` without an interval, as for a single run.
fn is_fall(change: Estimate) -> Option<bool> {
    change.ci95.is_finite().then_some(change.mean + change.ci95 < 0.0)
}

/// Table of claims.
pub(super) fn table(title: impl Into<String>, claims: Vec<Claim>) -> Table {
    let table = Table::new(title)
        .column(Column::text("prediction"))
        .column(Column::text("holds"))
        .column(Column::text("measured").key("found"))
        .column(Column::text("target").key("wanted"));
    let any_open = claims.iter().any(|claim| claim.holds.is_none());
    let table = claims.into_iter().fold(table, |table, claim| {
        let verdict = |holds| Cell::text(if holds { "yes" } else { "no" }).good_if(holds);
        let answer = claim.holds.map_or_else(|| Cell::text("open"), verdict);
        table.row(Row::new([
            Cell::text(claim.prediction),
            answer,
            Cell::text(claim.measured),
            Cell::text(claim.target),
        ]))
    });
    if any_open { table.note("Open: a single run has no confidence interval.") } else { table }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::TextStyle;

    #[test]
    fn claims_about_changes_are_open_without_an_interval() {
        let single = |percent| Estimate::new(percent, f64::NAN);
        let figures = Figures {
            throughput_mbps: [1.6, 1.5],
            energy_rate_w: [0.5, 0.45],
            psnr_db: [40.0, 40.0],
            throughput_change: single(-1.6),
            best_share: BEST_SHARE,
            fall: single(-3.25),
        };
        let text = table("claims", figures.claims()).to_text(TextStyle::PLAIN);
        assert_eq!(text.matches("open").count(), 2, "{text}");
        assert!(text.contains("no confidence interval"), "{text}");
        assert!(text.contains("-1.60 %") && text.contains("-3.2 %") && !text.contains("NaN"), "{text}");
    }
}
