//! `tandem reproduce`.

use crate::arguments::{Paper, RecBackground, Reproduce, World};
use crate::chromium::Browser;
use crate::command::lwi_page::{pages, payload_down};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::live_capture::run_with_capture;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{kernel, progress, signals};
use capture::Summary;
use clap::ValueEnum as _;
use experiments::{files, parallel};
use papers::{emtcp, lwi, mptcp_rec};
use report::{Page, Table};
use scenario::{Diagnostic, InputFile};
use sim::Experiment;
use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use testbed::{KernelRun, ProxySetup, Setup};
use units::Bitrate;

pub(crate) fn run(arguments: &Reproduce, terminal: Terminal) -> Result<(), Failure> {
    let Reproduce { paper, on, .. } = *arguments;
    let fitted = paper != Paper::MptcpRec;
    for (given, option, applies) in [
        (on == World::Kernel, "--on kernel", fitted),
        (arguments.duration.is_some(), "--duration", !fitted),
        (arguments.background != RecBackground::Udp, "--background", !fitted),
        (arguments.calibration.is_some(), "--calibration", fitted),
        (arguments.calibrate, "--calibrate", fitted && on == World::Sim),
        (!arguments.policies.is_empty(), "--policies", paper == Paper::Lwi),
        (arguments.no_page, "--no-page", paper == Paper::Lwi && on == World::Kernel),
        (arguments.send_buffer.is_some(), "--send-buffer", paper == Paper::Lwi && on == World::Kernel),
        (arguments.ahead.is_some(), "--ahead", paper == Paper::Lwi && on == World::Kernel),
    ] {
        if given && !applies {
            return Err(Failure::Usage {
                message: format!("`{option}` does not apply to the paper `{}`", name(paper)),
                hint: "`tandem help reproduce` describes the options".to_owned(),
            });
        }
    }
    arguments.plot.check()?;
    let world = if on == World::Kernel { "-kernel" } else { "" };
    let usual = Path::new("tandem-out").join(name(paper) + world);
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&usual))?;
    let results = match (paper, on) {
        (Paper::Emtcp, World::Sim) => emtcp(arguments, terminal),
        (Paper::Emtcp, World::Kernel) => emtcp_on_kernel(arguments, terminal),
        (Paper::MptcpRec, _) => Ok(mptcp_rec(arguments, terminal)),
        (Paper::Lwi, World::Sim) => lwi(arguments, terminal),
        (Paper::Lwi, World::Kernel) => lwi_on_kernel(arguments, terminal),
    };
    results?.deliver(arguments, terminal, folder)
}

