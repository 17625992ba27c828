//! Requests to a forward proxy (RFC 9112, section 3.2; RFC 9110, section 9.3.6).

use super::PSEUDONYM;
use super::body::Framing;
use super::head::{Head, Hop, ParseError, is_token, number, version};
use crate::credentials::Credential;
use crate::destination::Destination;
use std::io::Write as _;

/// Parsed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Length of the head in the buffer.
    pub length: usize,
    /// Target host and port.
    pub destination: Destination,
    /// Tunnel, or request to forward.
    pub kind: RequestKind,
    /// The client connection persists after this request.
    pub keep_alive: bool,
    /// The client speaks HTTP/1.0: no chunked coding, no interim responses.
    pub is_http10: bool,
    /// Credential of `Proxy-Authorization`, if it is well-formed.
    pub credential: Option<Credential>,
    /// Received `Via` fields, joined by commas.
    pub via: String,
}

impl Request {
    /// Whether the method is HEAD: its response has no content (RFC 9110, section 9.3.2).
    pub fn is_head(&self) -> bool {
        matches!(&self.kind, RequestKind::Forward { method, .. } if method == "HEAD")
    }

    /// Whether the request has passed the proxy with this pseudonym (RFC 9110, section 7.6.3).
    pub fn has_passed(&self, pseudonym: &str) -> bool {
        self.via.split([',', ' ', '\t']).any(|word| word.eq_ignore_ascii_case(pseudonym))
    }
}

/// Kind of request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestKind {
    /// CONNECT: open a tunnel.
    Tunnel,
    /// Forward the request and its response.
    Forward {
        /// The method.
        method: String,
        /// Re-encoded head for the server.
        head: Vec<u8>,
        /// Framing of the request body.
        body: Framing,
    },
}

/// Parses a request at the start of `buffer`; `None` while its head is incomplete. `max_len` limits
/// the head in bytes.
///
/// # Errors
/// The request is malformed, ambiguous or not in a form for proxies.
pub fn read(buffer: &[u8], max_len: usize) -> Result<Option<Request>, ParseError> {
    read_as(PSEUDONYM, buffer, max_len)
}

/// As [`read`], for a proxy that has this `pseudonym` in `Via`.
///
/// # Errors
/// As for [`read`].
pub fn read_as(pseudonym: &str, buffer: &[u8], max_len: usize) -> Result<Option<Request>, ParseError> {
    // Skip one empty line: old clients send it after a body (RFC 9112, section 2.2).
    let skip = if buffer.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(head) = Head::read(&buffer[skip..], max_len)? else { return Ok(None) };
    let (method, target, minor) = parse_request_line(head.start)?;
    let host = head.one("host").map_err(|()| ParseError::bad_request("duplicate Host"))?;
    if host.is_none() && minor == 1 {
        return Err(ParseError::bad_request("missing Host"));
    }
    let hop = Hop::read(&head)?;
    let framing = Framing::read(&head, minor)?;
    let authorization = head
        .one("proxy-authorization")
        .map_err(|()| ParseError::bad_request("duplicate Proxy-Authorization"))?;
    let mut request = Request {
        length: skip + head.length,
        destination: Destination { host: crate::destination::Host::Name(String::new()), port: 0 },
        kind: RequestKind::Tunnel,
        // RFC 9112, section 9.3: no persistent connection with an HTTP/1.0 client.
        keep_alive: !hop.close && minor == 1,
        is_http10: minor == 0,
        credential: authorization.and_then(Credential::from_basic),
        via: via(&head),
    };
    if method == b"CONNECT" {
        if framing.is_some_and(|framing| framing != Framing::Empty) {
            return Err(ParseError::bad_request("CONNECT with a body"));
        }
        request.destination = Destination::parse(target, None)
            .ok_or(ParseError::bad_request("the CONNECT target is not HOST:PORT"))?;
        if host.is_some_and(|host| !means(host, &request.destination, None)) {
            return Err(ParseError::bad_request("Host differs from the request target"));
        }
        return Ok(Some(request));
    }
    if method == b"TRACE" {
        return Err(ParseError {
            status: 405,
            reason: "TRACE is not supported: it would disclose proxy credentials",
        });
    }
    let (authority, path) = absolute(target)?;
    request.destination = Destination::parse(authority, Some(80))
        .ok_or(ParseError::bad_request("invalid authority in the request target"))?;
    if host.is_some_and(|host| !means(host, &request.destination, Some(80))) {
        return Err(ParseError::bad_request("Host differs from the request target"));
    }
    let hops_left = if method == b"OPTIONS" { max_forwards(&head)? } else { None };
    if hops_left == Some(0) {
        return Err(ParseError { status: 405, reason: "the proxy itself has no OPTIONS" });
    }
    let body = framing.unwrap_or(Framing::Empty);
    let mut out = encode_request_line(method, path, head.length + 64);
    out.extend_from_slice(request.destination.authority(80).as_bytes());
    out.extend_from_slice(b"\r\n");
    let rewritten: &[&[u8]] = if hops_left.is_some() { &[b"host", b"max-forwards"] } else { &[b"host"] };
    hop.pass(&head, rewritten, &mut out);
    if let Some(hops) = hops_left {
        _ = write!(out, "Max-Forwards: {}\r\n", hops - 1);
    }
    if body == Framing::Chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    _ = write!(out, "Via: 1.{minor} {pseudonym}\r\n\r\n");
    let method = String::from_utf8_lossy(method).into_owned();
    request.kind = RequestKind::Forward { method, head: out, body };
    Ok(Some(request))
}

