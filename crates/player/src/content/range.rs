//! Byte ranges of requests (RFC 9110, section 14.1.2).

/// Meaning of a `Range` field for a body of a known size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The whole body: the field is absent or malformed, or lists several ranges.
    Whole,
    /// First and last byte, both inclusive.
    From(u64, u64),
    /// No requested byte exists.
    None,
}

/// Parses a `Range` field. Several ranges are answered with the whole body, as RFC 9110 permits.
pub(crate) fn part(field: Option<&str>, size: u64) -> Part {
    let Some(range) = field.and_then(|field| field.trim().strip_prefix("bytes=")) else { return Part::Whole };
    let Some((first, last)) = range.trim().split_once('-') else { return Part::Whole };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that overflows is beyond any end.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), last) if last.is_some() || range.ends_with('-') => match size.checked_sub(1) {
            Some(end) if first <= end => Part::From(first, last.map_or(end, |last| last.min(end))),
            _ => Part::None,
        },
        (None, Some(count)) if first.is_empty() => match size.checked_sub(1) {
            Some(end) if count > 0 => Part::From(size.saturating_sub(count), end),
            _ => Part::None,
        },
        _ => Part::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_rfc_9110() {
        let table = [
            (None, Part::Whole),
            (Some("bytes=0-0"), Part::From(0, 0)),
            (Some("bytes=10-19"), Part::From(10, 19)),
            (Some("bytes=90-"), Part::From(90, 99)),
            (Some("bytes=90-1000"), Part::From(90, 99)),
            (Some("bytes=-10"), Part::From(90, 99)),
            (Some("bytes=-1000"), Part::From(0, 99)),
            (Some("bytes=100-"), Part::None),
            (Some("bytes=-0"), Part::None),
            (Some("bytes=99999999999999999999-"), Part::None),
            (Some("bytes=0-99999999999999999999"), Part::From(0, 99)),
            // Invalid, several ranges, or another unit: ignored.
            (Some("bytes=5-4"), Part::Whole),
            (Some("bytes=-"), Part::Whole),
            (Some("bytes=a-b"), Part::Whole),
            (Some("bytes=+1-2"), Part::Whole),
            (Some("bytes=0-1,5-6"), Part::Whole),
            (Some("lines=0-1"), Part::Whole),
            (Some(""), Part::Whole),
        ];
        for (field, expected) in table {
            assert_eq!(part(field, 100), expected, "{field:?}");
        }
        assert_eq!([part(Some("bytes=0-"), 0), part(Some("bytes=-5"), 0)], [Part::None; 2]);
    }
}
