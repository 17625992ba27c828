//! 0-RTT TCP Convert (RFC 8803): where to, in the first bytes of a connection, and data right behind.
//!
//! A message is a fixed header and TLVs, all of them whole 32-bit words. Both halves are here: what a converter
//! reads and answers, and what a client sends and reads.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The version of RFC 8803.
pub const VERSION: u8 = 1;
/// What stands in each header (RFC 8803, section 6.1).
pub const MAGIC: u16 = 0x2263;
/// The port that IANA assigned.
pub const PORT: u16 = 5124;

const INFO: u8 = 0x01;
const CONNECT: u8 = 0x0a;
const EXTENDED_HEADER: u8 = 0x14;
const SUPPORTED: u8 = 0x15;
const COOKIE: u8 = 0x16;
const ERROR: u8 = 0x1e;

/// TCP options that a client may ask for (by their kinds): those that the kernel sends of itself, and MPTCP.
const OPTIONS: [u8; 5] = [2, 3, 4, 8, 30];
/// MPTCP's kind.
const MPTCP: u8 = 30;

/// What went wrong (RFC 8803, section 6.2.8).
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

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// To know which TCP options can be converted.
    pub info: bool,
    /// A connection.
    pub connect: Option<Connect>,
    /// What it was given before (RFC 8803, section 6.2.7).
    pub cookie: Option<Vec<u8>>,
}

/// A connection that a client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connect {
    /// Where to.
    pub peer: SocketAddr,
    /// TCP options are asked for, so that those of the server are to be told.
    pub is_extended: bool,
    /// MPTCP is among them.
    pub mptcp: bool,
}

/// Why a message is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bad {
    /// It is no message of this protocol: the connection is reset.
    Reset(&'static str),
    /// This is answered, and the connection closed.
    Answer(Vec<u8>, &'static str),
}

/// Reads a message from the beginning of `buffer`; `None` where it is not whole yet. Gives how long it is.
///
/// # Errors
/// Where it is not what RFC 8803 says, or asks for what is not served.
pub fn request(buffer: &[u8]) -> Result<Option<(usize, Request)>, Bad> {
    let Some(&[version, words, high, low]) = buffer.first_chunk() else { return Ok(None) };
    if u16::from_be_bytes([high, low]) != MAGIC {
        return Err(Bad::Reset("the magic number is another one"));
    }
    if words == 0 {
        return Err(Bad::Reset("a total length of zero"));
    }
    if version != VERSION {
        return Err(Bad::Answer(error(Code::UnsupportedVersion, &[VERSION]), "another version"));
    }
    let length = usize::from(words) * 4;
    let Some(message) = buffer.get(..length) else { return Ok(None) };
    let malformed = |why| Bad::Answer(echo(Code::Malformed, message), why);
    let mut request = Request { info: false, connect: None, cookie: None };
    for tlv in Tlvs(&message[4..]) {
        let (kind, value) = tlv.map_err(malformed)?;
        let twice = match kind {
            INFO if value.len() == 2 => core::mem::replace(&mut request.info, true),
            COOKIE if value.len() >= 2 => request.cookie.replace(value[2..].to_vec()).is_some(),
            CONNECT => request.connect.replace(connect(value, message)?).is_some(),
            INFO | COOKIE => return Err(malformed("a TLV is too short or too long")),
            _ => {
                return Err(Bad::Answer(echo(Code::UnsupportedMessage, message), "a TLV that is not served"));
            }
        };
        if twice {
            return Err(malformed("a TLV stands there twice"));
        }
    }
    if request.connect.is_none() && !request.info {
        return Err(malformed("nothing is asked for"));
    }
    Ok(Some((length, request)))
}

fn connect(value: &[u8], message: &[u8]) -> Result<Connect, Bad> {
    let malformed = |why| Bad::Answer(echo(Code::Malformed, message), why);
    let short = || malformed("a Connect TLV is cut off");
    let port = u16::from_be_bytes(*value.first_chunk().ok_or_else(short)?);
    let address = value[2..].first_chunk::<16>().ok_or_else(short)?;
    let mapped = Ipv6Addr::from(*address);
    let address = IpAddr::V6(mapped).to_canonical();
    // RFC 8803, section 6.2.5. All other addresses are judged as those of the other front ends are.
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    if port == 0
        || is_broadcast
        || address.is_multicast()
        || address.is_loopback()
        || address.is_unspecified()
    {
        return Err(malformed("an address that no server has"));
    }
    let mut rest = &value[18..];
    let (mut mptcp, mut unserved) = (false, Vec::new());
    let is_extended = !rest.is_empty();
    while let [kind, after @ ..] = rest {
        if *kind == 0 {
            // Zeros to the end of the word.
            if rest.len() > 3 || rest.iter().any(|&byte| byte != 0) {
                return Err(malformed("a TCP option of kind 0"));
            }
            break;
        }
        let length = after.first().copied().map_or(0, usize::from);
        if *kind == 1 || length < 2 || length > rest.len() {
            return Err(malformed("a TCP option is cut off, or has no length"));
        }
        // The kernel writes the values of its options; those of a client it would not take.
        if !OPTIONS.contains(kind) || length > 2 {
            unserved.push(*kind);
        }
        mptcp |= *kind == MPTCP;
        rest = &rest[length..];
    }
    if !unserved.is_empty() {
        return Err(Bad::Answer(
            error(Code::UnsupportedOption, &unserved),
            "a TCP option that is not served",
        ));
    }
    Ok(Connect { peer: SocketAddr::new(address, port), is_extended, mptcp })
}

/// TLVs one after the other: kind and value.
struct Tlvs<'a>(&'a [u8]);

