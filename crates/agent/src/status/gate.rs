//! Gate of the players' port: which requests are reports of a permitted player.
//!
//! Any web page in a browser of this host can send requests there, also under a host name that it
//! made point here (DNS rebinding). So a request needs the port's own address as `Host`, a configured
//! `Origin` or none, and the token. Fetch Standard, section 3.2 (CORS); Local Network Access.

use cmcd::State;
use linux::socket::is_address_or_localhost;
use std::fmt;
use std::net::SocketAddr;
use subtle::ConstantTimeEq as _;

/// Maximum length of a report.
pub const MAX_REPORT_BYTES: usize = 1024;
/// Length of a token. 32 hexadecimal digits have 128 random bits.
pub const TOKEN_BYTES: std::ops::RangeInclusive<usize> = 32..=256;

/// Secret of the players that may report.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Parses the content of a token file: one line of visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let token = text.trim_ascii();
        let is_visible = token.bytes().all(|byte| byte.is_ascii_graphic());
        (is_visible && TOKEN_BYTES.contains(&token.len())).then(|| Self(token.to_owned()))
    }

    /// Compares in constant time.
    fn is(&self, candidate: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(candidate).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Parses an origin as browsers send it, such as `https://example.org` or `http://127.0.0.1:8090`.
pub fn parse_origin(text: &str) -> Option<String> {
    let text = text.trim_ascii().to_ascii_lowercase();
    let (scheme, default_port) = match text.split_once("://")?.0 {
        "https" => ("https", ":443"),
        "http" => ("http", ":80"),
        _ => return None,
    };
    let host = &text[scheme.len() + 3..];
    let host = host.strip_suffix('/').unwrap_or(host);
    let host = host.strip_suffix(default_port).unwrap_or(host);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    (!host.is_empty() && host.bytes().all(is_host)).then(|| format!("{scheme}://{host}"))
}

/// Rules of the port.
#[derive(Debug, Clone)]
pub struct PlayerGate {
    /// Values of `Host` that name this port.
    hosts: [String; 2],
    origins: Vec<String>,
    token: Token,
}

/// Decision on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement<'a> {
    /// Permitted origin that sent the request; it may read the response.
    pub origin: Option<&'a str>,
    /// What the request is.
    pub verdict: Verdict,
}

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A report with the token; its body is to be read.
    Report,
    /// The question of a browser whether a permitted origin may report.
    Preflight,
    /// Refused.
    Refused(Refusal),
}

/// Reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// `Host` is missing, repeated, or not the address of the port.
    Host,
    /// `Origin` is repeated, or not configured.
    Origin,
    /// Another path than `/player`.
    Path,
    /// Another method than POST.
    Method,
    /// The token is missing or wrong.
    Token,
}

impl PlayerGate {
    /// Rules of a port that listens at `address`. `origins` are results of [`parse_origin`].
    pub fn new(address: SocketAddr, origins: Vec<String>, token: Token) -> Self {
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        Self { hosts, origins, token }
    }

    /// Judges the head of a request. `fields` are the names and values of its header fields.
    pub fn judge(&self, method: &str, path: &str, fields: &[(&str, &[u8])]) -> Judgement<'_> {
        let refused = |origin, refusal| Judgement { origin, verdict: Verdict::Refused(refusal) };
        let [host, origin, authorization] =
            ["host", "origin", "authorization"].map(|name| Field::of(fields, name));
        let Field::One(host) = host else { return refused(None, Refusal::Host) };
        if !self.hosts.iter().any(|own| own.as_bytes().eq_ignore_ascii_case(host)) {
            return refused(None, Refusal::Host);
        }
        let origin = match origin {
            Field::None => None,
            Field::One(origin) => match self.origins.iter().find(|known| known.as_bytes() == origin) {
                Some(known) => Some(known.as_str()),
                None => return refused(None, Refusal::Origin),
            },
            Field::Many => return refused(None, Refusal::Origin),
        };
        if path != "/player" {
            return refused(origin, Refusal::Path);
        }
        let verdict = match method {
            // A preflight never has a token.
            "OPTIONS" if origin.is_some() => Verdict::Preflight,
            "POST" if self.permits(&authorization) => Verdict::Report,
            "POST" => Verdict::Refused(Refusal::Token),
            _ => Verdict::Refused(Refusal::Method),
        };
        Judgement { origin, verdict }
    }

    fn permits(&self, authorization: &Field<'_>) -> bool {
        let Field::One(value) = authorization else { return false };
        let Some((scheme, token)) = value.split_at_checked(7) else { return false };
        scheme.eq_ignore_ascii_case(b"bearer ") && self.token.is(token.trim_ascii())
    }
}

/// Value of a header field.
enum Field<'a> {
    None,
    One(&'a [u8]),
    Many,
}

