//! Results of `tandem check` as JSON and CSV.

use crate::arguments::FileKind;
use crate::failure::Failure;
use clap::ValueEnum as _;
use experiments::warnings::Warning;
use report::{Cell, Column, Row, Table};
use scenario::Diagnostic;
use schema::Source;
use serde_json::{Value, json};

/// A checked file.
pub(super) struct CheckedFile {
    /// Name as given.
    pub(super) name: String,
    /// Unknown if the file cannot be read.
    pub(super) kind: Option<FileKind>,
    pub(super) text: String,
    /// A description in a line.
    pub(super) result: Result<String, Failure>,
    pub(super) warnings: Vec<Warning>,
}

/// One problem or warning, with the members of the JSON document and the columns of the CSV file.
#[derive(Default)]
struct Finding {
    severity: &'static str,
    /// The file with the problem: the checked file, or a file that it names.
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    /// Key of the checked file.
    key: Option<String>,
    message: String,
    expected: Option<String>,
    hint: Option<String>,
}

impl CheckedFile {
    fn findings(&self) -> Vec<Finding> {
        let problems = match &self.result {
            Err(Failure::Input(problems)) => problems.iter().map(|problem| self.problem(problem)).collect(),
            Err(
                Failure::Usage { message, hint }
                | Failure::Unreadable { message, hint }
                | Failure::MissingRequirement { message, hint }
                | Failure::Other { message, hint },
            ) => vec![self.finding("error", message, hint)],
            Err(other) => vec![self.finding("error", &other.to_text(), "")],
            Ok(_) => Vec::new(),
        };
        let warnings = self.warnings.iter().map(|one| self.finding("warning", &one.message, &one.hint));
        problems.into_iter().chain(warnings).collect()
    }

    /// A finding without a position.
    fn finding(&self, severity: &'static str, message: &str, hint: &str) -> Finding {
        let hint = (!hint.is_empty()).then(|| hint.to_owned());
        Finding { severity, file: self.name.clone(), message: message.to_owned(), hint, ..Finding::default() }
    }

    fn problem(&self, problem: &Diagnostic) -> Finding {
        let offset = match &problem.referenced_at {
            Some(place) => self.offset(place.line, place.column),
            None => problem.span.start,
        };
        let is_toml = !matches!(self.kind, Some(FileKind::Manifest | FileKind::Sizes | FileKind::Trace));
        Finding {
            severity: "error",
            file: problem.file.clone(),
            line: Some(problem.line),
            column: Some(problem.column),
            key: if is_toml { schema::key_at(&self.text, offset) } else { None },
            message: problem.message.clone(),
            expected: problem.expected.clone(),
            hint: problem.hint.clone(),
        }
    }

    /// Byte offset of a position in the checked file.
    fn offset(&self, line: usize, column: usize) -> usize {
        let source = Source::new(&self.name, &self.text);
        let before = source.line(line).chars().take(column.saturating_sub(1));
        source.line_span(line).start + before.map(char::len_utf8).sum::<usize>()
    }

    fn kind_name(&self) -> Option<String> {
        Some(self.kind?.to_possible_value()?.get_name().to_owned())
    }
}

/// The JSON document for all files.
pub(super) fn to_json(files: &[CheckedFile]) -> Value {
    let finding = |one: &Finding| {
        json!({
            "severity": one.severity, "file": one.file, "line": one.line, "column": one.column, "key": one.key,
            "message": one.message, "expected": one.expected, "hint": one.hint,
        })
    };
    let file = |file: &CheckedFile| {
        json!({
            "file": file.name,
            "kind": file.kind_name(),
            "valid": file.result.is_ok(),
            "summary": file.result.as_ref().ok(),
            "problems": file.findings().iter().map(finding).collect::<Vec<_>>(),
        })
    };
    json!({ "kind": "check", "files": files.iter().map(file).collect::<Vec<_>>() })
}

/// A row for each problem and warning, and one for each file without any.
pub(super) fn to_csv(files: &[CheckedFile]) -> String {
    let columns = [
        "checked", "kind", "valid", "severity", "file", "line", "column", "key", "message", "expected",
        "hint",
    ];
    let table = columns.into_iter().fold(Table::new("Files"), |table, name| table.column(Column::text(name)));
    let rows = files.iter().flat_map(|file| {
        let mut findings = file.findings();
        if findings.is_empty() {
            let message = file.result.as_ref().map_or_else(|_| String::new(), String::clone);
            findings.push(Finding { message, ..Finding::default() });
        }
        findings.into_iter().map(move |one| row(file, one))
    });
    rows.fold(table, Table::row).to_csv()
}

fn row(file: &CheckedFile, one: Finding) -> Row {
    let number = |number: Option<usize>| number.map(|number| number.to_string());
    let valid = if file.result.is_ok() { "true" } else { "false" };
    let cells = [
        Some(file.name.clone()),
        file.kind_name(),
        Some(valid.to_owned()),
        Some(one.severity.to_owned()),
        Some(one.file),
        number(one.line),
        number(one.column),
        one.key,
        Some(one.message),
        one.expected,
        one.hint,
    ];
    Row::new(
        cells
            .into_iter()
            .map(|cell| cell.filter(|text| !text.is_empty()).map_or_else(Cell::empty, Cell::text)),
    )
}