/// Name on the command line.
fn name(paper: Paper) -> String {
    paper.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Results of a reproduction.
struct Results {
    json: serde_json::Value,
    /// A row for each run, if the runs are written.
    runs: Option<Table>,
    page: Page,
    tables: Vec<Table>,
    /// The table for `--format csv`.
    csv: Table,
    /// Records of sessions, one per line; may be empty.
    sessions: String,
}

impl Results {
    /// Writes the directory and prints the results.
    fn deliver(mut self, arguments: &Reproduce, terminal: Terminal, folder: Folder) -> Result<(), Failure> {
        let made_by = provenance(arguments);
        made_by.put_into(&mut self.json);
        self.page = made_by.add_to(self.page);
        let folder = folder.made_by(&made_by);
        let (text, page) = (output::pretty(&self.json), self.page.to_html());
        let runs = self.runs.map(|runs| made_by.id_column(runs).to_csv());
        let mut files = vec![("result.json", text.as_bytes())];
        files.extend(runs.iter().map(|runs| ("runs.csv", runs.as_bytes())));
        files.push(("report.html", page.as_bytes()));
        if !self.sessions.is_empty() {
            files.push(("sessions.jsonl", self.sessions.as_bytes()));
        }
        let written = folder.write(&files);
        let csv = || made_by.columns(self.csv).to_csv();
        let printed = arguments.plot.print_or(&self.page, terminal, || {
            output::print(terminal, arguments.format, &self.tables, &self.json, csv)
        });
        written?.announce(terminal);
        arguments.plot.write(&self.page, terminal)?;
        printed
    }
}

/// Provenance of a reproduction. The calibration is an input, unless it is the built-in one.
fn provenance(arguments: &Reproduce) -> Provenance {
    let policies: Vec<String> = arguments.policies.iter().map(ToString::to_string).collect();
    let made_by = Provenance::new("reproduce")
        .option("paper", [name(arguments.paper)])
        .option("--on", (arguments.on == World::Kernel).then_some("kernel"))
        .option("--duration", arguments.duration)
        .option("--background", (arguments.background == RecBackground::Tcp).then_some("tcp"))
        .option("--seeds", arguments.seeds)
        .option("--policies", (!policies.is_empty()).then(|| policies.join(",")))
        .option("--send-buffer", arguments.send_buffer)
        .option("--ahead", arguments.ahead)
        .flag("--no-page", arguments.no_page);
    let usual = match arguments.paper {
        Paper::Emtcp => EMTCP_CALIBRATION.path,
        Paper::Lwi => LWI_CALIBRATION.path,
        Paper::MptcpRec => return made_by,
    };
    match files::read_bytes(arguments.calibration.as_deref().unwrap_or(Path::new(usual))) {
        Ok(bytes) => made_by.file(InputFile::new("calibration", &bytes)),
        Err(_) => made_by,
    }
}

fn seeds(arguments: &Reproduce, usual: u32) -> u64 {
    u64::from(arguments.seeds.unwrap_or(usual))
}

/// Runs a simulation with a progress bar. The simulation reports the bar's length.
fn with_progress<T>(terminal: Terminal, work: impl FnOnce(&(dyn Fn(usize, usize) + Sync)) -> T) -> T {
    let bar = progress::bar(terminal, 1, "reproducing");
    let result = work(&|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    result
}

/// Runs experiments on the kernel, `jobs` at once, and evaluates each result with the analysis of
/// its capture, if it has one. A failure stops the other runs, and no further one begins.
fn on_kernel<T: Send>(
    experiments: &[&Experiment],
    (setup, jobs): (&Setup, NonZeroUsize),
    stop: &Arc<AtomicBool>,
    terminal: Terminal,
    read: impl Fn(KernelRun, Option<&Summary>) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    /// Steps of the progress bar for each run.
    const STEPS_PER_RUN: u64 = 1000;
    let bar = progress::bar(terminal, STEPS_PER_RUN * experiments.len() as u64, "on the kernel");
    let failure = OnceLock::new();
    let runs = parallel::map_until(jobs, experiments, |_, experiment| {
        let reported = AtomicU64::new(0);
        let report = |share: f64| {
            let now = (share.clamp(0.0, 1.0) * STEPS_PER_RUN as f64) as u64;
            bar.inc(now.saturating_sub(reported.fetch_max(now, Ordering::Relaxed)));
        };
        let run = |capture: Option<&File>| {
            let ran = testbed::run_with(experiment, setup, stop, &mut |share| report(share), capture);
            ran.map_err(|error| kernel::failure(&error))
        };
        let read = if experiment.capture {
            run_with_capture(|capture| run(Some(capture))).map(|(ran, summary)| read(ran, Some(&summary)))
        } else {
            run(None).map(|ran| read(ran, None))
        };
        report(1.0);
        read.map_err(|error| {
            // The runs beside a failed one are stopped: theirs is not the reason.
            if !stop.swap(true, Ordering::Relaxed) {
                _ = failure.set(error);
            }
        })
        .ok()
    });
    bar.finish_and_clear();
    match failure.into_inner() {
        Some(failure) => Err(failure),
        None => runs.into_iter().collect::<Option<_>>().ok_or_else(stopped),
    }
}

fn stopped() -> Failure {
    kernel::failure(&testbed::Error::Stopped)
}

fn mptcp_rec(arguments: &Reproduce, terminal: Terminal) -> Results {
    let options = mptcp_rec::Options {
        seeds: seeds(arguments, 30),
        duration: arguments.duration.unwrap_or(mptcp_rec::model::paper_duration()),
        jobs: parallel::jobs(arguments.jobs),
        grid: mptcp_rec::model::grid(arguments.background.into()),
        schemes: mptcp_rec::schemes::all(),
    };
    let result = with_progress(terminal, |progress| mptcp_rec::reproduce(&options, progress));
    Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.long_table(),
        sessions: String::new(),
    }
}

fn emtcp(arguments: &Reproduce, terminal: Terminal) -> Result<Results, Failure> {
    let (seeds, jobs) = (seeds(arguments, 30), parallel::jobs(arguments.jobs));
    let calibration = EMTCP_CALIBRATION
        .obtain(arguments, terminal, |progress| emtcp::calibration::fit(seeds, jobs, progress))?;
    let options = emtcp::Options { seeds, jobs, calibration };
    let result = with_progress(terminal, |progress| emtcp::reproduce(&options, progress));
    Ok(Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: String::new(),
    })
}

/// Number of runs at once on the kernel: the paper's cases carry 2 Mbit/s and use little CPU.
const EMTCP_KERNEL_JOBS: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");

fn emtcp_on_kernel(arguments: &Reproduce, terminal: Terminal) -> Result<Results, Failure> {
    let calibration = EMTCP_CALIBRATION.read(arguments.calibration.as_deref())?;
    let seeds = seeds(arguments, 3);
    let plans = emtcp::kernel::plans(&calibration, seeds);
    let experiments: Vec<_> = plans.iter().map(|(_, experiment)| experiment).collect();
    let jobs = arguments.jobs.unwrap_or(EMTCP_KERNEL_JOBS);
    let (setup, stop) = (Setup::default(), signals::stop_flag()?);
    let outcomes = on_kernel(&experiments, (&setup, jobs), &stop, terminal, |ran, _| ran.outcome)?;
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

fn lwi(arguments: &Reproduce, terminal: Terminal) -> Result<Results, Failure> {
    let (seeds, jobs) = (seeds(arguments, 30), parallel::jobs(arguments.jobs));
    let calibration =
        LWI_CALIBRATION.obtain(arguments, terminal, |progress| lwi::fit::fit(jobs, progress))?;
    let policies = arguments.policies.clone();
    let options = lwi::Options { seeds, jobs, calibration, policies, variants: true };
    let result = with_progress(terminal, |progress| lwi::reproduce(&options, progress));
    Ok(Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
        sessions: String::new(),
    })
}

