//! Access control: host names, origins and the token.

use crate::Config;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::{self, HeaderMap};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use url::{Host, Url};

/// Reason for which a request's host is rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HostProblem {
    /// Not exactly one `Host` field, or another host in the request's address.
    Invalid,
    /// A name that is not allowed.
    Unknown,
}

impl Config {
    /// Checks that the request's `Host` is an IP address or a known name. A foreign name that
    /// resolves to this host (DNS rebinding) would otherwise let that name's pages read everything.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HostProblem> {
        // RFC 9112, section 3.2: a request without a Host field, or with several, is invalid.
        let mut fields = headers.get_all(header::HOST).iter();
        let (Some(field), None) = (fields.next(), fields.next()) else { return Err(HostProblem::Invalid) };
        let Ok(host) = field.to_str() else { return Err(HostProblem::Invalid) };
        if uri.authority().is_some_and(|authority| !authority.as_str().eq_ignore_ascii_case(host)) {
            return Err(HostProblem::Invalid);
        }
        if self.accepts_host(host) { Ok(()) } else { Err(HostProblem::Unknown) }
    }

    fn accepts_host(&self, host: &str) -> bool {
        let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
        // Only a host and a port are valid: no user, no path.
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

    /// Foreign origin of the request, if any, and whether it is allowed. An unreadable one, or one of
    /// several, is empty and not allowed.
    pub(crate) fn foreign_origin<'a>(&self, headers: &'a HeaderMap) -> Option<(&'a str, bool)> {
        let mut fields = headers.get_all(header::ORIGIN).iter();
        let first = fields.next()?;
        let (Ok(origin), None) = (first.to_str(), fields.next()) else { return Some(("", false)) };
        // With TLS, a page of http://HOST is not this server's: anybody on the way can forge it.
        // Without TLS, a reverse proxy in front may add it.
        let schemes: &[&str] = if self.tls.is_some() { &["https"] } else { &["http", "https"] };
        let own = field(headers, header::HOST).is_some_and(|host| {
            schemes.iter().any(|scheme| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
        });
        if own {
            return None;
        }
        Some((
            origin,
            self.origins.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin)),
        ))
    }

    /// True if no token is configured, or the request carries it.
    pub(crate) fn accepts_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let Some(field) = field(headers, header::AUTHORIZATION) else { return false };
        let Some((scheme, credentials)) = field.split_once(' ') else { return false };
        if scheme.eq_ignore_ascii_case("bearer") {
            return equal_in_constant_time(credentials.trim(), token);
        }
        if scheme.eq_ignore_ascii_case("basic") {
            // `USER:PASSWORD`; any user name is accepted.
            let decoded =
                STANDARD.decode(credentials.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            return decoded
                .and_then(|text| {
                    text.split_once(':').map(|(_, password)| equal_in_constant_time(password, token))
                })
                .unwrap_or(false);
        }
        false
    }
}

fn field(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Compares digests in constant time, so that neither length nor content of the token leaks.
fn equal_in_constant_time(candidate: &str, token: &str) -> bool {
    Sha256::digest(candidate.as_bytes()).ct_eq(&Sha256::digest(token.as_bytes())).into()
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
    fn host_is_an_address_or_a_known_name() {
        let config = Config { hosts: vec!["films.example.org".into()], ..Config::default() };
        let check =
            |host: &str, uri: &str| config.check_host(&uri.parse().unwrap(), &headers(&[("host", host)]));
        let accepts = |host: &str| check(host, "/") == Ok(());
        for host in [
            "127.0.0.1:8090",
            "localhost:8090",
            "LOCALHOST",
            "[::1]:8090",
            "192.0.2.1",
            "Films.Example.org:80",
        ] {
            assert!(accepts(host), "{host}");
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
            assert!(!accepts(host), "{host}");
        }
        assert_eq!(config.check_host(&Uri::from_static("/"), &HeaderMap::new()), Err(HostProblem::Invalid));
        let mut two = headers(&[("host", "127.0.0.1")]);
        two.append(header::HOST, "evil.example".parse().unwrap());
        assert_eq!(config.check_host(&Uri::from_static("/"), &two), Err(HostProblem::Invalid));
        assert_eq!(check("localhost", "http://localhost/"), Ok(()));
        assert_eq!(check("localhost", "http://evil.example/"), Err(HostProblem::Invalid));
    }

    #[test]
    fn foreign_origins_are_distinguished_from_the_own_origin() {
        let config = Config { origins: vec!["https://example.org".into()], ..Config::default() };
        let origin = |origin: &'static str| {
            let headers = headers(&[("host", "127.0.0.1:8090"), ("origin", origin)]);
            config.foreign_origin(&headers).map(|(_, allowed)| allowed)
        };
        assert_eq!(origin("http://127.0.0.1:8090"), None);
        assert_eq!(origin("https://example.org"), Some(true));
        for other in ["http://127.0.0.1:8091", "https://example.org.evil", "null", "http://localhost:8090"] {
            assert_eq!(origin(other), Some(false), "{other}");
        }
        assert_eq!(config.foreign_origin(&headers(&[("host", "127.0.0.1")])), None);
    }

    #[test]
    fn unreadable_or_second_origin_is_foreign() {
        let config = Config { origins: vec!["/".into()], ..Config::default() };
        let own = headers(&[("host", "127.0.0.1"), ("origin", "http://127.0.0.1")]);
        let mut unreadable = own.clone();
        unreadable
            .insert(header::ORIGIN, header::HeaderValue::from_bytes("http://ev\u{e9}l".as_bytes()).unwrap());
        let mut two = own;
        two.append(header::ORIGIN, "http://evil.example".parse().unwrap());
        for headers in [unreadable, two] {
            assert_eq!(config.foreign_origin(&headers), Some(("", false)));
        }
    }

    #[test]
    fn token_is_accepted_as_bearer_token_or_password() {
        let config = Config { token: Some("s\u{e9}same".into()), ..Config::default() };
        let knows = |field: &str| config.accepts_token(&headers(&[("authorization", field)]));
        // `me:sésame`
        assert!(knows("Basic bWU6c8Opc2FtZQ==") && !knows("Basic bWU6c2VzYW1l") && !knows("Basic !"));
        assert!(!knows("Bearer sesame") && !knows("Bearer") && !knows("") && !knows("Digest s"));
        assert!(!config.accepts_token(&HeaderMap::new()));
        let config = Config { token: Some("sesame".into()), ..Config::default() };
        assert!(config.accepts_token(&headers(&[("authorization", "bearer sesame")])));
        assert!(Config::default().accepts_token(&HeaderMap::new()));
    }
}
