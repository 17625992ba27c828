//! Who may do what.

use crate::Config;
use hyper::header::{self, HeaderMap};
use sha2::{Digest, Sha256};
use url::{Host, Url};

impl Config {
    /// Whether a request may name us so. A page of another name that points here would be of that name's origin
    /// for its browser, and read everything; an address has no owner who could let it point elsewhere.
    pub(crate) fn knows_host(&self, headers: &HeaderMap) -> bool {
        let Some(host) = text(headers, header::HOST) else { return false };
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        // Nothing but a host and a port: no user, no path.
        if url
            .as_str()
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix('/'))
            .is_none_or(|rest| rest.contains(['/', '@', '?', '#']))
        {
            return false;
        }
        match url.host() {
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
            Some(Host::Domain(name)) => {
                name == "localhost" || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            }
            None => false,
        }
    }

    /// The origin of another site's page that this request is from, if any, and whether it may.
    pub(crate) fn origin<'a>(&self, headers: &'a HeaderMap) -> Option<(&'a str, bool)> {
        let origin = text(headers, header::ORIGIN)?;
        let own = text(headers, header::HOST).is_some_and(|host| {
            ["http", "https"].iter().any(|scheme| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
        });
        if own {
            return None;
        }
        Some((
            origin,
            self.origins.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin)),
        ))
    }

    /// Whether the request knows the token, where there is one.
    pub(crate) fn knows_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let Some(field) = text(headers, header::AUTHORIZATION) else { return false };
        let Some((scheme, told)) = field.split_once(' ') else { return false };
        if scheme.eq_ignore_ascii_case("bearer") {
            return same(told.trim(), token);
        }
        if scheme.eq_ignore_ascii_case("basic") {
            // `USER:PASSWORD`, whoever the user is.
            let decoded = base64(told.trim()).and_then(|bytes| String::from_utf8(bytes).ok());
            return decoded
                .and_then(|text| text.split_once(':').map(|(_, told)| same(told, token)))
                .unwrap_or(false);
        }
        false
    }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Compares digests, so that the time it takes says nothing of how much is right.
fn same(told: &str, token: &str) -> bool {
    Sha256::digest(told.as_bytes()) == Sha256::digest(token.as_bytes())
}

/// RFC 4648, section 4; `None` where it is not that.
fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for group in digits.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for at in 0..4 {
            let digit = match group.get(at) {
                None => 0,
                Some(digit @ b'A'..=b'Z') => digit - b'A',
                Some(digit @ b'a'..=b'z') => digit - b'a' + 26,
                Some(digit @ b'0'..=b'9') => digit - b'0' + 52,
                Some(b'+') => 62,
                Some(b'/') => 63,
                Some(_) => return None,
            };
            word = word << 6 | u32::from(digit);
        }
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn only_addresses_and_known_names_are_us() {
        let config = Config { hosts: vec!["films.example.org".into()], ..Config::default() };
        let knows = |host: &str| config.knows_host(&headers(&[("host", host)]));
        for host in [
            "127.0.0.1:8090",
            "localhost:8090",
            "LOCALHOST",
            "[::1]:8090",
            "192.0.2.1",
            "Films.Example.org:80",
        ] {
            assert!(knows(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8090",
            "a@127.0.0.1",
            "127.0.0.1/x",
            "",
            "127.0.0.1.evil.example",
            "x:y",
        ] {
            assert!(!knows(host), "{host}");
        }
        assert!(!config.knows_host(&HeaderMap::new()));
    }

    #[test]
    fn pages_of_other_origins_are_told_from_our_own() {
        let config = Config { origins: vec!["https://example.org".into()], ..Config::default() };
        let origin = |origin: &'static str| {
            let headers = headers(&[("host", "127.0.0.1:8090"), ("origin", origin)]);
            config.origin(&headers).map(|(_, may)| may)
        };
        assert_eq!(origin("http://127.0.0.1:8090"), None);
        assert_eq!(origin("https://example.org"), Some(true));
        for other in ["http://127.0.0.1:8091", "https://example.org.evil", "null", "http://localhost:8090"] {
            assert_eq!(origin(other), Some(false), "{other}");
        }
        assert_eq!(config.origin(&headers(&[("host", "127.0.0.1")])), None);
    }

    #[test]
    fn the_token_is_asked_for_in_two_ways() {
        let config = Config { token: Some("s\u{e9}same".into()), ..Config::default() };
        let knows = |field: &str| config.knows_token(&headers(&[("authorization", field)]));
        // `me:sésame`
        assert!(knows("Basic bWU6c8Opc2FtZQ==") && !knows("Basic bWU6c2VzYW1l") && !knows("Basic !"));
        assert!(!knows("Bearer sesame") && !knows("Bearer") && !knows("") && !knows("Digest s"));
        assert!(!config.knows_token(&HeaderMap::new()));
        let config = Config { token: Some("sesame".into()), ..Config::default() };
        assert!(config.knows_token(&headers(&[("authorization", "bearer sesame")])));
        assert!(Config::default().knows_token(&HeaderMap::new()));
    }
}
