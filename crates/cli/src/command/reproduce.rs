//! `tandem reproduce`.

use crate::arguments::{Paper, Reproduce, World};
use crate::command::testbed::{failure, stop_on_signals};
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::progress;
use clap::ValueEnum as _;
use report::{Page, Table};
use std::fs;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::Ordering;
use study::emtcp::calibration::{Calibration, STEPS, fit};
use study::emtcp::kernel::{KernelReproduction, plans};
use study::emtcp::{Options, reproduce};
use study::{lwi, mptcp_rec, parallel};
use units::Bitrate;

/// Where the fit of the eMTCP paper is kept, beside where the program is run.
const EMTCP_CALIBRATION: &str = "calibration/emtcp.toml";
/// The same of the paper on LTE-Wi-Fi integration.
const LWI_CALIBRATION: &str = "calibration/lwi.toml";

pub(crate) fn run(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    match (arguments.paper, arguments.on) {
        (Paper::Emtcp, World::Sim) => emtcp(arguments, talk),
        (Paper::Emtcp, World::Kernel) => emtcp_on_kernel(arguments, talk),
        (Paper::MptcpRec, World::Sim) => mptcp_rec(arguments, talk),
        (Paper::Lwi, World::Sim) => lwi(arguments, talk),
        (Paper::Lwi, World::Kernel) => lwi_on_kernel(arguments, talk),
        (Paper::MptcpRec, World::Kernel) => Err(not_for(arguments.paper, "--on kernel")),
    }
}

/// An option that a paper's reproduction has no use for.
fn not_for(paper: Paper, option: &str) -> Failure {
    let name = paper.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    Failure::Usage {
        message: format!("`{option}` is not for the paper `{name}`"),
        hint: "`tandem help reproduce` says what each is for".to_owned(),
    }
}

fn mptcp_rec(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    for (given, option) in
        [(arguments.calibrate, "--calibrate"), (arguments.calibration.is_some(), "--calibration")]
    {
        if given {
            return Err(not_for(arguments.paper, option));
        }
    }
    let default = Path::new("tandem-out").join("mptcp-rec");
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let options = mptcp_rec::Options {
        seeds: u64::from(arguments.seeds.unwrap_or(30)),
        duration: arguments.duration.unwrap_or(mptcp_rec::model::whole()),
        jobs: parallel::jobs(arguments.jobs),
        grid: mptcp_rec::model::grid(),
        schemes: mptcp_rec::schemes::all(),
    };
    let bar = progress::bar(talk, 1, "reproducing");
    let result = mptcp_rec::reproduce(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();

    let results = Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.long_table(),
    };
    results.deliver(arguments, talk, &folder)
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
}

impl Results {
    /// Writes the directory, then prints.
    fn deliver(self, arguments: &Reproduce, talk: Talk, folder: &Folder) -> Result<(), Failure> {
        let (text, page) = (output::pretty(&self.json), self.page.to_html());
        let runs = self.runs.map(|runs| runs.to_csv());
        let mut files = vec![("result.json", text.as_bytes())];
        files.extend(runs.iter().map(|runs| ("runs.csv", runs.as_bytes())));
        files.push(("report.html", page.as_bytes()));
        folder.write(&files)?;
        let csv = || self.csv.to_csv();
        let printed = output::print(talk, arguments.format, &self.tables, &self.json, csv);
        talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
        printed
    }
}

/// Runs at once on the kernel: each of the paper's cases carries 2 Mbit/s and mostly waits.
const KERNEL_JOBS: NonZeroUsize = NonZeroUsize::new(16).expect("it is not zero");

fn emtcp_on_kernel(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    if arguments.duration.is_some() {
        return Err(not_for(arguments.paper, "--duration"));
    }
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(Path::new("tandem-out/emtcp-kernel")))?;
    let calibration = calibration(arguments.calibration.as_deref())?;
    let seeds = u64::from(arguments.seeds.unwrap_or(3));
    let plans = plans(&calibration, seeds);
    let stop = stop_on_signals()?;
    let bar = progress::bar(talk, 1000, "on the kernel");
    let first = &plans[0].1;
    let outcomes =
        parallel::map(arguments.jobs.unwrap_or(KERNEL_JOBS), &plans, &|_| {}, |(_, experiment)| {
            let mut tell = |share: f64| {
                if std::ptr::eq(experiment, first) {
                    bar.set_position((share * 1000.0) as u64);
                }
            };
            testbed::run(experiment, &stop, &mut tell).map(|ran| ran.outcome).map_err(|error| {
                // The others need not go on.
                stop.store(true, Ordering::Relaxed);
                failure(&error)
            })
        });
    bar.finish_and_clear();
    let outcomes: Vec<_> = outcomes.into_iter().collect::<Result<_, _>>()?;
    let release = linux::clock::kernel_release();
    let result = KernelReproduction::new(&calibration, seeds, &outcomes, release, parallel::jobs(None));

    let results = Results {
        json: result.to_json(),
        runs: None,
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
    };
    results.deliver(arguments, talk, &folder)
}

