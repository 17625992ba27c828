//! Segment templates (ISO/IEC 23009-1, 5.3.9.4.4).

use core::fmt::Write as _;

/// Maximum width of a number in a template.
const MAX_NUMBER_WIDTH: usize = 32;

/// Values of the identifiers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) id: &'a str,
    pub(crate) bandwidth: u64,
    pub(crate) number: u64,
    pub(crate) time: u64,
}

/// Replaces identifiers by values.
///
/// # Errors
/// The problem, if the template is invalid.
pub(crate) fn fill(template: &str, values: Values<'_>) -> Result<String, String> {
    let mut filled = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let Some((name, tail)) = after.split_once('$') else {
            return Err(format!("expected a `$` after `${after}`"));
        };
        rest = tail;
        if name.is_empty() {
            filled.push('$');
            continue;
        }
        let (name, width) = match name.split_once('%') {
            None => (name, 1),
            Some((name, format)) => {
                let digits = format.strip_prefix('0').and_then(|format| format.strip_suffix('d'));
                let width =
                    digits.and_then(|digits| digits.parse().ok()).filter(|width| *width <= MAX_NUMBER_WIDTH);
                (name, width.ok_or_else(|| format!("expected a width such as `%05d`, found `%{format}`"))?)
            }
        };
        let number = match name {
            "RepresentationID" => {
                filled.push_str(values.id);
                continue;
            }
            "Bandwidth" => values.bandwidth,
            "Number" => values.number,
            "Time" => values.time,
            _ => {
                return Err(format!(
                    "expected `$RepresentationID$`, `$Bandwidth$`, `$Number$` or `$Time$`, found `${name}$`"
                ));
            }
        };
        let _ = write!(filled, "{number:0width$}");
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_replaced() {
        let values = Values { id: "v$1", bandwidth: 5_000, number: 42, time: 90_000 };
        let table = [
            ("plain.m4s", Ok("plain.m4s")),
            ("$RepresentationID$/$Number$.m4s", Ok("v$1/42.m4s")),
            ("$Bandwidth$-$Time$-$Number%05d$", Ok("5000-90000-00042")),
            ("a$$b$Time%02d$", Ok("a$b90000")),
            ("$Number", Err("expected a `$` after `$Number`")),
            ("$Number%5d$", Err("expected a width such as `%05d`, found `%5d`")),
            ("$Number%0999d$", Err("expected a width such as `%05d`, found `%0999d`")),
            (
                "$Index$",
                Err("expected `$RepresentationID$`, `$Bandwidth$`, `$Number$` or `$Time$`, found `$Index$`"),
            ),
        ];
        for (template, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(fill(template, values), expected, "{template}");
        }
    }
}
