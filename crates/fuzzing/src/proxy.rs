//! Targets of the proxy: each input has a single interpretation or is rejected.

use proxy::Config;
use proxy::config::Files;
use proxy::front::http::{self, ChunkDecoder, ChunkEvent, Framing, RequestKind};
use proxy::front::{convert, socks5};

/// Fuzz target: configuration of the proxy.
pub fn proxy_config(bytes: &[u8]) {
    let files = |_: &str| Ok(String::from_utf8_lossy(bytes).into_owned());
    match Config::parse("fuzz.toml", bytes, Files { secret: &files, public: &files }) {
        Ok(config) => assert!(config.check().is_ok(), "an accepted configuration is invalid"),
        Err(problems) => assert!(!problems.is_empty(), "rejected without a message"),
    }
}

/// Fuzz target: HTTP requests and responses.
pub fn proxy_http(bytes: &[u8]) {
    const MAX_HEAD_BYTES: usize = 4096;
    if let Ok(Some(request)) = http::read_request(bytes, MAX_HEAD_BYTES) {
        assert!(request.length <= bytes.len() && request.destination.port != 0);
        assert_eq!(http::read_request(&bytes[..request.length], MAX_HEAD_BYTES), Ok(Some(request.clone())));
        if let RequestKind::Forward { head, body, method } = request.kind {
            // Another proxy must interpret the forwarded request in the same way.
            let target = format!(" http://{}/", request.destination.authority(80));
            let text = String::from_utf8_lossy(&head);
            if has_room(&head) && text.split(' ').nth(1).is_some_and(|path| path.starts_with('/')) {
                let again = text.replacen(" /", &target, 1).into_bytes();
                match http::read_request(&again, 4 * MAX_HEAD_BYTES) {
                    Ok(Some(again)) => {
                        assert_eq!(again.destination, request.destination);
                        assert!(
                            matches!(again.kind, RequestKind::Forward { body: same, .. } if same == body)
                        );
                    }
                    other => panic!("{method}: {other:?}"),
                }
            }
        }
    }
    for (method, is_http10) in [("GET", false), ("HEAD", false), ("GET", true)] {
        let Ok(Some(response)) = http::read_response(bytes, MAX_HEAD_BYTES, method, is_http10, true) else {
            continue;
        };
        assert!(response.length <= bytes.len() && (100..600).contains(&response.status));
        if !has_room(&response.head) {
            continue;
        }
        let again = http::read_response(&response.head, 4 * MAX_HEAD_BYTES, method, is_http10, true);
        let again = again.ok().flatten().unwrap_or_else(|| panic!("{:?}", response.head));
        assert_eq!(again.length, response.head.len(), "the forwarded head contains a second one");
        if !is_http10 || response.body != Framing::Chunked {
            assert_eq!(again.body, response.body);
        }
    }
}

/// True if a head has no more fields than a proxy accepts, with the fields that another proxy added.
fn has_room(head: &[u8]) -> bool {
    head.windows(2).filter(|pair| pair == b"\r\n").count() <= http::MAX_FIELDS
}

/// Fuzz target: an upstream proxy that answers CONNECT: interim responses, a final one, and early
/// data. Reading at once and byte by byte must agree.
pub fn proxy_upstream(bytes: &[u8]) {
    // The reason of a rejection depends on the steps, because a later one may be seen first.
    let whole = upstream_answer(bytes, bytes.len().max(1)).ok();
    assert_eq!(whole, upstream_answer(bytes, 1).ok());
    if let Some(Some((status, early))) = whole {
        assert!((200..600).contains(&status) && bytes.ends_with(&early), "{status}");
    }
}

