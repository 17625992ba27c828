//! Table as HTML.

use super::{Align, Badge, Cell, Column, Row, Table, Tone, Value};
use crate::html::{escape, is_link_target, render_inline};
use crate::number::{DASH, fixed, signed, with_minus_sign};
use core::fmt::Write as _;

impl Table {
    /// Renders the table as an HTML fragment, styled by the style sheet of [`Page`](crate::Page).
    pub fn to_html(&self) -> String {
        let mut out = String::from("<figure class=\"table\">\n");
        if !self.title.is_empty() {
            let _ = writeln!(out, "<figcaption>{}</figcaption>", escape(&self.title));
        }
        let label = if self.title.is_empty() { "table" } else { &self.title };
        // `tabindex` makes the scrollable box reachable by keyboard.
        let _ = write!(
            out,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n<thead><tr>",
            escape(label)
        );
        let badge_column = self.rows.iter().any(|row| row.badge.is_some());
        for column in &self.columns {
            write_column_header(&mut out, column);
        }
        if badge_column {
            out.push_str("<td></td>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            self.write_html_row(&mut out, row, badge_column);
        }
        out.push_str("</tbody></table></div>\n");
        for note in &self.notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", render_inline(note));
        }
        out.push_str("</figure>\n");
        out
    }

    fn write_html_row(&self, out: &mut String, row: &Row, badge_column: bool) {
        if row.heading {
            let span = self.columns.len() + usize::from(badge_column);
            let text = row.cells.first().map(|cell| value(&cell.value)).unwrap_or_default();
            let _ = writeln!(
                out,
                "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{span}\">{text}</th></tr>"
            );
            return;
        }
        out.push_str(if row.strong { "<tr class=\"strong\">" } else { "<tr>" });
        let empty = Cell::empty();
        for (index, column) in self.columns.iter().enumerate() {
            let cell = row.cells.get(index).unwrap_or(&empty);
            write_cell(out, cell, column.align, index == 0 && column.align == Align::Left);
        }
        if badge_column {
            let text = row.badge.as_ref().map(badge).unwrap_or_default();
            let _ = write!(out, "<td class=\"mark\">{text}</td>");
        }
        out.push_str("</tr>\n");
    }
}

fn write_column_header(out: &mut String, column: &Column) {
    let _ = write!(out, "<th scope=\"col\"{}>{}", class(column.align, ""), escape(&column.header));
    if !column.unit.is_empty() {
        let _ = write!(out, " <span class=\"unit\">{}</span>", escape(&column.unit));
    }
    out.push_str("</th>");
}

/// Writes a cell; `row_header` makes it the header of its row.
fn write_cell(out: &mut String, cell: &Cell, align: Align, row_header: bool) {
    let (tag, scope) = if row_header { ("th", " scope=\"row\"") } else { ("td", "") };
    let tone = match cell.tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Quiet => "quiet",
    };
    let text = value(&cell.value);
    let text = if is_link_target(&cell.link) {
        format!("<a href=\"{}\">{text}</a>", escape(&cell.link))
    } else {
        text
    };
    let _ = write!(out, "<{tag}{scope}{}>{text}", class(align, tone));
    out.push_str(match cell.tone {
        Tone::Good => " <span class=\"sign\" role=\"img\" aria-label=\"good\">✓</span>",
        Tone::Bad => " <span class=\"sign\" role=\"img\" aria-label=\"bad\">✗</span>",
        Tone::Plain | Tone::Quiet => "",
    });
    if let Some(own) = &cell.badge {
        let _ = write!(out, " {}", badge(own));
    }
    let _ = write!(out, "</{tag}>");
}

fn class(align: Align, tone: &str) -> String {
    let align = match align {
        Align::Left => "",
        Align::Right => "r",
        Align::Centre => "c",
    };
    match (align, tone) {
        ("", "") => String::new(),
        ("", class) | (class, "") => format!(" class=\"{class}\""),
        (align, tone) => format!(" class=\"{align} {tone}\""),
    }
}

fn badge(badge: &Badge) -> String {
    let class = if badge.filled { "badge filled" } else { "badge" };
    format!("<span class=\"{class}\">{}</span>", escape(&badge.text))
}

fn value(value: &Value) -> String {
    match value {
        Value::Empty => String::new(),
        Value::Text(text) => escape(text),
        Value::Number { value, decimals } => with_minus_sign(&fixed(*value, *decimals)),
        Value::Estimate { estimate, decimals } => {
            let mean = with_minus_sign(&fixed(estimate.mean, *decimals));
            if estimate.mean.is_finite() && estimate.ci95.is_finite() {
                format!("{mean}<span class=\"ci\">\u{a0}± {}</span>", fixed(estimate.ci95, *decimals))
            } else {
                mean
            }
        }
        Value::Percent { value, decimals } => {
            let text = with_minus_sign(&signed(*value, *decimals));
            if text == DASH { text } else { format!("{text}\u{a0}%") }
        }
    }
}
