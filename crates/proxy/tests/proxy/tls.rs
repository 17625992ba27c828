//! TLS between two proxies, with certificates on both sides.

use crate::support::{
    BUFFERED_BODY_BYTES, buffering_site, connect, connect_slow, echo, listen, local, protocol, random_bytes,
    read_head, read_to_end, request, server, start, tunnel, wait_until,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tandem_proxy::config::{Listen, ListenerProtocol, Upstream, UpstreamProtocol};
use tandem_proxy::credentials::Credential;
use tandem_proxy::users::Users;
use tandem_proxy::{Config, Error, Proxy};
use tls::{ClientAuthority, ClientTls, Identity, ServerTls};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls::HandshakeKind;

/// Certificate authority.
pub(super) struct Authority(pub(super) CertifiedIssuer<'static, KeyPair>);

/// Certificate and key.
pub(super) struct Pair {
    certificate: String,
    key: String,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    fn sign_until(&self, name: &str, year: i32) -> Pair {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(year, 1, 1));
        self.sign_params(&params)
    }

    /// Signs a certificate with a serial number, by which a list can revoke it.
    pub(super) fn sign_serial(&self, name: &str, serial: u64) -> Pair {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.serial_number = Some(serial.into());
        self.sign_params(&params)
    }

    fn sign_params(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    pub(super) fn sign(&self, name: &str) -> Pair {
        self.sign_until(name, 2096)
    }
}

impl Pair {
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity { certificate: &self.certificate, key: &self.key }
    }
}

pub(super) fn client_authority<'a>(ca: &'a str, crl: Option<&'a str>) -> ClientAuthority<'a> {
    ClientAuthority { ca, crl }
}

/// Configuration of the server-side proxy: TLS, with certificates of clients if there is a CA.
pub(super) fn far_config(pair: &Pair, client_ca: Option<&Authority>) -> Config {
    let ca = client_ca.map(Authority::pem);
    Config {
        listen: vec![Listen { tls: true, ..listen(ListenerProtocol::Auto) }],
        tls: Some(
            ServerTls::new(pair.identity(), ca.as_deref().map(|ca| client_authority(ca, None))).unwrap(),
        ),
        ..local()
    }
}

/// Configuration of the device's proxy.
pub(super) fn near_config(far: SocketAddr, ca: &Authority, pair: Option<&Pair>) -> Config {
    let destination = far.to_string().parse().unwrap();
    let mut upstream = Upstream::new(destination, UpstreamProtocol::Connect, protocol());
    upstream.tls = Some(ClientTls::new(Some(&ca.pem()), None, pair.map(Pair::identity)).unwrap());
    Config { upstream: Some(upstream), ..local() }
}

pub(super) fn connect_response(at: SocketAddr, to: SocketAddr) -> String {
    request(at, &format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n"))
}

/// Sends bytes to an echo and compares what returns, then half-closes.
fn round_trip(mut stream: TcpStream, bytes: &[u8]) {
    let mut sender = stream.try_clone().unwrap();
    let mut back = vec![0; bytes.len()];
    thread::scope(|scope| {
        scope.spawn(|| {
            sender.write_all(bytes).unwrap();
            sender.shutdown(Shutdown::Write).unwrap();
        });
        stream.read_exact(&mut back).unwrap();
    });
    assert!(back == bytes);
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the end of stream crosses both proxies");
}

#[test]
fn upstream_with_an_ipv6_address_is_verified_by_it() {
    let ca = Authority::new("ours");
    let mut config = far_config(&ca.sign("::1"), None);
    config.listen[0].address = "[::1]:0".parse().unwrap();
    let (_far, there) = start(config);
    let (_near, at) = start(near_config(there, &ca, None));
    round_trip(tunnel(at, echo()), b"over TLS");
}

#[test]
fn halves_with_certificates_carry_every_protocol_unchanged() {
    let ca = Authority::new("ours");
    let (far, there) = start(far_config(&ca.sign("127.0.0.1"), Some(&ca)));
    let (near, at) = start(near_config(there, &ca, Some(&ca.sign("device"))));
    let to = echo();
    let bytes = random_bytes(5_000_000, 7);
    round_trip(tunnel(at, to), &bytes);
    let mut socks = connect(at);
    let SocketAddr::V4(v4) = to else { panic!() };
    socks
        .write_all(&[&[5, 1, 0, 5, 1, 0, 1][..], &v4.ip().octets(), &to.port().to_be_bytes()].concat())
        .unwrap();
    socks.read_exact(&mut [0; 12]).unwrap();
    round_trip(socks, &bytes[..100_000]);
    let body = Arc::new(random_bytes(300_000, 8));
    let site = {
        let body = Arc::clone(&body);
        server(move |mut stream| {
            while !read_head(&mut stream).is_empty() {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).unwrap();
                stream.write_all(&body).unwrap();
            }
        })
    };
    let mut stream = connect(at);
    for _ in 0..3 {
        write!(stream, "GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n\r\n").unwrap();
        assert!(read_head(&mut stream).starts_with("HTTP/1.1 200 "));
        let mut got = vec![0; body.len()];
        stream.read_exact(&mut got).unwrap();
        assert!(got == *body);
    }
    assert_eq!((far.totals().tls_failed, near.totals().failed), (0, 0));
}

/// Forwards connections to `to` and records their bytes.
fn wiretap(to: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&seen);
    let at = server(move |stream| {
        let onward = TcpStream::connect(to).unwrap();
        let copy = |mut from: TcpStream, mut into: TcpStream, record: Arc<Mutex<Vec<u8>>>| {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut part) {
                record.lock().unwrap().extend_from_slice(&part[..count]);
                if into.write_all(&part[..count]).is_err() {
                    break;
                }
            }
            _ = into.shutdown(Shutdown::Write);
        };
        let (back, forth) = (onward.try_clone().unwrap(), stream.try_clone().unwrap());
        let also = Arc::clone(&record);
        let other = thread::spawn(move || copy(back, forth, also));
        copy(stream, onward, Arc::clone(&record));
        other.join().unwrap();
    });
    (at, seen)
}

