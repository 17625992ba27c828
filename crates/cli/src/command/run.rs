//! `tandem run`.

use crate::arguments::Run;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::logging::log_run;
use crate::output::{self, Terminal};
use crate::{input, progress};
use experiments::run::{Settings, simulate};
use std::path::Path;
use units::Seed;

pub(crate) fn run(arguments: &Run, terminal: Terminal) -> Result<(), Failure> {
    let scenario = input::scenario(&arguments.scenario, &arguments.set)?;
    let default = Path::new("tandem-out").join(input::stem(&arguments.scenario));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let settings = Settings {
        seed: arguments.seed.map(Seed::new),
        policy: arguments.policy.clone(),
        capture: arguments.pcap,
    };

    let bar = progress::bar(log_run(arguments.log.as_deref(), terminal)?, 1000, "simulating");
    let run = simulate(&scenario, &settings, &mut |share| bar.set_position((share * 1000.0) as u64));
    bar.finish_and_clear();
    let run = run.map_err(|error| Failure::policy("--policy", &error))?;

    terminal.warn(&run.warnings);
    let json = run.to_json();
    let (result, series, page) = (output::pretty(&json), run.series_csv(), run.page().to_html());
    let mut files = vec![
        ("result.json", result.as_bytes()),
        ("series.csv", series.as_bytes()),
        ("report.html", page.as_bytes()),
    ];
    if let Some(capture) = &run.outcome.capture {
        files.push(("capture.pcapng", capture));
    }
    folder.write(&files)?;
    let printed =
        output::print(terminal, arguments.format, &run.tables(), &json, || run.long_table().to_csv());
    terminal.note(&format!("\nreport: {}", folder.file("report.html").display()));
    printed
}
