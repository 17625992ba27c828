//! `tandem run`.

use crate::arguments::Run;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::logging::log_run;
use crate::output::Terminal;
use crate::provenance::Provenance;
use crate::run_results::RunResults;
use crate::{progress, signals};
use experiments::crowd;
use experiments::run::{Settings, simulate};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use units::Seed;

pub(crate) fn run(arguments: &Run, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let input = Input::read(&arguments.scenario)?.of_several_devices();
    let scenario = input.scenario_of(&arguments.set, arguments.duration)?;
    let default = Path::new("tandem-out").join(input.stem());
    let made_by = Provenance::new("run")
        .scenario(&input)
        .files_of(&scenario)
        .seed(arguments.seed.map_or(scenario.experiment.seed, Seed::new))
        .option("--seed", arguments.seed)
        .option("--policy", &arguments.policy)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .flag("--pcap", arguments.pcap);
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?.made_by(&made_by);
    let settings = Settings {
        seed: arguments.seed.map(Seed::new),
        policy: arguments.policy.clone(),
        capture: arguments.pcap,
        ..Settings::default()
    };

    let stop = signals::interrupt_flag()?;
    if arguments.pcap && scenario.crowd.is_some() {
        return Err(Failure::Usage {
            message: "--pcap: a run of several devices writes no capture".to_owned(),
            hint: "capture a scenario of one device".to_owned(),
        });
    }
    let (bar, mut show) = progress::share_bar(log_run(arguments.log.as_deref(), terminal)?, "simulating");
    let mut progress = |share| {
        show(share);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    if scenario.crowd.is_some() {
        let run = crowd::simulate(&scenario, &settings, &mut progress);
        bar.finish_and_clear();
        let run = run.map_err(|error| Failure::policy("--policy", &error))?;
        let run = run.ok_or_else(|| Failure::interrupted("; nothing was written"))?;
        let results = RunResults::of_crowd(&run, &made_by);
        let written = results.write(&folder, None);
        return results.print(terminal, arguments.format, &arguments.plot, written);
    }
    let run = simulate(&scenario, &settings, &mut progress);
    bar.finish_and_clear();
    let run = run.map_err(|error| Failure::policy("--policy", &error))?;
    let run = run.ok_or_else(|| Failure::interrupted("; nothing was written"))?;

    terminal.warn(&run.warnings);
    let results = RunResults::new(&run, &made_by);
    let written = results.write(&folder, None);
    results.print(terminal, arguments.format, &arguments.plot, written)
}
