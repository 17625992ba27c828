//! The experiment on a real kernel, beside the paper and the simulation.

use super::browser::Watched;
use super::calibration::Calibration;
use super::measure::Run;
use super::model::{self, Way};
use super::paper::{Access, Clip, PROXY_TO_SERVER_MS, stalls};
use super::reproduce::{Figure, Plan, Reproduction, plans as all_plans};
use super::tables::changes;
use abr::Video;
use experiments::describe::fitted;
use experiments::page::footer;
use experiments::parallel;
use mptcp::SchedulerKind;
use policy::PolicyConfig;
use report::{Axis, Badge, Bars, Cell, Column, Estimate, Page, Row, Section, Table};
use serde_json::{Value, json};
use sim::{Experiment, Protocol};
use std::num::NonZeroUsize;
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bytes, Duration};

/// What Linux can do: its own scheduler alone.
pub fn ways() -> [Way; 3] {
    [
        Way::plain(Access::Wifi, SchedulerKind::MinRtt),
        Way::plain(Access::Lte, SchedulerKind::MinRtt),
        Way::plain(Access::Both, SchedulerKind::MinRtt),
    ]
}

/// One way between the proxy and the server, which lie behind the experiment's paths.
pub fn proxy_to_server() -> Duration {
    Duration::from_secs_f64(PROXY_TO_SERVER_MS * 0.5e-3)
}

/// What is to run on the kernel, in this order. The server is a host of its own, behind a real proxy: nothing stands
/// in for the time between them. What the device's interfaces carry is captured, for the split.
pub fn plans(calibration: &Calibration, seeds: u64, policies: &[PolicyConfig]) -> Vec<(Plan, Experiment)> {
    let ways: Vec<Way> = ways().into_iter().chain(Way::under(policies)).collect();
    let all = all_plans(&ways, seeds).into_iter();
    all.map(|plan| {
        let experiment = on_linux(model::experiment(&plan.way, plan.clip, calibration, plan.seed));
        (plan, experiment)
    })
    .collect()
}

fn on_linux(experiment: Experiment) -> Experiment {
    let mut experiment = as_linux(experiment, None);
    for traffic in &mut experiment.traffic {
        if let Kind::Video(video) = &traffic.kind {
            let video = Video { wait: Duration::ZERO, ..(**video).clone() };
            *traffic = TrafficConfig { kind: Kind::Video(Arc::new(video)), ..traffic.clone() };
        }
    }
    experiment.capture = true;
    experiment
}

/// With what Linux has of MPTCP: its own scheduler, and nothing that sends again what blocks the window. `send_buffer`
/// is what the server's end may hold, where that is bounded.
fn as_linux(mut experiment: Experiment, send_buffer: Option<Bytes>) -> Experiment {
    if experiment.transport.protocol == Protocol::Mptcp {
        let config = &mut experiment.transport.config;
        (config.scheduler, config.opportunistic, config.penalise) =
            (SchedulerKind::Linux.into(), false, false);
    }
    if let Some(most) = send_buffer {
        experiment.transport.config.send_buffer = most.get();
    }
    experiment
}

/// The kernel, and what its proxy does about how Linux deals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linux {
    /// The kernel's release.
    pub release: String,
    /// What the proxy may hold of a video that is on its way, where that is bounded.
    pub send_buffer: Option<Bytes>,
    /// How far ahead of its subflows the proxy writes; zero is at once, as Linux deals it.
    pub ahead: Duration,
}

/// The paper, the simulation and the kernel.
#[derive(Debug, Clone)]
pub struct KernelReproduction {
    /// As the paper's test bed is modelled, with the same seeds.
    pub simulated: Reproduction,
    /// The same with what Linux has of MPTCP, and not what the paper's MPTCP 0.9 had.
    pub as_linux: Reproduction,
    /// On the kernel.
    pub kernel: Reproduction,
    /// With what.
    pub linux: Linux,
    /// The same in a browser, where there is one.
    pub pages: Vec<Watched>,
}

impl KernelReproduction {
    /// Puts the kernel's runs, of `plans` of so many seeds, beside simulations of the same.
    pub fn new(
        calibration: Calibration,
        (seeds, plans): (u64, &[Plan]),
        runs: Vec<Option<Run>>,
        linux: Linux,
        jobs: NonZeroUsize,
    ) -> Self {
        let simulated = |with: &(dyn Fn(Experiment) -> Experiment + Sync)| {
            let runs = parallel::map(jobs, plans, &|_| {}, |plan| {
                let experiment = model::experiment(&plan.way, plan.clip, &calibration, plan.seed);
                Run::read(&sim::run(&with(experiment)))
            });
            Reproduction::new(seeds, calibration, plans, runs)
        };
        Self {
            simulated: simulated(&|experiment| experiment),
            as_linux: simulated(&|experiment| as_linux(experiment, linux.send_buffer)),
            kernel: Reproduction::new(seeds, calibration, plans, runs),
            linux,
            pages: Vec::new(),
        }
    }

