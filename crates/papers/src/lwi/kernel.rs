//! The sessions on the Linux kernel, compared with the paper and the simulation.

use super::browser::BrowserRun;
use super::calibration::Calibration;
use super::measure::Run;
use super::model::{self, Setup};
use super::paper::{Access, Clip, PROXY_TO_SERVER_MS, stalls};
use super::reproduce::{Metric, Plan, Reproduction, plans as all_plans};
use super::tables::changes;
use abr::Video;
use experiments::page::footer;
use experiments::parallel;
use mptcp::SchedulerKind;
use policy::PolicyConfig;
use report::{Axis, Bars, Cell, Column, Estimate, Page, Row, Section, Table};
use serde_json::{Value, json};
use sim::Experiment;
use std::num::NonZeroUsize;
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bytes, Duration};

/// Setups that Linux supports, with its own scheduler.
pub fn linux_setups() -> [Setup; 3] {
    [Access::Wifi, Access::Lte, Access::Both].map(|access| Setup::plain(access, SchedulerKind::MinRtt))
}

/// One-way delay between the proxy and the server.
pub fn proxy_to_server() -> Duration {
    Duration::from_secs_f64(PROXY_TO_SERVER_MS * 0.5e-3)
}

/// The runs for the kernel, in this order. The server is a separate host behind a real proxy, so
/// the player adds no wait for their delay. The device's interfaces are captured to measure the
/// split.
pub fn plans(calibration: &Calibration, seeds: u64, policies: &[PolicyConfig]) -> Vec<(Plan, Experiment)> {
    let setups: Vec<Setup> = linux_setups().into_iter().chain(Setup::with_policies(policies)).collect();
    let all = all_plans(&setups, seeds).into_iter();
    all.map(|plan| {
        let experiment = for_kernel(model::experiment(&plan.setup, plan.clip, calibration, plan.seed));
        (plan, experiment)
    })
    .collect()
}

fn for_kernel(experiment: Experiment) -> Experiment {
    let mut experiment = with_linux_endpoints(experiment, None);
    for traffic in &mut experiment.traffic {
        if let Kind::Video(video) = &traffic.kind {
            let video = Video { wait: Duration::ZERO, ..(**video).clone() };
            *traffic = TrafficConfig { kind: Kind::Video(Arc::new(video)), ..traffic.clone() };
        }
    }
    experiment.capture = true;
    experiment
}

/// The experiment with endpoints of Linux: the preset `linux`, without the settings of MPTCP 0.9.
/// `send_buffer` limits the server's send buffer.
fn with_linux_endpoints(mut experiment: Experiment, send_buffer: Option<Bytes>) -> Experiment {
    experiment.transport.config = mptcp::Config::linux();
    if let Some(most) = send_buffer {
        experiment.transport.config.send_buffer = most.get();
    }
    experiment
}

/// The kernel and the settings of the proxy on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinuxSetup {
    /// Kernel release.
    pub release: String,
    /// Limit of the proxy's send buffer; `None` leaves it to Linux.
    pub send_buffer: Option<Bytes>,
    /// How far ahead of its subflows the proxy writes; zero writes at once.
    pub ahead: Duration,
}

/// Results of the simulation and of the kernel for the same plans.
#[derive(Debug, Clone)]
pub struct KernelReproduction {
    /// Simulation of the paper's test bed with MPTCP 0.9.
    pub simulated: Reproduction,
    /// Simulation with endpoints of Linux.
    pub simulated_linux: Reproduction,
    /// Runs on the kernel.
    pub kernel: Reproduction,
    /// The kernel and its proxy.
    pub linux: LinuxSetup,
    /// Runs of the player's page in a browser; may be empty.
    pub pages: Vec<BrowserRun>,
}

