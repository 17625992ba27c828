//! `tandem reproduce`.

use crate::arguments::{Paper, Reproduce, World};
use crate::command::lwi_page::pages;
use crate::command::testbed::{failure, stop_on_signals};
use crate::failure::{Failure, reason};
use crate::fold::folded;
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::page::Browser;
use crate::progress;
use capture::Summary;
use clap::ValueEnum as _;
use experiments::parallel;
use papers::calibration::CalibrationError;
use papers::{emtcp, lwi, mptcp_rec};
use report::{Page, Table};
use sim::{Experiment, Outcome};
use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use testbed::{Edge, Ran, Setup};
use units::Bitrate;

pub(crate) fn run(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    let Reproduce { paper, on, .. } = *arguments;
    let fitted = paper != Paper::MptcpRec;
    for (given, option, has_a_use) in [
        (on == World::Kernel, "--on kernel", fitted),
        (arguments.duration.is_some(), "--duration", !fitted),
        (arguments.calibration.is_some(), "--calibration", fitted),
        (arguments.calibrate, "--calibrate", fitted && on == World::Sim),
        (!arguments.policies.is_empty(), "--policies", paper == Paper::Lwi),
        (arguments.no_page, "--no-page", paper == Paper::Lwi && on == World::Kernel),
        (arguments.send_buffer.is_some(), "--send-buffer", paper == Paper::Lwi && on == World::Kernel),
        (arguments.ahead.is_some(), "--ahead", paper == Paper::Lwi && on == World::Kernel),
    ] {
        if given && !has_a_use {
            return Err(Failure::Usage {
                message: format!("`{option}` is not for the paper `{}`", name(paper)),
                hint: "`tandem help reproduce` says what each is for".to_owned(),
            });
        }
    }
    let world = if on == World::Kernel { "-kernel" } else { "" };
    let usual = Path::new("tandem-out").join(name(paper) + world);
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&usual))?;
    let results = match (paper, on) {
        (Paper::Emtcp, World::Sim) => emtcp(arguments, talk),
        (Paper::Emtcp, World::Kernel) => emtcp_on_kernel(arguments, talk),
        (Paper::MptcpRec, _) => Ok(mptcp_rec(arguments, talk)),
        (Paper::Lwi, World::Sim) => lwi(arguments, talk),
        (Paper::Lwi, World::Kernel) => lwi_on_kernel(arguments, talk),
    };
    results?.deliver(arguments, talk, &folder)
}

