//! Results of one run, simulated or on the kernel: its files, its output and its figures.

use crate::arguments::{Format, Plot};
use crate::failure::Failure;
use crate::folder::{Folder, Written};
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use experiments::crowd::CrowdRun;
use experiments::run::Run;
use report::{Page, Table};
use serde_json::Value;
use std::fs::File;

/// The results of a run in every form.
pub(crate) struct RunResults<'a> {
    made_by: &'a Provenance,
    json: Value,
    page: Page,
    series: String,
    tables: Vec<Table>,
    long_table: Table,
    capture: Option<&'a [u8]>,
}

impl<'a> RunResults<'a> {
    pub(crate) fn new(run: &'a Run, made_by: &'a Provenance) -> Self {
        Self {
            made_by,
            json: run.to_json(),
            page: run.page(),
            series: run.series_csv(),
            tables: run.tables(),
            long_table: run.long_table(),
            capture: run.outcome.capture.as_deref(),
        }
        .with_provenance()
    }

    /// Results of a run with several devices.
    pub(crate) fn of_crowd(run: &CrowdRun, made_by: &'a Provenance) -> Self {
        Self {
            made_by,
            json: run.to_json(),
            page: run.page(),
            series: run.series_csv(),
            tables: run.tables(),
            long_table: run.long_table(),
            capture: None,
        }
        .with_provenance()
    }

    fn with_provenance(mut self) -> Self {
        self.made_by.put_into(&mut self.json);
        self.page = self.made_by.add_to(self.page);
        self
    }

    /// Writes the files of the results. A capture on the kernel is in `capture`; that of the simulator
    /// is in the outcome.
    pub(crate) fn write(&self, folder: &Folder, capture: Option<&File>) -> Result<Written, Failure> {
        let (result, report) = (output::pretty(&self.json), self.page.to_html());
        let series = self.made_by.id_in_series(&self.series);
        let mut files = vec![
            ("result.json", result.as_bytes()),
            ("series.csv", series.as_bytes()),
            ("report.html", report.as_bytes()),
        ];
        files.extend(self.capture.map(|simulated| ("capture.pcapng", simulated)));
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
        let csv = || self.made_by.columns(self.long_table.clone()).to_csv();
        let print = || output::print(terminal, format, &self.tables, &self.json, csv);
        let printed = plot.print_or(&self.page, terminal, print);
        written?.announce(terminal);
        plot.write(&self.page, terminal)?;
        printed
    }
}
