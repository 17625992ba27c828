//! Table as CSV (RFC 4180): a header line, CR LF line ends, numbers with full precision.

use super::{Badge, Cell, Row, Table, Value};
use csv::{Terminator, WriterBuilder};

/// CSV columns in addition to one per table column.
struct Layout {
    /// A first column with the group of each row.
    group: bool,
    /// Extra columns, by table column.
    columns: Vec<ExtraColumns>,
    /// A last column with the badges of rows.
    row_badge: bool,
}

struct ExtraColumns {
    interval: bool,
    badge: bool,
}

impl Table {
    /// Renders the table as CSV.
    ///
    /// A column with intervals is followed by a column of the same name and ` ci95`, a column with
    /// badges by one with ` mark`. Row badges are the last column, `mark`. A heading is the value
    /// of the first column, `group`, in the rows below it. A number that is not finite is empty.
    pub fn to_csv(&self) -> String {
        let layout = Layout::of(self);
        let mut out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
        let mut write = |fields: &[String]| out.write_record(fields).expect("memory takes any record");
        write(&self.csv_header(&layout));
        let mut group = String::new();
        for row in &self.rows {
            if row.heading {
                group = row.cells.first().map(|cell| main_field(&cell.value)).unwrap_or_default();
            } else {
                write(&layout.fields(row, &group));
            }
        }
        String::from_utf8(out.into_inner().expect("memory takes any record")).expect("fields are UTF-8")
    }

    fn csv_header(&self, layout: &Layout) -> Vec<String> {
        let mut fields = Vec::new();
        if layout.group {
            fields.push("group".to_owned());
        }
        for (index, (column, extra)) in self.columns.iter().zip(&layout.columns).enumerate() {
            let with_unit = |name: String| match self.unit(index) {
                "" => name,
                unit => format!("{name} ({unit})"),
            };
            fields.push(with_unit(column.header.clone()));
            if extra.interval {
                fields.push(with_unit(format!("{} ci95", column.header)));
            }
            if extra.badge {
                fields.push(format!("{} mark", column.header));
            }
        }
        if layout.row_badge {
            fields.push("mark".to_owned());
        }
        fields
    }
}

impl Layout {
    fn of(table: &Table) -> Self {
        let rows = || table.rows.iter().filter(|row| !row.heading);
        let columns = (0..table.columns.len()).map(|index| {
            let any = |test: fn(&Cell) -> bool| rows().any(|row| row.cells.get(index).is_some_and(test));
            ExtraColumns {
                interval: any(|cell| matches!(cell.value, Value::Estimate { .. })),
                badge: any(|cell| cell.badge.is_some()),
            }
        });
        Self {
            group: table.rows.iter().any(|row| row.heading),
            columns: columns.collect(),
            row_badge: rows().any(|row| row.badge.is_some()),
        }
    }

    fn fields(&self, row: &Row, group: &str) -> Vec<String> {
        let empty = Cell::empty();
        let badge =
            |badge: &Option<Badge>| badge.as_ref().map(|badge| badge.text.clone()).unwrap_or_default();
        let mut fields = Vec::new();
        if self.group {
            fields.push(group.to_owned());
        }
        for (index, extra) in self.columns.iter().enumerate() {
            let cell = row.cells.get(index).unwrap_or(&empty);
            fields.push(main_field(&cell.value));
            if extra.interval {
                fields.push(match cell.value {
                    Value::Estimate { estimate, .. } => number(estimate.ci95),
                    _ => String::new(),
                });
            }
            if extra.badge {
                fields.push(badge(&cell.badge));
            }
        }
        if self.row_badge {
            fields.push(badge(&row.badge));
        }
        fields
    }
}

/// The value without its interval.
fn main_field(value: &Value) -> String {
    match value {
        Value::Empty => String::new(),
        Value::Text(text) => text.clone(),
        Value::Number { value, .. } | Value::Percent { value, .. } => number(*value),
        Value::Estimate { estimate, .. } => number(estimate.mean),
    }
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}
