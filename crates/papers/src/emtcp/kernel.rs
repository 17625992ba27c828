//! The four cases on a real kernel, beside the paper and the simulation.

use super::calibration::Calibration;
use super::measure::read;
use super::model::{Variant, experiment};
use super::paper::Case;
use super::reproduce::CaseResult;
use experiments::parallel;
use mptcp::SchedulerKind;
use policy::{Actuator, Emtcp};
use report::{Cell, Column, Estimate, Page, Row, Section, Table, Tone};
use serde_json::{Value, json};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;

/// How near eMTCP's throughput has to come to MPTCP's, in percent.
const THROUGHPUT_WITHIN: f64 = 5.0;

/// What is to run on the kernel: each case with each seed, in this order.
pub fn plans(calibration: &Calibration, seeds: u64) -> Vec<(Case, Experiment)> {
    let each = |case: Case| (1..=seeds).map(move |seed| (case, seed));
    let all = Case::ALL.into_iter().flat_map(each);
    all.map(|(case, seed)| (case, experiment(case, calibration, &as_on_linux(case), seed))).collect()
}

/// What Linux has instead of the paper's model: its own scheduler, and a device that cannot tell a sender
/// its shares.
fn as_on_linux(case: Case) -> Variant {
    let policy = (case == Case::Emtcp).then_some(Emtcp { actuator: Actuator::MpPrio, ..Emtcp::PAPER }.into());
    Variant { scheduler: SchedulerKind::Linux, policy, ..Variant::default() }
}

/// A case in the three worlds.
#[derive(Debug, Clone)]
pub struct KernelCase {
    /// The paper's model in simulation: shares are held exactly.
    pub model: CaseResult,
    /// In simulation with what Linux has.
    pub simulated: CaseResult,
    /// On the kernel.
    pub kernel: CaseResult,
}

/// The reproduction on the kernel.
#[derive(Debug, Clone)]
pub struct KernelReproduction {
    /// The four cases.
    pub cases: Vec<KernelCase>,
    /// Runs of each case, on the kernel and in simulation.
    pub seeds: u64,
    /// The kernel's release.
    pub release: String,
}

impl KernelReproduction {
    /// Puts the kernel's outcomes, in the order of [`plans`], beside simulations with the same seeds.
    pub fn new(
        calibration: &Calibration,
        seeds: u64,
        outcomes: &[Outcome],
        release: String,
        jobs: NonZeroUsize,
    ) -> Self {
        let cases = Case::ALL.iter().zip(outcomes.chunks(seeds.max(1) as usize));
        let cases = cases.map(|(&case, outcomes)| {
            let seeds: Vec<u64> = (1..=seeds).collect();
            let simulate = |variant: &Variant| {
                let runs = parallel::map(jobs, &seeds, &|_| {}, |&seed| {
                    read(&sim::run(&experiment(case, calibration, variant, seed)), case)
                });
                CaseResult::new(case, calibration, runs)
            };
            KernelCase {
                model: simulate(&Variant::default()),
                simulated: simulate(&as_on_linux(case)),
                kernel: CaseResult::new(
                    case,
                    calibration,
                    outcomes.iter().map(|outcome| read(outcome, case)).collect(),
                ),
            }
        });
        Self { cases: cases.collect(), seeds, release }
    }

    fn on_kernel(&self, case: Case) -> Option<&CaseResult> {
        self.cases.iter().map(|each| &each.kernel).find(|result| result.case == case)
    }

    /// eMTCP against MPTCP on the kernel, in percent: energy rate and throughput under the paper's
    /// profile, and energy rate under the measured ones.
    pub fn against_mptcp(&self) -> Option<[f64; 3]> {
        let (mptcp, emtcp) = (self.on_kernel(Case::Mptcp)?, self.on_kernel(Case::Emtcp)?);
        let percent = |of: fn(&CaseResult) -> Estimate| (of(emtcp).mean / of(mptcp).mean - 1.0) * 100.0;
        Some([percent(|r| r.energy_rate_w), percent(|r| r.throughput_mbps), percent(|r| r.measured_rate_w)])
    }

