//! Address and credentials of a proxy.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// HTTP or SOCKS5 proxy: `http://[user:password@]host:port` or
/// `socks5://[user:password@]host:port`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(super) socks: bool,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) login: Option<(String, String)>,
}

impl FromStr for Proxy {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "expected such as http://127.0.0.1:3128 or socks5://127.0.0.1:1080";
        let url = Url::parse(text).map_err(|error| format!("{example}: {error}"))?;
        let (socks, port) = match url.scheme() {
            "http" => (false, 3128),
            "socks5" | "socks5h" => (true, 1080),
            other => return Err(format!("{example}, found the scheme `{other}`")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(example)?.to_owned();
        // `url` omits 80, the default port of `http`. It reads `ftp` alike, with another default port.
        let rest = text.split_once(':').map_or("", |(_, rest)| rest);
        let given = Url::parse(&format!("ftp:{rest}")).ok().filter(|_| !socks).and_then(|url| url.port());
        let port = url.port().or(given).unwrap_or(port);
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = (!url.username().is_empty())
            .then(|| (decode(url.username()), decode(url.password().unwrap_or_default())));
        if login.iter().any(|(user, password)| user.len() > 255 || password.len() > 255) {
            return Err("a user and a password for a proxy have at most 255 bytes each".to_owned());
        }
        Ok(Self { socks, host, port, login })
    }
}

/// Displays the proxy without its password.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}", if self.socks { "socks5" } else { "http" }, self.host, self.port)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_parses_and_displays_no_password() {
        let read = |text: &str| text.parse::<Proxy>().map(|proxy| (proxy.to_string(), proxy.login));
        assert_eq!(read("http://127.0.0.1:3128"), Ok(("http://127.0.0.1:3128".into(), None)));
        assert_eq!(read("http://proxy"), Ok(("http://proxy:3128".into(), None)));
        assert_eq!(read("http://proxy:80"), Ok(("http://proxy:80".into(), None)));
        assert_eq!(
            read("socks5://me:a%3Ab%2Bc+d@[::1]"),
            Ok(("socks5://[::1]:1080".into(), Some(("me".into(), "a:b+c+d".into()))))
        );
        let login = ("me".into(), "a&b".into());
        assert_eq!(read("http://me:a&b@proxy"), Ok(("http://proxy:3128".into(), Some(login))));
        let login = ("me".into(), "80secret".into());
        assert_eq!(read("http://me:80secret@proxy"), Ok(("http://proxy:3128".into(), Some(login))));
        assert_eq!(read("http://[::1:80:1]"), Ok(("http://[::1:80:1]:3128".into(), None)));
        assert_eq!(read("http://[::1:80:1]:0080/"), Ok(("http://[::1:80:1]:80".into(), None)));
        assert_eq!(read("http://proxy/a:80"), Ok(("http://proxy:3128".into(), None)));
        assert_eq!(read(" HTTP://proxy:8\t0"), Ok(("http://proxy:80".into(), None)));
        for wrong in ["", "127.0.0.1:3128", "https://proxy", "socks4://proxy", "http://"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(!format!("{:?}", "http://a:secret@b".parse::<Proxy>()).contains("secret"));
    }
}
