//! Wire format of SOCKS5 (RFC 1928) with username/password authentication (RFC 1929).
//!
//! Supports CONNECT only. BIND would open ports to the network; UDP does not use MPTCP.

use crate::credentials::Credential;
use crate::destination::{Destination, Host};
use std::net::{IpAddr, SocketAddr};

/// Malformed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError(pub &'static str);

/// Length and content of a message at the start of a buffer; `None` while it is incomplete.
pub type Parsed<T> = Result<Option<(usize, T)>, ParseError>;

/// Authentication method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// No authentication.
    None,
    /// Username and password (RFC 1929).
    Password,
}

/// Client request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Connect to the destination.
    Connect(Destination),
    /// Unsupported request, with the reply code.
    Unserved(Reply),
}

/// Reply code (RFC 1928, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// The connection is established.
    Succeeded = 0,
    /// General failure.
    ConnectError = 1,
    /// Rejected by the rules.
    NotAllowed = 2,
    /// The network is unreachable.
    NetworkUnreachable = 3,
    /// The host is unreachable, or its name does not resolve.
    HostUnreachable = 4,
    /// The server refused the connection.
    Refused = 5,
    /// The connection attempt timed out.
    TtlExpired = 6,
    /// Unsupported command.
    CommandNotSupported = 7,
    /// Unsupported address type.
    AddressNotSupported = 8,
}

/// Parses the greeting and selects a method: `Password` if required, else `None`. No method if the
/// client does not offer it.
///
/// # Errors
/// The greeting is malformed.
pub fn parse_greeting(buffer: &[u8], needs_password: bool) -> Parsed<Option<Method>> {
    let Some(&version) = buffer.first() else { return Ok(None) };
    if version != 5 {
        return Err(ParseError("SOCKS version is not 5"));
    }
    let Some(&count) = buffer.get(1) else { return Ok(None) };
    if count == 0 {
        return Err(ParseError("greeting without methods"));
    }
    let length = 2 + usize::from(count);
    let Some(methods) = buffer.get(2..length) else { return Ok(None) };
    let (method, number) = if needs_password { (Method::Password, 2) } else { (Method::None, 0) };
    Ok(Some((length, methods.contains(&number).then_some(method))))
}

/// Encodes the method selection.
pub const fn encode_method(method: Option<Method>) -> [u8; 2] {
    match method {
        Some(Method::None) => [5, 0],
        Some(Method::Password) => [5, 2],
        None => [5, 0xff],
    }
}

/// Parses a username/password request (RFC 1929, section 2). No credential if a part is empty or
/// not UTF-8.
///
/// # Errors
/// The message is malformed.
pub fn parse_password(buffer: &[u8]) -> Parsed<Option<Credential>> {
    let Some(&version) = buffer.first() else { return Ok(None) };
    if version != 1 {
        return Err(ParseError("authentication version is not 1"));
    }
    let Some((name, at)) = length_prefixed(buffer, 1) else { return Ok(None) };
    let Some((secret, at)) = length_prefixed(buffer, at) else { return Ok(None) };
    let text = |bytes: &[u8]| core::str::from_utf8(bytes).map(str::to_owned).ok();
    let read = text(name).zip(text(secret)).map(|(username, password)| Credential { username, password });
    Ok(Some((at, read.filter(|one| !one.username.is_empty() && !one.password.is_empty()))))
}

/// Encodes the authentication status.
pub const fn encode_auth_status(known: bool) -> [u8; 2] {
    [1, if known { 0 } else { 1 }]
}

fn length_prefixed(buffer: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let end = at + 1 + usize::from(*buffer.get(at)?);
    Some((buffer.get(at + 1..end)?, end))
}

/// Parses a request (RFC 1928, section 4).
///
/// # Errors
/// The request is malformed.
pub fn parse_request(buffer: &[u8]) -> Parsed<Request> {
    let Some(&[version, command, reserved, kind]) = buffer.first_chunk() else {
        return match buffer.first() {
            Some(version) if *version != 5 => Err(ParseError("SOCKS version is not 5")),
            _ => Ok(None),
        };
    };
    if version != 5 || reserved != 0 {
        return Err(ParseError("malformed request header"));
    }
    let (host, at) = match kind {
        1 => {
            let Some(bytes) = buffer[4..].first_chunk::<4>() else { return Ok(None) };
            (Some(Host::Address(IpAddr::from(*bytes))), 8)
        }
        4 => {
            let Some(bytes) = buffer[4..].first_chunk::<16>() else { return Ok(None) };
            (Some(Host::Address(IpAddr::from(*bytes))), 20)
        }
        3 => {
            let Some((name, at)) = length_prefixed(buffer, 4) else { return Ok(None) };
            // Some clients send addresses as names.
            let read = core::str::from_utf8(name).ok();
            let address = read.and_then(|text| text.parse::<IpAddr>().ok()).map(Host::Address);
            (address.or_else(|| read.and_then(Host::name)), at)
        }
        _ => return Ok(Some((buffer.len(), Request::Unserved(Reply::AddressNotSupported)))),
    };
    let Some(port) = buffer[at..].first_chunk::<2>() else { return Ok(None) };
    let port = u16::from_be_bytes(*port);
    let length = at + 2;
    let request = match host {
        _ if command != 1 => Request::Unserved(Reply::CommandNotSupported),
        Some(host) if port != 0 => Request::Connect(Destination { host, port }),
        Some(_) => return Err(ParseError("port 0")),
        None => return Err(ParseError("invalid host name")),
    };
    Ok(Some((length, request)))
}

