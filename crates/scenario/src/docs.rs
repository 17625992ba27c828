//! The documentation of every key, written from the description.

use crate::format::SCENARIO;
use crate::shape::{Choice, Key, Least, Need, Shape, Table};
use core::fmt::Write;

/// `docs/scenario.md`: every key of the scenario file, its type, default and meaning.
pub fn docs_markdown() -> String {
    let mut out = String::new();
    out.push_str("# The scenario file\n\n");
    out.push_str("<!-- Written from crates/scenario/src/format by `tandem_scenario::docs_markdown`; ");
    out.push_str("a test keeps it current. -->\n\n");
    out.push_str(SCENARIO.doc);
    out.push_str(
        " The same description is a JSON Schema for editors: `tandem schema`. Commented examples are in \
         `scenarios/`.\n\n",
    );
    out.push_str(
        "**Units.** Times: ns, us, ms, s, min, h. Rates: bps, kbps, Mbps, Gbps. Sizes: B, kB, MB, GB (powers of ten), \
         KiB, MiB, GiB (powers of two). Powers: uW, mW, W. Energies: mJ, J, kJ, Wh.\n\n",
    );
    let mut tables: Vec<(&'static str, &'static Table)> = vec![("", &SCENARIO)];
    let mut next = 0;
    while let Some(&(_, table)) = tables.get(next) {
        for key in table.keys {
            if let Some(inner) = key.shape.table()
                && !tables.iter().any(|(_, t)| core::ptr::eq(*t, inner))
            {
                tables.push((key.name, inner));
            }
        }
        next += 1;
    }
    for (_, table) in tables {
        section(&mut out, table);
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

fn section(out: &mut String, table: &'static Table) {
    let is_root = core::ptr::eq(table, &raw const SCENARIO);
    let title = if is_root { "Top of the file".to_owned() } else { capital(&table.id().replace('-', " ")) };
    let _ = writeln!(out, "## {title}\n");
    if !is_root {
        let _ = writeln!(out, "{}\n", table.doc);
    }
    out.push_str("| Key | Value | When absent | Meaning |\n|---|---|---|---|\n");
    for key in table.keys {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} Example: `{}` |",
            key.name,
            cell(&kind(&key.shape)),
            cell(&absent(key)),
            cell(key.doc),
            cell(key.example),
        );
    }
    out.push('\n');
    for key in table.keys {
        if let Some(choices) = choices(&key.shape) {
            let _ = writeln!(out, "`{}`:\n", key.name);
            for choice in choices {
                let _ = writeln!(out, "- `{}`: {}", choice.name, choice.doc);
            }
            out.push('\n');
        }
    }
}

fn absent(key: &Key) -> String {
    match key.need {
        Need::Required => "**required**".to_owned(),
        Need::Default("{}") => "defaults of its keys".to_owned(),
        Need::Default("[]") => "none".to_owned(),
        Need::Default(text) => format!("`{text}`"),
        Need::Absent(meaning) => meaning.to_owned(),
    }
}

fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Quantity(quantity, least) => {
            let name = quantity.name().trim_start_matches("an ").trim_start_matches("a ");
            let above = if *least == Least::AboveZero { ", above zero" } else { "" };
            format!("{name}{above}")
        }
        Shape::Probability => "number, 0 to 1".to_owned(),
        Shape::Number { min, max } => format!("number, {min} to {max}"),
        Shape::Integer { min, max: i64::MAX } => format!("whole number, at least {min}"),
        Shape::Integer { min, max } => format!("whole number, {min} to {max}"),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Name => "name: letters, digits, `-`, `_`".to_owned(),
        Shape::File => "file".to_owned(),
        Shape::Radio => "profile".to_owned(),
        Shape::Choice(choices) => {
            choices.iter().map(|c| format!("`\"{}\"`", c.name)).collect::<Vec<_>>().join(", ")
        }
        Shape::Queue => "packets, size, time or `\"unlimited\"`".to_owned(),
        Shape::List { of, .. } => format!("list of: {}", kind(of)),
        Shape::Tuple(parts) => {
            format!("`[{}]`", parts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
        Shape::Table(table) => format!("[table](#{})", table.id()),
        Shape::Tables(table) => format!("[tables](#{})", table.id()),
        Shape::Or(a, b) => format!("{}, or {}", kind(a), kind(b)),
        Shape::Free(_) => "table".to_owned(),
    }
}

fn choices(shape: &Shape) -> Option<&'static [Choice]> {
    match shape {
        Shape::Choice(choices) => Some(choices),
        Shape::Or(a, b) => choices(a).or_else(|| choices(b)),
        _ => None,
    }
}

/// Text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
