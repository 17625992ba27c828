//! Causes of failed connections, as proxies tell them to each other in the field `Proxy-Status`
//! (RFC 9209), and the refusal of an upstream proxy.

use crate::front::http::Response;
use std::io::{self, ErrorKind};
use strum::{EnumString, IntoStaticStr};

/// Longest reason taken over from an upstream proxy, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Error type of a failed connection (RFC 9209, section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Cause {
    /// The rules of a proxy reject the destination.
    DestinationIpProhibited,
    /// The host name does not resolve.
    DnsError,
    /// No name server answered in time.
    DnsTimeout,
    /// The request has passed this proxy before.
    ProxyLoopDetected,
    /// The attempt timed out.
    ConnectionTimeout,
    /// The server refused the connection.
    ConnectionRefused,
    /// No route to the server.
    DestinationIpUnroutable,
    /// The connection ended before it was established.
    ConnectionTerminated,
    /// The TLS session with the upstream proxy failed, for instance for its certificate.
    TlsCertificateError,
    /// The upstream proxy denied the request, for instance for lack of a credential.
    HttpRequestDenied,
    /// Any other failure.
    ProxyInternalError,
}

impl Cause {
    /// Name in `Proxy-Status`.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Cause of an error of the system.
    pub(crate) fn of(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => Self::DestinationIpUnroutable,
            ErrorKind::TimedOut => Self::ConnectionTimeout,
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => Self::ConnectionTerminated,
            _ => Self::ProxyInternalError,
        }
    }
}

/// Refusal of an upstream proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Cause, as the upstream proxy names it or as its status implies.
    pub(crate) cause: Cause,
    /// Reason in words.
    pub(crate) reason: String,
}

impl Refusal {
    /// Refusal for a cause that this proxy found by itself.
    pub(crate) fn new(cause: Cause, reason: impl Into<String>) -> Self {
        Self { cause, reason: reason.into() }
    }

    /// Reads the response of an upstream proxy to CONNECT; `body` is the start of its body.
    pub(crate) fn of_response(response: &Response, body: &[u8]) -> Self {
        let named = response.proxy_error.as_deref().and_then(|name| name.parse().ok());
        let cause = named.unwrap_or(match response.status {
            401 | 407 => Cause::HttpRequestDenied,
            403 => Cause::DestinationIpProhibited,
            504 => Cause::ConnectionTimeout,
            _ => Cause::ProxyInternalError,
        });
        let words = printable(body);
        let status = response.status;
        let reason = match (status, words.is_empty()) {
            (407, _) => "it demands a user name and password (status 407)".to_owned(),
            (_, true) => format!("status {status}"),
            (_, false) => words,
        };
        Self { cause, reason }
    }

    /// Refusal by a connection that ended without a response.
    pub(crate) fn of_error(error: &io::Error) -> Self {
        if let Some(reason) = tls::reason(error) {
            return Self::new(Cause::TlsCertificateError, reason);
        }
        match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => Self::new(
                Cause::ConnectionTerminated,
                "it closed the connection without a response; its `[clients] allow` may lack the address \
                 of this client, or a limit is reached",
            ),
            kind => Self::new(Cause::of(error), format!("connection lost: {kind}")),
        }
    }
}

/// First line of a text, without control characters; empty for markup.
fn printable(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().next().unwrap_or_default().trim();
    if line.starts_with('<') {
        return String::new();
    }
    line.chars().filter(|one| !one.is_control()).take(MAX_REASON_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::http;

    fn refusal(text: &str) -> Refusal {
        let response = http::read_response(text.as_bytes(), 4096, "CONNECT", false, true).unwrap().unwrap();
        Refusal::of_response(&response, &text.as_bytes()[response.length..])
    }

    #[test]
    fn cause_comes_from_proxy_status_or_from_the_status() {
        let text = "HTTP/1.1 502 Bad Gateway\r\nProxy-Status: tandem; error=connection_refused\r\n\
            Content-Length: 9\r\n\r\nno\x1b[1m such\r\n";
        assert_eq!(refusal(text), Refusal::new(Cause::ConnectionRefused, "no[1m such"));
        let cases = [
            ("403 Forbidden", Cause::DestinationIpProhibited, "status 403"),
            ("504 Gateway Timeout", Cause::ConnectionTimeout, "status 504"),
            ("500 Oops", Cause::ProxyInternalError, "status 500"),
            ("407 Auth", Cause::HttpRequestDenied, "it demands a user name and password (status 407)"),
        ];
        for (status, cause, reason) in cases {
            let text = format!("HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\n<html>");
            assert_eq!(refusal(&text), Refusal::new(cause, reason));
        }
    }
}
