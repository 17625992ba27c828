//! A table and its parts; each rendering is a file of its own.

mod csv;
mod html;
mod json;
mod text;

pub use text::TextStyle;

use crate::html::slug;
use crate::number::Estimate;

/// A table of results.
///
/// A row with fewer cells than there are columns is filled with empty ones; surplus cells are not
/// shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What the table shows; plain text, may be empty.
    pub title: String,
    /// The columns, left to right.
    pub columns: Vec<Column>,
    /// The rows, top to bottom.
    pub rows: Vec<Row>,
    /// Footnotes; with inline markup (see [`Section::prose`](crate::Section::prose)).
    pub notes: Vec<String>,
}

/// A column's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub header: String,
    /// The unit of its numbers, shown under the name; empty for none.
    pub unit: String,
    /// Where its cells stand.
    pub align: Align,
    /// Its name in JSON; empty for one made from the header (`Energy rate` gives `energy_rate`).
    pub key: String,
}

/// Where the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Align {
    /// Flush left: words.
    #[default]
    Left,
    /// Flush right: numbers.
    Right,
    /// In the middle.
    Centre,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// One cell for each column.
    pub cells: Vec<Cell>,
    /// A word on the whole row, shown after its last cell.
    pub badge: Option<Badge>,
    /// A heading that opens a group of rows: only the first cell is shown, across the table.
    pub heading: bool,
    /// The row that the reader should find first; set in bold.
    pub strong: bool,
}

/// A cell: a value and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// What it holds.
    pub value: Value,
    /// Whether that is good or bad.
    pub tone: Tone,
    /// A word shown beside the value.
    pub badge: Option<Badge>,
    /// Where it leads in HTML: `#anchor`, `/path` or `https://…`; nowhere for anything else.
    pub link: String,
}

/// What a cell holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Empty,
    /// Plain text.
    Text(String),
    /// A number, shown with so many decimals. CSV and JSON carry it in full.
    Number {
        /// The number.
        value: f64,
        /// Digits after the point.
        decimals: usize,
    },
    /// A mean and its interval.
    Estimate {
        /// The mean and its interval.
        estimate: Estimate,
        /// Digits after the point, for both.
        decimals: usize,
    },
    /// A signed difference in percent: `1.2` is shown as `+1.2 %`.
    Percent {
        /// Percent.
        value: f64,
        /// Digits after the point.
        decimals: usize,
    },
}

/// Whether something is good or bad. In HTML a sign goes with the colour, in text a bad cell has a `!`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Neither.
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Of less weight than the rest.
    Quiet,
}

/// A word in a small frame, such as `predicted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Badge {
    /// The word.
    pub text: String,
    /// Filled instead of outlined; tells two badges apart without colour.
    pub filled: bool,
}

impl Table {
    /// A table without columns and rows.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// Adds a column at the right.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }
    /// Adds a row at the bottom.
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }
    /// Adds a footnote, with inline markup.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// A column's unit where data are written: that of a difference goes without saying on a page.
    pub(crate) fn unit(&self, index: usize) -> &str {
        let percent =
            |row: &Row| matches!(row.cells.get(index), Some(Cell { value: Value::Percent { .. }, .. }));
        match self.columns.get(index) {
            Some(column) if !column.unit.is_empty() => &column.unit,
            Some(_) if self.rows.iter().any(|row| !row.heading && percent(row)) => "%",
            _ => "",
        }
    }

    /// The columns' names in JSON, each different.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for column in &self.columns {
            let wished = if column.key.is_empty() {
                slug(&column.header).replace('-', "_")
            } else {
                column.key.clone()
            };
            let mut key = wished.clone();
            let mut count = 2;
            while keys.contains(&key) {
                key = format!("{wished}_{count}");
                count += 1;
            }
            keys.push(key);
        }
        keys
    }
}

impl Column {
    /// A column of words, flush left.
    pub fn text(header: impl Into<String>) -> Self {
        Self { header: header.into(), unit: String::new(), align: Align::Left, key: String::new() }
    }
    /// A column of numbers, flush right.
    pub fn number(header: impl Into<String>) -> Self {
        Self { align: Align::Right, ..Self::text(header) }
    }
    /// Sets the unit, as in `Mbit/s`.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }
    /// Sets where the cells stand.
    pub fn align(mut self, align: Align) -> Self {
        self.align = align;
        self
    }
    /// Sets the name in JSON.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
}

impl Row {
    /// A row of cells.
    pub fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self { cells: cells.into_iter().collect(), ..Self::default() }
    }
    /// A heading over the rows that follow.
    pub fn heading(text: impl Into<String>) -> Self {
        Self { cells: vec![Cell::text(text)], heading: true, ..Self::default() }
    }
    /// Adds a cell at the right.
    pub fn cell(mut self, cell: Cell) -> Self {
        self.cells.push(cell);
        self
    }
    /// Puts a word on the row.
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
    /// An empty cell.
    pub fn empty() -> Self {
        Self::default()
    }
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { value: Value::Text(text.into()), ..Self::default() }
    }
    /// A number with so many decimals.
    pub fn number(value: f64, decimals: usize) -> Self {
        Self { value: Value::Number { value, decimals }, ..Self::default() }
    }
    /// A mean with its interval.
    pub fn estimate(estimate: Estimate, decimals: usize) -> Self {
        Self { value: Value::Estimate { estimate, decimals }, ..Self::default() }
    }
    /// A signed difference in percent.
    pub fn percent(value: f64, decimals: usize) -> Self {
        Self { value: Value::Percent { value, decimals }, ..Self::default() }
    }
    /// How far `ours` is from `theirs`, in percent of theirs; a dash where theirs is zero.
    pub fn difference(ours: f64, theirs: f64, decimals: usize) -> Self {
        let value = if theirs == 0.0 { f64::NAN } else { 100.0 * (ours - theirs) / theirs.abs() };
        Self::percent(value, decimals)
    }
    /// Says whether it is good or bad.
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
    /// Says where it leads.
    pub fn link(mut self, target: impl Into<String>) -> Self {
        self.link = target.into();
        self
    }
    /// Good if `holds`, else bad.
    pub fn good_if(self, holds: bool) -> Self {
        self.tone(if holds { Tone::Good } else { Tone::Bad })
    }
    /// Puts a word beside the value.
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
    /// An outlined badge.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), filled: false }
    }
    /// A filled badge.
    pub fn filled(text: impl Into<String>) -> Self {
        Self { text: text.into(), filled: true }
    }
    /// `calibrated`: a figure that the model was fitted to.
    pub fn calibrated() -> Self {
        Self::new("calibrated")
    }
    /// `predicted`: a figure that the model was not shown.
    pub fn predicted() -> Self {
        Self::filled("predicted")
    }
}
