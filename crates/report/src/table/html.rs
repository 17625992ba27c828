//! A table as HTML.

use super::{Align, Badge, Cell, Table, Tone, Value};
use crate::html::{escape, inline, leads};
use crate::number::{DASH, fixed, minus, signed};
use core::fmt::Write as _;

impl Table {
    /// The table as an HTML fragment, styled by the sheet of a [`Page`](crate::Page).
    pub fn to_html(&self) -> String {
        let mut out = String::from("<figure class=\"table\">\n");
        if !self.title.is_empty() {
            let _ = writeln!(out, "<figcaption>{}</figcaption>", escape(&self.title));
        }
        let label = if self.title.is_empty() { "table" } else { &self.title };
        // A box that scrolls must be reachable by keyboard.
        let _ = write!(
            out,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\"><table>\n<thead><tr>",
            escape(label)
        );
        let marked = self.rows.iter().any(|row| row.badge.is_some());
        for column in &self.columns {
            let _ = write!(out, "<th scope=\"col\"{}>{}", class(column.align, ""), escape(&column.header));
            if !column.unit.is_empty() {
                let _ = write!(out, " <span class=\"unit\">{}</span>", escape(&column.unit));
            }
            out.push_str("</th>");
        }
        if marked {
            out.push_str("<td></td>");
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        let empty = Cell::empty();
        for row in &self.rows {
            if row.heading {
                let span = self.columns.len() + usize::from(marked);
                let text = row.cells.first().map(|cell| value(&cell.value)).unwrap_or_default();
                let _ = writeln!(
                    out,
                    "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{span}\">{text}</th></tr>"
                );
                continue;
            }
            out.push_str(if row.strong { "<tr class=\"strong\">" } else { "<tr>" });
            for (index, column) in self.columns.iter().enumerate() {
                let cell = row.cells.get(index).unwrap_or(&empty);
                // The first cell names the row.
                let (tag, scope) = if index == 0 && column.align == Align::Left {
                    ("th", " scope=\"row\"")
                } else {
                    ("td", "")
                };
                let tone = match cell.tone {
                    Tone::Plain => "",
                    Tone::Good => "good",
                    Tone::Bad => "bad",
                    Tone::Quiet => "quiet",
                };
                let shown = value(&cell.value);
                let shown = if leads(&cell.link) {
                    format!("<a href=\"{}\">{shown}</a>", escape(&cell.link))
                } else {
                    shown
                };
                let _ = write!(out, "<{tag}{scope}{}>{shown}", class(column.align, tone));
                match cell.tone {
                    Tone::Good => {
                        out.push_str(" <span class=\"sign\" role=\"img\" aria-label=\"good\">✓</span>");
                    }
                    Tone::Bad => {
                        out.push_str(" <span class=\"sign\" role=\"img\" aria-label=\"bad\">✗</span>");
                    }
                    Tone::Plain | Tone::Quiet => {}
                }
                if let Some(badge) = &cell.badge {
                    let _ = write!(out, " {}", mark(badge));
                }
                let _ = write!(out, "</{tag}>");
            }
            if marked {
                let text = row.badge.as_ref().map(mark).unwrap_or_default();
                let _ = write!(out, "<td class=\"mark\">{text}</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        for note in &self.notes {
            let _ = writeln!(out, "<p class=\"note\">{}</p>", inline(note));
        }
        out.push_str("</figure>\n");
        out
    }
}

fn class(align: Align, tone: &str) -> String {
    let align = match align {
        Align::Left => "",
        Align::Right => "r",
        Align::Centre => "c",
    };
    match (align, tone) {
        ("", "") => String::new(),
        ("", one) | (one, "") => format!(" class=\"{one}\""),
        (one, two) => format!(" class=\"{one} {two}\""),
    }
}

fn mark(badge: &Badge) -> String {
    let class = if badge.filled { "badge filled" } else { "badge" };
    format!("<span class=\"{class}\">{}</span>", escape(&badge.text))
}

fn value(value: &Value) -> String {
    match value {
        Value::Empty => String::new(),
        Value::Text(text) => escape(text),
        Value::Number { value, decimals } => minus(&fixed(*value, *decimals)),
        Value::Estimate { estimate, decimals } => {
            let mean = minus(&fixed(estimate.mean, *decimals));
            if estimate.mean.is_finite() && estimate.ci95.is_finite() {
                format!("{mean}<span class=\"ci\">\u{a0}± {}</span>", fixed(estimate.ci95, *decimals))
            } else {
                mean
            }
        }
        Value::Percent { value, decimals } => {
            let text = minus(&signed(*value, *decimals));
            if text == DASH { text } else { format!("{text}\u{a0}%") }
        }
    }
}
