//! Results of one run, simulated or on the kernel: its files, its output and its figures.

use crate::arguments::{Format, Plot};
use crate::failure::Failure;
use crate::folder::{Folder, Written};
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use experiments::run::Run;
use report::Page;
use serde_json::Value;
use std::fs::File;

/// The results of a run in every form.
pub(crate) struct RunResults<'a> {
    run: &'a Run,
    made_by: &'a Provenance,
    json: Value,
    page: Page,
}

impl<'a> RunResults<'a> {
    pub(crate) fn new(run: &'a Run, made_by: &'a Provenance) -> Self {
        let mut json = run.to_json();
        made_by.put_into(&mut json);
        Self { run, made_by, json, page: made_by.add_to(run.page()) }
    }

    /// Writes the files of the results. A capture on the kernel is in `capture`; that of the simulator
    /// is in the outcome.
    pub(crate) fn write(&self, folder: &Folder, capture: Option<&File>) -> Result<Written, Failure> {
        let (result, report) = (output::pretty(&self.json), self.page.to_html());
        let series = self.made_by.id_in_series(&self.run.series_csv());
        let mut files = vec![
            ("result.json", result.as_bytes()),
            ("series.csv", series.as_bytes()),
            ("report.html", report.as_bytes()),
        ];
        if let Some(simulated) = &self.run.outcome.capture {
            files.push(("capture.pcapng", simulated));
        }
        folder.write_with(&files, capture.map(|file| ("capture.pcapng", file)))
    }

    /// Prints the results, or the names of the charts, then names the written files and draws the
    /// figures. Results that could not be written are printed too.
    pub(crate) fn print(
        &self,
        terminal: Terminal,
        format: Format,
        plot: &Plot,
        written: Result<Written, Failure>,
    ) -> Result<(), Failure> {
        let csv = || self.made_by.columns(self.run.long_table()).to_csv();
        let print = || output::print(terminal, format, &self.run.tables(), &self.json, csv);
        let printed = plot.print_or(&self.page, terminal, print);
        written?.announce(terminal);
        plot.write(&self.page, terminal)?;
        printed
    }
}
