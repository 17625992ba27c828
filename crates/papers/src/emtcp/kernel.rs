//! The four cases on the Linux kernel, compared with the paper and the simulation.

use super::calibration::Calibration;
use super::measure::read;
use super::model::{Stream, Variant, experiment};
use super::paper::Case;
use super::reproduce::CaseResult;
use experiments::page::kernel_footer;
use experiments::parallel;
use mptcp::SchedulerKind;
use policy::{Actuator, Emtcp};
use report::{Cell, Column, Estimate, Page, Row, Section, Table};
use serde_json::{Value, json};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;

/// Allowed difference between the throughputs of eMTCP and MPTCP, in percent.
const THROUGHPUT_TOLERANCE_PERCENT: f64 = 5.0;

/// The runs for the kernel: each case with each seed, in this order.
pub fn plans(calibration: &Calibration, seeds: u64) -> Vec<(Case, Experiment)> {
    let each = |case: Case| (1..=seeds).map(move |seed| (case, seed));
    let all = Case::ALL.into_iter().flat_map(each);
    all.map(|(case, seed)| (case, experiment(case, calibration, &linux_variant(case), seed))).collect()
}

/// The variant that Linux supports: its own scheduler, and MP_PRIO instead of exact shares.
fn linux_variant(case: Case) -> Variant {
    let policy = (case == Case::Emtcp).then_some(Emtcp { actuator: Actuator::MpPrio, ..Emtcp::PAPER }.into());
    Variant { scheduler: SchedulerKind::Linux, policy, ..Variant::default() }
}

/// Results of one case in both simulations and on the kernel.
#[derive(Debug, Clone)]
pub struct KernelCase {
    /// Simulation of the paper's model, with exact shares.
    pub model: CaseResult,
    /// Simulation with Linux's scheduler and MP_PRIO.
    pub simulated: CaseResult,
    /// Run on the kernel.
    pub kernel: CaseResult,
}

/// The reproduction on the kernel.
#[derive(Debug, Clone)]
pub struct KernelReproduction {
    /// The four cases.
    pub cases: Vec<KernelCase>,
    /// Number of runs of each case, on the kernel and in simulation.
    pub seeds: u64,
    /// Kernel release.
    pub release: String,
}

impl KernelReproduction {
    /// Pairs the kernel's outcomes, in the order of [`plans`], with simulations of the same seeds.
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
                CaseResult::new(case, Stream::TwoStreams, calibration, runs)
            };
            KernelCase {
                model: simulate(&Variant::default()),
                simulated: simulate(&linux_variant(case)),
                kernel: CaseResult::new(
                    case,
                    Stream::TwoStreams,
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

    /// Change from MPTCP to eMTCP on the kernel, in percent: energy rate with the paper's power
    /// profile, throughput, and energy rate with the measured profiles.
    pub fn against_mptcp(&self) -> Option<[f64; 3]> {
        let (mptcp, emtcp) = (self.on_kernel(Case::Mptcp)?, self.on_kernel(Case::Emtcp)?);
        let percent = |of: fn(&CaseResult) -> Estimate| (of(emtcp).mean / of(mptcp).mean - 1.0) * 100.0;
        Some([percent(|r| r.energy_rate_w), percent(|r| r.throughput_mbps), percent(|r| r.measured_rate_w)])
    }

    /// Every figure, then the checks on the kernel's figures.
    pub fn tables(&self) -> Vec<Table> {
        vec![self.figures(), self.checks()]
    }

    /// Every figure in the paper, in both simulations and on the kernel.
    pub fn figures(&self) -> Table {
        let mut table = Table::new(format!("Paper, simulation and Linux {}", self.release))
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
                ("energy rate, measured profiles", "W", |r| r.measured_rate_w, None, 3),
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
            "Cases 1 and 2 were fitted in simulation; nothing was fitted to the kernel. Means of {} runs ± half the \
             95 % confidence interval. The paper’s model holds a share exactly. Linux uses its own scheduler and Reno \
             on each subflow, and the device can only set and clear the backup flag of a path (actuator mp-prio).",
            self.seeds
        ))
    }

    fn checks(&self) -> Table {
        let mut table = Table::new("eMTCP compared with MPTCP, on the kernel")
            .column(Column::text("metric").key("figure"))
            .column(Column::number("eMTCP"))
            .column(Column::number("target").key("wanted"))
            .column(Column::text("holds"));
        let Some([energy, throughput, measured]) = self.against_mptcp() else { return table };
        let yes_or_no = |holds: bool| Cell::text(if holds { "yes" } else { "no" }).good_if(holds);
        let percent = |value: f64| Cell::text(format!("{value:+.1} %"));
        let throughput_holds = throughput.abs() <= THROUGHPUT_TOLERANCE_PERCENT;
        for (name, value, target, holds) in [
            ("energy rate, paper’s power profile", energy, "below 0", yes_or_no(energy < 0.0)),
            ("throughput", throughput, "within 5 %", yes_or_no(throughput_holds)),
            ("energy rate, measured power profiles", measured, "", Cell::empty()),
        ] {
            table = table.row(Row::new([Cell::text(name), percent(value), Cell::text(target), holds]));
        }
        table.note(
            "The paper prints -14.2 % for energy and -2.1 % for throughput. The measured profiles (huang2012) have \
             tails: an LTE radio that carries data now and then rarely sleeps, so moving part of its data saves little.",
        )
    }

    /// Contents of `result.json`.
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
        Page::new("Energy-aware Multipath TCP on the Linux kernel")
            .lead("The four cases of the eMTCP paper, run by Linux’s own Multipath TCP over emulated cells.")
            .section(section)
            .footer(kernel_footer())
    }
}