/// Number of viewers at once per core on the kernel, with links of up to 48 Mbit/s each.
const LWI_KERNEL_JOBS_PER_CORE: NonZeroUsize = NonZeroUsize::new(5).expect("not zero");
/// Rate of the link between proxy and server, which is not a bottleneck.
const PROXY_TO_SERVER_RATE: Bitrate = Bitrate::from_bps(1_000_000_000);

fn lwi_on_kernel(arguments: &Reproduce, terminal: Terminal) -> Result<Results, Failure> {
    let calibration = LWI_CALIBRATION.read(arguments.calibration.as_deref())?;
    let seeds = seeds(arguments, 30);
    let plans = lwi::kernel::plans(&calibration, seeds, &arguments.policies);
    let experiments: Vec<_> = plans.iter().map(|(_, experiment)| experiment).collect();
    let Reproduce { send_buffer, ahead, .. } = *arguments;
    let ahead = ahead.unwrap_or(ProxySetup::DEFAULT_AHEAD);
    let delay = lwi::kernel::proxy_to_server();
    let proxy = ProxySetup { delay, rate: PROXY_TO_SERVER_RATE, send_buffer, ahead };
    let stop = signals::stop_flag()?;
    let browser = if arguments.no_page { Err("--no-page".to_owned()) } else { Browser::find() };
    // The search encodes videos, which takes a while.
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    if let Err(why) = &browser {
        terminal.note(&format!("Chromium sessions are left out: {why}\n"));
    }
    let setup = Setup { proxy: Some(proxy), until_done: true, ..Setup::default() };
    let jobs =
        arguments.jobs.unwrap_or_else(|| parallel::jobs(None).saturating_mul(LWI_KERNEL_JOBS_PER_CORE));
    let runs = on_kernel(&experiments, (&setup, jobs), &stop, terminal, |ran, summary| {
        let captured = summary.map(|summary| payload_down(&ran.outcome, summary));
        let late = Some(ran.lateness.quantile(0.99));
        lwi::Run::read(&ran.outcome).map(|run| lwi::Run { captured, late, ..run })
    })?;
    let pages = match browser {
        Ok(browser) => pages(&browser, &calibration, &plans, proxy, &stop, terminal),
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

/// File and functions of a paper's calibration.
struct CalibrationFile<C> {
    /// Default path, relative to the current directory.
    path: &'static str,
    /// Number of steps of a calibration.
    steps: usize,
    parse: fn(&str, &str) -> Result<C, Vec<Diagnostic>>,
    shipped: fn() -> C,
    to_toml: fn(&C) -> String,
}

const EMTCP_CALIBRATION: CalibrationFile<emtcp::calibration::Calibration> = CalibrationFile {
    path: "calibration/emtcp.toml",
    steps: emtcp::calibration::STEPS,
    parse: emtcp::calibration::Calibration::parse,
    shipped: emtcp::calibration::Calibration::shipped,
    to_toml: emtcp::calibration::Calibration::to_toml,
};

const LWI_CALIBRATION: CalibrationFile<lwi::calibration::Calibration> = CalibrationFile {
    path: "calibration/lwi.toml",
    steps: lwi::fit::STEPS,
    parse: lwi::calibration::Calibration::parse,
    shipped: lwi::calibration::Calibration::shipped,
    to_toml: lwi::calibration::Calibration::to_toml,
};

impl<C> CalibrationFile<C> {
    /// Calibrates and writes the file with `--calibrate`; reads it otherwise.
    fn obtain(
        &self,
        arguments: &Reproduce,
        terminal: Terminal,
        fit: impl FnOnce(&(dyn Fn(usize) + Sync)) -> C,
    ) -> Result<C, Failure> {
        let named = arguments.calibration.as_deref();
        if !arguments.calibrate {
            return self.read(named);
        }
        let bar = progress::bar(terminal, self.steps as u64, "calibrating");
        let fitted = fit(&|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let path = named.unwrap_or(Path::new(self.path));
        replace(path, &(self.to_toml)(&fitted))?;
        terminal.note(&format!("calibration: {}\n", path.display()));
        Ok(fitted)
    }

    /// Reads the given file, otherwise the one at the default path, otherwise the built-in
    /// calibration.
    fn read(&self, named: Option<&Path>) -> Result<C, Failure> {
        let path = named.unwrap_or(Path::new(self.path));
        if named.is_none() && !path.exists() {
            return Ok((self.shipped)());
        }
        let text = files::read(path).map_err(|reason| Failure::Unreadable {
            message: format!("cannot read {}: {reason}", path.display()),
            hint: CALIBRATE_HINT.to_owned(),
        })?;
        (self.parse)(&path.display().to_string(), &text).map_err(Failure::Input)
    }
}

/// The hint for an unreadable calibration.
const CALIBRATE_HINT: &str = "`--calibrate` writes a complete file";

/// Replaces a file atomically.
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
