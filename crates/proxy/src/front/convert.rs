//! Wire format of 0-RTT TCP Convert (RFC 8803), for the converter and for its client. A message is
//! a fixed header and TLVs in units of 32-bit words.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Protocol version.
pub const VERSION: u8 = 1;
/// Magic number of each header (RFC 8803, section 6.1).
pub const MAGIC: u16 = 0x2263;
/// Port assigned by IANA.
pub const PORT: u16 = 5124;

const INFO: u8 = 0x01;
const CONNECT: u8 = 0x0a;
const EXTENDED_HEADER: u8 = 0x14;
const SUPPORTED: u8 = 0x15;
const COOKIE: u8 = 0x16;
const ERROR: u8 = 0x1e;

/// TCP option kinds that a client may request: those that the kernel sends itself, and MPTCP.
const OPTIONS: [u8; 5] = [2, 3, 4, 8, 30];
/// Option kind of MPTCP.
const MPTCP: u8 = 30;

/// Error code (RFC 8803, section 6.2.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Code {
    UnsupportedVersion = 0,
    Malformed = 1,
    UnsupportedMessage = 2,
    MissingCookie = 3,
    NotAuthorized = 32,
    UnsupportedOption = 33,
    ResourceExceeded = 64,
    NetworkFailure = 65,
    ConnectionReset = 96,
    Unreachable = 97,
}

/// Client request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The client requests the list of supported TCP options.
    pub info: bool,
    /// The requested connection.
    pub connect: Option<Connect>,
    /// Cookie from an earlier response (RFC 8803, section 6.2.7).
    pub cookie: Option<Vec<u8>>,
}

/// Requested connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect {
    /// Address of the server.
    pub peer: SocketAddr,
    /// The client requests TCP options, so the response includes the server's options.
    pub is_extended: bool,
    /// The requested options include MPTCP.
    pub mptcp: bool,
}

