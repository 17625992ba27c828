//! Responses of servers.

use super::PSEUDONYM;
use super::body::Framing;
use super::head::{Head, Hop, ParseError, is_control, version};
use std::io::Write as _;

/// Parsed response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Length of the head in the buffer.
    pub length: usize,
    /// The status, from 100 to 599.
    pub status: u16,
    /// Re-encoded head for the client.
    pub head: Vec<u8>,
    /// Framing of the response body.
    pub body: Framing,
    /// The server connection persists after this response.
    pub keep_alive: bool,
    /// The client connection persists; never with a body that ends with the connection.
    pub client_keep_alive: bool,
    /// Error type of the field `Proxy-Status` (RFC 9209), if the response has one.
    pub proxy_error: Option<String>,
}

impl Response {
    /// Whether it is an interim response (RFC 9110, section 15.2).
    pub const fn is_interim(&self) -> bool {
        self.status < 200
    }
}

/// Parses a response to a request of that `method` at the start of `buffer`; `None` while its head
/// is incomplete. `keep_alive` is whether the client connection may persist.
///
/// # Errors
/// The response is malformed or ambiguous.
pub fn read(
    buffer: &[u8],
    max_len: usize,
    method: &str,
    is_http10: bool,
    keep_alive: bool,
) -> Result<Option<Response>, &'static str> {
    read_strictly(buffer, max_len, method, is_http10, keep_alive).map_err(|bad| bad.reason)
}