#[test]
fn wire_between_the_halves_shows_no_password_destination_or_content() {
    let ca = Authority::new("ours");
    let mut config = far_config(&ca.sign("127.0.0.1"), None);
    let mut users = Users::default();
    users.add(&Credential::parse("ann:hunter2").unwrap()).unwrap();
    config.clients.users = users;
    let (_far, there) = start(config);
    let (tap, seen) = wiretap(there);
    let mut config = near_config(tap, &ca, None);
    config.upstream.as_mut().unwrap().credential = Credential::parse("ann:hunter2");
    let (_near, at) = start(config);
    let to = echo();
    round_trip(tunnel(at, to), b"a sentence in clear text");
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 500);
    let basic = Credential::parse("ann:hunter2").unwrap().to_basic();
    for secret in ["CONNECT", &to.to_string(), "Proxy-Authorization", &basic[6..], "clear text"] {
        assert!(!seen.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
}

/// Reason that a client of the device's proxy reads when the halves do not come together.
fn refusal(far: Config, near: impl Fn(SocketAddr) -> Config) -> (String, Proxy) {
    let (far, there) = start(far);
    let (_near, at) = start(near(there));
    let response = connect_response(at, echo());
    assert!(response.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{response}");
    assert!(response.contains("Proxy-Status: tandem; error=tls_certificate_error\r\n"), "{response}");
    let reason = response.rsplit("\r\n\r\n").next().unwrap().lines().next().unwrap();
    (reason.strip_prefix("the upstream proxy refused: ").unwrap().to_owned(), far)
}

#[test]
fn certificate_of_the_server_that_does_not_fit_is_refused_with_the_reason() {
    let (ca, other) = (Authority::new("ours"), Authority::new("other"));
    let near = |there| near_config(there, &ca, None);
    let expired = far_config(&ca.sign_until("127.0.0.1", 2021), None);
    let reason = refusal(expired, near).0;
    assert_eq!(reason, "its certificate has expired, by the clock of this host");
    let reason = refusal(far_config(&ca.sign("proxy.example"), None), near).0;
    assert_eq!(reason, "its certificate is for DnsName(\"proxy.example\"), not for 127.0.0.1");
    let reason = refusal(far_config(&other.sign("127.0.0.1"), None), near).0;
    assert_eq!(reason, "its certificate is signed by an unknown CA");
    let (reason, _) = refusal(local(), near);
    assert_eq!(reason, "it does not speak TLS");
}

#[test]
fn client_without_a_fitting_certificate_is_refused_with_the_reason() {
    let (ca, other) = (Authority::new("ours"), Authority::new("other"));
    let far = || far_config(&ca.sign("127.0.0.1"), Some(&ca));
    // The alert arrives before or after the client's request is sent.
    for _ in 0..20 {
        let (reason, far) = refusal(far(), |there| near_config(there, &ca, None));
        assert_eq!(reason, "it demands a client certificate");
        wait_until("the handshake is counted", || far.totals().tls_failed == 1);
        assert_eq!(far.totals().tunnels, 0);
    }
    let strange = other.sign("device");
    let reason = refusal(far(), |there| near_config(there, &ca, Some(&strange))).0;
    assert_eq!(reason, "it does not know the CA of our certificate");
    let expired = ca.sign_until("device", 2021);
    let reason = refusal(far(), |there| near_config(there, &ca, Some(&expired))).0;
    assert_eq!(reason, "it reports that our certificate has expired");
}

#[tokio::test]
async fn certificate_of_a_client_is_verified_in_each_session() {
    let ca = Authority::new("ours");
    let (server_pair, client_pair) = (ca.sign("127.0.0.1"), ca.sign("device"));
    for (verifies, second) in [(false, HandshakeKind::Resumed), (true, HandshakeKind::Full)] {
        let pem = ca.pem();
        let clients = verifies.then(|| client_authority(&pem, None));
        let server = ServerTls::new(server_pair.identity(), clients).unwrap();
        let client = ClientTls::new(Some(&pem), None, Some(client_pair.identity())).unwrap();
        for expected in [HandshakeKind::Full, second] {
            let (near, far) = tokio::io::duplex(1 << 16);
            let (near, far) = tokio::join!(client.connect(near, "127.0.0.1"), server.accept(far));
            let (mut near, mut far) = (near.unwrap(), far.map_err(|(error, _)| error).unwrap());
            // A ticket comes with the first data.
            far.write_all(b"x").await.unwrap();
            near.read_exact(&mut [0]).await.unwrap();
            assert_eq!(near.get_ref().1.handshake_kind(), Some(expected), "{verifies}");
        }
    }
}

#[test]
fn renewed_certificate_serves_after_a_reload() {
    let ca = Authority::new("ours");
    let (far, there) = start(far_config(&ca.sign_until("127.0.0.1", 2021), None));
    let (_near, at) = start(near_config(there, &ca, None));
    let to = echo();
    assert!(connect_response(at, to).contains("has expired"));
    far.reload(far_config(&ca.sign("127.0.0.1"), None)).unwrap();
    let mut first = tunnel(at, to);
    // The old session continues with a further certificate.
    far.reload(far_config(&ca.sign("127.0.0.1"), None)).unwrap();
    first.write_all(b"on").unwrap();
    first.read_exact(&mut [0; 2]).unwrap();
    round_trip(tunnel(at, to), b"new");
}

#[test]
fn silent_and_plain_clients_of_a_tls_listener_are_cut() {
    let ca = Authority::new("ours");
    let mut config = far_config(&ca.sign("127.0.0.1"), None);
    config.timeouts.handshake = Duration::from_millis(300);
    let (far, at) = start(config);
    let response = connect_response(at, echo());
    assert!(!response.contains("HTTP/"), "{response}");
    let mut silent = connect(at);
    assert!(matches!(silent.read(&mut [0; 10]), Ok(0) | Err(_)));
    wait_until("both are counted", || far.totals().tls_failed == 2);
    wait_until("both are gone", || far.totals().open == 0);
}

#[test]
fn slow_reader_over_tls_applies_backpressure() {
    let ca = Authority::new("ours");
    let (far, there) = start(far_config(&ca.sign("127.0.0.1"), None));
    let (_near, at) = start(near_config(there, &ca, None));
    let endless = server(|mut stream| while stream.write_all(&[7; 16384]).is_ok() {});
    let mut stream = tunnel(at, endless);
    let mut before = 0;
    wait_until("the flow stops", || {
        thread::sleep(Duration::from_millis(300));
        let now = far.totals().bytes_down;
        std::mem::replace(&mut before, now) == now && now > 0
    });
    assert!(before < 40_000_000, "{before} bytes for a client that reads none");
    let mut part = vec![0; 1_000_000];
    for _ in 0..20 {
        stream.read_exact(&mut part).unwrap();
        assert!(part.iter().all(|byte| *byte == 7));
    }
}

#[test]
fn buffered_response_reaches_a_slow_client_over_tls() {
    let ca = Authority::new("ours");
    let (proxy, at) = start(far_config(&ca.sign("127.0.0.1"), None));
    let site = buffering_site(false);
    let tcp = connect_slow(at);
    tcp.set_nonblocking(true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let received = runtime.block_on(async {
        let tcp = tokio::net::TcpStream::from_std(tcp).unwrap();
        let tls = ClientTls::new(Some(&ca.pem()), None, None).unwrap();
        let mut session = tls.connect(tcp, "127.0.0.1").await.unwrap();
        let request = format!("GET http://{site}/ HTTP/1.1\r\nHost: {site}\r\n\r\n");
        session.write_all(request.as_bytes()).await.unwrap();
        let (mut received, mut part) = (0, [0; BUFFERED_BODY_BYTES / 20]);
        loop {
            // Without `close_notify`, the end of stream is an error.
            match session.read(&mut part).await.unwrap() {
                0 => return received,
                count => received += count,
            }
            // The pace of the client.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert!(received > BUFFERED_BODY_BYTES, "{received} bytes");
    wait_until("the place is free", || proxy.totals().open == 0);
    assert_eq!((proxy.totals().requests, proxy.totals().timed_out), (1, 0));
}

#[test]
fn truncated_session_resets_the_server() {
    let ca = Authority::new("ours");
    let (_far, there) = start(far_config(&ca.sign("127.0.0.1"), None));
    let gate = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_near, at) = start(near_config(gate.local_addr().unwrap(), &ca, None));
    let outcome = Arc::new(Mutex::new(None));
    let to = {
        let outcome = Arc::clone(&outcome);
        server(move |mut stream| {
            let mut all = Vec::new();
            *outcome.lock().unwrap() = Some(stream.read_to_end(&mut all).is_ok());
        })
    };
    // An attacker on the way ends the connection: FIN without the `close_notify` of TLS.
    let attacker = thread::spawn(move || {
        let (mut from, _) = gate.accept().unwrap();
        let mut into = TcpStream::connect(there).unwrap();
        let (mut back_from, mut back_into) = (into.try_clone().unwrap(), from.try_clone().unwrap());
        thread::spawn(move || _ = std::io::copy(&mut back_from, &mut back_into));
        from.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        _ = std::io::copy(&mut from, &mut into);
        into.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_secs(1));
    });
    let mut stream = tunnel(at, to);
    stream.write_all(b"half of a mess").unwrap();
    attacker.join().unwrap();
    wait_until("the server sees the end", || outcome.lock().unwrap().is_some());
    assert_eq!(*outcome.lock().unwrap(), Some(false), "a reset, not an end of stream");
    drop(read_to_end(&mut stream));
}

#[test]
fn tls_without_certificate_or_for_other_protocols_is_refused() {
    let ca = Authority::new("ours");
    let (good, other) = (ca.sign("a.example"), ca.sign("a.example"));
    let mixed = Identity { certificate: &good.certificate, key: &other.key };
    let invalid = ServerTls::new(mixed, None).unwrap_err();
    assert_eq!(invalid, ("key", "the key is not that of the certificate".to_owned()));
    let swapped = Identity { certificate: &good.key, key: &good.certificate };
    assert_eq!(ServerTls::new(swapped, None).unwrap_err().0, "certificate");
    assert_eq!(ServerTls::new(good.identity(), Some(client_authority("", None))).unwrap_err().0, "client_ca");
    assert_eq!(ClientTls::new(None, Some("a b"), None).unwrap_err().0, "server_name");
    let shown = format!("{:?}", far_config(&good, Some(&ca)));
    assert!(!shown.contains("BEGIN") && !shown.contains("key:"), "{shown}");

    let mut config = far_config(&good, None);
    config.tls = None;
    assert!(matches!(config.check(), Err(Error::NoTls { .. })));
    for serve in [ListenerProtocol::Convert, ListenerProtocol::Transparent, ListenerProtocol::Redirected] {
        let mut config = far_config(&good, Some(&ca));
        config.listen[0].serve = serve;
        assert!(matches!(config.check(), Err(Error::NoTls { .. })));
    }
    // Certificates of clients restrict them, and TLS protects passwords.
    let mut config = far_config(&good, Some(&ca));
    config.listen[0].address = "0.0.0.0:0".parse().unwrap();
    assert!(config.check().is_ok());
    config.tls = Some(ServerTls::new(good.identity(), None).unwrap());
    assert!(matches!(config.check(), Err(Error::OpenProxy { .. })));
    config.clients.users.add(&Credential::parse("ann:x").unwrap()).unwrap();
    assert!(config.check().is_ok());
    config.listen[0].tls = false;
    assert!(matches!(config.check(), Err(Error::ClearPasswords { .. })));
}
