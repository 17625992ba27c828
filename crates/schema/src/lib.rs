//! A TOML file that a person writes: its shape is described once, as data, and from that description comes
//! the reading, and every message about what does not fit.
//!
//! A [`shape::Table`] says which keys there are, what may stand as their values, what an absent one means.
//! [`read`](read()) holds a text against it and hands what it found to the caller, who turns [`node::Fields`]
//! into what it means and adds the [`Diagnostic`]s that take two keys to see. All problems of a file are told
//! at once, each with its line and column, what was expected, and a hint. It reads no file.

pub mod diagnostic;
pub mod node;
pub mod read;
pub mod shape;

pub use diagnostic::{Diagnostic, Place, Problems, Source};
pub use node::{Fields, Node, Value};

use std::ops::Range;
use toml::de::DeTable;

/// Reads the text of a file that is called `name` in messages and looks as `shape` says, and has `build` make
/// of it what it means.
///
/// # Errors
/// Everything that is wrong with it, in the order of the file.
pub fn read<T>(
    name: &str,
    text: &str,
    shape: &'static shape::Table,
    build: impl FnOnce(&Fields, &mut Problems<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let mut problems = Problems::new(Source::new(name, text));
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // A bracket that is not closed makes nonsense of all that follows it; a bad value does not.
        for error in errors {
            let local = ["must be quoted", "duplicate key", "invalid"];
            let goes_on = local.iter().any(|word| error.message().contains(word));
            syntax(&mut problems, error.span().unwrap_or(0..0), error.message());
            if !goes_on {
                break;
            }
        }
        let mut found = problems.into_sorted();
        // One slip confuses the rest of its line, so only what comes first there is worth saying.
        found.dedup_by_key(|d| d.line);
        return Err(found);
    }
    let root = read::read_table(shape, table.get_ref(), 0..0, &mut problems);
    let built = build(&root, &mut problems);
    if problems.found.is_empty() { Ok(built) } else { Err(problems.into_sorted()) }
}

/// What a file holds, as text.
///
/// # Errors
/// Where the bytes are not UTF-8, the first place where they are not.
pub fn utf8<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Vec<Diagnostic>> {
    core::str::from_utf8(bytes).map_err(|error| {
        let text = String::from_utf8_lossy(bytes);
        let mut problems = Problems::new(Source::new(name, &text));
        let at = error.valid_up_to();
        problems
            .add(at..at + 1, format!("byte {at} of the file is not UTF-8 text"))
            .expected("a TOML file, which is UTF-8")
            .hint("save the file as UTF-8");
        problems.into_sorted()
    })
}

fn syntax(problems: &mut Problems<'_>, span: Range<usize>, message: &str) {
    let unquoted = message.contains("string values must be quoted");
    let (message, expected) = match message.split_once(", expected ") {
        Some((message, expected)) if expected != "nothing" => (message, Some(expected)),
        Some((message, _)) => (message, None),
        None => (message, None),
    };
    let text = problems.source.text;
    let written = text.get(span.clone()).unwrap_or_default();
    let problem = problems.add(span, format!("TOML: {message}"));
    if unquoted {
        problem.message = format!("`{}` is not in quotes", read::clip(written));
        problem.expected("numbers with a unit, and all other text, in quotes");
        problem.hint(format!("write `\"{}\"`", read::clip(written)));
    } else {
        problem.expected(expected.unwrap_or("TOML")).hint("https://toml.io describes the syntax");
        if message.contains("duplicate key") {
            problem
                .expected("each key once")
                .hint("remove one of the two; a list of tables has two brackets, `[[path]]`");
        } else if message.contains("missing comma") {
            problem.hint("or the `}` of the table before is missing");
        } else if message.contains("string") {
            problem.hint("text ends on its line, with the quote that it began with");
        }
    }
}