/// Encodes a reply (RFC 1928, section 6) with the local address of the server connection.
pub fn encode_reply(reply: Reply, from: Option<SocketAddr>) -> Vec<u8> {
    let mut out = vec![5, reply as u8, 0];
    let from = from.unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
    match from.ip() {
        IpAddr::V4(address) => {
            out.push(1);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(4);
            out.extend_from_slice(&address.octets());
        }
    }
    out.extend_from_slice(&from.port().to_be_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn greeting_selects_the_required_method() {
        assert_eq!(parse_greeting(&[5, 2, 0, 2, 9], false), Ok(Some((4, Some(Method::None)))));
        assert_eq!(parse_greeting(&[5, 2, 0, 2], true), Ok(Some((4, Some(Method::Password)))));
        assert_eq!(parse_greeting(&[5, 1, 0], true), Ok(Some((3, None))));
        assert_eq!(parse_greeting(&[5, 3, 0, 2], false), Ok(None));
        assert!(parse_greeting(&[4, 1], false).is_err() && parse_greeting(&[5, 0], false).is_err());
        assert_eq!((encode_method(None), encode_method(Some(Method::Password))), ([5, 255], [5, 2]));
    }

    #[test]
    fn username_and_password_are_parsed() {
        let one = Credential::parse("ann:xyz");
        assert_eq!(parse_password(b"\x01\x03ann\x03xyz+"), Ok(Some((9, one))));
        assert_eq!(parse_password(b"\x01\x03ann\x03xy"), Ok(None));
        assert_eq!(parse_password(b"\x01\x00\x00"), Ok(Some((3, None))));
        assert!(parse_password(b"\x05").is_err());
    }

    #[test]
    fn requests_with_every_address_type_are_parsed() {
        let to = |bytes: &[u8]| match parse_request(bytes) {
            Ok(Some((length, Request::Connect(to)))) => (length, to.to_string()),
            other => panic!("{other:?}"),
        };
        assert_eq!(to(b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50"), (10, "192.0.2.1:80".to_owned()));
        assert_eq!(to(b"\x05\x01\x00\x03\x0bExample.org\x01\xbb!"), (18, "example.org:443".to_owned()));
        assert_eq!(to(b"\x05\x01\x00\x03\x09127.0.0.1\x01\xbb"), (16, "127.0.0.1:443".to_owned()));
        let mut six = b"\x05\x01\x00\x04".to_vec();
        six.extend_from_slice(&[0; 15]);
        six.extend_from_slice(&[1, 0, 80]);
        assert_eq!(to(&six), (22, "[::1]:80".to_owned()));
        for cut in 0..six.len() {
            assert_eq!(parse_request(&six[..cut]), Ok(None));
        }
    }

    #[test]
    fn unsupported_requests_yield_a_reply_code() {
        let unserved = |bytes: &[u8]| match parse_request(bytes) {
            Ok(Some((_, Request::Unserved(reply)))) => reply,
            other => panic!("{other:?}"),
        };
        assert_eq!(unserved(b"\x05\x02\x00\x01\xc0\x00\x02\x01\x00\x50"), Reply::CommandNotSupported);
        assert_eq!(unserved(b"\x05\x03\x00\x01\xc0\x00\x02\x01\x00\x50"), Reply::CommandNotSupported);
        assert_eq!(unserved(b"\x05\x01\x00\x02\xc0\x00\x02\x01\x00\x50"), Reply::AddressNotSupported);
        for bad in [
            &b"\x05\x01\x01\x01\xc0\x00\x02\x01\x00\x50"[..],
            b"\x04\x01\x00\x50",
            b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x00",
            b"\x05\x01\x00\x03\x00\x00\x50",
            b"\x05\x01\x00\x03\x03a/b\x00\x50",
            b"\x05\x01\x00\x03\x03a\x00b\x00\x50",
        ] {
            assert!(parse_request(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn reply_contains_the_address() {
        let from = "192.0.2.1:80".parse().ok();
        assert_eq!(encode_reply(Reply::Succeeded, from), [5, 0, 0, 1, 192, 0, 2, 1, 0, 80]);
        assert_eq!(encode_reply(Reply::Refused, None), [5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(encode_reply(Reply::Succeeded, "[::1]:80".parse().ok()).len(), 22);
    }

    proptest! {
        #[test]
        fn parsing_ignores_bytes_after_the_message(bytes in prop::collection::vec(0u8..6, 0..40)) {
            if let Ok(Some((length, what))) = parse_request(&bytes) {
                prop_assert!(length <= bytes.len());
                if let Request::Connect(_) = what {
                    prop_assert_eq!(parse_request(&bytes[..length]), Ok(Some((length, what))));
                    prop_assert_eq!(parse_request(&bytes[..length - 1]), Ok(None));
                }
            }
            if let Ok(Some((length, what))) = parse_password(&bytes) {
                prop_assert_eq!(parse_password(&bytes[..length]), Ok(Some((length, what))));
            }
        }
    }
}
