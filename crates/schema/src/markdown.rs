//! A description as Markdown: for each table of a file, its keys with type, default and meaning.

use crate::shape::{Choice, Key, Need, Shape, Table};
use core::fmt::Write;

/// Width of prose, in columns.
const PROSE_WIDTH: usize = 100;

/// A section for each table of a file, headed `root_title` for the outermost one.
pub fn sections(root: &'static Table, root_title: &str) -> String {
    further_sections(root, root_title, &[])
}

/// Like [`sections`], without the tables `known`, which have their sections elsewhere on the page.
pub fn further_sections(root: &'static Table, root_title: &str, known: &[&'static Table]) -> String {
    let is_new = |table: &&'static Table| !known.iter().any(|other| core::ptr::eq(*other, *table));
    let mut out = String::new();
    for table in root.with_inner().into_iter().filter(is_new) {
        let is_root = core::ptr::eq(table, root);
        let title = if is_root { root_title.to_owned() } else { capitalise(&table.id().replace('-', " ")) };
        let _ = writeln!(out, "## {title}\n");
        if !is_root {
            let _ = writeln!(out, "{}\n", wrap(table.doc, ""));
        }
        write_keys(&mut out, table);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn write_keys(out: &mut String, table: &'static Table) {
    out.push_str("| Key | Value | When absent | Meaning |\n|---|---|---|---|\n");
    for key in table.keys {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} Example: `{}` |",
            key.name,
            cell(&summary(&key.shape)),
            cell(&absent(key)),
            cell(key.doc),
            cell(key.example),
        );
    }
    out.push('\n');
    for (keys, choices) in choice_lists(table) {
        let _ =
            writeln!(out, "{}:\n", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "));
        for choice in choices {
            let _ = writeln!(out, "{}", wrap(&format!("- `{}`: {}", choice.name, choice.doc), "  "));
        }
        out.push('\n');
    }
}

/// Breaks a paragraph into lines of at most 100 columns; `indent` precedes all lines but the first.
pub fn wrap(paragraph: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > PROSE_WIDTH {
            out.push('\n');
            out.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// The lists of words in a table, each with the keys that take it.
fn choice_lists(table: &'static Table) -> Vec<(Vec<&'static str>, &'static [Choice])> {
    let mut lists: Vec<(Vec<&str>, &[Choice])> = Vec::new();
    for key in table.keys {
        let Some(choices) = key.shape.choices() else { continue };
        match lists.iter_mut().find(|(_, known)| core::ptr::eq(*known, choices)) {
            Some((keys, _)) => keys.push(key.name),
            None => lists.push((vec![key.name], choices)),
        }
    }
    lists
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

fn summary(shape: &Shape) -> String {
    match shape {
        Shape::Probability => "number, 0 to 1".to_owned(),
        Shape::Number { min, max } => format!("number, {min} to {max}"),
        Shape::Integer { min, max: i64::MAX } => format!("integer, at least {min}"),
        Shape::Integer { min, max } => format!("integer, {min} to {max}"),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Text => "text".to_owned(),
        Shape::Name => "name: letters, digits, `-`, `_`".to_owned(),
        Shape::File => "file".to_owned(),
        Shape::Choice(choices) => {
            choices.iter().map(|c| format!("`\"{}\"`", c.name)).collect::<Vec<_>>().join(", ")
        }
        Shape::Custom(value_type) => value_type.summary(),
        Shape::List { of, .. } => format!("list of: {}", summary(of)),
        Shape::Tuple(parts) => {
            format!("`[{}]`", parts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
        }
        Shape::Table(table) => format!("[table](#{})", table.id()),
        Shape::Tables(table) => format!("[tables](#{})", table.id()),
        Shape::TableByKey { with, without, .. } => {
            format!("[table](#{}), or [table](#{})", with.id(), without.id())
        }
        Shape::Or(a, b) => format!("{}, or {}", summary(a), summary(b)),
    }
}

/// Escapes text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
