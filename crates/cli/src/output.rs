//! Output: results go to stdout, everything else to stderr.

use crate::arguments::{Colour, Format};
use crate::failure::Failure;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use experiments::warnings::Warning;
use report::{Table, TextStyle, printable};
use scenario::Diagnostic;
use std::io::{self, IsTerminal, Write};

/// Width of tables in characters.
const TABLE_WIDTH: usize = 100;

/// Output to the terminal: colours and verbosity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    colour: Colour,
    quiet: bool,
}

impl Terminal {
    pub(crate) const fn new(colour: Colour, quiet: bool) -> Self {
        Self { colour, quiet }
    }

    /// The terminal without progress bars and notes.
    pub(crate) const fn without_progress(self) -> Self {
        Self { quiet: true, ..self }
    }

    /// True if progress and notes are suppressed.
    pub(crate) const fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Writes a note to stderr, unless quiet.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            // A closed stderr is not an error.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Writes warnings to stderr, also when quiet: a result that they concern looks like any other.
    pub(crate) fn warn(self, warnings: &[Warning]) {
        let coloured = self.has_colour(io::stderr().is_terminal());
        let text: String = warnings.iter().map(|one| warning(one, coloured)).collect();
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Reports a failure on stderr.
    pub(crate) fn report(self, failure: &Failure) {
        let coloured = self.has_colour(io::stderr().is_terminal());
        let text = match failure {
            Failure::Usage { message, hint }
            | Failure::Unreadable { message, hint }
            | Failure::Unsupported { message, hint }
            | Failure::MissingRequirement { message, hint }
            | Failure::Other { message, hint } => plain(message, hint, coloured),
            Failure::CannotRun { message, .. } => plain(message, "", coloured),
            Failure::Interrupted { message } => format!("{message}\n"),
            Failure::Input(found) => diagnostics(found, coloured),
            Failure::Program { .. } | Failure::Reported { .. } | Failure::ClosedPipe => return,
        };
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// Writes tables to stderr, for commands that leave stdout to another program.
    pub(crate) fn print_to_stderr(self, tables: &[Table]) {
        let style = TextStyle { colour: self.has_colour(io::stderr().is_terminal()), width: TABLE_WIDTH };
        self.note(&text(tables, style));
    }

    /// Style of tables on stdout.
    pub(crate) fn text_style(self) -> TextStyle {
        TextStyle { colour: self.has_colour(io::stdout().is_terminal()), width: TABLE_WIDTH }
    }

    /// Whether a stream, which is a terminal or not, gets colours.
    pub(crate) fn has_colour(self, is_terminal: bool) -> bool {
        match self.colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }
}

/// Prints a result: tables for people, `json` for programs, `csv` for spreadsheets.
pub(crate) fn print(
    terminal: Terminal,
    format: Format,
    tables: &[Table],
    json: &serde_json::Value,
    csv: impl FnOnce() -> String,
) -> Result<(), Failure> {
    let text = match format {
        Format::Table => text(tables, terminal.text_style()),
        Format::Json => pretty(json),
        Format::Csv => csv(),
    };
    write(&text)
}

/// Prints tables to stdout.
pub(crate) fn print_tables(terminal: Terminal, tables: &[Table]) -> Result<(), Failure> {
    write(&text(tables, terminal.text_style()))
}

fn text(tables: &[Table], style: TextStyle) -> String {
    tables.iter().map(|table| table.to_text(style)).collect::<Vec<_>>().join("\n")
}

/// Indented JSON with a line feed at the end, for stdout and files.
pub(crate) fn pretty(json: &serde_json::Value) -> String {
    format!("{json:#}\n")
}

/// Writes to stdout.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(error) => Err(Failure::Other {
            message: format!("cannot write to the standard output: {}", crate::failure::reason(&error)),
            hint: String::new(),
        }),
    }
}

fn renderer(coloured: bool) -> Renderer {
    if coloured { Renderer::styled() } else { Renderer::plain() }
}

fn plain(message: &str, hint: &str, coloured: bool) -> String {
    let (message, hint) = (printable(message), printable(hint));
    let (red, cyan, bold, off) =
        if coloured { ("\u{1b}[1;91m", "\u{1b}[1;96m", "\u{1b}[1m", "\u{1b}[0m") } else { ("", "", "", "") };
    let hint = if hint.is_empty() { String::new() } else { format!("{cyan} hint{off}: {hint}\n") };
    format!("{red}error{off}{bold}: {message}{off}\n{hint}")
}

fn warning(warning: &Warning, coloured: bool) -> String {
    let (yellow, cyan, bold, off) =
        if coloured { ("\u{1b}[1;93m", "\u{1b}[1;96m", "\u{1b}[1m", "\u{1b}[0m") } else { ("", "", "", "") };
    let hint = match printable(&warning.hint).as_str() {
        "" => String::new(),
        hint => format!("{cyan}  hint{off}: {hint}\n"),
    };
    format!("{yellow}warning{off}{bold}: {}{off}\n{hint}", printable(&warning.message))
}

/// Every problem of an input file: position, marked line, expectation, hint.
fn diagnostics(found: &[Diagnostic], coloured: bool) -> String {
    let renderer = renderer(coloured);
    let mut messages: Vec<String> = found.iter().map(|d| renderer.render(&[group(d)]) + "\n").collect();
    if found.len() > 1 {
        messages.push(format!("{} problems; nothing was done\n", found.len()));
    }
    messages.join("\n")
}

fn group(d: &Diagnostic) -> Group<'_> {
    let mut group = Group::with_title(Level::ERROR.primary_title(&*d.message));
    if d.line_text.is_empty() {
        group = group.element(Origin::path(&*d.file).line(d.line).char_column(d.column));
    } else {
        let start: usize = d.line_text.chars().take(d.column.saturating_sub(1)).map(char::len_utf8).sum();
        let end = (start + d.span.len()).clamp(start, d.line_text.len());
        let end = (end..=d.line_text.len()).find(|&at| d.line_text.is_char_boundary(at)).unwrap_or(start);
        let mark = AnnotationKind::Primary.span(start..end);
        group =
            group.element(Snippet::source(&*d.line_text).line_start(d.line).path(&*d.file).annotation(mark));
    }
    if let Some(place) = &d.referenced_at {
        let text = format!("referenced at {}:{}:{}", place.file, place.line, place.column);
        group = group.element(Level::NOTE.message(text));
    }
    if let Some(expected) = &d.expected {
        group = group.element(Level::NOTE.with_name("expected").message(&**expected));
    }
    if let Some(hint) = &d.hint {
        group = group.element(Level::HELP.with_name("hint").message(&**hint));
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_messages_do_not_reach_the_terminal() {
        let (message, hint) = ("a\u{1b}[2Jb\u{9b}c\nd\r\u{7f}\te", "\u{1b}]0;f\u{7}");
        let (seen, seen_hint) = ("a\u{fffd}[2Jb\u{fffd}c\nd\u{fffd}\u{fffd} e", "\u{fffd}]0;f\u{fffd}");
        assert_eq!(plain(message, hint, false), format!("error: {seen}\n hint: {seen_hint}\n"));
    }
}
