//! Foreign text on a terminal.

/// Replaces control characters except line feeds: a file or a server can put escape sequences in
/// its names and messages, which would reach the terminal.
pub fn printable(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() && c != '\n' => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// The text as one [`printable`] line.
pub(crate) fn printable_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}