fn read_strictly(
    buffer: &[u8],
    max_len: usize,
    method: &str,
    is_http10: bool,
    keep_alive: bool,
) -> Result<Option<Response>, ParseError> {
    let Some(head) = Head::read(buffer, max_len)? else { return Ok(None) };
    let (minor, status, reason) = parse_status_line(head.start)?;
    let hop = Hop::read(&head)?;
    // A successful response to CONNECT has no framing, despite its fields (RFC 9110, section 9.3.6).
    let is_tunnel = method == "CONNECT" && (200..300).contains(&status);
    let framing = if is_tunnel { None } else { Framing::read(&head, minor)? };
    let has_none = is_tunnel || method == "HEAD" || status < 200 || status == 204 || status == 304;
    let body = match framing {
        _ if has_none => Framing::Empty,
        Some(framing) => framing,
        None => Framing::UntilClose,
    };
    // An HTTP/1.0 client receives decoded chunks, delimited by the end of the connection.
    let client_persists = keep_alive && !is_http10 && body != Framing::UntilClose;
    let mut out = Vec::with_capacity(head.length + 64);
    _ = write!(out, "HTTP/1.1 {status} ");
    out.extend_from_slice(reason.strip_prefix(b" ").unwrap_or_default());
    out.extend_from_slice(b"\r\n");
    // RFC 9110, section 8.6.
    let has_no_length = status < 200 || status == 204;
    hop.pass(&head, if has_no_length { &[b"content-length"] } else { &[] }, &mut out);
    if body == Framing::Chunked && !is_http10 {
        out.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
    }
    _ = write!(out, "Via: 1.{minor} {PSEUDONYM}\r\n");
    if status >= 200 && !client_persists {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    out.extend_from_slice(b"\r\n");
    Ok(Some(Response {
        length: head.length,
        status,
        head: out,
        body,
        keep_alive: !hop.close && (minor == 1 || hop.keep_alive) && body != Framing::UntilClose,
        client_keep_alive: client_persists,
        proxy_error: proxy_error(&head),
    }))
}

/// Error type of the last `Proxy-Status` entry, which is that of the nearest proxy.
fn proxy_error(head: &Head<'_>) -> Option<String> {
    let value = std::str::from_utf8(head.all("proxy-status").last()?).ok()?;
    let name = value.rsplit_once("error=")?.1;
    Some(name.chars().take_while(|one| one.is_ascii_lowercase() || *one == '_').collect())
}

/// Minor version, status, and the reason phrase with its leading space.
fn parse_status_line(line: &[u8]) -> Result<(u8, u16, &[u8]), ParseError> {
    let (first, rest) = line.split_at_checked(8).ok_or(ParseError::bad_request("invalid HTTP version"))?;
    let minor = version(first)?;
    let (status, reason) = match rest {
        [b' ', a @ b'1'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9', reason @ ..]
            if reason.is_empty() || reason.starts_with(b" ") =>
        {
            (u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'), reason)
        }
        _ => return Err(ParseError::bad_request("invalid status code")),
    };
    if reason.iter().any(|&byte| is_control(byte)) {
        return Err(ParseError::bad_request("control character in the reason phrase"));
    }
    if status == 101 {
        return Err(ParseError::bad_request("unsolicited 101 response"));
    }
    Ok((minor, status, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(
        text: &str,
        method: &str,
        is_http10: bool,
    ) -> Result<(String, Framing, bool, bool), &'static str> {
        let one = read(text.as_bytes(), 4096, method, is_http10, true)?.ok_or("not whole")?;
        assert_eq!(one.length, text.len());
        Ok((String::from_utf8(one.head).unwrap(), one.body, one.keep_alive, one.client_keep_alive))
    }

    #[test]
    fn response_is_forwarded_without_hop_by_hop_fields() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
            Keep-Alive: timeout=5\r\nUpgrade: h2c\r\nSet-Cookie: a=b\r\n\r\n";
        let on = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nVia: 1.1 tandem\r\n\r\n";
        assert_eq!(answer(text, "GET", false), Ok((on.to_owned(), Framing::Length(5), true, true)));
    }

    #[test]
    fn response_framing_follows_rfc_9112() {
        let body = |text: &str, method| answer(text, method, false).map(|one| (one.1, one.2));
        assert_eq!(body("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", "GET"), Ok((Framing::Empty, true)));
        assert_eq!(body("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", "GET"), Ok((Framing::Empty, true)));
        assert_eq!(body("HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n", "HEAD"), Ok((Framing::Empty, true)));
        assert_eq!(body("HTTP/1.1 200\r\n\r\n", "GET"), Ok((Framing::UntilClose, false)));
        assert_eq!(
            body("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nConnection: close\r\n\r\n", "GET"),
            Ok((Framing::Chunked, false))
        );
        assert_eq!(
            body("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", "GET"),
            Ok((Framing::Length(1), false))
        );
    }

    #[test]
    fn response_without_content_has_no_length() {
        for (status, has_length) in [(103, false), (200, true), (204, false), (304, true)] {
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n");
            let head = answer(&text, "GET", false).unwrap().0;
            assert_eq!(head.contains("Content-Length: 5"), has_length, "{head}");
        }
    }

    #[test]
    fn successful_response_to_connect_has_no_framing() {
        for fields in ["Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 5, 6\r\n"] {
            let of_status =
                |status: u16| answer(&format!("HTTP/1.1 {status} X\r\n{fields}\r\n"), "CONNECT", false);
            assert_eq!(of_status(200).unwrap().1, Framing::Empty);
            assert!(of_status(502).is_err());
        }
    }

    #[test]
    fn http10_client_receives_no_chunks() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (head, body, server, client) = answer(text, "GET", true).unwrap();
        assert_eq!((body, server, client), (Framing::Chunked, true, false));
        assert_eq!(head, "HTTP/1.1 200 OK\r\nVia: 1.1 tandem\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn ambiguous_responses_are_rejected() {
        for fields in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 5\r\nContent-Length: 5\r\n",
            "Content-Length: 5, 5\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "A: b\r\n c\r\n",
            "A : b\r\n",
            "A: b\n",
            "A: b\rc\r\n",
        ] {
            assert!(answer(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), "GET", false).is_err(), "{fields:?}");
        }
        for start in [
            "HTTP/1.1 99 X",
            "HTTP/1.1 600 X",
            "HTTP/1.1 20 X",
            "HTTP/1.1 2000 X",
            "HTTP/2.0 200 X",
            "HTTP/1.1  200 X",
            "http/1.1 200 X",
            "HTTP/1.1 101 Switching",
            "ICY 200 OK",
            "HTTP/1.1 200 a\0b",
        ] {
            assert!(answer(&format!("{start}\r\n\r\n"), "GET", false).is_err(), "{start:?}");
        }
    }
}
