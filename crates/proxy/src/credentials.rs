//! Usernames and passwords of requests. `Debug` never prints a password.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use core::fmt;

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
    fn debug_output_contains_no_password() {
        let one = Credential::parse("ann:hunter2").unwrap();
        let shown = format!("{one:?}");
        assert!(shown.contains("ann") && !shown.contains("hunter2"), "{shown}");
    }
}
