//! Segment index box `sidx` (ISO/IEC 14496-12, 8.16.3).

use units::Duration;

/// Byte range of a segment and its playback length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// First and last byte, both inclusive.
    pub(crate) range: (u64, u64),
    pub(crate) duration: Duration,
}

/// Parses the first `sidx` in `bytes`, which begin at offset `at` of the file.
pub(crate) fn parse(bytes: &[u8], at: u64) -> Result<Vec<Reference>, String> {
    let mut rest = bytes;
    let mut place = at;
    loop {
        let mut reader = Reader(rest);
        let cut = || "expected an index (`sidx`), found the end of the bytes".to_owned();
        let (small, kind) = (reader.u32().ok_or_else(cut)?, reader.take(4).ok_or_else(cut)?);
        let size = if small == 1 { reader.u64().ok_or_else(cut)? } else { u64::from(small) };
        let inner = usize::try_from(size).ok().and_then(|size| rest.get(..size)).ok_or_else(cut)?;
        let end = place.checked_add(size).ok_or_else(cut)?;
        if size < 8 {
            return Err("expected a box at least as long as its header".to_owned());
        }
        if kind == b"sidx" {
            let head = rest.len() - reader.0.len();
            return references(Reader(inner.get(head..).ok_or_else(cut)?), end).ok_or_else(cut)?;
        }
        rest = &rest[inner.len()..];
        place = end;
    }
}

/// Returns `None` if the bytes end too early.
fn references(mut reader: Reader<'_>, anchor: u64) -> Option<Result<Vec<Reference>, String>> {
    let version = reader.u32()? >> 24;
    let (_id, timescale) = (reader.u32()?, reader.u32()?);
    let offset = if version == 0 {
        reader.u32()?;
        u64::from(reader.u32()?)
    } else {
        reader.u64()?;
        reader.u64()?
    };
    if timescale == 0 {
        return Some(Err("expected an index with a timescale above 0".to_owned()));
    }
    let count = reader.u32()? & 0xffff;
    let Some(mut from) = anchor.checked_add(offset) else {
        return Some(Err("expected offsets below 2^64".to_owned()));
    };
    let mut references = Vec::new();
    let mut units = 0_u64;
    let nanos = |units: u64| u64::try_from(u128::from(units) * 1_000_000_000 / u128::from(timescale));
    for _ in 0..count {
        let (size, duration) = (reader.u32()?, reader.u32()?);
        reader.u32()?;
        if size >> 31 == 1 {
            return Some(Err("expected an index of one level, found an index of indexes".to_owned()));
        }
        let begin = nanos(units);
        // At most 65,535 lengths of 32 bits.
        units += u64::from(duration);
        let (Ok(begin), Ok(after)) = (begin, nanos(units)) else {
            return Some(Err("expected segments of less than 500 years in all".to_owned()));
        };
        let duration = Duration::from_nanos(after - begin);
        let Some(end) = from.checked_add(u64::from(size)).filter(|_| size > 0 && !duration.is_zero()) else {
            return Some(Err("expected segments with a size and a length above zero".to_owned()));
        };
        references.push(Reference { range: (from, end - 1), duration });
        from = end;
    }
    if references.is_empty() {
        return Some(Err("expected at least one segment in the index".to_owned()));
    }
    Some(Ok(references))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }
    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds an index with these sizes in bytes and lengths in ms, as version 0 or 1.
    pub(crate) fn index(version: u8, segments: &[(u32, u32)]) -> Vec<u8> {
        let mut body = vec![version, 0, 0, 0];
        body.extend([0, 0, 0, 1].iter().chain(&1_000_u32.to_be_bytes()));
        body.extend(vec![0; if version == 0 { 8 } else { 16 }]);
        body.extend((segments.len() as u32).to_be_bytes());
        for (size, ms) in segments {
            body.extend(size.to_be_bytes().iter().chain(&ms.to_be_bytes()).chain(&[0x90, 0, 0, 0]));
        }
        let mut bytes = (body.len() as u32 + 8).to_be_bytes().to_vec();
        bytes.extend(b"sidx");
        bytes.extend(body);
        bytes
    }

    #[test]
    fn index_yields_byte_ranges_and_lengths() {
        for version in [0, 1] {
            let mut bytes = b"\0\0\0\x0cstyp\0\0\0\0".to_vec();
            bytes.extend(index(version, &[(1_000, 2_000), (500, 1_500)]));
            let found = parse(&bytes, 700).unwrap();
            let first = 700 + bytes.len() as u64;
            assert_eq!(
                found,
                [
                    Reference { range: (first, first + 999), duration: Duration::from_secs(2) },
                    Reference {
                        range: (first + 1_000, first + 1_499),
                        duration: Duration::from_millis(1_500)
                    },
                ]
            );
        }
    }

    #[test]
    fn truncated_and_invalid_indexes_are_rejected() {
        let whole = index(0, &[(1_000, 2_000), (500, 1_500)]);
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut], 0).is_err(), "{cut}");
        }
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            parse(&bytes, 0).unwrap_err()
        };
        assert_eq!(with(32, 0x80), "expected an index of one level, found an index of indexes");
        assert_eq!(
            parse(&[0, 0, 0, 4, b'f', b'r', b'e', b'e'], 0).unwrap_err(),
            "expected a box at least as long as its header"
        );
        assert!(parse(&index(0, &[]), 0).is_err() && parse(&index(0, &[(0, 5)]), 0).is_err());
        assert!(parse(&whole, u64::MAX).is_err());
    }
}