    /// The figures, then what came of it.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.figures(), self.verdict()]
    }

    /// Every figure in all worlds.
    pub fn figures(&self) -> Table {
        let mut table = Table::new(format!("The paper, simulation and Linux {}", self.release))
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("paper"))
            .column(Column::number("the paper’s model, simulated").key("model"))
            .column(Column::number("Linux, simulated").key("simulated"))
            .column(Column::number("Linux").key("kernel"));
        type Figure = (&'static str, &'static str, fn(&CaseResult) -> Estimate, Option<f64>, usize);
        for KernelCase { model, simulated, kernel } in &self.cases {
            let printed = model.case.printed();
            table = table.row(Row::heading(model.case.title()));
            let figures: [Figure; 7] = [
                ("throughput", "Mbit/s", |r| r.throughput_mbps, Some(printed.throughput_mbps), 3),
                ("energy rate", "W", |r| r.energy_rate_w, Some(printed.energy_rate_w), 3),
                ("lifespan", "s", |r| r.lifespan_s, Some(printed.lifespan_s), 0),
                ("PSNR", "dB", |r| r.psnr_db, Some(printed.psnr_db), 2),
                ("over Wi-Fi", "Mbit/s", |r| r.wifi_mbps, None, 3),
                ("over LTE", "Mbit/s", |r| r.lte_mbps, None, 3),
                ("energy rate, measured radios", "W", |r| r.measured_rate_w, None, 3),
            ];
            for (name, unit, of, paper, digits) in figures {
                table = table.row(Row::new([
                    Cell::text(name),
                    Cell::text(unit),
                    Cell::number(paper.unwrap_or(f64::NAN), digits),
                    Cell::estimate(of(model), digits),
                    Cell::estimate(of(simulated), digits),
                    Cell::estimate(of(kernel), digits),
                ]));
            }
        }
        table.note(format!(
            "Cases 1 and 2 were fitted in simulation; on the kernel nothing was. Means of {} runs ± half a 95 % \
             interval. The paper’s model holds a share exactly; Linux has its own scheduler, Reno on each \
             subflow, and a device that can only mark a path as backup and back (actuator mp-prio).",
            self.seeds
        ))
    }

    fn verdict(&self) -> Table {
        let mut table = Table::new("eMTCP against MPTCP, on the kernel")
            .column(Column::text("figure"))
            .column(Column::number("eMTCP"))
            .column(Column::number("wanted"))
            .column(Column::text("holds"));
        let Some([energy, throughput, measured]) = self.against_mptcp() else { return table };
        let told = |holds: bool| {
            if holds { Cell::text("yes").tone(Tone::Good) } else { Cell::text("no").tone(Tone::Bad) }
        };
        let percent = |value: f64| Cell::text(format!("{value:+.1} %"));
        for (name, value, wanted, cell) in [
            ("energy rate, the paper’s profile", energy, "below 0", told(energy < 0.0)),
            ("throughput", throughput, "within 5 %", told(throughput.abs() <= THROUGHPUT_WITHIN)),
            ("energy rate, measured radios", measured, "", Cell::empty()),
        ] {
            table = table.row(Row::new([Cell::text(name), percent(value), Cell::text(wanted), cell]));
        }
        table.note(
            "The paper prints -14.2 % of energy and -2.1 % of throughput. Measured radios (huang2012) have tails: LTE \
             that is used now and then hardly sleeps, so that moving a part of its data saves little.",
        )
    }

    /// What `result.json` holds.
    pub fn to_json(&self) -> Value {
        let figures = |result: &CaseResult| {
            json!({
                "throughput_mbps": result.throughput_mbps.mean,
                "energy_rate_w": result.energy_rate_w.mean,
                "lifespan_s": result.lifespan_s.mean,
                "psnr_db": result.psnr_db.mean,
                "wifi_mbps": result.wifi_mbps.mean,
                "lte_mbps": result.lte_mbps.mean,
                "measured_rate_w": result.measured_rate_w.mean,
            })
        };
        let cases: Vec<Value> = self
            .cases
            .iter()
            .map(|each| {
                json!({
                    "case": each.kernel.case.id(),
                    "paper": each.kernel.case.printed(),
                    "model": figures(&each.model),
                    "simulated": figures(&each.simulated),
                    "kernel": figures(&each.kernel),
                })
            })
            .collect();
        let against = self.against_mptcp().unwrap_or([f64::NAN; 3]);
        json!({
            "paper": "emtcp",
            "on": "kernel",
            "kernel": self.release,
            "seeds": self.seeds,
            "cases": cases,
            "emtcp_against_mptcp_percent": {
                "energy_rate": against[0], "throughput": against[1], "measured_energy_rate": against[2],
            },
        })
    }

    /// The report.
    pub fn page(&self) -> Page {
        let mut section = Section::new("Result");
        for table in self.tables() {
            section = section.table(table);
        }
        Page::new("Energy-aware Multipath TCP on a real kernel")
            .lead("The four cases of the eMTCP paper, run by Linux’s own Multipath TCP over emulated cells.")
            .section(section)
            .footer(format!("Made by `tandem` {} on a real kernel.", env!("CARGO_PKG_VERSION")))
    }
}
