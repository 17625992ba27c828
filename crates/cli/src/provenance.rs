//! Provenance of results: everything that determines them, for `result.json`, reports and
//! CSV files.
//!
//! docs/reference/output.md describes the member `made_by` and the columns.

use crate::input::Input;
use policy::PolicyConfig;
use report::{Cell, Column, Page, Section, Table, literal};
use scenario::{InputFile, Scenario};
use serde_json::{Value, json};
use std::fmt::Display;
use units::Seed;

/// Number of hexadecimal digits of a run's id.
const ID_DIGITS: usize = 12;

/// Everything that determines a result.
#[derive(Debug, Clone)]
pub(crate) struct Provenance {
    command: &'static str,
    /// Options that affect results, in a fixed order, such as `--seed 7`.
    settings: Vec<String>,
    /// The first seed.
    seed: Option<Seed>,
    /// Scenario files with their texts.
    scenarios: Vec<(InputFile, String)>,
    /// Files that the scenarios name, and captures.
    files: Vec<InputFile>,
}

impl Provenance {
    pub(crate) const fn new(command: &'static str) -> Self {
        Self { command, settings: Vec::new(), seed: None, scenarios: Vec::new(), files: Vec::new() }
    }

    /// Adds a scenario file.
    pub(crate) fn scenario(mut self, input: &Input) -> Self {
        let text = String::from_utf8_lossy(input.bytes()).into_owned();
        self.scenarios.push((InputFile::new(&*input.file, input.bytes()), text));
        self
    }

    /// Adds the files that a scenario names.
    pub(crate) fn files_of(self, scenario: &Scenario) -> Self {
        scenario.files.iter().cloned().fold(self, Self::file)
    }

    /// Adds the files of policies, such as the map of `best-known`.
    pub(crate) fn files_of_policies<'p>(self, policies: impl IntoIterator<Item = &'p PolicyConfig>) -> Self {
        let file =
            |policy: &PolicyConfig| Some(InputFile::new(policy.file()?, policy.file_text()?.as_bytes()));
        policies.into_iter().filter_map(file).fold(self, Self::file)
    }

    /// Adds an input file.
    pub(crate) fn file(mut self, file: InputFile) -> Self {
        if !self.files.contains(&file) {
            self.files.push(file);
        }
        self
    }

    /// Adds a positional argument.
    pub(crate) fn argument(mut self, value: String) -> Self {
        self.settings.push(value);
        self
    }

    /// Adds an option for each of its values.
    pub(crate) fn option(mut self, name: &str, values: impl IntoIterator<Item = impl Display>) -> Self {
        self.settings.extend(values.into_iter().map(|value| format!("{name} {value}")));
        self
    }

    /// Adds an option without a value, if it is given.
    pub(crate) fn flag(mut self, name: &str, is_given: bool) -> Self {
        self.settings.extend(is_given.then(|| name.to_owned()));
        self
    }

    /// Sets the first seed.
    pub(crate) fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// First digits of the SHA-256 of all other members.
    pub(crate) fn id(&self) -> String {
        let mut digits = InputFile::new("", self.members().to_string().as_bytes()).sha256;
        digits.truncate(ID_DIGITS);
        digits
    }

    /// The member `made_by` of `result.json`.
    pub(crate) fn to_json(&self) -> Value {
        let mut made_by = json!({"id": self.id()});
        if let (Value::Object(made_by), Value::Object(members)) = (&mut made_by, self.members()) {
            made_by.extend(members);
        }
        made_by
    }

    /// Adds the member to a result.
    pub(crate) fn put_into(&self, result: &mut Value) {
        if let Value::Object(result) = result {
            result.insert("made_by".to_owned(), self.to_json());
        }
    }

    /// Adds a section to a report, without the texts of the scenarios.
    pub(crate) fn add_to(&self, page: Page) -> Page {
        let mut facts = vec![
            ("Run id".to_owned(), self.id()),
            ("Version".to_owned(), format!("tandem {}", env!("CARGO_PKG_VERSION"))),
            ("Command".to_owned(), format!("`tandem {}`", self.command)),
        ];
        if !self.settings.is_empty() {
            facts.push(("Options".to_owned(), literal(&self.settings.join(" "))));
        }
        let seed_name = if matches!(self.command, "compare" | "sweep") { "First seed" } else { "Seed" };
        facts.extend(self.seed.map(|seed| (seed_name.to_owned(), seed.get().to_string())));
        let file = |kind: &str, file: &InputFile| {
            (kind.to_owned(), format!("{}, SHA-256 {}", literal(&file.name), file.sha256))
        };
        facts.extend(self.scenarios.iter().map(|(scenario, _)| file("Scenario", scenario)));
        facts.extend(self.files.iter().map(|input| file("Input file", input)));
        page.section(Section::new("Provenance").facts(facts))
    }

    fn members(&self) -> Value {
        let file = |file: &InputFile| json!({"file": file.name, "sha256": file.sha256});
        let scenario = |(file, text): &(InputFile, String)| json!({"file": file.name, "sha256": file.sha256, "text": text});
        json!({
            "tandem": env!("CARGO_PKG_VERSION"),
            "command": self.command,
            "settings": self.settings,
            "seed": self.seed.map(Seed::get),
            "scenarios": self.scenarios.iter().map(scenario).collect::<Vec<_>>(),
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
        })
    }

    /// Adds constant columns to a table for CSV.
    pub(crate) fn columns(&self, table: Table) -> Table {
        let hashes: Vec<&str> = self.scenarios.iter().map(|(file, _)| &*file.sha256).collect();
        let files: Vec<String> =
            self.files.iter().map(|file| format!("{}={}", file.name, file.sha256)).collect();
        let columns = [
            ("tandem", env!("CARGO_PKG_VERSION").to_owned()),
            ("scenario_sha256", hashes.join(" ")),
            ("settings", self.settings.join(" ")),
            ("seed", self.seed.map_or_else(String::new, |seed| seed.get().to_string())),
            ("files", files.join(" ")),
            ("run_id", self.id()),
        ];
        columns.into_iter().fold(table, |table, (name, value)| constant(table, name, &value))
    }

    /// Adds the id as a column to a table for CSV.
    pub(crate) fn id_column(&self, table: Table) -> Table {
        constant(table, "run_id", &self.id())
    }

    /// Adds the id as the last column to a time series. A quoted field may have line feeds.
    pub(crate) fn id_in_series(&self, csv: &str) -> String {
        let id = self.id();
        let mut out = String::with_capacity(csv.len() + csv.len() / 4);
        let (mut value, mut is_quoted) = ("run_id", false);
        for line in csv.split_inclusive('\n') {
            // A quote in a quoted field is doubled, which changes nothing here.
            is_quoted ^= line.matches('"').count() % 2 == 1;
            if is_quoted {
                out.push_str(line);
                continue;
            }
            let row = line.trim_end_matches(['\r', '\n']);
            out.push_str(row);
            out.push(',');
            out.push_str(value);
            out.push_str(&line[row.len()..]);
            value = &id;
        }
        out
    }
}