    /// Both worlds beside the paper.
    pub fn tables(&self) -> Vec<Table> {
        [self.figures(), self.gains()].into_iter().chain(self.policies()).chain(self.page_table()).collect()
    }

    /// Each run on the kernel.
    pub fn runs_table(&self) -> Table {
        self.kernel.runs_table()
    }

    /// Every figure of every row, in all worlds.
    pub fn figures(&self) -> Table {
        let mut table = Table::new(format!("The paper, simulation and Linux {}", self.linux.release))
            .column(Column::text("figure"))
            .column(Column::text("unit").key("unit"))
            .column(Column::number("paper"))
            .column(Column::number("simulated").key("simulated"))
            .column(Column::number("simulated Linux").key("simulated_linux"))
            .column(Column::number("Linux").key("kernel"));
        for clip in Clip::ALL {
            for (i, way) in self.kernel.ways.iter().enumerate() {
                let badge = if way.access == Access::Both { Badge::predicted() } else { fitted() };
                table = table.row(Row::heading(format!("{}, {}", clip.name(), way.title())));
                let printed = way.printed().map(|access| stalls(access, clip));
                let (count, mean) = printed.unwrap_or((f64::NAN, f64::NAN));
                let row =
                    |name: &str, unit: &str, paper: f64, digits, of: &dyn Fn(&Reproduction) -> Estimate| {
                        Row::new([
                            Cell::text(name),
                            Cell::text(unit),
                            Cell::number(paper, digits),
                            Cell::estimate(of(&self.simulated), digits),
                            Cell::estimate(of(&self.as_linux), digits),
                            Cell::estimate(of(&self.kernel), digits),
                        ])
                        .badge(badge.clone())
                    };
                let of =
                    |figure: &'static Figure| move |world: &Reproduction| world.estimate(figure, i, clip);
                table = table.row(row("stalls", "", count, 2, &of(&Figure::STALLS))).row(row(
                    "mean length",
                    "s",
                    mean,
                    2,
                    &|world| world.mean_stall(i, clip),
                ));
                for figure in [&Figure::MOS, &Figure::LOAD, &Figure::FETCHED] {
                    table = table.row(row(figure.title, figure.unit, f64::NAN, figure.decimals, &of(figure)));
                }
                if way.access == Access::Both {
                    table = table.row(row("over Wi-Fi", "%", f64::NAN, 1, &of(&Figure::OVER_WIFI)));
                }
            }
        }
        if let Some(late) = self.lateness() {
            table = table.note(late);
        }
        table.note(format!(
            "Means of {} runs with 95 % intervals. The links are those of the simulation, seed by seed, fitted there to \
             what the paper prints of one link; on the kernel nothing was fitted. Linux has its own scheduler and \
             CUBIC on each subflow, and a real proxy stands before a server that speaks TCP alone.",
            self.kernel.seeds
        ))
        .note(self.split())
        .note(if self.linux.ahead.is_zero() {
            "The proxy writes what it has, and Linux deals it to the subflows at once.".to_owned()
        } else {
            format!(
                "The proxy writes when a subflow would have sent all it has in a round trip and {}; `--ahead 0s` has Linux deal \
                 at once, as in simulated Linux.",
                self.linux.ahead
            )
        })
        .note(match self.linux.send_buffer {
            Some(most) => format!("On Linux, and on simulated Linux, the proxy holds at most {most} of a video on its way."),
            None => "Linux lets the proxy’s send buffers grow; `--send-buffer` bounds them.".to_owned(),
        })
    }

    /// Runs with a capture, and by how many bytes one of them is at most off what was counted.
    fn captured(&self) -> (usize, u64) {
        let off = self.kernel.all_runs().filter_map(Run::capture_off_bytes);
        off.fold((0, 0), |(runs, most), off| (runs + 1, most.max(off)))
    }

    /// Whether the machine kept up with all the runs at once.
    fn lateness(&self) -> Option<String> {
        /// Later than this, a sixth of Wi-Fi's round trip, is what a machine is that has too many runs at once.
        const TOO_LATE: Duration = Duration::from_millis(2);
        let mut late: Vec<Duration> = self.kernel.all_runs().filter_map(|run| run.late).collect();
        late.sort_unstable();
        let (&middle, &worst) = (late.get(late.len() / 2)?, late.last()?);
        let ms = |late: Duration| late.as_secs_f64() * 1e3;
        let found = format!(
            "The emulator wrote one packet in a hundred {:.1} ms late or more in half of the runs, {:.1} ms in the worst.",
            ms(middle),
            ms(worst),
        );
        Some(if middle > TOO_LATE {
            found
                + " The machine did not keep up, so these figures are worse than Linux’s: have fewer runs at once \
                  (`--jobs`)."
        } else {
            found
        })
    }

