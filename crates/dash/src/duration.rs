//! Durations of XML Schema: `PT1H2M3.5S`.

use units::Duration;

/// Longest accepted duration: a year.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

/// Parses a duration. Returns `None` for invalid text, negative values, more than a year, and
/// years or months, which vary in length.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text.trim().strip_prefix('P')?;
    let (mut seconds, mut time, mut any) = (0.0, false, false);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            if time {
                return None;
            }
            (time, rest) = (true, after);
            continue;
        }
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let value: f64 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        seconds += value
            * match (time, unit) {
                (false, 'D') => 86_400.0,
                (true, 'H') => 3_600.0,
                (true, 'M') => 60.0,
                (true, 'S') => 1.0,
                (false, 'Y' | 'M') if value == 0.0 => 0.0,
                _ => return None,
            };
        (any, rest) = (true, &rest[end + unit.len_utf8()..]);
    }
    (any && (0.0..=MAX_SECONDS).contains(&seconds)).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse() {
        let ms = |text: &str| parse(text).map(Duration::as_millis);
        let table = [
            ("PT634.566S", Some(634_566)),
            ("PT0H10M34.6S", Some(634_600)),
            ("P1DT1S", Some(86_401_000)),
            ("P0Y0M0DT0H3M30.000S", Some(210_000)),
            (" PT2H ", Some(7_200_000)),
            ("PT0S", Some(0)),
            ("P", None),
            ("PT", None),
            ("", None),
            ("10", None),
            ("-PT5S", None),
            ("PT5", None),
            ("PTS", None),
            ("PT1.2.3S", None),
            ("P1M", None),
            ("P1YT1S", None),
            ("PT5STT", None),
            ("PT1e9S", None),
            ("PT99999999999999999999S", None),
            ("PT5\u{e9}", None),
        ];
        for (text, expected) in table {
            assert_eq!(ms(text), expected, "{text}");
        }
    }
}