impl<'a> Field<'a> {
    fn of(fields: &[(&str, &'a [u8])], name: &str) -> Self {
        let mut values = fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        match (values.next(), values.next()) {
            (None, _) => Self::None,
            (Some((_, value)), None) => Self::One(value),
            _ => Self::Many,
        }
    }
}

/// Whether the only `Host` is an address or `localhost`: no name that a web page made point here.
pub(super) fn names_this_host(fields: &[(&str, &[u8])]) -> bool {
    let Field::One(host) = Field::of(fields, "host") else { return false };
    std::str::from_utf8(host).is_ok_and(is_address_or_localhost)
}

/// Parses the body of a report: CMCD as in a header field. `None` without the state of a buffer.
pub fn parse_report(body: &[u8]) -> Option<State> {
    let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= MAX_REPORT_BYTES)?;
    let mut state = State::default();
    state.read(text.trim_ascii());
    state.is_of_a_buffer().then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn gate() -> PlayerGate {
        let origins = vec!["https://player.example".to_owned(), "http://127.0.0.1:8090".to_owned()];
        PlayerGate::new("127.0.0.1:9465".parse().unwrap(), origins, Token::parse(TOKEN).unwrap())
    }

    /// The verdict on a request with these fields, each as `name: value`.
    fn judge(method: &str, path: &str, fields: &[&str]) -> (Option<String>, Verdict) {
        let gate = gate();
        let fields: Vec<(&str, &[u8])> = fields
            .iter()
            .map(|field| field.split_once(": ").unwrap())
            .map(|(name, value)| (name, value.as_bytes()))
            .collect();
        let judgement = gate.judge(method, path, &fields);
        (judgement.origin.map(str::to_owned), judgement.verdict)
    }

    fn refused(refusal: Refusal) -> (Option<String>, Verdict) {
        (None, Verdict::Refused(refusal))
    }

    #[test]
    fn report_needs_own_host_known_origin_and_token() {
        let bearer = format!("Authorization: Bearer {TOKEN}");
        let page = "Origin: https://player.example";
        for host in ["Host: 127.0.0.1:9465", "host: LOCALHOST:9465"] {
            assert_eq!(judge("POST", "/player", &[host, &bearer]), (None, Verdict::Report));
            let origin = Some("https://player.example".to_owned());
            assert_eq!(judge("POST", "/player", &[host, page, &bearer]), (origin, Verdict::Report));
        }
        // A host name that a page made point to this host.
        for host in ["Host: evil.example:9465", "Host: 127.0.0.1", "Host: 127.0.0.1:9465.evil.example"] {
            assert_eq!(judge("POST", "/player", &[host, page, &bearer]), refused(Refusal::Host));
        }
        assert_eq!(judge("POST", "/player", &[page, &bearer]), refused(Refusal::Host));
        let host = "Host: 127.0.0.1:9465";
        assert_eq!(judge("POST", "/player", &[host, host, &bearer]), refused(Refusal::Host));
        for origin in [
            "Origin: https://evil.example",
            "Origin: null",
            "Origin: http://player.example",
            "Origin: https://player.example.evil.example",
            "Origin: https://player.example:8443",
            "Origin: https://PLAYER.example",
        ] {
            assert_eq!(judge("POST", "/player", &[host, origin, &bearer]), refused(Refusal::Origin));
        }
        assert_eq!(judge("POST", "/player", &[host, page, page, &bearer]), refused(Refusal::Origin));
    }

    #[test]
    fn wrong_tokens_are_refused() {
        let host = "Host: 127.0.0.1:9465";
        let wrong = [
            "Authorization: Bearer ".to_owned(),
            format!("Authorization: Bearer {}", &TOKEN[1..]),
            format!("Authorization: Bearer {TOKEN}0"),
            format!("Authorization: Basic {TOKEN}"),
            format!("Authorization: {TOKEN}"),
            "Authorization: B".to_owned(),
        ];
        for field in &wrong {
            assert_eq!(judge("POST", "/player", &[host, field]), refused(Refusal::Token), "{field}");
        }
        assert_eq!(judge("POST", "/player", &[host]), refused(Refusal::Token));
        let right = format!("Authorization: Bearer {TOKEN}");
        assert_eq!(judge("POST", "/player", &[host, &right, &right]), refused(Refusal::Token));
        assert_eq!(judge("POST", "/status", &[host, &right]), refused(Refusal::Path));
        assert_eq!(judge("GET", "/player", &[host, &right]), refused(Refusal::Method));
    }

    #[test]
    fn preflight_is_answered_for_known_origins_only() {
        let host = "Host: 127.0.0.1:9465";
        let page = "Origin: http://127.0.0.1:8090";
        let origin = Some("http://127.0.0.1:8090".to_owned());
        assert_eq!(judge("OPTIONS", "/player", &[host, page]), (origin, Verdict::Preflight));
        assert_eq!(judge("OPTIONS", "/player", &[host]), refused(Refusal::Method));
        let evil = "Origin: https://evil.example";
        assert_eq!(judge("OPTIONS", "/player", &[host, evil]), refused(Refusal::Origin));
    }

    #[test]
    fn origins_and_tokens_are_parsed_strictly() {
        let origin = |text| parse_origin(text);
        assert_eq!(origin("https://Player.Example:443/").as_deref(), Some("https://player.example"));
        assert_eq!(origin("http://[::1]:8090").as_deref(), Some("http://[::1]:8090"));
        for wrong in
            ["null", "*", "https://", "https://a/b", "ftp://a", "https://*.example", "player.example"]
        {
            assert_eq!(origin(wrong), None, "{wrong}");
        }
        assert!(Token::parse(&format!("{TOKEN}\n")).is_some());
        for wrong in ["", "short", &TOKEN[1..], &format!("{} {}", &TOKEN[..16], &TOKEN[16..])] {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
        assert!(!format!("{:?}", gate()).contains(TOKEN));
    }

    #[test]
    fn report_needs_the_state_of_a_buffer() {
        let state = parse_report(b"sid=\"a\",ot=av,bl=4000,br=3200\n").unwrap();
        assert_eq!(state.buffer, Some(units::Duration::from_secs(4)));
        assert!(parse_report(b"br=3200").is_none());
        assert!(parse_report(b"bl=4000,\xff").is_none());
        assert!(parse_report(format!("bl=4000,x={}", "y".repeat(MAX_REPORT_BYTES)).as_bytes()).is_none());
    }
}
