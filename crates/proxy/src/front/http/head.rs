//! Message head: start line and header fields, with strict RFC 9112 parsing.

/// Header fields per message.
pub const MAX_FIELDS: usize = 128;

/// Rejected message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    /// Status of the error response.
    pub status: u16,
    /// Message for the client and the log.
    pub reason: &'static str,
}

impl ParseError {
    /// Malformed or ambiguous message (400).
    pub(super) const fn bad_request(reason: &'static str) -> Self {
        Self { status: 400, reason }
    }
}

/// Parsed head that borrows from the buffer.
#[derive(Debug)]
pub(super) struct Head<'a> {
    /// Start line without its line end.
    pub(super) start: &'a [u8],
    /// Field names and values, without whitespace around values.
    pub(super) fields: Vec<(&'a [u8], &'a [u8])>,
    /// Length in bytes, including the final empty line.
    pub(super) length: usize,
}

impl<'a> Head<'a> {
    /// Parses a head at the start of `bytes`; `None` while it is incomplete. `max_len` limits its
    /// length.
    pub(super) fn read(bytes: &'a [u8], max_len: usize) -> Result<Option<Self>, ParseError> {
        // Line by line, to reject a malformed line before the head is complete.
        let mut start = None;
        let mut fields = Vec::with_capacity(16);
        let mut at = 0;
        loop {
            let Some(length) = bytes[at..].iter().position(|&byte| byte == b'\n') else {
                return if bytes.len() >= max_len {
                    Err(ParseError { status: 431, reason: "head too long" })
                } else if bytes[at..].iter().rev().skip(1).any(|&byte| byte == b'\r') {
                    Err(ParseError::bad_request("bare CR in a line"))
                } else {
                    Ok(None)
                };
            };
            if at + length >= max_len {
                return Err(ParseError { status: 431, reason: "head too long" });
            }
            let line = &bytes[at..at + length];
            at += length + 1;
            let Some((b'\r', line)) = line.split_last() else {
                return Err(ParseError::bad_request("bare LF"));
            };
            if line.contains(&b'\r') {
                return Err(ParseError::bad_request("bare CR in a line"));
            }
            if line.is_empty() {
                break;
            }
            if start.is_none() {
                start = Some(line);
            } else if fields.len() < MAX_FIELDS {
                fields.push(field(line)?);
            } else {
                return Err(ParseError { status: 431, reason: "too many header fields" });
            }
        }
        let start = start.ok_or(ParseError::bad_request("empty head"))?;
        Ok(Some(Self { start, fields, length: at }))
    }

    /// Values of the fields with this lowercase name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter(move |(one, _)| one.eq_ignore_ascii_case(name.as_bytes())).map(|one| one.1)
    }

    /// Value of the field with this name; `Err` if there are several.
    pub(super) fn one(&self, name: &str) -> Result<Option<&'a [u8]>, ()> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (one, None) => Ok(one),
            _ => Err(()),
        }
    }
}

/// Value of a field that is a decimal number: digits alone.
pub(super) fn number(value: &[u8]) -> Option<u64> {
    // `parse` would accept a sign.
    let digits = core::str::from_utf8(value).ok().filter(|_| value.iter().all(u8::is_ascii_digit));
    digits.and_then(|digits| digits.parse().ok())
}

fn field(line: &[u8]) -> Result<(&[u8], &[u8]), ParseError> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(ParseError::bad_request("folded header field (obs-fold)"));
    }
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .ok_or(ParseError::bad_request("header field without a colon"))?;
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
        // Includes whitespace before the colon (RFC 9112, section 5.1).
        return Err(ParseError::bad_request("invalid header field name"));
    }
    let value = trim(&value[1..]);
    if value.iter().any(|&byte| is_control(byte)) {
        return Err(ParseError::bad_request("control character in a header field"));
    }
    Ok((name, value))
}

/// Removes spaces and tabs at both ends (RFC 9110, section 5.6.3); no other control characters.
fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Token character (RFC 9110, section 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Control character that field values must not contain.
pub(super) fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// Minor version of HTTP/1.x; other versions are rejected with 505.
pub(super) fn version(text: &[u8]) -> Result<u8, ParseError> {
    match text {
        b"HTTP/1.1" => Ok(1),
        b"HTTP/1.0" => Ok(0),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
            Err(ParseError { status: 505, reason: "only HTTP/1.0 and HTTP/1.1 are supported" })
        }
        _ => Err(ParseError::bad_request("invalid HTTP version")),
    }
}

/// Hop-by-hop fields (RFC 9110, section 7.6.1) and fields addressed to the proxy.
const HOP_BY_HOP: [&[u8]; 10] = [
    b"connection",
    b"proxy-connection",
    b"keep-alive",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"proxy-authorization",
    b"proxy-authenticate",
    b"http2-settings",
];

/// Fields that `Connection` must not remove: the next parser would then see a different message.
const END_TO_END: [&[u8]; 9] = [
    b"host",
    b"content-length",
    b"content-type",
    b"authorization",
    b"cookie",
    b"via",
    b"forwarded",
    b"x-forwarded-for",
    b"x-real-ip",
];

/// Options of the `Connection` field.
#[derive(Debug, Default)]
pub(super) struct Hop<'a> {
    /// `close`: the connection ends after this message.
    pub(super) close: bool,
    /// `keep-alive`: an HTTP/1.0 connection persists.
    pub(super) keep_alive: bool,
    named: Vec<&'a [u8]>,
}

impl<'a> Hop<'a> {
    pub(super) fn read(head: &Head<'a>) -> Result<Self, ParseError> {
        let mut hop = Self::default();
        // Old clients send `Proxy-Connection` to proxies.
        for value in head.all("connection").chain(head.all("proxy-connection")) {
            for option in value.split(|&byte| byte == b',').map(trim) {
                if option.eq_ignore_ascii_case(b"close") {
                    hop.close = true;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    hop.keep_alive = true;
                } else if END_TO_END.iter().any(|name| option.eq_ignore_ascii_case(name)) {
                    return Err(ParseError::bad_request("Connection names an end-to-end field"));
                } else if !option.is_empty() {
                    hop.named.push(option);
                }
            }
        }
        Ok(hop)
    }

    /// Writes the end-to-end fields, except those in `without`.
    pub(super) fn pass(&self, head: &Head<'_>, without: &[&[u8]], out: &mut Vec<u8>) {
        for (name, value) in &head.fields {
            let is = |other: &&[u8]| name.eq_ignore_ascii_case(other);
            if !HOP_BY_HOP.iter().any(is) && !without.iter().any(is) && !self.named.iter().any(is) {
                out.extend_from_slice(name);
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
    }
}