/// Rejected message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// Not a Convert message: reset the connection.
    Reset(&'static str),
    /// Send these bytes, then close.
    Respond(Vec<u8>, &'static str),
}

/// Parses a message at the start of `buffer`; `None` while it is incomplete. Also returns its
/// length.
///
/// # Errors
/// The message is malformed or requests an unsupported function.
pub fn parse_request(buffer: &[u8]) -> Result<Option<(usize, Request)>, ParseError> {
    let Some(&[version, words, high, low]) = buffer.first_chunk() else { return Ok(None) };
    if u16::from_be_bytes([high, low]) != MAGIC {
        return Err(ParseError::Reset("wrong magic number"));
    }
    if words == 0 {
        return Err(ParseError::Reset("zero total length"));
    }
    if version != VERSION {
        return Err(ParseError::Respond(
            encode_error(Code::UnsupportedVersion, &[VERSION]),
            "unsupported version",
        ));
    }
    let length = usize::from(words) * 4;
    let Some(message) = buffer.get(..length) else { return Ok(None) };
    let malformed = |reason| ParseError::Respond(encode_error_with_message(Code::Malformed, message), reason);
    let mut request = Request { info: false, connect: None, cookie: None };
    for tlv in Tlvs(&message[4..]) {
        let (kind, value) = tlv.map_err(malformed)?;
        let twice = match kind {
            INFO if value.len() == 2 => core::mem::replace(&mut request.info, true),
            COOKIE if value.len() >= 2 => request.cookie.replace(value[2..].to_vec()).is_some(),
            CONNECT => request.connect.replace(parse_connect(value, message)?).is_some(),
            INFO | COOKIE => return Err(malformed("invalid TLV length")),
            _ => {
                return Err(ParseError::Respond(
                    encode_error_with_message(Code::UnsupportedMessage, message),
                    "unsupported TLV",
                ));
            }
        };
        if twice {
            return Err(malformed("duplicate TLV"));
        }
    }
    if request.connect.is_none() && !request.info {
        return Err(malformed("empty request"));
    }
    Ok(Some((length, request)))
}

fn parse_connect(value: &[u8], message: &[u8]) -> Result<Connect, ParseError> {
    let malformed = |reason| ParseError::Respond(encode_error_with_message(Code::Malformed, message), reason);
    let short = || malformed("truncated Connect TLV");
    let port = u16::from_be_bytes(*value.first_chunk().ok_or_else(short)?);
    let address = value[2..].first_chunk::<16>().ok_or_else(short)?;
    let mapped = Ipv6Addr::from(*address);
    let address = IpAddr::V6(mapped).to_canonical();
    // RFC 8803, section 6.2.5. The destination rules check all other addresses.
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    if port == 0
        || is_broadcast
        || address.is_multicast()
        || address.is_loopback()
        || address.is_unspecified()
    {
        return Err(malformed("invalid server address"));
    }
    let mut rest = &value[18..];
    let (mut mptcp, mut unserved) = (false, Vec::new());
    let is_extended = !rest.is_empty();
    while let [kind, after @ ..] = rest {
        if *kind == 0 {
            // Zero padding to the end of the word.
            if rest.len() > 3 || rest.iter().any(|&byte| byte != 0) {
                return Err(malformed("invalid end-of-options padding"));
            }
            break;
        }
        let length = after.first().copied().map_or(0, usize::from);
        if *kind == 1 || length < 2 || length > rest.len() {
            return Err(malformed("malformed TCP option"));
        }
        // The kernel chooses the values of its options, so a client's values cannot be used.
        if !OPTIONS.contains(kind) || length > 2 {
            unserved.push(*kind);
        }
        mptcp |= *kind == MPTCP;
        rest = &rest[length..];
    }
    if !unserved.is_empty() {
        return Err(ParseError::Respond(
            encode_error(Code::UnsupportedOption, &unserved),
            "unsupported TCP option",
        ));
    }
    Ok(Connect { peer: SocketAddr::new(address, port), is_extended, mptcp })
}

/// Iterator over TLVs: kind and value.
struct Tlvs<'a>(&'a [u8]);

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<(u8, &'a [u8]), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[kind, words, ..], length) = (self.0.first_chunk::<4>()?, self.0.len());
        let end = usize::from(words) * 4;
        if end == 0 || end > length {
            self.0 = &[];
            return Some(Err("malformed TLV"));
        }
        let (one, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(Ok((kind, &one[2..])))
    }
}

/// Encodes a message of these TLVs, each padded to whole words.
fn encode_message(tlvs: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = vec![VERSION, 0, 0, 0];
    out[2..4].copy_from_slice(&MAGIC.to_be_bytes());
    for (kind, value) in tlvs {
        let words = (value.len() + 2).div_ceil(4);
        out.push(*kind);
        out.push(u8::try_from(words).unwrap_or(u8::MAX));
        out.extend_from_slice(value);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out[1] = u8::try_from(out.len() / 4).unwrap_or(u8::MAX);
    out
}

/// Encodes an error response; `value` depends on the code.
pub fn encode_error(code: Code, value: &[u8]) -> Vec<u8> {
    let mut all = vec![code as u8];
    all.extend_from_slice(value);
    // An empty value is zero (RFC 8803, section 6.2.8).
    all.resize(all.len().max(2), 0);
    encode_message(&[(ERROR, &all)])
}

/// Encodes an error response that includes the start of the rejected message.
fn encode_error_with_message(code: Code, wrong: &[u8]) -> Vec<u8> {
    let mut value = vec![0];
    value.extend_from_slice(&wrong[..wrong.len().min(1020 - 8)]);
    encode_error(code, &value)
}

/// Encodes a success response: a header, with the server's TCP options and the supported options if
/// requested.
pub fn encode_success(request: &Request, server_options: &[u8]) -> Vec<u8> {
    let mut supported = vec![0, 0];
    supported.extend_from_slice(&OPTIONS);
    let mut header = vec![0, 0];
    header.extend_from_slice(server_options);
    let mut tlvs: Vec<(u8, &[u8])> = Vec::new();
    if request.info {
        tlvs.push((SUPPORTED, &supported));
    }
    if request.connect.is_some_and(|connect| connect.is_extended) {
        tlvs.push((EXTENDED_HEADER, &header));
    }
    encode_message(&tlvs)
}

/// Encodes a client's request for a connection to `peer`, with a cookie if it has one.
pub fn encode_request(peer: SocketAddr, cookie: Option<&[u8]>) -> Vec<u8> {
    let mut value = peer.port().to_be_bytes().to_vec();
    let address = match peer.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    value.extend_from_slice(&address.octets());
    let cookie = cookie.map(|cookie| [&[0, 0], cookie].concat());
    match &cookie {
        None => encode_message(&[(CONNECT, &value)]),
        Some(cookie) => encode_message(&[(CONNECT, &value), (COOKIE, cookie)]),
    }
}

/// Response of a converter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// Connected: data from the server follows.
    Connected,
    /// Error code and its value.
    Failed(u8, Vec<u8>),
}

