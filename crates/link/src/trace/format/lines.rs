//! Lines of the formats with one entry per line.

/// Returns the lines that are neither empty nor comments, with their numbers from 1.
pub(super) fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Returns true if a line consists of this many numbers.
pub(super) fn is_numeric(line: &str, columns: usize) -> bool {
    line.split_whitespace().count() == columns
        && line.split_whitespace().all(|column| column.parse::<f64>().is_ok())
}
