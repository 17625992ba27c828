//! Diagnostics for text that is not TOML.

use crate::diagnostic::{Diagnostic, Problems};
use crate::read::{clip, fraction, percent};
use core::ops::Range;
use toml::de::Error;

/// Parser messages about one value. Errors of any other kind, such as an unclosed bracket, make
/// the parser misread the rest of the file.
const LOCAL_ERRORS: [&str; 3] = ["must be quoted", "duplicate key", "invalid"];

/// Turns the errors of the TOML parser into diagnostics, at most one for each line.
pub(crate) fn report(errors: Vec<Error>, mut problems: Problems<'_>) -> Vec<Diagnostic> {
    for error in errors {
        add(&mut problems, error.span().unwrap_or(0..0), error.message());
        if !LOCAL_ERRORS.iter().any(|words| error.message().contains(words)) {
            break;
        }
    }
    let mut found = problems.into_sorted();
    // The first error of a line usually causes the others of that line.
    found.dedup_by_key(|d| d.line);
    found
}

fn add(problems: &mut Problems<'_>, span: Range<usize>, message: &str) {
    let unquoted = message.contains("string values must be quoted");
    let (message, expected) = match message.split_once(", expected ") {
        Some((message, expected)) if expected != "nothing" => (message, Some(expected)),
        Some((message, _)) => (message, None),
        None => (message, None),
    };
    let text = problems.source.text;
    let written = clip(text.get(span.clone()).unwrap_or_default());
    let problem = problems.add(span, format!("TOML: {message}"));
    if let Some(percent) = percent(&written).filter(|_| unquoted) {
        problem.message = format!("`{written}` is not a number");
        problem.expected("a number from 0 to 1");
        problem.hint(format!("write `{}` for {percent} %", fraction(percent)));
        return;
    }
    if unquoted {
        problem.message = format!("`{written}` is not in quotes");
        problem.expected("text and quantities with a unit in quotes");
        problem.hint(format!("write `\"{written}\"`"));
        return;
    }
    problem.expected(expected.unwrap_or("TOML")).hint("https://toml.io describes the syntax");
    if message.contains("duplicate key") {
        problem
            .expected("each key once")
            .hint("remove one of the two; a list of tables has double brackets, as in `[[path]]`");
    } else if message.contains("missing comma") {
        problem.hint("add the comma, or the missing `}` of the table before");
    } else if message.contains("string") {
        problem.hint("close the text on the same line, with the quote that opened it");
    }
}
