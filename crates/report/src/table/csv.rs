//! A table as CSV (RFC 4180): a header line, lines ended by CR LF, numbers in full.

use super::{Cell, Table, Value};

impl Table {
    /// The table as CSV. A column that holds an interval is followed by one of the same name and
    /// ` ci95`, one with badges by one and ` mark`; a row's badges are the last column, `mark`; headings
    /// are the first column, `group`, of the rows under them. A number that is not finite is empty.
    pub fn to_csv(&self) -> String {
        let body = || self.rows.iter().filter(|row| !row.heading);
        let any = |index: usize, test: &dyn Fn(&Cell) -> bool| {
            body().any(|row| row.cells.get(index).is_some_and(test))
        };
        let shapes: Vec<(bool, bool)> = (0..self.columns.len())
            .map(|i| {
                let interval = any(i, &|c| matches!(c.value, Value::Estimate { .. }));
                (interval, any(i, &|c| c.badge.is_some()))
            })
            .collect();
        let grouped = self.rows.iter().any(|row| row.heading);
        let marked = body().any(|row| row.badge.is_some());

        let mut out = String::new();
        let mut fields: Vec<String> = Vec::new();
        if grouped {
            fields.push("group".to_owned());
        }
        for (index, (column, (interval, badges))) in self.columns.iter().zip(&shapes).enumerate() {
            let name = |what: &str| {
                let head = format!("{}{what}", column.header);
                match self.unit(index) {
                    "" => head,
                    unit => format!("{head} ({unit})"),
                }
            };
            fields.push(name(""));
            if *interval {
                fields.push(name(" ci95"));
            }
            if *badges {
                fields.push(format!("{} mark", column.header));
            }
        }
        if marked {
            fields.push("mark".to_owned());
        }
        record(&mut out, &fields);

        let empty = Cell::empty();
        let mut group = String::new();
        for row in &self.rows {
            if row.heading {
                group = row.cells.first().map(|cell| main(&cell.value)).unwrap_or_default();
                continue;
            }
            fields.clear();
            if grouped {
                fields.push(group.clone());
            }
            for (index, (interval, badges)) in shapes.iter().enumerate() {
                let cell = row.cells.get(index).unwrap_or(&empty);
                fields.push(main(&cell.value));
                if *interval {
                    fields.push(match cell.value {
                        Value::Estimate { estimate, .. } => number(estimate.ci95),
                        _ => String::new(),
                    });
                }
                if *badges {
                    fields.push(cell.badge.as_ref().map(|badge| badge.text.clone()).unwrap_or_default());
                }
            }
            if marked {
                fields.push(row.badge.as_ref().map(|badge| badge.text.clone()).unwrap_or_default());
            }
            record(&mut out, &fields);
        }
        out
    }
}

fn main(value: &Value) -> String {
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

fn record(out: &mut String, fields: &[String]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
}
