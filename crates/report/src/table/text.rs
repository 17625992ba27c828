//! Table as text for a terminal: columns separated by two spaces, without rules.

use super::{Align, Badge, Cell, Row, Table, Tone, Value};
use crate::html::strip_markup;
use crate::number::{DASH, display_width, fixed, signed};
use crate::terminal::printable_line;

/// Options of text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Use ANSI colours.
    pub colour: bool,
    /// Wrap width of the notes, in terminal columns.
    pub width: usize,
}

impl TextStyle {
    /// No colours, notes wrapped at 80 columns.
    pub const PLAIN: Self = Self { colour: false, width: 80 };
    /// ANSI colours, notes wrapped at 80 columns.
    pub const COLOUR: Self = Self { colour: true, width: 80 };
}

impl Default for TextStyle {
    fn default() -> Self {
        Self::PLAIN
    }
}

const COLUMN_SEPARATOR: &str = "  ";
const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

/// Widths of a column's parts. Suffix (interval, percent sign) and badge are aligned separately,
/// so that the values of a column line up.
#[derive(Clone, Copy, Default)]
struct Widths {
    header: usize,
    value: usize,
    suffix: usize,
    badge: usize,
}

impl Widths {
    fn total(self) -> usize {
        self.header.max(self.value + self.suffix + self.badge)
    }
}

impl Table {
    /// Renders the table as aligned text. Each line ends with a line feed.
    pub fn to_text(&self, style: TextStyle) -> String {
        let headers: Vec<String> = self.columns.iter().map(|c| printable_line(&c.header)).collect();
        let units: Vec<String> = self.columns.iter().map(|c| printable_line(&c.unit)).collect();
        let widths = self.widths(&headers, &units);
        let mut out = String::new();
        if !self.title.is_empty() {
            write_line(&mut out, &[paint(style, BOLD, &printable_line(&self.title))]);
            out.push('\n');
        }
        if headers.iter().any(|header| !header.is_empty()) {
            self.write_text_header(&mut out, &widths, &headers, |text| paint(style, BOLD, text));
        }
        if units.iter().any(|unit| !unit.is_empty()) {
            self.write_text_header(&mut out, &widths, &units, |text| paint(style, DIM, text));
        }
        for (index, row) in self.rows.iter().enumerate() {
            if row.heading {
                if index > 0 {
                    out.push('\n');
                }
                let text = row.cells.first().map(|cell| parts(cell).0).unwrap_or_default();
                write_line(&mut out, &[paint(style, BOLD, &text)]);
            } else {
                self.write_text_row(&mut out, style, &widths, row);
            }
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            for text in wrap(&printable_line(&strip_markup(note)), style.width) {
                write_line(&mut out, &[paint(style, DIM, &text)]);
            }
        }
        out
    }

    fn widths(&self, headers: &[String], units: &[String]) -> Vec<Widths> {
        let mut widths: Vec<Widths> = headers
            .iter()
            .zip(units)
            .map(|(header, unit)| Widths {
                header: display_width(header).max(display_width(unit)),
                ..Widths::default()
            })
            .collect();
        for row in self.rows.iter().filter(|row| !row.heading) {
            for (cell, width) in row.cells.iter().zip(&mut widths) {
                let (value, suffix, badge) = parts(cell);
                width.value = width.value.max(display_width(&value));
                width.suffix = width.suffix.max(display_width(&suffix));
                width.badge = width.badge.max(display_width(&badge));
            }
        }
        widths
    }

    fn write_text_header(
        &self,
        out: &mut String,
        widths: &[Widths],
        texts: &[String],
        paint: impl Fn(&str) -> String,
    ) {
        let cells: Vec<String> = self
            .columns
            .iter()
            .zip(widths)
            .zip(texts)
            .map(|((column, width), text)| {
                let (before, after) = padding(column.align, width.total(), display_width(text));
                format!("{}{}{}", " ".repeat(before), paint(text), " ".repeat(after))
            })
            .collect();
        write_line(out, &cells);
    }

    fn write_text_row(&self, out: &mut String, style: TextStyle, widths: &[Widths], row: &Row) {
        let empty = Cell::empty();
        let mut cells: Vec<String> = Vec::with_capacity(self.columns.len() + 1);
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let cell = row.cells.get(index).unwrap_or(&empty);
            let (value, suffix, badge) = parts(cell);
            let (before, after) = padding(column.align, width.value, display_width(&value));
            let (lead, trail) =
                padding(column.align, width.total(), width.value + width.suffix + width.badge);
            let ansi = match cell.tone {
                Tone::Good => GREEN,
                Tone::Bad => RED,
                Tone::Quiet => DIM,
                Tone::Plain if row.strong => BOLD,
                Tone::Plain => "",
            };
            cells.push(format!(
                "{}{}{}{}{}{}{}",
                " ".repeat(lead + before),
                paint(style, ansi, &value),
                " ".repeat(after),
                paint(style, if ansi.is_empty() { DIM } else { ansi }, &suffix),
                " ".repeat(width.suffix - display_width(&suffix)),
                paint(style, DIM, &badge),
                " ".repeat(width.badge - display_width(&badge) + trail),
            ));
        }
        if let Some(Badge { text, .. }) = &row.badge {
            cells.push(paint(style, DIM, &printable_line(text)));
        }
        write_line(out, &cells);
    }
}

/// Value, suffix and badge of a cell.
fn parts(cell: &Cell) -> (String, String, String) {
    let (value, mut suffix) = match &cell.value {
        Value::Empty => (String::new(), String::new()),
        Value::Text(text) => (text.clone(), String::new()),
        Value::Number { value, decimals } => (fixed(*value, *decimals), String::new()),
        Value::Estimate { estimate, decimals } => {
            let interval = estimate.mean.is_finite() && estimate.ci95.is_finite();
            let suffix =
                if interval { format!(" ± {}", fixed(estimate.ci95, *decimals)) } else { String::new() };
            (fixed(estimate.mean, *decimals), suffix)
        }
        Value::Percent { value, decimals } => {
            let number = signed(*value, *decimals);
            let suffix = if number == DASH { String::new() } else { " %".to_owned() };
            (number, suffix)
        }
    };
    if cell.tone == Tone::Bad {
        suffix.push_str(" !");
    }
    let badge = cell.badge.as_ref().map(|badge| format!(" {}", badge.text)).unwrap_or_default();
    (printable_line(&value), suffix, printable_line(&badge))
}

/// Spaces before and after a text of `length` columns in a field of `width` columns.
fn padding(align: Align, width: usize, length: usize) -> (usize, usize) {
    let spare = width.saturating_sub(length);
    match align {
        Align::Left => (0, spare),
        Align::Right => (spare, 0),
        Align::Centre => (spare / 2, spare - spare / 2),
    }
}

fn paint(style: TextStyle, ansi: &str, text: &str) -> String {
    if style.colour && !ansi.is_empty() && !text.is_empty() {
        format!("\u{1b}[{ansi}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

fn write_line(out: &mut String, cells: &[String]) {
    out.push_str(cells.join(COLUMN_SEPARATOR).trim_end());
    out.push('\n');
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("`lines` is never empty");
        if last.is_empty() {
            last.push_str(word);
        } else if display_width(last) + 1 + display_width(word) <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
