//! Cells of a row.

use std::borrow::Cow;

/// Separator of the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trace::format) enum Separator {
    /// A comma.
    Comma,
    /// A semicolon; decimals may have a comma.
    Semicolon,
    /// A tab; decimals may have a comma.
    Tab,
    /// Any white space.
    Space,
}

impl Separator {
    /// Finds the separator of a row.
    pub(in crate::trace::format) fn of(line: &str) -> Self {
        if line.contains(';') {
            Self::Semicolon
        } else if line.contains('\t') {
            Self::Tab
        } else if line.contains(',') {
            Self::Comma
        } else {
            Self::Space
        }
    }

    /// Splits a row into cells, without quotes and surrounding space.
    pub(in crate::trace::format) fn split(self, line: &str) -> Vec<Cow<'_, str>> {
        let by = match self {
            Self::Space => {
                return line.split_whitespace().map(|cell| Cow::Borrowed(unquoted(cell))).collect();
            }
            Self::Comma => ',',
            Self::Semicolon => ';',
            Self::Tab => '\t',
        };
        let mut is_quoted = false;
        let cells = line.split(|c: char| {
            is_quoted ^= c == '"';
            c == by && !is_quoted
        });
        cells
            .map(|cell| match unquoted(cell) {
                // A decimal comma.
                cell if self != Self::Comma && is_decimal_comma(cell) => Cow::Owned(cell.replace(',', ".")),
                cell => Cow::Borrowed(cell),
            })
            .collect()
    }
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

fn is_decimal_comma(cell: &str) -> bool {
    cell.split_once(',').is_some_and(|(whole, fraction)| {
        [whole, fraction].iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    })
}