/// As it is given on the command line.
fn name(paper: Paper) -> String {
    paper.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What a reproduction comes to.
struct Results {
    json: serde_json::Value,
    /// Each run, where they are kept.
    runs: Option<Table>,
    page: Page,
    tables: Vec<Table>,
    /// What `--format csv` prints.
    csv: Table,
    /// Records of sessions, one a line; may be empty.
    sessions: String,
}

impl Results {
    /// Writes the directory, then prints.
    fn deliver(self, arguments: &Reproduce, talk: Talk, folder: &Folder) -> Result<(), Failure> {
        let (text, page) = (output::pretty(&self.json), self.page.to_html());
        let runs = self.runs.map(|runs| runs.to_csv());
        let mut files = vec![("result.json", text.as_bytes())];
        files.extend(runs.iter().map(|runs| ("runs.csv", runs.as_bytes())));
        files.push(("report.html", page.as_bytes()));
        if !self.sessions.is_empty() {
            files.push(("sessions.jsonl", self.sessions.as_bytes()));
        }
        folder.write(&files)?;
        let csv = || self.csv.to_csv();
        let printed = output::print(talk, arguments.format, &self.tables, &self.json, csv);
        talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
        printed
    }
}

fn seeds(arguments: &Reproduce, usual: u32) -> u64 {
    u64::from(arguments.seeds.unwrap_or(usual))
}

/// Simulates, with a bar that learns on the way how much there is to do.
fn simulated<T>(talk: Talk, work: impl FnOnce(&(dyn Fn(usize, usize) + Sync)) -> T) -> T {
    let bar = progress::bar(talk, 1, "reproducing");
    let result = work(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    result
}

/// Runs all on the kernel, `jobs` at once, and reads what came of each, and what its capture says where it has one.
/// Where one fails, the others end too.
fn on_kernel<T: Send>(
    experiments: &[&Experiment],
    setup: &Setup,
    jobs: NonZeroUsize,
    talk: Talk,
    read: impl Fn(Ran, Option<&Summary>) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    /// Steps of the bar for each run.
    const WHOLE: u64 = 1000;
    let stop = stop_on_signals()?;
    let bar = progress::bar(talk, WHOLE * experiments.len() as u64, "on the kernel");
    let runs = parallel::map(jobs, experiments, &|_| {}, |experiment| {
        let told = AtomicU64::new(0);
        let tell = |share: f64| {
            let now = (share.clamp(0.0, 1.0) * WHOLE as f64) as u64;
            bar.inc(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
        };
        let run = |capture: Option<&File>| {
            let ran = testbed::run_with(experiment, setup, &stop, &mut |share| tell(share), capture);
            ran.map_err(|error| failure(&error))
        };
        let read = if experiment.capture {
            folded(|capture| run(Some(capture))).map(|(ran, summary)| read(ran, Some(&summary)))
        } else {
            run(None).map(|ran| read(ran, None))
        };
        tell(1.0);
        read.inspect_err(|_| stop.store(true, Ordering::Relaxed))
    });
    bar.finish_and_clear();
    runs.into_iter().collect()
}

fn mptcp_rec(arguments: &Reproduce, talk: Talk) -> Results {
    let options = mptcp_rec::Options {
        seeds: seeds(arguments, 30),
        duration: arguments.duration.unwrap_or(mptcp_rec::model::paper_duration()),
        jobs: parallel::jobs(arguments.jobs),
        grid: mptcp_rec::model::grid(),
        schemes: mptcp_rec::schemes::all(),
    };
    let result = simulated(talk, |progress| mptcp_rec::reproduce(&options, progress));
    Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.long_table(),
        sessions: String::new(),
    }
}

fn emtcp(arguments: &Reproduce, talk: Talk) -> Result<Results, Failure> {
    let (seeds, jobs) = (seeds(arguments, 30), parallel::jobs(arguments.jobs));
    let calibration =
        EMTCP_FIT.take(arguments, talk, |progress| emtcp::calibration::fit(seeds, jobs, progress))?;
    let options = emtcp::Options { seeds, jobs, calibration };
    let result = simulated(talk, |progress| emtcp::reproduce(&options, progress));
    Ok(Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: String::new(),
    })
}

/// Runs at once on the kernel: each of the paper's cases carries 2 Mbit/s and mostly waits.
const EMTCP_KERNEL_JOBS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");

fn emtcp_on_kernel(arguments: &Reproduce, talk: Talk) -> Result<Results, Failure> {
    let calibration = EMTCP_FIT.read(arguments.calibration.as_deref())?;
    let seeds = seeds(arguments, 3);
    let plans = emtcp::kernel::plans(&calibration, seeds);
    let experiments: Vec<_> = plans.iter().map(|(_, experiment)| experiment).collect();
    let jobs = arguments.jobs.unwrap_or(EMTCP_KERNEL_JOBS);
    let outcomes = on_kernel(&experiments, &Setup::default(), jobs, talk, |ran, _| ran.outcome)?;
    let (release, jobs) = (linux::clock::kernel_release(), parallel::jobs(None));
    let result = emtcp::kernel::KernelReproduction::new(&calibration, seeds, &outcomes, release, jobs);
    Ok(Results {
        json: result.to_json(),
        runs: None,
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: String::new(),
    })
}

fn lwi(arguments: &Reproduce, talk: Talk) -> Result<Results, Failure> {
    let (seeds, jobs) = (seeds(arguments, 30), parallel::jobs(arguments.jobs));
    let calibration = LWI_FIT.take(arguments, talk, |progress| lwi::calibration::fit(jobs, progress))?;
    let policies = arguments.policies.clone();
    let options = lwi::Options { seeds, jobs, calibration, policies };
    let result = simulated(talk, |progress| lwi::reproduce(&options, progress));
    Ok(Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: String::new(),
    })
}

/// Viewers at once on the kernel for each core: links of up to 48 Mbit/s for each, all of which are good at times.
const LWI_KERNEL_JOBS: NonZeroUsize = NonZeroUsize::new(5).expect("it is not zero");
/// The link between the proxy and the server, which is no limit.
const CORE: Bitrate = Bitrate::from_bps(1_000_000_000);

