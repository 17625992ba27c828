//! `tandem run`.

use crate::arguments;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::logging::log_run;
use crate::output::Terminal;
use crate::provenance::Provenance;
use crate::run_results::RunResults;
use crate::{progress, signals};
use experiments::crowd::{self, CrowdRun};
use experiments::run::{Run, Settings, simulate};
use scenario::Scenario;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use units::Seed;

pub(crate) fn run(arguments: &arguments::Run, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let input = Input::read(&arguments.scenario)?.of_several_devices();
    let scenario = input.scenario_of(&arguments.set, arguments.duration)?;
    check_device(&scenario, arguments)?;
    let name = arguments
        .device
        .as_ref()
        .map_or_else(|| input.stem().to_owned(), |device| format!("{}-{device}", input.stem()));
    let default = Path::new("tandem-out").join(name);
    let made_by = Provenance::new("run")
        .scenario(&input)
        .files_of(&scenario)
        .files_of_policies(&arguments.policy)
        .seed(arguments.seed.map_or(scenario.experiment.seed, Seed::new))
        .option("--seed", arguments.seed)
        .option("--policy", &arguments.policy)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .option("--device", &arguments.device)
        .flag("--pcap", arguments.pcap);
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?.made_by(&made_by);
    let settings = Settings {
        seed: arguments.seed.map(Seed::new),
        policy: arguments.policy.clone(),
        capture: arguments.pcap,
        ..Settings::default()
    };

    let stop = signals::interrupt_flag()?;
    let (bar, mut show) = progress::share_bar(log_run(arguments.log.as_deref(), terminal)?, "simulating");
    let mut progress = |share| {
        show(share);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let simulated = if scenario.crowd.is_some() {
        let run = crowd::simulate(&scenario, &settings, arguments.device.as_deref(), &mut progress);
        run.map(|run| run.map(Box::new).map(Simulated::Crowd))
    } else {
        simulate(&scenario, &settings, &mut progress).map(|run| run.map(Box::new).map(Simulated::Device))
    };
    bar.finish_and_clear();
    let simulated = simulated.map_err(|error| Failure::policy("--policy", &error))?;
    let mut simulated = simulated.ok_or_else(|| Failure::interrupted("; nothing was written"))?;
    if let (Simulated::Crowd(run), Some(name)) = (&simulated, &arguments.device)
        && let Some(device) = run.of_device(name)
    {
        simulated = Simulated::Device(Box::new(device));
    }
    let results = match &simulated {
        Simulated::Device(run) => {
            terminal.warn(&run.warnings);
            RunResults::new(run, &made_by)
        }
        Simulated::Crowd(run) => {
            terminal.warn(&run.warnings);
            RunResults::of_crowd(run, &made_by)
        }
    };
    let written = results.write(&folder, None);
    results.print(terminal, arguments.format, &arguments.plot, written)
}

/// A finished run of one device, or of several.
enum Simulated {
    Device(Box<Run>),
    Crowd(Box<CrowdRun>),
}

/// Checks that the scenario has the device of `--device`, and that a capture has a device.
fn check_device(scenario: &Scenario, arguments: &arguments::Run) -> Result<(), Failure> {
    let usage = |message: String, hint: &str| Err(Failure::Usage { message, hint: hint.to_owned() });
    match (&scenario.crowd, &arguments.device) {
        (None, Some(_)) => {
            usage("--device: the scenario has one device".to_owned(), "run it without --device")
        }
        (Some(_), None) if arguments.pcap => {
            usage("--pcap: the scenario has several devices".to_owned(), "name one with --device NAME")
        }
        (Some(crowd), Some(name)) if !crowd.device_names().any(|known| known == *name) => {
            let kinds = crowd.kinds.iter().map(|kind| match kind.count {
                1 => kind.name.clone(),
                count => format!("{0}-1 to {0}-{count}", kind.name),
            });
            let hint = format!("the scenario has {}", kinds.collect::<Vec<_>>().join(", "));
            usage(format!("--device: no device is called {name:?}"), &hint)
        }
        _ => Ok(()),
    }
}
