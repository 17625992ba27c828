//! A table for a terminal: columns apart by two spaces, no lines drawn.

use super::{Align, Badge, Cell, Row, Table, Tone, Value};
use crate::html::unmark;
use crate::number::{DASH, display_width, fixed, signed};

/// How a table is written to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether to use ANSI colours.
    pub colour: bool,
    /// How many columns the notes may take.
    pub width: usize,
}

impl TextStyle {
    /// No colours, notes of 80 columns.
    pub const PLAIN: Self = Self { colour: false, width: 80 };
    /// Colours, notes of 80 columns.
    pub const COLOUR: Self = Self { colour: true, width: 80 };
}

impl Default for TextStyle {
    fn default() -> Self {
        Self::PLAIN
    }
}

const GAP: &str = "  ";
const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "31";
const GREEN: &str = "32";

/// What a column needs: the value proper, and what trails it (an interval, a percent sign, a badge), so
/// that the values of a column stand under each other whatever trails them.
#[derive(Clone, Copy, Default)]
struct Widths {
    head: usize,
    body: usize,
    tail: usize,
    badge: usize,
}

impl Widths {
    fn total(self) -> usize {
        self.head.max(self.body + self.tail + self.badge)
    }
}

impl Table {
    /// The table as aligned text, each line ended by a line feed.
    pub fn to_text(&self, style: TextStyle) -> String {
        let widths = self.widths();
        let mut out = String::new();
        if !self.title.is_empty() {
            line(&mut out, &[paint(style, BOLD, &self.title)]);
            out.push('\n');
        }
        let heads: Vec<String> = self.columns.iter().map(|c| c.header.clone()).collect();
        let units: Vec<String> = self.columns.iter().map(|c| c.unit.clone()).collect();
        if heads.iter().any(|head| !head.is_empty()) {
            self.head(&mut out, style, &widths, &heads, BOLD);
        }
        if units.iter().any(|unit| !unit.is_empty()) {
            self.head(&mut out, style, &widths, &units, DIM);
        }
        for (index, row) in self.rows.iter().enumerate() {
            if row.heading {
                if index > 0 {
                    out.push('\n');
                }
                let text = row.cells.first().map(|cell| parts(cell).0).unwrap_or_default();
                line(&mut out, &[paint(style, BOLD, &text)]);
            } else {
                self.body(&mut out, style, &widths, row);
            }
        }
        if !self.notes.is_empty() {
            out.push('\n');
        }
        for note in &self.notes {
            for text in wrap(&unmark(note), style.width) {
                line(&mut out, &[paint(style, DIM, &text)]);
            }
        }
        out
    }

    fn widths(&self) -> Vec<Widths> {
        let mut widths: Vec<Widths> = self
            .columns
            .iter()
            .map(|c| Widths {
                head: display_width(&c.header).max(display_width(&c.unit)),
                ..Widths::default()
            })
            .collect();
        for row in self.rows.iter().filter(|row| !row.heading) {
            for (cell, width) in row.cells.iter().zip(&mut widths) {
                let (body, tail, badge) = parts(cell);
                width.body = width.body.max(display_width(&body));
                width.tail = width.tail.max(display_width(&tail));
                width.badge = width.badge.max(display_width(&badge));
            }
        }
        widths
    }

    fn head(&self, out: &mut String, style: TextStyle, widths: &[Widths], texts: &[String], ansi: &str) {
        let cells: Vec<String> = self
            .columns
            .iter()
            .zip(widths)
            .zip(texts)
            .map(|((column, width), text)| {
                let (before, after) = padding(column.align, width.total(), display_width(text));
                format!("{}{}{}", " ".repeat(before), paint(style, ansi, text), " ".repeat(after))
            })
            .collect();
        line(out, &cells);
    }

    fn body(&self, out: &mut String, style: TextStyle, widths: &[Widths], row: &Row) {
        let empty = Cell::empty();
        let mut cells: Vec<String> = Vec::with_capacity(self.columns.len() + 1);
        for (index, (column, width)) in self.columns.iter().zip(widths).enumerate() {
            let cell = row.cells.get(index).unwrap_or(&empty);
            let (body, tail, badge) = parts(cell);
            let (before, after) = match column.align {
                Align::Left => (0, width.body - display_width(&body)),
                Align::Right => (width.body - display_width(&body), 0),
                Align::Centre => padding(Align::Centre, width.body, display_width(&body)),
            };
            let (lead, trail) = padding(column.align, width.total(), width.body + width.tail + width.badge);
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
                paint(style, ansi, &body),
                " ".repeat(after),
                paint(style, if ansi.is_empty() { DIM } else { ansi }, &tail),
                " ".repeat(width.tail - display_width(&tail)),
                paint(style, DIM, &badge),
                " ".repeat(width.badge - display_width(&badge) + trail),
            ));
        }
        if let Some(Badge { text, .. }) = &row.badge {
            cells.push(paint(style, DIM, text));
        }
        line(out, &cells);
    }
}

/// The value proper, what trails it, and its badge.
fn parts(cell: &Cell) -> (String, String, String) {
    let (body, mut tail) = match &cell.value {
        Value::Empty => (String::new(), String::new()),
        Value::Text(text) => (text.clone(), String::new()),
        Value::Number { value, decimals } => (fixed(*value, *decimals), String::new()),
        Value::Estimate { estimate, decimals } => {
            let interval = estimate.mean.is_finite() && estimate.ci95.is_finite();
            let tail =
                if interval { format!(" ± {}", fixed(estimate.ci95, *decimals)) } else { String::new() };
            (fixed(estimate.mean, *decimals), tail)
        }
        Value::Percent { value, decimals } => {
            let body = signed(*value, *decimals);
            let tail = if body == DASH { String::new() } else { " %".to_owned() };
            (body, tail)
        }
    };
    if cell.tone == Tone::Bad {
        tail.push_str(" !");
    }
    let badge = cell.badge.as_ref().map(|badge| format!(" {}", badge.text)).unwrap_or_default();
    let flat = |text: String| text.replace(['\n', '\r', '\t', '\u{1b}'], " ");
    (flat(body), tail, flat(badge))
}

fn padding(align: Align, room: usize, taken: usize) -> (usize, usize) {
    let spare = room.saturating_sub(taken);
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

fn line(out: &mut String, cells: &[String]) {
    out.push_str(cells.join(GAP).trim_end());
    out.push('\n');
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
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
