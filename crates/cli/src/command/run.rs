//! `tandem run`.

use crate::arguments::Run;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::logging::log_run;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{progress, signals};
use experiments::run::{Settings, simulate};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use units::Seed;

pub(crate) fn run(arguments: &Run, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let input = Input::read(&arguments.scenario)?;
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
    };

    let stop = signals::interrupt_flag()?;
    let (bar, mut show) = progress::share_bar(log_run(arguments.log.as_deref(), terminal)?, "simulating");
    let run = simulate(&scenario, &settings, &mut |share| {
        show(share);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let run = run.map_err(|error| Failure::policy("--policy", &error))?;
    let run = run.ok_or_else(|| Failure::interrupted("; nothing was written"))?;

    terminal.warn(&run.warnings);
    let mut json = run.to_json();
    made_by.put_into(&mut json);
    let page = made_by.add_to(run.page());
    let (result, report) = (output::pretty(&json), page.to_html());
    let series = made_by.id_in_series(&run.series_csv());
    let mut files = vec![
        ("result.json", result.as_bytes()),
        ("series.csv", series.as_bytes()),
        ("report.html", report.as_bytes()),
    ];
    if let Some(capture) = &run.outcome.capture {
        files.push(("capture.pcapng", capture));
    }
    let written = folder.write(&files)?;
    let csv = || made_by.columns(run.long_table()).to_csv();
    let printed = arguments
        .plot
        .print_or(&page, terminal, || output::print(terminal, arguments.format, &run.tables(), &json, csv));
    written.announce(terminal);
    arguments.plot.write(&page, terminal)?;
    printed
}