fn lwi_on_kernel(arguments: &Reproduce, talk: Talk) -> Result<Results, Failure> {
    let calibration = LWI_FIT.read(arguments.calibration.as_deref())?;
    let seeds = seeds(arguments, 30);
    let plans = lwi::kernel::plans(&calibration, seeds, &arguments.policies);
    let experiments: Vec<_> = plans.iter().map(|(_, experiment)| experiment).collect();
    let Reproduce { send_buffer, ahead, .. } = *arguments;
    let ahead = ahead.unwrap_or(Edge::AHEAD);
    let edge = Edge { delay: lwi::kernel::proxy_to_server(), rate: CORE, send_buffer, ahead };
    let browser = if arguments.no_page { Err("--no-page".to_owned()) } else { Browser::find() };
    if let Err(why) = &browser {
        talk.remark(&format!("the page is not played: {why}\n"));
    }
    let setup = Setup { edge: Some(edge), until_done: true, ..Setup::default() };
    let jobs = arguments.jobs.unwrap_or_else(|| parallel::jobs(None).saturating_mul(LWI_KERNEL_JOBS));
    let runs = on_kernel(&experiments, &setup, jobs, talk, |ran, summary| {
        let captured = summary.map(|summary| split(&ran.outcome, summary));
        let late = Some(ran.lateness.quantile(0.99));
        lwi::Run::read(&ran.outcome).map(|run| lwi::Run { captured, late, ..run })
    })?;
    let pages = match browser {
        Ok(browser) => pages(&browser, &calibration, &plans, edge, talk)?,
        Err(_) => Vec::new(),
    };
    let (pages, records): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
    let (release, jobs) = (linux::clock::kernel_release(), parallel::jobs(None));
    let linux = lwi::kernel::LinuxSetup { release, send_buffer, ahead };
    let made: Vec<_> = plans.iter().map(|(plan, _)| plan.clone()).collect();
    let result = lwi::kernel::KernelReproduction::new(calibration, (seeds, &made), runs, linux, jobs)
        .with_pages(pages);
    Ok(Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: records
            .iter()
            .fold(String::new(), |all, record| all + &record.to_json().to_string() + "\n"),
    })
}

/// Payload to the device over the first two paths, as a capture has it.
pub(super) fn split(outcome: &Outcome, summary: &Summary) -> [u64; 2] {
    let payload =
        |path: usize| outcome.paths.get(path).map_or(0, |path| summary.payload_down_bytes(&path.name));
    [payload(0), payload(1)]
}

/// Where a paper's fitted parameters are, and how they are read and made.
struct Fit<C> {
    /// Where they are kept, beside where the program is run.
    usual: &'static str,
    /// How many steps there are to fitting them.
    steps: usize,
    parse: fn(&str, &str) -> Result<C, CalibrationError>,
    shipped: fn() -> C,
    to_toml: fn(&C) -> String,
}

const EMTCP_FIT: Fit<emtcp::calibration::Calibration> = Fit {
    usual: "calibration/emtcp.toml",
    steps: emtcp::calibration::STEPS,
    parse: emtcp::calibration::Calibration::parse,
    shipped: emtcp::calibration::Calibration::shipped,
    to_toml: emtcp::calibration::Calibration::to_toml,
};

const LWI_FIT: Fit<lwi::calibration::Calibration> = Fit {
    usual: "calibration/lwi.toml",
    steps: lwi::calibration::STEPS,
    parse: lwi::calibration::Calibration::parse,
    shipped: lwi::calibration::Calibration::shipped,
    to_toml: lwi::calibration::Calibration::to_toml,
};

impl<C> Fit<C> {
    /// Fits and writes them where that is asked for, and reads them where it is not.
    fn take(
        &self,
        arguments: &Reproduce,
        talk: Talk,
        fit: impl FnOnce(&(dyn Fn(usize) + Sync)) -> C,
    ) -> Result<C, Failure> {
        let named = arguments.calibration.as_deref();
        if !arguments.calibrate {
            return self.read(named);
        }
        let bar = progress::bar(talk, self.steps as u64, "calibrating");
        let fitted = fit(&|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let path = named.unwrap_or(Path::new(self.usual));
        replace(path, &(self.to_toml)(&fitted))?;
        talk.remark(&format!("calibration: {}\n", path.display()));
        Ok(fitted)
    }

    /// Reads the file that was named; else the one in its usual place; else takes those that ship.
    fn read(&self, named: Option<&Path>) -> Result<C, Failure> {
        let path = named.unwrap_or(Path::new(self.usual));
        if named.is_none() && !path.exists() {
            return Ok((self.shipped)());
        }
        let bad = |message| Failure::Unreadable { message, hint: CALIBRATE.to_owned() };
        let text = fs::read_to_string(path)
            .map_err(|error| bad(format!("cannot read {}: {}", path.display(), reason(&error))))?;
        (self.parse)(&path.display().to_string(), &text).map_err(|error| bad(error.to_string()))
    }
}

/// What helps where a fit cannot be read.
const CALIBRATE: &str = "`--calibrate` writes a complete file";

/// Writes a file so that it is the old one or the new one, never half of either.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::write(path, &error))
}
