//! Tables: title, columns, rows, cells and notes. Each output format has its own submodule.

mod csv;
mod html;
mod json;
mod text;

pub use text::TextStyle;

use crate::html::slug;
use crate::number::Estimate;
use serde::{Deserialize, Serialize};

/// A table of results.
///
/// Missing cells of a row are empty; surplus cells are not shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Title; plain text, may be empty.
    pub title: String,
    /// Columns, left to right.
    pub columns: Vec<Column>,
    /// Rows, top to bottom.
    pub rows: Vec<Row>,
    /// Footnotes with inline markup (see [`Section::prose`](crate::Section::prose)).
    pub notes: Vec<String>,
}

/// Header and format of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name shown above the column.
    pub header: String,
    /// Unit of the numbers, shown below the name; may be empty.
    pub unit: String,
    /// Alignment of the cells.
    pub align: Align,
    /// Key in JSON; derived from the header if empty (`Energy rate` gives `energy_rate`).
    pub key: String,
}

/// Alignment of the cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Align {
    /// Flush left, for text.
    #[default]
    Left,
    /// Flush right, for numbers.
    Right,
    /// Centred.
    Centre,
}

/// A row of cells, or a heading.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Row {
    /// Cells, by column.
    pub cells: Vec<Cell>,
    /// Badge of the whole row, shown after its last cell.
    pub badge: Option<Badge>,
    /// The row is the heading of the rows below it: only its first cell is shown, across the
    /// table.
    pub heading: bool,
    /// The row is set in bold.
    pub strong: bool,
}

/// A value with its presentation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Cell {
    /// The value.
    pub value: Value,
    /// Rating of the value.
    pub tone: Tone,
    /// Badge shown beside the value.
    pub badge: Option<Badge>,
    /// Link target in HTML: `#anchor`, `/path` or `https://…`. Others are ignored.
    pub link: String,
}

/// Value of a cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum Value {
    /// No value.
    #[default]
    Empty,
    /// Plain text.
    Text(String),
    /// A number, with full precision in CSV and JSON.
    Number {
        /// The number.
        value: f64,
        /// Decimals shown.
        decimals: usize,
    },
    /// A mean with its interval.
    Estimate {
        /// The mean with its interval.
        estimate: Estimate,
        /// Decimals shown, of both.
        decimals: usize,
    },
    /// A signed difference in percent: `1.2` is shown as `+1.2 %`.
    Percent {
        /// The difference in percent.
        value: f64,
        /// Decimals shown.
        decimals: usize,
    },
}

/// Rating of a cell. HTML shows a sign in addition to the colour; text marks a bad cell with `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tone {
    /// No rating.
    #[default]
    Plain,
    /// Within the accepted range.
    Good,
    /// Outside the accepted range.
    Bad,
    /// De-emphasized.
    Quiet,
}

/// A framed label, such as `predicted`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Badge {
    /// Text of the label.
    pub text: String,
    /// Filled instead of outlined, which distinguishes badges without colour.
    pub filled: bool,
}

impl Table {
    /// Creates a table without columns and rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Appends a column.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }
    /// Appends a row.
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }
    /// Appends a footnote with inline markup.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Unit of a column in data formats. Pages print the percent sign of differences in each cell.
    pub(crate) fn unit(&self, index: usize) -> &str {
        let percent =
            |row: &Row| matches!(row.cells.get(index), Some(Cell { value: Value::Percent { .. }, .. }));
        match self.columns.get(index) {
            Some(column) if !column.unit.is_empty() => &column.unit,
            Some(_) if self.rows.iter().any(|row| !row.heading && percent(row)) => "%",
            _ => "",
        }
    }

    /// Keys of the columns in JSON, made unique by a number.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for column in &self.columns {
            let base = if column.key.is_empty() {
                slug(&column.header).replace('-', "_")
            } else {
                column.key.clone()
            };
            let mut key = base.clone();
            let mut count = 2;
            while keys.contains(&key) {
                key = format!("{base}_{count}");
                count += 1;
            }
            keys.push(key);
        }
        keys
    }
}

impl Column {
    /// Creates a column of text, flush left.
    pub fn text(header: impl Into<String>) -> Self {
        Self { header: header.into(), unit: String::new(), align: Align::Left, key: String::new() }
    }
    /// Creates a column of numbers, flush right.
    pub fn number(header: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::text(header) }
    }
    /// Sets the unit, as in `Mbit/s`.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }
    /// Sets the alignment of the cells.
    pub fn align(mut self, align: Align) -> Self {
        self.align = align;
        self
    }
    /// Sets the key in JSON.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
}

impl Row {
    /// Creates a row of cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { cells: cells.into_iter().collect(), ..Self::default() }
    }
    /// Creates a heading of the rows below it.
    pub fn heading(text: impl Into<String>) -> Self {
        Self { cells: vec![Cell::text(text)], heading: true, ..Self::default() }
    }
    /// Appends a cell.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.cells.push(cell);
        self
    }
    /// Sets the badge of the row.
    pub fn badge(mut self, badge: Badge) -> Self {
        self.badge = Some(badge);
        self
    }
    /// Sets the row in bold.
    pub fn strong(mut self) -> Self {
        self.strong = true;
        self
    }
}

impl Cell {
    /// Creates an empty cell.
    pub fn empty() -> Self {
        Self::default()
    }
    /// Creates a cell of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { value: Value::Text(text.into()), ..Self::default() }
    }
    /// Creates a cell of a number.
    pub fn number(value: f64, decimals: usize) -> Self {
        Self { value: Value::Number { value, decimals }, ..Self::default() }
    }
    /// Creates a cell of a mean with its interval.
    pub fn estimate(estimate: Estimate, decimals: usize) -> Self {
        Self { value: Value::Estimate { estimate, decimals }, ..Self::default() }
    }
    /// Creates a cell of a signed difference in percent.
    pub fn percent(value: f64, decimals: usize) -> Self {
        Self { value: Value::Percent { value, decimals }, ..Self::default() }
    }
    /// Creates a cell of the difference of `ours` to `theirs`, in percent of `theirs`; a dash if
    /// `theirs` is zero.
    pub fn difference(ours: f64, theirs: f64, decimals: usize) -> Self {
        let value = if theirs == 0.0 { f64::NAN } else { 100.0 * (ours - theirs) / theirs.abs() };
        Self::percent(value, decimals)
    }
    /// Sets the rating.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
    /// Sets the link target.
    pub fn link(mut self, target: impl Into<String>) -> Self {
        self.link = target.into();
        self
    }
    /// Rates the cell as good if `holds`, else as bad.
    pub fn good_if(self, holds: bool) -> Self {
        self.tone(if holds { Tone::Good } else { Tone::Bad })
    }
    /// Sets the badge beside the value.
    pub fn badge(mut self, badge: Badge) -> Self {
        self.badge = Some(badge);
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Badge {
    /// Creates an outlined badge.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), filled: false }
    }
    /// Creates a filled badge.
    pub fn filled(text: impl Into<String>) -> Self {
        Self { text: text.into(), filled: true }
    }
    /// Badge of a figure to which the model was fitted.
    pub fn calibrated() -> Self {
        Self::new("calibrated")
    }
    /// Badge of a figure that did not enter the fit.
    pub fn predicted() -> Self {
        Self::filled("predicted")
    }
}
