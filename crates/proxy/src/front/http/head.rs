//! A message's head: its first line and its fields, held against a strict reading of RFC 9112.

/// How many fields a head has at most.
pub const MOST_FIELDS: usize = 128;

/// What is wrong with a message, and which status says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// The status for the client.
    pub status: u16,
    /// In words.
    pub why: &'static str,
}

impl Bad {
    /// A request that is malformed, or that could be read in two ways.
    pub(super) const fn request(why: &'static str) -> Self {
        Self { status: 400, why }
    }
}

/// A head in pieces, as it lies in the buffer.
#[derive(Debug)]
pub(super) struct Head<'a> {
    /// The first line, without its end.
    pub(super) start: &'a [u8],
    /// The fields' names and values, without the white space around values.
    pub(super) fields: Vec<(&'a [u8], &'a [u8])>,
    /// How long it is, with the empty line at its end.
    pub(super) length: usize,
}

impl<'a> Head<'a> {
    /// Reads a head from the beginning of `bytes`; `None` where it does not end there. No head is longer than
    /// `most` bytes.
    pub(super) fn read(bytes: &'a [u8], most: usize) -> Result<Option<Self>, Bad> {
        // Line by line, so that what is wrong is told before the end is there.
        let mut lines = Vec::with_capacity(16);
        let mut at = 0;
        loop {
            let Some(length) = bytes[at..].iter().position(|&byte| byte == b'\n') else {
                return if bytes.len() >= most {
                    Err(Bad { status: 431, why: "the head is too long" })
                } else if bytes[at..].iter().rev().skip(1).any(|&byte| byte == b'\r') {
                    Err(Bad::request("a carriage return within a line"))
                } else {
                    Ok(None)
                };
            };
            if at + length >= most {
                return Err(Bad { status: 431, why: "the head is too long" });
            }
            let line = &bytes[at..at + length];
            at += length + 1;
            let Some((b'\r', line)) = line.split_last() else {
                return Err(Bad::request("a line feed without a carriage return"));
            };
            if line.contains(&b'\r') {
                return Err(Bad::request("a carriage return within a line"));
            }
            if line.is_empty() {
                break;
            }
            if lines.len() > MOST_FIELDS {
                return Err(Bad { status: 431, why: "too many fields" });
            }
            lines.push(line);
        }
        let Some((start, rest)) = lines.split_first() else {
            return Err(Bad::request("an empty head"));
        };
        let fields = rest.iter().map(|line| field(line)).collect::<Result<_, _>>()?;
        Ok(Some(Self { start, fields, length: at }))
    }

    /// The values of the fields of that name, which is in lower case.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields.iter().filter(move |(one, _)| one.eq_ignore_ascii_case(name.as_bytes())).map(|one| one.1)
    }

    /// The value of the only field of that name.
    pub(super) fn one(&self, name: &str) -> Result<Option<&'a [u8]>, ()> {
        let mut all = self.all(name);
        match (all.next(), all.next()) {
            (one, None) => Ok(one),
            _ => Err(()),
        }
    }
}

fn field(line: &[u8]) -> Result<(&[u8], &[u8]), Bad> {
    if matches!(line.first(), Some(b' ' | b'\t')) {
        return Err(Bad::request("a field over several lines (obs-fold)"));
    }
    let colon = line.iter().position(|&byte| byte == b':').ok_or(Bad::request("a field without a colon"))?;
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(|&byte| is_token(byte)) {
        // White space before the colon among them (RFC 9112, section 5.1).
        return Err(Bad::request("a field's name that is none"));
    }
    let value = value[1..].trim_ascii();
    if value.iter().any(|&byte| is_control(byte)) {
        return Err(Bad::request("a control character in a field"));
    }
    Ok((name, value))
}

/// A letter of a token (RFC 9110, section 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A control character that may not stand in a value.
pub(super) fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// The version of a message: 1.0 or 1.1; a request of another one is told so.
pub(super) fn version(text: &[u8]) -> Result<u8, Bad> {
    match text {
        b"HTTP/1.1" => Ok(1),
        b"HTTP/1.0" => Ok(0),
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
            Err(Bad { status: 505, why: "only HTTP/1.0 and HTTP/1.1 are spoken here" })
        }
        _ => Err(Bad::request("the first line is not HTTP's")),
    }
}

/// Fields of one hop (RFC 9110, section 7.6.1), and what only a proxy reads.
const OF_THIS_HOP: [&[u8]; 10] = [
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

/// Fields that `Connection` may not take away: whoever did could hide from the next reader what this one saw.
const NEVER_OF_ONE_HOP: [&[u8]; 9] = [
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

/// What `Connection` says.
#[derive(Debug, Default)]
pub(super) struct Hop<'a> {
    /// The connection ends after this message.
    pub(super) close: bool,
    /// It goes on, although the version is 1.0.
    pub(super) keep_alive: bool,
    named: Vec<&'a [u8]>,
}

impl<'a> Hop<'a> {
    pub(super) fn read(head: &Head<'a>) -> Result<Self, Bad> {
        let mut hop = Self::default();
        // Old programs say it to proxies under another name.
        for value in head.all("connection").chain(head.all("proxy-connection")) {
            for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                if option.eq_ignore_ascii_case(b"close") {
                    hop.close = true;
                } else if option.eq_ignore_ascii_case(b"keep-alive") {
                    hop.keep_alive = true;
                } else if NEVER_OF_ONE_HOP.iter().any(|name| option.eq_ignore_ascii_case(name)) {
                    return Err(Bad::request("Connection names a field that is for the other end"));
                } else if !option.is_empty() {
                    hop.named.push(option);
                }
            }
        }
        Ok(hop)
    }

    /// Writes the fields that go on.
    pub(super) fn pass(&self, head: &Head<'_>, without: &[&[u8]], out: &mut Vec<u8>) {
        for (name, value) in &head.fields {
            let is = |other: &&[u8]| name.eq_ignore_ascii_case(other);
            if !OF_THIS_HOP.iter().any(is) && !without.iter().any(is) && !self.named.iter().any(is) {
                out.extend_from_slice(name);
                out.extend_from_slice(b": ");
                out.extend_from_slice(value);
                out.extend_from_slice(b"\r\n");
            }
        }
    }
}