    /// Where the split is from.
    fn split(&self) -> String {
        let (captured, off) = self.captured();
        let all = self.kernel.all_runs().count();
        if captured == 0 {
            return "On Linux the part over Wi-Fi is what was counted where the links end.".to_owned();
        }
        let beside = match off {
            0 => "what was counted where the links end is the same, to the byte".to_owned(),
            off => format!("what was counted where the links end differs by {off} bytes at most"),
        };
        format!(
            "On Linux the part over Wi-Fi is that of the payload in captures of the device’s interfaces, copies \
             included, of {captured} of {all} runs; {beside}."
        )
    }

    /// What both links change.
    fn gains(&self) -> Table {
        let mut table = Table::new("What both links change, 4K, in %")
            .column(Column::text(""))
            .column(Column::number("paper").key("paper_percent"))
            .column(Column::number("simulated").key("simulated_percent"))
            .column(Column::number("simulated Linux").key("simulated_linux_percent"))
            .column(Column::number("Linux").key("kernel_percent"));
        for (figure, over, paper) in changes() {
            let change = |world: &Reproduction| world.change_percent(&figure, over, Clip::FourK);
            table = table.row(Row::new([
                Cell::text(format!("{}, against {}", figure.title, over.name())),
                Cell::number(paper, 1),
                Cell::estimate(change(&self.simulated), 1),
                Cell::estimate(change(&self.as_linux), 1),
                Cell::estimate(change(&self.kernel), 1),
            ]));
        }
        table.note("Seed by seed, with the 95 % interval; docs/background/lwi.md says what they depend on.")
    }

    /// What policies change in both worlds, where there are any.
    fn policies(&self) -> impl Iterator<Item = Table> {
        let worlds = [
            ("simulated", &self.simulated),
            ("simulated Linux", &self.as_linux),
            ("Linux, until the session ends", &self.kernel),
        ];
        worlds.into_iter().filter_map(|(name, world)| world.policies(&format!("Under policies: {name}")))
    }

    /// What `result.json` holds.
    pub fn to_json(&self) -> Value {
        let (captured, off) = self.captured();
        json!({
            "paper": "lwi",
            "on": "kernel",
            "release": self.linux.release,
            "send_buffer_bytes": self.linux.send_buffer.map(Bytes::get),
            "ahead_s": self.linux.ahead.as_secs_f64(),
            "seeds": self.kernel.seeds,
            "split": { "captured_runs": captured, "largest_difference_bytes": off },
            "kernel": self.kernel.to_json(),
            "page": self.pages_json(),
            "simulated": self.simulated.to_json(),
            "simulated_linux": self.as_linux.to_json(),
        })
    }