/// Status of the final response and the bytes after its head, as the proxy reads them in steps.
fn upstream_answer(bytes: &[u8], step: usize) -> Result<Option<(u16, Vec<u8>)>, &'static str> {
    const MAX_HEAD_BYTES: usize = 4096;
    let (mut buffer, mut heads) = (Vec::new(), 0);
    for part in bytes.chunks(step) {
        buffer.extend_from_slice(part);
        let read = |buffer: &[u8]| http::read_response(buffer, MAX_HEAD_BYTES, "CONNECT", false, true);
        while let Some(response) = read(&buffer)? {
            assert!(response.length > 0, "a head without bytes would be read for ever");
            buffer.drain(..response.length);
            heads += response.length;
            if !response.is_interim() {
                return Ok(Some((response.status, bytes[heads..].to_vec())));
            }
        }
    }
    Ok(None)
}

/// Fuzz target: chunked bodies. Reading at once, byte by byte and after encoding must agree.
pub fn proxy_chunks(bytes: &[u8]) {
    let whole = chunks(bytes, bytes.len().max(1));
    assert_eq!(whole, chunks(bytes, 1));
    if let Ok((data, Some(length))) = whole {
        assert!(length <= bytes.len() && data.len() < length);
        let mut encoded = format!("{:x}\r\n", data.len()).into_bytes();
        encoded.extend_from_slice(&data);
        encoded.extend_from_slice(b"\r\n0\r\n\r\n");
        if !data.is_empty() {
            let length = encoded.len();
            assert_eq!(chunks(&encoded, 7), Ok((data, Some(length))));
        }
    }
}

type Body = Result<(Vec<u8>, Option<usize>), &'static str>;

fn chunks(bytes: &[u8], step: usize) -> Body {
    let (mut reader, mut data, mut before) = (ChunkDecoder::default(), Vec::new(), 0);
    for part in bytes.chunks(step) {
        let mut at = 0;
        loop {
            match reader.next(part, &mut at)? {
                ChunkEvent::Data(range) => data.extend_from_slice(&part[range]),
                ChunkEvent::End(length) => return Ok((data, Some(before + length))),
                ChunkEvent::More => break,
            }
        }
        before += part.len();
    }
    Ok((data, None))
}

/// Fuzz target: SOCKS5 greetings, authentication and requests.
pub fn proxy_socks5(bytes: &[u8]) {
    for needs in [false, true] {
        if let Ok(Some((length, method))) = socks5::parse_greeting(bytes, needs) {
            assert!(length <= bytes.len());
            assert_eq!(socks5::encode_method(method)[0], 5);
        }
    }
    if let Ok(Some((length, _))) = socks5::parse_password(bytes) {
        assert!(length <= bytes.len());
    }
    if let Ok(Some((length, socks5::Request::Connect(to)))) = socks5::parse_request(bytes) {
        assert!(length <= bytes.len() && to.port != 0);
        assert_eq!(to.to_string().parse(), Ok(to), "an accepted host cannot be parsed again");
    }
}

/// Fuzz target: 0-RTT TCP Convert requests and responses.
pub fn proxy_convert(bytes: &[u8]) {
    match convert::parse_request(bytes) {
        Ok(Some((length, request))) => {
            assert!(length <= bytes.len() && length <= 1020);
            let accepted = convert::encode_success(&request, &[2, 4, 5, 180]);
            assert_eq!(
                convert::parse_response(&accepted),
                Ok(Some((accepted.len(), convert::Response::Connected)))
            );
            if let Some(connect) = request.connect {
                let again =
                    convert::parse_request(&convert::encode_request(connect.peer, request.cookie.as_deref()));
                let Ok(Some((_, again))) = again else { panic!("{again:?}") };
                assert_eq!(again.connect.map(|one| one.peer), Some(connect.peer));
            }
        }
        Err(convert::ParseError::Respond(answer, _)) => {
            let read = convert::parse_response(&answer);
            assert!(
                matches!(read, Ok(Some((length, convert::Response::Failed(..)))) if length == answer.len())
            );
        }
        Ok(None) | Err(convert::ParseError::Reset(_)) => {}
    }
    if let Ok(Some((length, _))) = convert::parse_response(bytes) {
        assert!(length <= bytes.len());
    }
}