/// Parses a response at the start of `buffer`; `None` while it is incomplete. Also returns its
/// length.
///
/// # Errors
/// The response is malformed; the connection must be reset.
pub fn parse_response(buffer: &[u8]) -> Result<Option<(usize, Response)>, &'static str> {
    let Some(&[version, words, high, low]) = buffer.first_chunk() else { return Ok(None) };
    if version != VERSION || words == 0 || u16::from_be_bytes([high, low]) != MAGIC {
        return Err("not a Convert response");
    }
    let length = usize::from(words) * 4;
    let Some(message) = buffer.get(..length) else { return Ok(None) };
    let mut kinds = Vec::new();
    let mut answer = Response::Connected;
    for tlv in Tlvs(&message[4..]) {
        let (kind, value) = tlv?;
        if kinds.contains(&kind) {
            return Err("duplicate TLV");
        }
        kinds.push(kind);
        if kind == ERROR {
            answer = Response::Failed(value[0], value[1..].to_vec());
        }
    }
    Ok(Some((length, answer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASE: [u8; 24] =
        [1, 6, 0x22, 0x63, 0x0a, 5, 0x01, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100, 7];

    fn connect_to(text: &str) -> Request {
        let connect = Connect { peer: text.parse().unwrap(), is_extended: false, mptcp: false };
        Request { info: false, connect: Some(connect), cookie: None }
    }

    /// Code and value of the error response.
    fn said(bad: Result<Option<(usize, Request)>, ParseError>) -> (u8, Vec<u8>) {
        let Err(ParseError::Respond(bytes, _)) = bad else { panic!("{bad:?}") };
        match parse_response(&bytes) {
            Ok(Some((length, Response::Failed(code, value)))) if length == bytes.len() => (code, value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn connect_tlv_matches_figure_17() {
        let peer = "198.51.100.7:443".parse().unwrap();
        assert_eq!(encode_request(peer, None), BASE);
        assert_eq!(parse_request(&BASE), Ok(Some((24, connect_to("198.51.100.7:443")))));
        let mut more = BASE.to_vec();
        more.extend_from_slice(b"GET /");
        assert_eq!(parse_request(&more), Ok(Some((24, connect_to("198.51.100.7:443")))), "data is behind it");
        for cut in 0..BASE.len() {
            assert_eq!(parse_request(&BASE[..cut]), Ok(None));
        }
        let six = "[2001:db8::7]:443".parse().unwrap();
        assert_eq!(
            parse_request(&encode_request(six, None)),
            Ok(Some((24, connect_to("[2001:db8::7]:443"))))
        );
        assert_eq!(encode_success(&connect_to("198.51.100.7:443"), &[]), [1, 1, 0x22, 0x63]);
    }

    #[test]
    fn extended_connect_matches_figure_18() {
        let extended = |options: &[u8]| {
            let mut bytes = BASE.to_vec();
            bytes.extend_from_slice(options);
            bytes[1] += (options.len() / 4) as u8;
            bytes[5] += (options.len() / 4) as u8;
            parse_request(&bytes)
        };
        let one = extended(&[30, 2, 4, 2]).unwrap().unwrap().1;
        assert!(one.connect.is_some_and(|one| one.is_extended && one.mptcp));
        assert_eq!(encode_success(&one, &[2, 4, 5, 180]), [1, 3, 0x22, 0x63, 0x14, 2, 0, 0, 2, 4, 5, 180]);
        assert_eq!(said(extended(&[34, 2, 254, 2])), (33, vec![34, 254, 0, 0, 0]));
        assert_eq!(said(extended(&[30, 4, 0, 0])).0, 33, "with a value");
        for bad in [[1, 1, 1, 1], [30, 1, 0, 0], [30, 9, 0, 0], [0, 0, 0, 0], [30, 2, 30, 0]] {
            assert_eq!(said(extended(&bad)).0, 1, "{bad:?}");
        }
    }

    #[test]
    fn errors_match_section_6_2_8() {
        let with = |at: usize, byte| {
            let mut bytes = BASE;
            bytes[at] = byte;
            parse_request(&bytes)
        };
        assert!(
            matches!(with(2, 0), Err(ParseError::Reset(_)))
                && matches!(with(1, 0), Err(ParseError::Reset(_)))
        );
        let (code, versions) = said(with(0, 2));
        assert_eq!((code, versions[0]), (0, 1));
        let (code, echoed) = said(with(5, 4));
        assert_eq!((code, echoed[0], echoed[2..].len() / 4), (1, 0, 5), "{echoed:?}");
        assert_eq!(said(with(4, 0x33)).0, 2);
        for (at, byte) in [(20, 127), (20, 224)] {
            assert_eq!(said(with(at, byte)).0, 1);
        }
        let peer = |text: &str| said(parse_request(&encode_request(text.parse().unwrap(), None))).0;
        for bad in ["255.255.255.255:1", "[::1]:1", "[ff02::1]:1", "0.0.0.0:1", "198.51.100.7:0"] {
            assert_eq!(peer(bad), 1, "{bad}");
        }
        assert_eq!(said(parse_request(&[1, 1, 0x22, 0x63])).0, 1, "empty request");
        assert_eq!(said(parse_request(&[1, 3, 0x22, 0x63, 1, 1, 0, 0, 1, 1, 0, 0])).0, 1, "twice");
    }

    #[test]
    fn info_and_cookie_round_trip() {
        let (_, info) = parse_request(&[1, 2, 0x22, 0x63, 1, 1, 0, 0]).unwrap().unwrap();
        assert_eq!(encode_success(&info, &[]), [1, 4, 0x22, 0x63, 0x15, 3, 0, 0, 2, 3, 4, 8, 30, 0, 0, 0]);
        let peer = "198.51.100.7:443".parse().unwrap();
        let (length, with) = parse_request(&encode_request(peer, Some(&[7; 16]))).unwrap().unwrap();
        assert_eq!((length, with.cookie), (44, Some(vec![7; 16])));
    }

    proptest! {
        #[test]
        fn parsing_ignores_bytes_after_the_message(
            head in prop::collection::vec(0u8..32, 0..60), words in 1u8..9,
        ) {
            let mut bytes = vec![1, words, 0x22, 0x63];
            bytes.extend(head);
            if let Ok(Some((length, what))) = parse_request(&bytes) {
                prop_assert_eq!(parse_request(&bytes[..length]), Ok(Some((length, what))));
            }
            if let Ok(Some((length, what))) = parse_response(&bytes) {
                prop_assert_eq!(parse_response(&bytes[..length]), Ok(Some((length, what))));
            }
        }

        #[test]
        fn every_answer_is_read_again(code in 0u8..100, value in prop::collection::vec(any::<u8>(), 0..1000)) {
            for bytes in [encode_error(Code::MissingCookie, &value), encode_error_with_message(Code::Malformed, &value), encode_error(Code::Unreachable, &[code])] {
                let read = parse_response(&bytes);
                prop_assert!(matches!(read, Ok(Some((length, Response::Failed(..)))) if length == bytes.len()));
            }
        }
    }
}