/// Values of the `Via` fields, joined by commas.
fn via(head: &Head<'_>) -> String {
    let mut via = String::new();
    for value in head.all("via") {
        if !via.is_empty() {
            via.push_str(", ");
        }
        via.push_str(&String::from_utf8_lossy(value));
    }
    via
}

/// Number of proxies that may still forward the request (RFC 9110, section 7.6.2).
fn max_forwards(head: &Head<'_>) -> Result<Option<u64>, ParseError> {
    const INVALID: ParseError = ParseError::bad_request("invalid Max-Forwards");
    let Some(value) = head.one("max-forwards").map_err(|()| INVALID)? else { return Ok(None) };
    number(value).map(Some).ok_or(INVALID)
}

/// Method, target and minor version.
fn parse_request_line(line: &[u8]) -> Result<(&[u8], &[u8], u8), ParseError> {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(last), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(ParseError::bad_request("invalid request line"));
    };
    if method.is_empty() || method.len() > 32 || !method.iter().all(|&byte| is_token(byte)) {
        return Err(ParseError::bad_request("invalid HTTP method"));
    }
    let minor = version(last)?;
    if !target.iter().all(u8::is_ascii_graphic) {
        return Err(ParseError::bad_request("invalid character in the request target"));
    }
    Ok((method, target, minor))
}

/// Request line in origin form, followed by the name of the `Host` field.
fn encode_request_line(method: &[u8], path: &[u8], capacity: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(capacity);
    out.extend_from_slice(method);
    out.push(b' ');
    match path {
        // Asterisk form (RFC 9112, section 3.2.4).
        b"" if method == b"OPTIONS" => out.push(b'*'),
        path => {
            if !path.starts_with(b"/") {
                out.push(b'/');
            }
            out.extend_from_slice(path);
        }
    }
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out
}

/// Splits `http://authority/path` into authority and path.
fn absolute(target: &[u8]) -> Result<(&[u8], &[u8]), ParseError> {
    const SCHEME: &[u8] = b"http://";
    if target.starts_with(b"/") || target == b"*" {
        return Err(ParseError::bad_request("this is a proxy: use `http://host/path` or CONNECT"));
    }
    let (scheme, rest) = target
        .split_at_checked(SCHEME.len())
        .ok_or(ParseError::bad_request("the request target is not an absolute URI"))?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(ParseError::bad_request("unsupported scheme: use http:// or CONNECT"));
    }
    if rest.contains(&b'#') {
        return Err(ParseError::bad_request("fragment in the request target"));
    }
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'\\')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains(&b'@') {
        // Userinfo can disguise the host (RFC 9110, section 4.2.4).
        return Err(ParseError::bad_request("userinfo in the request target"));
    }
    if path.starts_with(b"\\") {
        return Err(ParseError::bad_request("invalid authority in the request target"));
    }
    Ok((authority, path))
}

/// Whether `Host` equals the destination.
fn means(host: &[u8], destination: &Destination, default_port: Option<u16>) -> bool {
    let default_port = default_port.or(Some(destination.port));
    Destination::parse(host, default_port).is_some_and(|named| named == *destination)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