/// Adds a column with one value in all rows.
fn constant(mut table: Table, name: &str, value: &str) -> Table {
    let width = table.columns.len();
    for row in table.rows.iter_mut().filter(|row| !row.heading) {
        row.cells.resize_with(width, Cell::empty);
        row.cells.push(Cell::text(value));
    }
    table.column(Column::text(name))
}

/// Relation of existing results to new ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Earlier {
    /// Made by the same inputs and settings; the version may differ.
    Same,
    /// Made by the same settings from other contents of the files.
    Edited,
    /// Made by other settings.
    Other,
}

impl Provenance {
    /// Compares new results with the `made_by` of existing ones.
    pub(crate) fn compare(&self, existing: &Value) -> Earlier {
        let new = self.members();
        // A capture is the only input of its analysis; a scenario may name other traces after an edit.
        let list = if self.scenarios.is_empty() { "files" } else { "scenarios" };
        let names = |made_by: &Value| -> Option<Vec<Value>> {
            Some(made_by[list].as_array()?.iter().map(|file| file["file"].clone()).collect())
        };
        let same = |member: &str| new[member] == existing[member];
        if !same("command") || !same("settings") || names(&new) != names(existing) {
            Earlier::Other
        } else if same("seed") && same("scenarios") && same("files") {
            Earlier::Same
        } else {
            Earlier::Edited
        }
    }

    /// Whether results are kept when their files have changed: a sweep may have taken hours.
    pub(crate) fn keeps_edited(&self) -> bool {
        self.command == "compare"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_in_series_is_at_the_ends_of_rows_alone() {
        let made_by = Provenance::new("run");
        let id = made_by.id();
        let series = "time_s,\"a\nname\"\r\n0,\"two\r\n \"\"lines\"\"\"\r\n1,one\r\n";
        assert_eq!(
            made_by.id_in_series(series),
            format!("time_s,\"a\nname\",run_id\r\n0,\"two\r\n \"\"lines\"\"\",{id}\r\n1,one,{id}\r\n")
        );
    }
}