impl KernelReproduction {
    /// Pairs the kernel's runs of `plans` with simulations of the same plans. `seeds` is the number
    /// of seeds in the plans.
    pub fn new(
        calibration: Calibration,
        (seeds, plans): (u64, &[Plan]),
        runs: Vec<Option<Run>>,
        linux: LinuxSetup,
        jobs: NonZeroUsize,
    ) -> Self {
        let simulated = |with: &(dyn Fn(Experiment) -> Experiment + Sync)| {
            let runs = parallel::map(jobs, plans, &|_| {}, |plan| {
                let experiment = model::experiment(&plan.setup, plan.clip, &calibration, plan.seed);
                Run::read(&sim::run(&with(experiment)))
            });
            Reproduction::new(seeds, calibration, plans, runs)
        };
        Self {
            simulated: simulated(&|experiment| experiment),
            simulated_linux: simulated(&|experiment| with_linux_endpoints(experiment, linux.send_buffer)),
            kernel: Reproduction::new(seeds, calibration, plans, runs),
            linux,
            pages: Vec::new(),
        }
    }

    /// All tables in their order on a terminal.
    pub fn tables(&self) -> Vec<Table> {
        [self.figures(), self.gains()].into_iter().chain(self.policies()).chain(self.page_table()).collect()
    }

    /// Every run on the kernel, one row each.
    pub fn runs_table(&self) -> Table {
        self.kernel.runs_table()
    }

