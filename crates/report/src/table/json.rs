//! Table as JSON, numbers with full precision.

use super::{Table, Value};
use serde_json::{Map, Value as Json, json};

impl Table {
    /// Renders the table as JSON with the members `title`, `columns` (`key`, `header`, `unit`),
    /// `rows` and `notes`.
    ///
    /// A row is an object by column key. `mark` and `marks` are the badges of the row and of its
    /// cells, `group` is the heading above the row. An estimate is `{"mean", "ci95"}`. A number
    /// that is not finite is null.
    pub fn to_json(&self) -> Json {
        let keys = self.keys();
        let columns: Vec<Json> = self
            .columns
            .iter()
            .zip(&keys)
            .enumerate()
            .map(|(i, (column, key))| json!({"key": key, "header": column.header, "unit": self.unit(i)}))
            .collect();
        let mut group = Json::Null;
        let mut rows = Vec::new();
        for row in &self.rows {
            if row.heading {
                group = row.cells.first().map_or(Json::Null, |cell| value(&cell.value));
                continue;
            }
            let mut object = Map::new();
            let mut marks = Map::new();
            if !group.is_null() {
                object.insert("group".to_owned(), group.clone());
            }
            for (index, key) in keys.iter().enumerate() {
                let cell = row.cells.get(index);
                object.insert(key.clone(), cell.map_or(Json::Null, |cell| value(&cell.value)));
                if let Some(badge) = cell.and_then(|cell| cell.badge.as_ref()) {
                    marks.insert(key.clone(), json!(badge.text));
                }
            }
            if let Some(badge) = &row.badge {
                object.insert("mark".to_owned(), json!(badge.text));
            }
            if !marks.is_empty() {
                object.insert("marks".to_owned(), Json::Object(marks));
            }
            rows.push(Json::Object(object));
        }
        let notes: Vec<String> = self.notes.iter().map(|note| crate::html::strip_markup(note)).collect();
        json!({"title": self.title, "columns": columns, "rows": rows, "notes": notes})
    }
}

fn value(value: &Value) -> Json {
    match value {
        Value::Empty => Json::Null,
        Value::Text(text) => json!(text),
        Value::Number { value, .. } | Value::Percent { value, .. } => json!(value),
        Value::Estimate { estimate, .. } => json!(estimate),
    }
}
