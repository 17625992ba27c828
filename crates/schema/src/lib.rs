//! Reads TOML configuration files against a description of their keys.
//!
//! A [`Table`](shape::Table) lists the keys of a file with their types, defaults and documentation.
//! [`read`](read()) checks a text against it and passes the values to a builder, which adds the
//! [`Diagnostic`]s that need more than one key. All problems of a file are reported at once, each
//! with line, column, expectation and hint. The same description gives a JSON Schema
//! ([`json_schema`](json_schema())) and Markdown tables ([`markdown`]). Types such as "a time" are
//! [`ValueType`]s that the users of this crate supply. The crate opens no file.

pub mod diagnostic;
mod json_schema;
mod key_path;
mod log_filter;
pub mod markdown;
pub mod node;
pub mod read;
mod removed;
pub mod shape;
mod suggest;
mod syntax;
pub mod value_type;

pub use diagnostic::{Diagnostic, Invalid, Place, Problems, Source};
pub use json_schema::{json_schema, json_schema_one_or_several};
pub use key_path::key_at;
pub use log_filter::LOG_FILTER;
pub use node::{Fields, Node, Value};
pub use removed::removed_key_hint;
pub use suggest::suggest;
pub use value_type::{Literal, Parsed, ValueType};

use toml::de::DeTable;

/// Reads `text`, the content of the file `name`, against `shape`, and has `build` turn the values
/// into a result.
///
/// `build` runs even after problems were found, so that it can report its own; its result is then
/// dropped.
///
/// # Errors
/// Every problem of the file, in the order of its lines.
pub fn read<T>(
    name: &str,
    text: &str,
    shape: &'static shape::Table,
    build: impl FnOnce(&Fields, &mut Problems<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    read_selected(name, text, |_| shape, build)
}

/// Like [`read`](read()), against `several` if the value of `key` is a list, else against `one`.
/// [`Fields::table`] of the root tells which.
///
/// # Errors
/// As `read`.
pub fn read_one_or_several<T>(
    (name, text): (&str, &str),
    key: &str,
    [one, several]: [&'static shape::Table; 2],
    build: impl FnOnce(&Fields, &mut Problems<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let select = |table: &DeTable<'_>| match table.get(key).map(toml::Spanned::get_ref) {
        Some(toml::de::DeValue::Array(_)) => several,
        _ => one,
    };
    read_selected(name, text, select, build)
}

fn read_selected<T>(
    name: &str,
    text: &str,
    select: impl FnOnce(&DeTable<'_>) -> &'static shape::Table,
    build: impl FnOnce(&Fields, &mut Problems<'_>) -> T,
) -> Result<T, Vec<Diagnostic>> {
    let mut problems = Problems::new(Source::new(name, text));
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(syntax::report(errors, problems));
    }
    let root = read::read_table(select(table.get_ref()), table.get_ref(), 0..0, &mut problems);
    let built = build(&root, &mut problems);
    if problems.found.is_empty() { Ok(built) } else { Err(problems.into_sorted()) }
}

/// Decodes the content of the file `name` as UTF-8.
///
/// # Errors
/// One diagnostic at the first byte that is not UTF-8.
pub fn utf8<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str, Vec<Diagnostic>> {
    core::str::from_utf8(bytes).map_err(|error| {
        let text = String::from_utf8_lossy(bytes);
        let mut problems = Problems::new(Source::new(name, &text));
        let at = error.valid_up_to();
        problems
            .add(at..at + 1, format!("byte {at} of the file is not valid UTF-8"))
            .expected("a TOML file encoded as UTF-8")
            .hint("save the file as UTF-8");
        problems.into_sorted()
    })
}