    /// Every metric of every setup in the paper, in both simulations and on the kernel.
    pub fn figures(&self) -> Table {
        let mut table = Table::new(format!("Paper, simulation and Linux {}", self.linux.release))
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("paper"))
            .column(Column::number("simulated").key("simulated"))
            .column(Column::number("simulated Linux").key("simulated_linux"))
            .column(Column::number("Linux").key("kernel"));
        for clip in Clip::ALL {
            for i in 0..self.kernel.setups.len() {
                table = self.setup_rows(i, clip).into_iter().fold(table, Table::row);
            }
        }
        self.notes().into_iter().fold(table, Table::note)
    }

    /// Heading and rows of one setup and video.
    fn setup_rows(&self, i: usize, clip: Clip) -> Vec<Row> {
        let setup = &self.kernel.setups[i];
        let badge = setup.badge();
        let row = |name: &str, unit: &str, paper: f64, value: &dyn Fn(&Reproduction) -> (Estimate, usize)| {
            let (simulated, decimals) = value(&self.simulated);
            Row::new([
                Cell::text(name),
                Cell::text(unit),
                Cell::number(paper, decimals),
                Cell::estimate(simulated, decimals),
                Cell::estimate(value(&self.simulated_linux).0, decimals),
                Cell::estimate(value(&self.kernel).0, decimals),
            ])
            .badge(badge.clone())
        };
        let metric_row = |name: &str, metric: &Metric, paper: f64| {
            row(name, metric.unit, paper, &|world| (world.estimate(metric, i, clip), metric.decimals))
        };
        let printed = setup.printed().map(|access| stalls(access, clip));
        let (count, mean) = printed.unwrap_or((f64::NAN, f64::NAN));
        let mut rows = vec![
            Row::heading(format!("{}, {}", clip.name(), setup.title())),
            metric_row("stalls", &Metric::STALLS, count),
            row("mean stall", "s", mean, &|world| (world.mean_stall(i, clip), 2)),
        ];
        for metric in [&Metric::MOS, &Metric::LOAD_TIME, &Metric::FETCH_TIME] {
            rows.push(metric_row(metric.title, metric, f64::NAN));
        }
        if setup.access == Access::Both {
            rows.push(metric_row("over Wi-Fi", &Metric::OVER_WIFI, f64::NAN));
        }
        rows
    }

    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.lateness().into_iter().collect();
        notes.push(format!(
            "Means of {} runs with 95 % confidence intervals. The links of each seed are those of the simulation, fitted \
             there to the paper’s figures for one link; nothing was fitted to the kernel. Linux uses its own scheduler \
             and CUBIC on each subflow. A real proxy connects the device to a server without MPTCP.",
            self.kernel.seeds
        ));
        notes.push(self.split());
        notes.push(if self.linux.ahead.is_zero() {
            "The proxy writes data as soon as it arrives, and Linux assigns it to the subflows at once.".to_owned()
        } else {
            format!(
                "The proxy writes data only when a subflow would have sent its queue within one round-trip time and {}. \
                 With `--ahead 0s` it writes at once, as in simulated Linux.",
                self.linux.ahead
            )
        });
        notes.push(match self.linux.send_buffer {
            Some(most) => format!(
                "On Linux and on simulated Linux, the proxy buffers at most {most} of a video in transit."
            ),
            None => "Linux grows the proxy’s send buffers; `--send-buffer` limits them.".to_owned(),
        });
        notes
    }

    /// Number of runs with a capture, and the largest difference in bytes between capture and
    /// counters.
    fn captured(&self) -> (usize, u64) {
        let differences = self.kernel.all_runs().filter_map(Run::capture_difference_bytes);
        differences.fold((0, 0), |(runs, largest), difference| (runs + 1, largest.max(difference)))
    }

    /// Note on the emulator's delays; it warns if the machine was overloaded.
    fn lateness(&self) -> Option<String> {
        /// Median delay that indicates too many runs at once: one sixth of Wi-Fi's round-trip time.
        const MAX_MEDIAN_DELAY: Duration = Duration::from_millis(2);
        let mut late: Vec<Duration> = self.kernel.all_runs().filter_map(|run| run.late).collect();
        late.sort_unstable();
        let (&median, &worst) = (late.get(late.len() / 2)?, late.last()?);
        let ms = |late: Duration| late.as_secs_f64() * 1e3;
        let note = format!(
            "99th percentile of the emulator’s delay in writing packets: {:.1} ms in the median run, {:.1} ms in the \
             worst run.",
            ms(median),
            ms(worst),
        );
        Some(if median > MAX_MEDIAN_DELAY {
            note + " The machine was overloaded, so these figures are worse than Linux’s: use fewer runs at once \
                    (`--jobs`)."
        } else {
            note
        })
    }

    /// Note on the source of the split between Wi-Fi and LTE.
    fn split(&self) -> String {
        let (captured, difference) = self.captured();
        let all = self.kernel.all_runs().count();
        if captured == 0 {
            return "On Linux the share over Wi-Fi is counted at the links’ ends.".to_owned();
        }
        let counters = match difference {
            0 => "the counters at the links’ ends agree to the byte".to_owned(),
            bytes => format!("the counters at the links’ ends differ by at most {bytes} bytes"),
        };
        format!(
            "On Linux the share over Wi-Fi is that of the payload, duplicates included, in captures of the device’s \
             interfaces, in {captured} of {all} runs; {counters}."
        )
    }

    /// Change from one link to both.
    fn gains(&self) -> Table {
        let mut table = Table::new("Change from one link to both, 4K, in %")
            .column(Column::text(""))
            .column(Column::number("paper").key("paper_percent"))
            .column(Column::number("simulated").key("simulated_percent"))
            .column(Column::number("simulated Linux").key("simulated_linux_percent"))
            .column(Column::number("Linux").key("kernel_percent"));
        for (metric, over, paper) in changes() {
            let change = |world: &Reproduction| world.change_percent(&metric, over, Clip::FourK);
            table = table.row(Row::new([
                Cell::text(format!("{}, from {}", metric.title, over.name())),
                Cell::number(paper, 1),
                Cell::estimate(change(&self.simulated), 1),
                Cell::estimate(change(&self.simulated_linux), 1),
                Cell::estimate(change(&self.kernel), 1),
            ]));
        }
        table.note("Paired by seed, with 95 % confidence intervals; docs/background/lwi.md discusses the influences.")
    }

    /// Tables of the policies in both simulations and on the kernel; none without policies.
    fn policies(&self) -> impl Iterator<Item = Table> {
        let worlds = [
            ("simulated", &self.simulated),
            ("simulated Linux", &self.simulated_linux),
            ("Linux, until the session ends", &self.kernel),
        ];
        worlds.into_iter().filter_map(|(name, world)| world.policies(&format!("With policies: {name}")))
    }

    /// Contents of `result.json`.
    pub fn to_json(&self) -> Value {
        let (captured, difference) = self.captured();
        json!({
            "paper": "lwi",
            "on": "kernel",
            "release": self.linux.release,
            "send_buffer_bytes": self.linux.send_buffer.map(Bytes::get),
            "ahead_s": self.linux.ahead.as_secs_f64(),
            "seeds": self.kernel.seeds,
            "split": { "captured_runs": captured, "largest_difference_bytes": difference },
            "kernel": self.kernel.to_json(),
            "page": self.pages_json(),
            "simulated": self.simulated.to_json(),
            "simulated_linux": self.simulated_linux.to_json(),
        })
    }

    /// The whole report.
    pub fn page(&self) -> Page {
        let figures = Section::new("Stalls and quality")
            .anchor("figures")
            .charts([
                self.metric_bars("Stalls", &Metric::STALLS),
                self.mean_stall_bars(),
                self.split_bars(),
                self.metric_bars("MOS", &Metric::MOS),
                self.metric_bars("Load time", &Metric::LOAD_TIME),
                self.metric_bars("Time to buffer the whole video", &Metric::FETCH_TIME).key("fetch-time"),
            ])
            .table(self.gains())
            .table(self.figures());
        let mut page = Page::new("LTE-Wi\u{2011}Fi integration on Linux")
            .lead(format!(
                "A video over Wi\u{2011}Fi, over LTE, and over both by the Multipath TCP of Linux {}, through a proxy \
                 to a server without MPTCP, compared with simulation and with the paper.",
                self.linux.release
            ))
            .section(figures)
            .section(Section::new("Links").anchor("links").table(self.kernel.links()))
            .footer(footer());
        let policies: Vec<Table> = self.policies().collect();
        if !policies.is_empty() {
            let section = Section::new("With policies").anchor("policies");
            page = page.section(policies.into_iter().fold(section, Section::table));
        }
        match self.page_table() {
            Some(table) => page.section(Section::new("In a browser").anchor("browser").table(table)),
            None => page,
        }
    }

    /// Bars of a value by video and setup, one series each for both simulations and Linux.
    fn bars(&self, title: &str, axis: Axis, value: &dyn Fn(&Reproduction, usize, Clip) -> Estimate) -> Bars {
        let groups: Vec<(usize, Clip)> = Clip::ALL
            .into_iter()
            .flat_map(|clip| (0..self.kernel.setups.len()).map(move |setup| (setup, clip)))
            .collect();
        let name = |&(setup, clip): &(usize, Clip)| {
            format!("{}, {}", clip.name(), self.kernel.setups[setup].title())
        };
        let values = |world: &Reproduction| -> Vec<Estimate> {
            groups.iter().map(|&(setup, clip)| value(world, setup, clip)).collect()
        };
        let bars = Bars::new(title, axis.from(0.0)).groups(groups.iter().map(name));
        self.worlds().into_iter().fold(bars, |bars, (name, world)| bars.series(name, values(world)))
    }

    /// Both simulations and the kernel with their names in charts.
    fn worlds(&self) -> [(&'static str, &Reproduction); 3] {
        [("simulated", &self.simulated), ("simulated Linux", &self.simulated_linux), ("Linux", &self.kernel)]
    }

    fn metric_bars(&self, title: &str, metric: &Metric) -> Bars {
        let axis = Axis::new(metric.title).unit(metric.unit);
        self.bars(title, axis, &|world, setup, clip| world.estimate(metric, setup, clip))
            .decimals(metric.decimals)
    }

    fn mean_stall_bars(&self) -> Bars {
        let axis = Axis::new("length").unit("s");
        self.bars("Mean length of a stall", axis, &Reproduction::mean_stall).key("stall-length").decimals(2)
    }

    /// Share of the data over Wi-Fi, of the setup with both links.
    fn split_bars(&self) -> Bars {
        let row = self.kernel.row(Access::Both);
        let split = |world: &Reproduction| {
            Clip::ALL.map(|clip| {
                row.map_or(Estimate::exact(f64::NAN), |row| world.estimate(&Metric::OVER_WIFI, row, clip))
            })
        };
        let axis = Axis::new("share of the data").unit("%").from(0.0);
        let bars = Bars::new("Data over Wi-Fi, with both links", axis).key("split").decimals(1);
        let bars = bars.groups(Clip::ALL.map(Clip::name));
        self.worlds().into_iter().fold(bars, |bars, (name, world)| bars.series(name, split(world)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_plans_have_no_simulated_server_delay() {
        let plans = plans(&Calibration::shipped(), 2, &[]);
        assert_eq!(plans.len(), 12);
        for (plan, experiment) in &plans {
            let Kind::Video(video) = &experiment.traffic[0].kind else { panic!("{plan:?}") };
            assert_eq!(video.wait, Duration::ZERO);
            let model = model::experiment(&plan.setup, plan.clip, &Calibration::shipped(), plan.seed);
            assert_eq!(experiment.paths, model.paths);
            assert!(experiment.capture, "the split needs captures");
        }
    }

    #[test]
    fn same_runs_give_the_same_json_for_kernel_and_simulation() {
        let calibration = Calibration::shipped();
        let jobs = NonZeroUsize::MIN;
        let plans = all_plans(&linux_setups(), 1);
        let linux =
            LinuxSetup { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::from_millis(20) };
        let runs = plans.iter().map(|plan| {
            Run::read(&sim::run(&model::experiment(&plan.setup, plan.clip, &calibration, plan.seed)))
        });
        let mut runs: Vec<_> = runs.collect();
        let both = KernelReproduction::new(calibration, (1, &plans), runs.clone(), linux.clone(), jobs);
        assert!(both.split().contains("is counted at the links’ ends."), "{}", both.split());
        for run in runs.iter_mut().flatten() {
            run.captured = Some(run.payload);
        }
        let both = KernelReproduction::new(calibration, (1, &plans), runs, linux, jobs);
        assert!(both.split().contains("in 6 of 6 runs; ") && both.split().contains("to the byte"));
        assert_eq!(both.lateness(), None, "simulated runs have no emulator delay");
        let json = both.to_json();
        assert_eq!(json["kernel"], json["simulated"]);
        assert_eq!(json["kernel"]["rows"].as_array().map(Vec::len), Some(6));
        assert!(both.page().to_html().contains("Linux 6.1"));
    }

    #[test]
    fn simulated_linux_has_endpoints_of_linux() {
        for setup in linux_setups() {
            let experiment = model::experiment(&setup, Clip::FourK, &Calibration::shipped(), 1);
            let linux = with_linux_endpoints(experiment, None);
            assert_eq!(linux.transport.config, mptcp::Config::linux());
        }
    }

    #[test]
    fn overloaded_machine_is_reported() {
        let plans = all_plans(&linux_setups(), 1);
        let run = |late| Run { late: Some(Duration::from_micros(late)), ..Run::sample() };
        let note = |late: [u64; 6]| {
            let linux = LinuxSetup { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::ZERO };
            let runs = late.map(|late| Some(run(late))).to_vec();
            let jobs = NonZeroUsize::MIN;
            KernelReproduction::new(Calibration::shipped(), (1, &plans), runs, linux, jobs).lateness()
        };
        let idle = note([100, 200, 300, 300, 500, 9000]).expect("all runs have delays");
        assert!(idle.contains("0.3 ms in the median") && idle.contains("9.0 ms in the worst"), "{idle}");
        assert!(!idle.contains("overloaded"), "{idle}");
        let overloaded = note([100, 200, 300, 2100, 5000, 9000]).expect("all runs have delays");
        assert!(overloaded.contains("overloaded"), "{overloaded}");
    }
}
