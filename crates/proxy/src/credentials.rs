//! Usernames and passwords. `Debug` never prints a password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use core::fmt;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// Username and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The username; may be logged.
    pub username: String,
    /// The password; never logged.
    pub password: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("username", &self.username).finish_non_exhaustive()
    }
}

impl Credential {
    /// Parses `username:password`, each of 1 to 255 bytes as in SOCKS5 (RFC 1929). The username
    /// contains no colon (RFC 7617).
    pub fn parse(text: &str) -> Option<Self> {
        let (username, password) = text.split_once(':')?;
        let fits = |text: &str| (1..=255).contains(&text.len()) && !text.chars().any(char::is_control);
        (fits(username) && fits(password))
            .then(|| Self { username: username.to_owned(), password: password.to_owned() })
    }

    /// Parses the value of `Proxy-Authorization` (RFC 7617).
    pub fn from_basic(value: &[u8]) -> Option<Self> {
        let (scheme, token) = value.split_at_checked(6)?;
        if !scheme.eq_ignore_ascii_case(b"basic ") {
            return None;
        }
        let text = String::from_utf8(BASE64.decode(token.trim_ascii()).ok()?).ok()?;
        Self::parse(&text)
    }

    /// Value for `Proxy-Authorization` (RFC 7617).
    pub fn to_basic(&self) -> String {
        format!("Basic {}", BASE64.encode(format!("{}:{}", self.username, self.password)))
    }
}

/// Users who may connect. Only digests of their passwords are stored.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Users {
    all: Vec<(String, [u8; 32])>,
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter().map(|(username, _)| username)).finish()
    }
}

impl Users {
    /// Parses lines of `username:password`. Empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// The number of the first malformed or duplicate line, and the reason.
    pub fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut users = Self::default();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let one = Credential::parse(line).ok_or((at + 1, "not `username:password`"))?;
            if users.all.iter().any(|(username, _)| *username == one.username) {
                return Err((at + 1, "duplicate username"));
            }
            users.add(&one);
        }
        Ok(users)
    }

    /// Adds a user.
    pub fn add(&mut self, one: &Credential) {
        self.all.push((one.username.clone(), digest(&one.password)));
    }

    /// Whether there are no users.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Verifies a credential in constant time: compares digests, and visits every user.
    pub fn verify(&self, one: &Credential) -> bool {
        let expected = digest(&one.password);
        let matches = |(username, password): &(String, [u8; 32])| {
            username.as_bytes().ct_eq(one.username.as_bytes()) & password.ct_eq(&expected)
        };
        self.all.iter().map(matches).fold(Choice::from(0), |known, matches| known | matches).into()
    }
}

fn digest(password: &str) -> [u8; 32] {
    Sha256::digest(password.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_of_rfc_7617_is_parsed() {
        let one = Credential::from_basic(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert_eq!((&*one.username, &*one.password), ("Aladdin", "open sesame"));
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
    fn users_are_verified_by_username_and_password() {
        let users = Users::parse("# users\nann:secret:with colon\n\nbob:x\r\n").unwrap();
        let know = |text| users.verify(&Credential::parse(text).unwrap());
        assert!(know("ann:secret:with colon") && know("bob:x"));
        assert!(!know("ann:x") && !know("bob:secret:with colon") && !know("eve:x") && !know("ann:secret"));
        assert_eq!(Users::parse("ann:a\nann:b"), Err((2, "duplicate username")));
        assert_eq!(Users::parse("\nann"), Err((2, "not `username:password`")));
        assert!(Users::default().is_empty() && !Users::default().verify(&Credential::parse("a:b").unwrap()));
    }

    #[test]
    fn debug_output_contains_no_password() {
        let one = Credential::parse("ann:hunter2").unwrap();
        let mut users = Users::default();
        users.add(&one);
        let shown = format!("{one:?} {users:?}");
        assert!(shown.contains("ann") && !shown.contains("hunter2"), "{shown}");
    }
}