    /// One page with everything.
    pub fn page(&self) -> Page {
        let bars = |title: &str, axis: Axis, digits, of: &dyn Fn(&Reproduction, usize, Clip) -> Estimate| {
            let groups: Vec<(usize, Clip)> = Clip::ALL
                .into_iter()
                .flat_map(|clip| (0..self.kernel.ways.len()).map(move |way| (way, clip)))
                .collect();
            let name =
                |&(way, clip): &(usize, Clip)| format!("{}, {}", clip.name(), self.kernel.ways[way].title());
            let world = |world: &Reproduction| -> Vec<Estimate> {
                groups.iter().map(|&(way, clip)| of(world, way, clip)).collect()
            };
            Bars::new(title, axis.from(0.0))
                .decimals(digits)
                .groups(groups.iter().map(name))
                .series("simulated", world(&self.simulated))
                .series("simulated Linux", world(&self.as_linux))
                .series("Linux", world(&self.kernel))
        };
        let figure = |title: &str, figure: &'static Figure| {
            let axis = Axis::new(figure.title).unit(figure.unit);
            bars(title, axis, figure.decimals, &|world, way, clip| world.estimate(figure, way, clip))
        };
        let both = Clip::ALL.map(|clip| (self.kernel.row(Access::Both), clip));
        let split = |world: &Reproduction| {
            let of = |(way, clip): (Option<usize>, Clip)| {
                way.map_or(Estimate::exact(f64::NAN), |way| world.estimate(&Figure::OVER_WIFI, way, clip))
            };
            both.map(of)
        };
        let split =
            Bars::new("Data over Wi-Fi, with both", Axis::new("part of the data").unit("%").from(0.0))
                .decimals(1)
                .groups(Clip::ALL.map(Clip::name))
                .series("simulated", split(&self.simulated))
                .series("simulated Linux", split(&self.as_linux))
                .series("Linux", split(&self.kernel));
        let page = Page::new("LTE-Wi\u{2011}Fi integration on Linux")
            .lead(format!(
                "A video over Wi\u{2011}Fi, over LTE, and over both by the Multipath TCP of Linux {}, through a proxy \
                 before a server that speaks TCP alone; beside it the same in simulation, and what the paper prints.",
                self.linux.release
            ))
            .section(
                Section::new("Stalls, and what the viewer thinks of them")
                    .anchor("figures")
                    .charts([
                        figure("Stalls", &Figure::STALLS),
                        bars("Mean length of a stall", Axis::new("length").unit("s"), 2, &Reproduction::mean_stall),
                        split,
                        figure("MOS", &Figure::MOS),
                        figure("Load time", &Figure::LOAD),
                        figure("Time to buffer the whole video", &Figure::FETCHED),
                    ])
                    .table(self.gains())
                    .table(self.figures()),
            )
            .section(Section::new("The links").anchor("links").table(self.kernel.links()))
            .footer(footer());
        let policies: Vec<Table> = self.policies().collect();
        let page = if policies.is_empty() {
            page
        } else {
            let section = Section::new("Under policies").anchor("policies");
            page.section(policies.into_iter().fold(section, Section::table))
        };
        match self.page_table() {
            Some(table) => page.section(Section::new("In a browser").anchor("browser").table(table)),
            None => page,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_linux_the_server_is_behind_a_proxy_and_not_a_wait() {
        let plans = plans(&Calibration::shipped(), 2, &[]);
        assert_eq!(plans.len(), 12);
        for (plan, experiment) in &plans {
            let Kind::Video(video) = &experiment.traffic[0].kind else { panic!("{plan:?}") };
            assert_eq!(video.wait, Duration::ZERO);
            let model = model::experiment(&plan.way, plan.clip, &Calibration::shipped(), plan.seed);
            assert_eq!(experiment.paths, model.paths);
            assert!(experiment.capture, "the split is from captures");
        }
    }

    #[test]
    fn what_is_the_same_in_both_worlds_is_shown_so() {
        let calibration = Calibration::shipped();
        let jobs = NonZeroUsize::MIN;
        let plans = all_plans(&ways(), 1);
        let linux = Linux { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::from_millis(20) };
        let runs = plans.iter().map(|plan| {
            Run::read(&sim::run(&model::experiment(&plan.way, plan.clip, &calibration, plan.seed)))
        });
        let mut runs: Vec<_> = runs.collect();
        let both = KernelReproduction::new(calibration, (1, &plans), runs.clone(), linux.clone(), jobs);
        assert!(both.split().contains("was counted where the links end."), "{}", both.split());
        for run in runs.iter_mut().flatten() {
            run.captured = Some(run.payload);
        }
        let both = KernelReproduction::new(calibration, (1, &plans), runs, linux, jobs);
        assert!(both.split().contains("of 6 of 6 runs; ") && both.split().contains("to the byte"));
        assert_eq!(both.lateness(), None, "nothing was measured");
        let json = both.to_json();
        assert_eq!(json["kernel"], json["simulated"]);
        assert_eq!(json["kernel"]["rows"].as_array().map(Vec::len), Some(6));
        assert!(both.page().to_html().contains("Linux 6.1"));
    }

    #[test]
    fn a_machine_that_did_not_keep_up_is_told_of() {
        let plans = all_plans(&ways(), 1);
        let run = |late| Run { late: Some(Duration::from_micros(late)), ..Run::sample() };
        let of = |late: [u64; 6]| {
            let linux = Linux { release: "6.1".to_owned(), send_buffer: None, ahead: Duration::ZERO };
            let runs = late.map(|late| Some(run(late))).to_vec();
            let jobs = NonZeroUsize::MIN;
            KernelReproduction::new(Calibration::shipped(), (1, &plans), runs, linux, jobs).lateness()
        };
        let well = of([100, 200, 300, 300, 500, 9000]).expect("it was measured");
        assert!(well.contains("0.3 ms late") && well.contains("9.0 ms in the worst"), "{well}");
        assert!(!well.contains("keep up"), "{well}");
        let badly = of([100, 200, 300, 2100, 5000, 9000]).expect("it was measured");
        assert!(badly.contains("did not keep up"), "{badly}");
    }
}