impl<'a> Iterator for Tlvs<'a> {
    type Item = Result<(u8, &'a [u8]), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&[kind, words, ..], length) = (self.0.first_chunk::<4>()?, self.0.len());
        let end = usize::from(words) * 4;
        if end == 0 || end > length {
            self.0 = &[];
            return Some(Err("a TLV is cut off, or has no length"));
        }
        let (one, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(Ok((kind, &one[2..])))
    }
}

/// A message of these TLVs, each padded to whole words.
fn message(tlvs: &[(u8, &[u8])]) -> Vec<u8> {
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

/// The message that says what went wrong; `value` is what the code wants to be said with it.
pub fn error(code: Code, value: &[u8]) -> Vec<u8> {
    let mut all = vec![code as u8];
    all.extend_from_slice(value);
    // Without a value it is zero (RFC 8803, section 6.2.8).
    all.resize(all.len().max(2), 0);
    message(&[(ERROR, &all)])
}

/// The same with the message that was wrong behind it, as much of it as there is room for.
fn echo(code: Code, wrong: &[u8]) -> Vec<u8> {
    let mut value = vec![0];
    value.extend_from_slice(&wrong[..wrong.len().min(1020 - 8)]);
    error(code, &value)
}

/// What is answered when there is a connection: nothing but a header, or the server's TCP options where those
/// were asked for, and which can be converted where that was.
pub fn accepted(request: &Request, server_options: &[u8]) -> Vec<u8> {
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
    message(&tlvs)
}

/// A client's message: a connection to `peer`, with the cookie that it was given before.
pub fn ask(peer: SocketAddr, cookie: Option<&[u8]>) -> Vec<u8> {
    let mut value = peer.port().to_be_bytes().to_vec();
    let address = match peer.ip() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    value.extend_from_slice(&address.octets());
    let cookie = cookie.map(|cookie| [&[0, 0], cookie].concat());
    match &cookie {
        None => message(&[(CONNECT, &value)]),
        Some(cookie) => message(&[(CONNECT, &value), (COOKIE, cookie)]),
    }
}

/// What a converter answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// What follows comes from the server.
    Connected,
    /// It was refused with this code, and what was said with it.
    Failed(u8, Vec<u8>),
}

/// Reads a converter's answer from the beginning of `buffer`; `None` where it is not whole yet. Gives how long it
/// is.
///
/// # Errors
/// Where it is not what RFC 8803 says; the connection is to be reset then.
pub fn answer(buffer: &[u8]) -> Result<Option<(usize, Answer)>, &'static str> {
    let Some(&[version, words, high, low]) = buffer.first_chunk() else { return Ok(None) };
    if version != VERSION || words == 0 || u16::from_be_bytes([high, low]) != MAGIC {
        return Err("this is no converter");
    }
    let length = usize::from(words) * 4;
    let Some(message) = buffer.get(..length) else { return Ok(None) };
    let mut kinds = Vec::new();
    let mut answer = Answer::Connected;
    for tlv in Tlvs(&message[4..]) {
        let (kind, value) = tlv?;
        if kinds.contains(&kind) {
            return Err("a TLV stands there twice");
        }
        kinds.push(kind);
        if kind == ERROR {
            answer = Answer::Failed(value[0], value[1..].to_vec());
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

    /// The error's code and what is behind it.
    fn said(bad: Result<Option<(usize, Request)>, Bad>) -> (u8, Vec<u8>) {
        let Err(Bad::Answer(bytes, _)) = bad else { panic!("{bad:?}") };
        match answer(&bytes) {
            Ok(Some((length, Answer::Failed(code, value)))) if length == bytes.len() => (code, value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_connect_tlv_is_laid_out_as_figure_17_has_it() {
        let peer = "198.51.100.7:443".parse().unwrap();
        assert_eq!(ask(peer, None), BASE);
        assert_eq!(request(&BASE), Ok(Some((24, connect_to("198.51.100.7:443")))));
        let mut more = BASE.to_vec();
        more.extend_from_slice(b"GET /");
        assert_eq!(request(&more), Ok(Some((24, connect_to("198.51.100.7:443")))), "data is behind it");
        for cut in 0..BASE.len() {
            assert_eq!(request(&BASE[..cut]), Ok(None));
        }
        let six = "[2001:db8::7]:443".parse().unwrap();
        assert_eq!(request(&ask(six, None)), Ok(Some((24, connect_to("[2001:db8::7]:443")))));
        assert_eq!(accepted(&connect_to("198.51.100.7:443"), &[]), [1, 1, 0x22, 0x63]);
    }

    #[test]
    fn options_are_asked_for_as_figure_18_has_it() {
        let extended = |options: &[u8]| {
            let mut bytes = BASE.to_vec();
            bytes.extend_from_slice(options);
            bytes[1] += (options.len() / 4) as u8;
            bytes[5] += (options.len() / 4) as u8;
            request(&bytes)
        };
        let one = extended(&[30, 2, 4, 2]).unwrap().unwrap().1;
        assert!(one.connect.is_some_and(|one| one.is_extended && one.mptcp));
        assert_eq!(accepted(&one, &[2, 4, 5, 180]), [1, 3, 0x22, 0x63, 0x14, 2, 0, 0, 2, 4, 5, 180]);
        assert_eq!(said(extended(&[34, 2, 254, 2])), (33, vec![34, 254, 0, 0, 0]));
        assert_eq!(said(extended(&[30, 4, 0, 0])).0, 33, "with a value");
        for bad in [[1, 1, 1, 1], [30, 1, 0, 0], [30, 9, 0, 0], [0, 0, 0, 0], [30, 2, 30, 0]] {
            assert_eq!(said(extended(&bad)).0, 1, "{bad:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_section_6_2_8_has_it() {
        let with = |at: usize, byte| {
            let mut bytes = BASE;
            bytes[at] = byte;
            request(&bytes)
        };
        assert!(matches!(with(2, 0), Err(Bad::Reset(_))) && matches!(with(1, 0), Err(Bad::Reset(_))));
        let (code, versions) = said(with(0, 2));
        assert_eq!((code, versions[0]), (0, 1));
        let (code, echoed) = said(with(5, 4));
        assert_eq!((code, echoed[0], echoed[2..].len() / 4), (1, 0, 5), "{echoed:?}");
        assert_eq!(said(with(4, 0x33)).0, 2);
        for (at, byte) in [(20, 127), (20, 224)] {
            assert_eq!(said(with(at, byte)).0, 1);
        }
        let peer = |text: &str| said(request(&ask(text.parse().unwrap(), None))).0;
        for bad in ["255.255.255.255:1", "[::1]:1", "[ff02::1]:1", "0.0.0.0:1", "198.51.100.7:0"] {
            assert_eq!(peer(bad), 1, "{bad}");
        }
        assert_eq!(said(request(&[1, 1, 0x22, 0x63])).0, 1, "nothing is asked for");
        assert_eq!(said(request(&[1, 3, 0x22, 0x63, 1, 1, 0, 0, 1, 1, 0, 0])).0, 1, "twice");
    }

    #[test]
    fn information_and_cookies_go_both_ways() {
        let (_, info) = request(&[1, 2, 0x22, 0x63, 1, 1, 0, 0]).unwrap().unwrap();
        assert_eq!(accepted(&info, &[]), [1, 4, 0x22, 0x63, 0x15, 3, 0, 0, 2, 3, 4, 8, 30, 0, 0, 0]);
        let peer = "198.51.100.7:443".parse().unwrap();
        let (length, with) = request(&ask(peer, Some(&[7; 16]))).unwrap().unwrap();
        assert_eq!((length, with.cookie), (44, Some(vec![7; 16])));
    }

    proptest! {
        #[test]
        fn what_was_read_does_not_change_with_what_follows(
            head in prop::collection::vec(0u8..32, 0..60), words in 1u8..9,
        ) {
            let mut bytes = vec![1, words, 0x22, 0x63];
            bytes.extend(head);
            if let Ok(Some((length, what))) = request(&bytes) {
                prop_assert_eq!(request(&bytes[..length]), Ok(Some((length, what))));
            }
            if let Ok(Some((length, what))) = answer(&bytes) {
                prop_assert_eq!(answer(&bytes[..length]), Ok(Some((length, what))));
            }
        }

        #[test]
        fn every_answer_is_read_again(code in 0u8..100, value in prop::collection::vec(any::<u8>(), 0..1000)) {
            for bytes in [error(Code::MissingCookie, &value), echo(Code::Malformed, &value), error(Code::Unreachable, &[code])] {
                let read = answer(&bytes);
                prop_assert!(matches!(read, Ok(Some((length, Answer::Failed(..)))) if length == bytes.len()));
            }
        }
    }
}
