//! `tandem map`.

use crate::arguments::Map as Arguments;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::progress;
use crate::provenance::Provenance;
use experiments::map::{Options, measure, points};
use experiments::parallel;
use std::path::Path;

pub(crate) fn run(arguments: &Arguments, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let made_by = Provenance::new("map").option("--seeds", [arguments.seeds]);
    let usual = Path::new("tandem-out").join("map");
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&usual))?.made_by(&made_by);
    let options = Options {
        points: points::of_map(),
        held_out: points::held_out(),
        seeds: u64::from(arguments.seeds),
        jobs: parallel::jobs(arguments.jobs),
    };
    let bar = progress::bar(terminal, 1, "mapping");
    let result = measure(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let mut json = result.to_json();
    made_by.put_into(&mut json);
    let page = made_by.add_to(result.page());
    let (text, report) = (output::pretty(&json), page.to_html());
    let map =
        format!("# Best policies by `tandem map --seeds {}`.\n{}", arguments.seeds, result.map.to_toml());
    let runs = made_by.id_column(result.long_table()).to_csv();
    let written = folder.write(&[
        ("result.json", text.as_bytes()),
        ("runs.csv", runs.as_bytes()),
        ("map.toml", map.as_bytes()),
        ("report.html", report.as_bytes()),
    ]);
    let csv = || made_by.columns(result.long_table()).to_csv();
    let printed = arguments.plot.print_or(&page, terminal, || {
        output::print(terminal, arguments.format, &result.tables(), &json, csv)
    });
    written?.announce(terminal);
    arguments.plot.write(&page, terminal)?;
    printed
}