fn emtcp(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    if arguments.duration.is_some() {
        return Err(not_for(arguments.paper, "--duration"));
    }
    let jobs = parallel::jobs(arguments.jobs);
    let seeds = u64::from(arguments.seeds.unwrap_or(30));
    let default = Path::new("tandem-out").join("emtcp");
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let calibration = if arguments.calibrate {
        let bar = progress::bar(talk, STEPS as u64, "calibrating");
        let fitted = fit(seeds, jobs, &|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let path = arguments.calibration.as_deref().unwrap_or(Path::new(EMTCP_CALIBRATION));
        replace(path, &fitted.to_toml())?;
        talk.remark(&format!("calibration: {}\n", path.display()));
        fitted
    } else {
        calibration(arguments.calibration.as_deref())?
    };

    let bar = progress::bar(talk, 1, "reproducing");
    let options = Options { seeds, jobs, calibration };
    let result = reproduce(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();

    let results = Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
    };
    results.deliver(arguments, talk, &folder)
}

/// Viewers at once on the kernel: each wants 6 to 16 Mbit/s, which a core carries some twenty times.
const LWI_KERNEL_JOBS: NonZeroUsize = NonZeroUsize::new(24).expect("it is not zero");
/// The link between the proxy and the server, which is no limit.
const CORE: Bitrate = Bitrate::from_bps(1_000_000_000);

fn lwi_on_kernel(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    for (given, option) in
        [(arguments.duration.is_some(), "--duration"), (arguments.calibrate, "--calibrate")]
    {
        if given {
            return Err(not_for(arguments.paper, option));
        }
    }
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(Path::new("tandem-out/lwi-kernel")))?;
    let calibration = lwi_calibration(arguments.calibration.as_deref())?;
    let seeds = u64::from(arguments.seeds.unwrap_or(30));
    let plans = lwi::kernel::plans(&calibration, seeds);
    let stop = stop_on_signals()?;
    let bar = progress::bar(talk, plans.len() as u64, "on the kernel");
    let setup = testbed::Setup {
        edge: Some(testbed::Edge { delay: lwi::kernel::proxy_to_server(), rate: CORE }),
        until_done: true,
        ..testbed::Setup::default()
    };
    let jobs = arguments.jobs.unwrap_or(LWI_KERNEL_JOBS);
    let done = |done| bar.set_position(done as u64);
    let runs = parallel::map(jobs, &plans, &done, |(_, experiment)| {
        let ran = testbed::run_with(experiment, &setup, &stop, &mut |_| {}, None);
        ran.map(|ran| lwi::Run::read(&ran.outcome)).map_err(|error| {
            // The others need not go on.
            stop.store(true, Ordering::Relaxed);
            failure(&error)
        })
    });
    bar.finish_and_clear();
    let runs: Vec<_> = runs.into_iter().collect::<Result<_, _>>()?;
    let release = linux::clock::kernel_release();
    let jobs = parallel::jobs(None);
    let result = lwi::kernel::KernelReproduction::new(calibration, seeds, runs, release, jobs);

    let results = Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
    };
    results.deliver(arguments, talk, &folder)
}

/// The fit of the paper on LTE-Wi-Fi integration.
fn lwi_calibration(named: Option<&Path>) -> Result<lwi::calibration::Calibration, Failure> {
    match calibration_file(named, LWI_CALIBRATION)? {
        Some((file, text)) => lwi::calibration::Calibration::parse(&file, &text).map_err(bad_fit),
        None => Ok(lwi::calibration::Calibration::shipped()),
    }
}

fn lwi(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    if arguments.duration.is_some() {
        return Err(not_for(arguments.paper, "--duration"));
    }
    let jobs = parallel::jobs(arguments.jobs);
    let seeds = u64::from(arguments.seeds.unwrap_or(30));
    let default = Path::new("tandem-out").join("lwi");
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let named = arguments.calibration.as_deref();
    let calibration = if arguments.calibrate {
        let bar = progress::bar(talk, lwi::calibration::STEPS as u64, "calibrating");
        let fitted = lwi::calibration::fit(jobs, &|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let path = named.unwrap_or(Path::new(LWI_CALIBRATION));
        replace(path, &fitted.to_toml())?;
        talk.remark(&format!("calibration: {}\n", path.display()));
        fitted
    } else {
        lwi_calibration(named)?
    };
    let bar = progress::bar(talk, 1, "reproducing");
    let options = lwi::Options { seeds, jobs, calibration };
    let result = lwi::reproduce(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();

    let results = Results {
        json: result.to_json(),
        runs: Some(result.runs_table()),
        page: result.page(),
        tables: result.tables(),
        csv: result.figures(),
    };
    results.deliver(arguments, talk, &folder)
}

/// The fit of the eMTCP paper.
fn calibration(named: Option<&Path>) -> Result<Calibration, Failure> {
    match calibration_file(named, EMTCP_CALIBRATION)? {
        Some((file, text)) => Calibration::parse(&file, &text).map_err(bad_fit),
        None => Ok(Calibration::shipped()),
    }
}

/// The file of a fit that was named, with its name; else the one in its usual place; `None` where there is none.
fn calibration_file(named: Option<&Path>, usual: &str) -> Result<Option<(String, String)>, Failure> {
    let path = named.unwrap_or(Path::new(usual));
    if named.is_none() && !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read {}: {}", path.display(), reason(&error)),
        hint: CALIBRATE.to_owned(),
    })?;
    Ok(Some((path.display().to_string(), text)))
}

/// What helps where a fit cannot be read.
const CALIBRATE: &str = "`--calibrate` writes a complete file";

fn bad_fit(error: impl std::fmt::Display) -> Failure {
    Failure::Unreadable { message: error.to_string(), hint: CALIBRATE.to_owned() }
}

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
