use super::*;
use crate::destination::Host;
use crate::front::http::MAX_FIELDS;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Request, ParseError> {
    read(text.as_bytes(), 4096).map(|one| one.expect("it is whole"))
}

fn on(text: &str) -> String {
    match parse(text).unwrap().kind {
        RequestKind::Forward { head, .. } => String::from_utf8(head).unwrap(),
        RequestKind::Tunnel => panic!("a tunnel"),
    }
}

fn refused(text: &str) -> &'static str {
    parse(text).expect_err(text).reason
}

#[test]
fn request_is_forwarded_in_origin_form() {
    let head =
        on("GET http://Example.org:8080/a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\n\r\n");
    assert_eq!(
        head,
        "GET /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nAccept: */*\r\nVia: 1.1 tandem\r\n\r\n"
    );
    assert!(on("GET http://a HTTP/1.1\r\nHost: a:80\r\n\r\n").starts_with("GET / HTTP/1.1\r\nHost: a\r\n"));
    assert!(on("GET HTTP://a?q HTTP/1.0\r\n\r\n").starts_with("GET /?q HTTP/1.1\r\nHost: a\r\n"));
    assert!(on("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("OPTIONS * HTTP/1.1\r\n"));
}

#[test]
fn options_request_goes_no_further_than_max_forwards() {
    let with = |method: &str, value: &str| {
        format!("{method} http://a/ HTTP/1.1\r\nHost: a\r\nMax-Forwards: {value}\r\n\r\n")
    };
    assert!(on(&with("OPTIONS", "10")).contains("\r\nMax-Forwards: 9\r\n"));
    assert!(
        on(&with("GET", "0")).contains("\r\nMax-Forwards: 0\r\n"),
        "it holds for OPTIONS and TRACE alone"
    );
    assert_eq!(parse(&with("OPTIONS", "0")).unwrap_err().status, 405);
    for wrong in ["", "-1", "+1", "1, 1", "18446744073709551616"] {
        assert_eq!(refused(&with("OPTIONS", wrong)), "invalid Max-Forwards", "{wrong}");
    }
}

#[test]
fn connect_requests_a_tunnel() {
    let one = parse("CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\nhello").unwrap();
    assert_eq!(one.kind, RequestKind::Tunnel);
    assert_eq!(one.destination.to_string(), "[2001:db8::1]:443");
    assert_eq!(
        parse("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().destination.host,
        Host::Name("a".into())
    );
    for target in ["a", "a:", "http://a:443", "/", "u@a:443", "a:443/", "*"] {
        refused(&format!("CONNECT {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    assert_eq!(
        refused("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"),
        "CONNECT with a body"
    );
    assert!(parse("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").is_ok());
}

#[test]
fn conflicting_body_lengths_are_rejected() {
    let with = |fields: &str| refused(&format!("POST http://a/ HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"));
    assert_eq!(
        with("Content-Length: 5\r\nTransfer-Encoding: chunked"),
        "both Transfer-Encoding and Content-Length"
    );
    assert_eq!(
        with("Transfer-Encoding: chunked\r\nContent-Length: 5"),
        "both Transfer-Encoding and Content-Length"
    );
    assert_eq!(with("Content-Length: 5\r\nContent-Length: 5"), "duplicate Content-Length");
    assert_eq!(with("Content-Length: 5\r\ncontent-length: 6"), "duplicate Content-Length");
    assert_eq!(
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        "duplicate Transfer-Encoding"
    );
    for value in ["", "+5", "-5", "5 5", "5,5", "0x5", "5.0", "five", "18446744073709551616", "\u{0665}"] {
        assert_eq!(with(&format!("Content-Length: {value}")), "invalid Content-Length", "{value}");
    }
    for value in ["gzip", "gzip, chunked", "chunked, chunked", "identity", "xchunked", "chunked;q=1", ""] {
        assert_eq!(with(&format!("Transfer-Encoding: {value}")), "unsupported transfer coding", "{value}");
    }
    assert_eq!(
        refused("POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
        "Transfer-Encoding in HTTP/1.0"
    );
}

#[test]
fn ambiguous_line_ends_are_rejected() {
    let with = |field: &str| refused(&format!("GET http://a/ HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
    assert_eq!(with("A: b\nTransfer-Encoding: chunked"), "bare LF");
    assert_eq!(with("A: b\rTransfer-Encoding: chunked"), "bare CR in a line");
    assert_eq!(with("A: b\r\n Transfer-Encoding: chunked"), "folded header field (obs-fold)");
    assert_eq!(with("A: b\r\n\tc"), "folded header field (obs-fold)");
    assert_eq!(with("Transfer-Encoding : chunked"), "invalid header field name");
    assert_eq!(with("Transfer-Encoding\t: chunked"), "invalid header field name");
    assert_eq!(with(": chunked"), "invalid header field name");
    assert_eq!(with("Tr\u{e4}nsfer: chunked"), "invalid header field name");
    assert_eq!(with("chunked"), "header field without a colon");
    assert_eq!(with("A: b\0c"), "control character in a header field");
    for space in ["\u{b}", "\u{c}"] {
        for field in [
            format!("Transfer-Encoding:{space}chunked"),
            format!("Content-Length: 3{space}"),
            format!("Connection: close,{space}host"),
        ] {
            assert_eq!(with(&field), "control character in a header field", "{field:?}");
        }
    }
    refused("GET http://a/ HTTP/1.1\n\n");
    assert_eq!(read(b"GET http://a/\rX", 4096).unwrap_err().reason, "bare CR in a line");
}

#[test]
fn ambiguous_request_lines_are_rejected() {
    for line in [
        "GET  http://a/ HTTP/1.1",
        "GET http://a/  HTTP/1.1",
        " GET http://a/ HTTP/1.1",
        "GET http://a/ HTTP/1.1 ",
        "GET\thttp://a/ HTTP/1.1",
        "GET http://a/",
        "G@T http://a/ HTTP/1.1",
        "GET http://a/ http/1.1",
        "GET http://a/ HTTP/1.1x",
        "GET http://a/ HTTP/11",
        "GET http://a/\u{7f} HTTP/1.1",
        "GET http://a/\u{e4} HTTP/1.1",
        "GET http://a/b c HTTP/1.1",
        "PRI * HTTP/2.0",
        "GET http://a/ HTTP/2.0",
        "GET http://a/ HTTP/0.9",
    ] {
        refused(&format!("{line}\r\nHost: a\r\n\r\n"));
    }
}

#[test]
fn misleading_request_targets_are_rejected() {
    let to = |target: &str| refused(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(to("http://a@127.0.0.1/"), "userinfo in the request target");
    assert_eq!(to("http://a:80@b/"), "userinfo in the request target");
    assert_eq!(to("http://a/#b"), "fragment in the request target");
    assert_eq!(to("http://a\\@b/"), "invalid authority in the request target");
    assert_eq!(to("https://a/"), "unsupported scheme: use http:// or CONNECT");
    assert_eq!(to("ftp://a/bcd"), "unsupported scheme: use http:// or CONNECT");
    for target in ["/", "*", "/http://a/"] {
        assert!(to(target).starts_with("this is a proxy"));
    }
    for target in
        ["http://", "http:///", "http://:80/", "http://a:0/", "http://a:x/", "http://[::1/", "http://a%00/"]
    {
        assert_eq!(to(target), "invalid authority in the request target", "{target}");
    }
}

#[test]
fn host_must_equal_the_request_target() {
    let with = |hosts: &str| refused(&format!("GET http://a/ HTTP/1.1\r\n{hosts}\r\n"));
    assert_eq!(with("Host: b\r\n"), "Host differs from the request target");
    assert_eq!(with("Host: a:81\r\n"), "Host differs from the request target");
    assert_eq!(with("Host: \r\n"), "Host differs from the request target");
    assert_eq!(with("Host: a\r\nHost: a\r\n"), "duplicate Host");
    assert_eq!(with("A: b\r\n"), "missing Host");
    assert!(parse("GET http://a/ HTTP/1.1\r\nHost: A:80\r\n\r\n").is_ok());
    assert!(parse("GET http://a/ HTTP/1.0\r\n\r\n").is_ok());
}

#[test]
fn hop_by_hop_fields_are_not_forwarded() {
    let head = on(
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nProxy-Connection: keep-alive\r\n\
        Keep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\
        Proxy-Authorization: Basic YTpi\r\nX-Theirs: 2\r\n\r\n",
    );
    assert_eq!(head, "GET / HTTP/1.1\r\nHost: a\r\nX-Theirs: 2\r\nVia: 1.1 tandem\r\n\r\n");
    for name in ["Host", "Content-Length", "cookie", "Authorization", "Via"] {
        let text = format!("GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: {name}\r\n\r\n");
        assert_eq!(refused(&text), "Connection names an end-to-end field");
    }
}

#[test]
fn head_size_and_field_count_are_limited() {
    let long = format!("GET http://a/ HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "b".repeat(5000));
    assert_eq!(parse(&long).unwrap_err().status, 431);
    assert_eq!(read(&long.as_bytes()[..4096], 4096).unwrap_err().status, 431);
    assert_eq!(read(&long.as_bytes()[..4095], 4096), Ok(None));
    let many = |others| format!("GET http://a/ HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(others));
    assert!(parse(&many(MAX_FIELDS - 1)).is_ok());
    assert_eq!(parse(&many(MAX_FIELDS)).unwrap_err().status, 431);
}

#[test]
fn malformed_field_is_rejected_before_the_head_is_complete() {
    for line in ["A b\r\n", "A : b\r\n", ": b\r\n", " A: b\r\n", "A: b\n", "A: b\rc\r\n"] {
        let head = format!("GET http://a/ HTTP/1.1\r\n{line}");
        assert_eq!(read(head.as_bytes(), 4096).unwrap_err().status, 400, "{line:?}");
    }
}

#[test]
fn persistence_depends_on_version_and_connection_field() {
    let persists = |version: &str, fields: &str| {
        parse(&format!("GET http://a/ HTTP/{version}\r\nHost: a\r\n{fields}\r\n")).unwrap().keep_alive
    };
    assert!(persists("1.1", "") && !persists("1.1", "Connection: close\r\n") && !persists("1.0", ""));
    assert!(!persists("1.0", "Connection: keep-alive\r\n") && !persists("1.1", "Connection: a, CLOSE\r\n"));
}

#[test]
fn body_framing_and_credentials_are_parsed() {
    let one = parse(
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\nProxy-Authorization: basic YW5uOng=\r\n\r\n",
    )
    .unwrap();
    assert_eq!(one.credential, Credential::parse("ann:x"));
    let RequestKind::Forward { head, body, method } = one.kind else { panic!("a tunnel") };
    assert_eq!((body, &*method), (Framing::Chunked, "POST"));
    assert!(String::from_utf8(head).unwrap().contains("\r\nTransfer-Encoding: chunked\r\n"));
    assert_eq!(read(b"\r\nGET http://a/ HTTP/1.0\r\n\r\n", 99).unwrap().unwrap().length, 28);
    refused("\r\n\r\nGET http://a/ HTTP/1.0\r\n\r\n");
}

proptest! {
    #[test]
    fn forwarded_request_is_parsed_identically(
        path in "[a-z/?%.&=]{0,20}",
        fields in prop::collection::vec(("[A-Za-z-]{1,12}", "[ -~\t]{0,20}"), 0..6),
    ) {
        let mut text = format!("GET http://a/{path} HTTP/1.1\r\nHost: a\r\n");
        for (name, value) in fields {
            text = format!("{text}{name}: {value}\r\n");
        }
        text.push_str("\r\n");
        if let Ok(Some(one)) = read(text.as_bytes(), 4096) {
            let RequestKind::Forward { head, body, .. } = one.kind else { panic!("a tunnel") };
            let text = String::from_utf8(head).unwrap().replacen("GET /", "GET http://a/", 1);
            let again = read(text.as_bytes(), 4096).unwrap().unwrap();
            let RequestKind::Forward { body: same, .. } = again.kind else { panic!("a tunnel") };
            prop_assert_eq!(body, same);
            prop_assert_eq!(one.destination, again.destination);
        }
    }

    #[test]
    fn any_bytes_are_parsed_or_rejected(bytes in prop::collection::vec(prop::sample::select(b"GET htp:/a1\r\n\t.CLx".to_vec()), 0..80)) {
        // Later bytes do not change a parsed request, and a truncated head is incomplete.
        if let Ok(Some(one)) = read(&bytes, 64) {
            for cut in 0..bytes.len() {
                let expected = (cut >= one.length).then(|| one.clone());
                prop_assert_eq!(read(&bytes[..cut], 64), Ok(expected));
            }
        }
    }
}
