//! Requests to a forward proxy (RFC 9112, section 3.2; RFC 9110, section 9.3.6).

use super::PSEUDONYM;
use super::body::Framing;
use super::head::{Bad, Head, Hop, is_token, version};
use crate::credentials::Credential;
use crate::destination::Destination;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Bytes of the buffer that belong to its head.
    pub length: usize,
    /// Where to.
    pub destination: Destination,
    /// A tunnel, or a message that goes on.
    pub wanted: Wanted,
    /// The connection may be used for another request afterwards.
    pub keep_alive: bool,
    /// The client speaks HTTP/1.0: it knows no chunks.
    pub is_old: bool,
    /// Who says that it is asking, where it says so rightly.
    pub credential: Option<Credential>,
}

/// What is wanted of the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// A connection, for whatever comes then (CONNECT).
    Tunnel,
    /// An answer to a request.
    Answer {
        /// The method.
        method: String,
        /// The head that goes on, with everything in it that the server is to know.
        head: Vec<u8>,
        /// The body that follows.
        body: Framing,
    },
}

/// Reads a request from the beginning of `buffer`; `None` where its head is not whole yet. No head is longer
/// than `most` bytes.
///
/// # Errors
/// Where it is malformed, not for a proxy, or could be understood in two ways.
pub fn read(buffer: &[u8], most: usize) -> Result<Option<Request>, Bad> {
    // An empty line before a request (RFC 9112, section 2.2): one, as old programs send it behind a body.
    let skip = if buffer.starts_with(b"\r\n") { 2 } else { 0 };
    let Some(head) = Head::read(&buffer[skip..], most)? else { return Ok(None) };
    let mut words = head.start.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(last), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Bad::request("the first line is not a method, a target and a version"));
    };
    if method.is_empty() || method.len() > 32 || !method.iter().all(|&byte| is_token(byte)) {
        return Err(Bad::request("the method is none"));
    }
    let minor = version(last)?;
    if !target.iter().all(u8::is_ascii_graphic) {
        return Err(Bad::request("the target has characters that no URI has"));
    }
    let host = head.one("host").map_err(|()| Bad::request("Host twice"))?;
    if host.is_none() && minor == 1 {
        return Err(Bad::request("no Host"));
    }
    let hop = Hop::read(&head)?;
    let framing = Framing::read(&head, minor)?;
    let authorization =
        head.one("proxy-authorization").map_err(|()| Bad::request("Proxy-Authorization twice"))?;
    let mut request = Request {
        length: skip + head.length,
        destination: Destination { host: crate::destination::Host::Name(String::new()), port: 0 },
        wanted: Wanted::Tunnel,
        keep_alive: !hop.close && (minor == 1 || hop.keep_alive),
        is_old: minor == 0,
        credential: authorization.and_then(Credential::from_basic),
    };
    if method == b"CONNECT" {
        if framing.is_some() {
            return Err(Bad::request("CONNECT with a body"));
        }
        request.destination =
            Destination::parse(target, None).ok_or(Bad::request("the target of CONNECT is not HOST:PORT"))?;
        if host.is_some_and(|host| !means(host, &request.destination, None)) {
            return Err(Bad::request("Host names another one than the target"));
        }
        return Ok(Some(request));
    }
    if method == b"TRACE" {
        return Err(Bad { status: 405, why: "TRACE would show what only the proxy is to know" });
    }
    let (authority, path) = absolute(target)?;
    request.destination =
        Destination::parse(authority, Some(80)).ok_or(Bad::request("the target's authority is none"))?;
    if host.is_some_and(|host| !means(host, &request.destination, Some(80))) {
        return Err(Bad::request("Host names another one than the target"));
    }
    let body = framing.unwrap_or(Framing::Empty);
    let mut out = Vec::with_capacity(head.length + 64);
    out.extend_from_slice(method);
    out.push(b' ');
    match path {
        // The server itself is asked (RFC 9112, section 3.2.4).
        b"" if method == b"OPTIONS" => out.push(b'*'),
        path => {
            if !path.starts_with(b"/") {
                out.push(b'/');
            }
            out.extend_from_slice(path);
        }
    }
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(request.destination.authority(80).as_bytes());
    out.extend_from_slice(b"\r\n");
    hop.pass(&head, &[b"host"], &mut out);
    if body == Framing::Chunked {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    out.extend_from_slice(format!("Via: 1.{minor} {PSEUDONYM}\r\n\r\n").as_bytes());
    let method = String::from_utf8_lossy(method).into_owned();
    request.wanted = Wanted::Answer { method, head: out, body };
    Ok(Some(request))
}

/// Takes `http://authority/path` apart.
fn absolute(target: &[u8]) -> Result<(&[u8], &[u8]), Bad> {
    const SCHEME: &[u8] = b"http://";
    if target.starts_with(b"/") || target == b"*" {
        return Err(Bad::request("this is a proxy: it wants `http://host/path`, or CONNECT"));
    }
    let (scheme, rest) =
        target.split_at_checked(SCHEME.len()).ok_or(Bad::request("the target is no absolute URI"))?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(Bad::request("only http:// is fetched; for other schemes there is CONNECT"));
    }
    if rest.contains(&b'#') {
        return Err(Bad::request("the target has a fragment"));
    }
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'\\')).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains(&b'@') {
        // RFC 9110, section 4.2.4: it is there to mislead, mostly.
        return Err(Bad::request("the target has a user's name in it"));
    }
    if path.starts_with(b"\\") {
        return Err(Bad::request("the target's authority is none"));
    }
    Ok((authority, path))
}

/// Whether `Host` names this destination.
fn means(host: &[u8], destination: &Destination, default_port: Option<u16>) -> bool {
    let default_port = default_port.or(Some(destination.port));
    Destination::parse(host, default_port).is_some_and(|named| named == *destination)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
