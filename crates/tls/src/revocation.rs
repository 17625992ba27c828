//! Certificate revocation lists (CRL) of a PEM file: RFC 5280, section 5.
//!
//! A list is rejected when it is read if it is malformed or not valid now. Each CA needs one.
//! rustls verifies its signature in each handshake, and that it is still valid.

use tokio_rustls::rustls::RootCertStore;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateRevocationListDer, UnixTime};

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;

/// Reads the lists of a PEM text.
///
/// # Errors
/// A list is malformed or not valid at `now`, a CA has none, or an issuer has two.
pub(crate) fn lists(
    text: &str,
    authorities: &RootCertStore,
    now: UnixTime,
) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let lists: Vec<_> = CertificateRevocationListDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| "malformed PEM".to_owned())?;
    if lists.is_empty() {
        return Err("no certificate revocation list in PEM".to_owned());
    }
    let now = now.as_secs();
    let mut issuers = Vec::new();
    for list in &lists {
        let header = Header::read(list).ok_or("malformed certificate revocation list")?;
        if header.this_update > now {
            return Err("its certificate revocation list is not valid yet, by the clock of this host".into());
        }
        if header.next_update <= now {
            return Err("its certificate revocation list has expired, by the clock of this host".into());
        }
        // rustls would follow the first one only.
        if issuers.contains(&header.issuer) {
            return Err("two certificate revocation lists of one CA".into());
        }
        issuers.push(header.issuer);
    }
    if authorities.roots.iter().any(|ca| !issuers.contains(&ca.subject.as_ref())) {
        return Err("no certificate revocation list of a CA in `client_ca`".into());
    }
    Ok(lists)
}

/// Begin of a list.
struct Header<'a> {
    /// DER of the issuer's name, without tag and length.
    issuer: &'a [u8],
    /// Time of the list, in seconds since 1970.
    this_update: u64,
    /// Time at which the list is no longer valid, in seconds since 1970.
    next_update: u64,
}

impl<'a> Header<'a> {
    fn read(list: &'a [u8]) -> Option<Self> {
        let mut signed = Der(Der(Der(list).content(SEQUENCE)?).content(SEQUENCE)?);
        let _version = signed.content(INTEGER)?;
        let _algorithm = signed.content(SEQUENCE)?;
        let issuer = signed.content(SEQUENCE)?;
        Some(Self { issuer, this_update: signed.time()?, next_update: signed.time()? })
    }
}

/// Reader of elements in Distinguished Encoding Rules.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Reads an element: its tag and its content.
    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, length], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match length {
            0..=0x7f => (usize::from(length), rest),
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn content(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.element().filter(|(read, _)| *read == tag).map(|(_, content)| content)
    }

    /// Reads a time in seconds since 1970: `YYMMDDHHMMSSZ`, from 1950 on, or `YYYYMMDDHHMMSSZ`.
    fn time(&mut self) -> Option<u64> {
        let (tag, text) = self.element()?;
        let digits = text.strip_suffix(b"Z").filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let (year, rest) = digits.split_at_checked(2)?;
                (if number(year) < 50 { 2000 } else { 1900 } + number(year), rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = digits.split_at_checked(4)?;
                (number(year), rest)
            }
            _ => return None,
        };
        let [month, day, hour, minute, second] =
            <[_; 5]>::try_from(rest.chunks(2).map(number).collect::<Vec<_>>()).ok()?;
        let is_date = rest.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day);
        let days = is_date.then(|| days_since_1970(year, month, day))?;
        Some((days * 24 + hour) * 3600 + minute * 60 + second)
    }
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// Days of the Gregorian calendar from 1970 on; 0 before.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    // A year that begins in March ends with the leap day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.saturating_sub(1), month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    days.saturating_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(tag: u8, text: &str) -> Option<u64> {
        let length = u8::try_from(text.len()).expect("a short text");
        Der(&[&[tag, length], text.as_bytes()].concat()).time()
    }

    #[test]
    fn times_are_seconds_since_1970() {
        for (text, expected) in [
            ("700101000000Z", 0),
            ("000229235959Z", 951_868_799),
            ("261127160000Z", 1_795_795_200),
            ("491231000000Z", 2_524_521_600),
        ] {
            assert_eq!(seconds(UTC_TIME, text), Some(expected), "{text}");
        }
        assert_eq!(seconds(GENERALIZED_TIME, "20500101000000Z"), Some(2_524_608_000));
        assert_eq!(seconds(GENERALIZED_TIME, "19500101000000Z"), Some(0));
        for text in
            ["", "Z", "2611271600Z", "261327160000Z", "26112716000Z", "261127160000+0100", "26112716000xZ"]
        {
            assert_eq!(seconds(UTC_TIME, text), None, "{text}");
        }
    }

    #[test]
    fn lengths_beyond_the_end_are_malformed() {
        for bytes in
            [&[SEQUENCE][..], &[SEQUENCE, 2, 0], &[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff], &[SEQUENCE, 0x80]]
        {
            assert_eq!(Der(bytes).content(SEQUENCE), None, "{bytes:?}");
        }
        assert_eq!(Der(&[SEQUENCE, 0x81, 1, 7]).content(SEQUENCE), Some(&[7][..]));
    }
}
