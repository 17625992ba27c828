//! Names and secrets of those who may use the proxy. Secrets are never shown, not by `Debug` either.

use core::fmt;
use sha2::{Digest, Sha256};

/// A name and its secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The name, which may be logged.
    pub name: String,
    /// The secret, which may not.
    pub secret: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Credential {
    /// Reads `name:secret`. Both may be 255 bytes long, as in SOCKS5 (RFC 1929), and the name has no colon, as
    /// in HTTP (RFC 7617).
    pub fn parse(text: &str) -> Option<Self> {
        let (name, secret) = text.split_once(':')?;
        let fits = |text: &str| (1..=255).contains(&text.len()) && !text.chars().any(char::is_control);
        (fits(name) && fits(secret)).then(|| Self { name: name.to_owned(), secret: secret.to_owned() })
    }

    /// Reads what stands in `Proxy-Authorization` (RFC 7617).
    pub fn from_basic(value: &[u8]) -> Option<Self> {
        let (scheme, token) = value.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let text = String::from_utf8(base64_decode(token.trim_ascii())?).ok()?;
        Self::parse(&text)
    }

    /// As `Proxy-Authorization` wants it (RFC 7617).
    pub fn to_basic(&self) -> String {
        format!("Basic {}", base64_encode(format!("{}:{}", self.name, self.secret).as_bytes()))
    }
}

/// Those who may use the proxy. Only digests of their secrets are kept.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Users {
    all: Vec<(String, [u8; 32])>,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter().map(|(name, _)| name)).finish()
    }
}

impl Users {
    /// Reads lines of `name:secret`; empty ones and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The number of the first line that cannot be read, or whose name stood before, and why.
    pub fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut users = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let one = Credential::parse(line).ok_or((at + 1, "it is not `name:secret`"))?;
            if users.all.iter().any(|(name, _)| *name == one.name) {
                return Err((at + 1, "the name stands there twice"));
            }
            users.add(&one);
        }
        Ok(users)
    }

    /// Lets somebody in.
    pub fn add(&mut self, one: &Credential) {
        self.all.push((one.name.clone(), digest(&one.secret)));
    }

    /// Nobody is let in by name.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether somebody of that name has that secret. How long it takes says nothing about either: every user
    /// is looked at, and digests of the secrets are compared.
    pub fn know(&self, one: &Credential) -> bool {
        let told = digest(&one.secret);
        let fits = |(name, secret): &(String, [u8; 32])| {
            let differ = secret.iter().zip(&told).fold(0, |differ, (a, b)| differ | (a ^ b));
            u8::from(differ == 0) & u8::from(*name == one.name)
        };
        self.all.iter().map(fits).fold(0, |known, fits| known | fits) == 1
    }
}

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word =
            three.iter().enumerate().fold(0u32, |word, (at, &byte)| word | u32::from(byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = ALPHABET[(word >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

/// Reads base64 (RFC 4648, section 4), with its padding, as it alone is written.
fn base64_decode(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for (nth, four) in text.chunks(4).enumerate() {
        let is_last = (nth + 1) * 4 == text.len();
        let padding = four.iter().rev().take_while(|&&letter| letter == b'=').count();
        if padding > if is_last { 2 } else { 0 } {
            return None;
        }
        let mut word = 0u32;
        for &letter in &four[..4 - padding] {
            word = word << 6 | ALPHABET.iter().position(|&one| one == letter)? as u32;
        }
        word <<= 6 * padding;
        let bytes = word.to_be_bytes();
        // Bits that padding leaves over are zero.
        if bytes[4 - padding..].iter().any(|&byte| byte != 0) {
            return None;
        }
        out.extend_from_slice(&bytes[1..4 - padding]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_rfc_7617_is_read() {
        let one = Credential::from_basic(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert_eq!((&*one.name, &*one.secret), ("Aladdin", "open sesame"));
        assert_eq!(one.to_basic(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        for bad in [
            "Basic",
            "Basic ",
            "Bearer QTpi",
            "Basic QTpi=",
            "Basic QTpj=A==",
            "Basic QT\u{e4}i",
            "Basic QR==",
        ] {
            assert_eq!(Credential::from_basic(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn users_are_known_by_name_and_secret() {
        let users = Users::parse("# who\nann:secret:with colon\n\nbob:x\r\n").unwrap();
        let know = |text| users.know(&Credential::parse(text).unwrap());
        assert!(know("ann:secret:with colon") && know("bob:x"));
        assert!(!know("ann:x") && !know("bob:secret:with colon") && !know("eve:x") && !know("ann:secret"));
        assert_eq!(Users::parse("ann:a\nann:b"), Err((2, "the name stands there twice")));
        assert_eq!(Users::parse("\nann"), Err((2, "it is not `name:secret`")));
        assert!(Users::default().is_empty() && !Users::default().know(&Credential::parse("a:b").unwrap()));
    }

    #[test]
    fn no_secret_is_shown() {
        let one = Credential::parse("ann:hunter2").unwrap();
        let mut users = Users::default();
        users.add(&one);
        let shown = format!("{one:?} {users:?}");
        assert!(shown.contains("ann") && !shown.contains("hunter2"), "{shown}");
    }

    proptest! {
        #[test]
        fn base64_is_read_as_it_was_written(bytes: Vec<u8>) {
            prop_assert_eq!(base64_decode(base64_encode(&bytes).as_bytes()), Some(bytes));
        }

        #[test]
        fn base64_has_one_way_to_write_it(text in "[A-Za-z0-9+/=]{0,12}") {
            if let Some(bytes) = base64_decode(text.as_bytes()) {
                prop_assert_eq!(base64_encode(&bytes), text);
            }
        }
    }
}
