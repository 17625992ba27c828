//! Two proxies with certificates, as the guide sets them up (docs/how-to/proxy-tls.md).

use crate::proxy::{configured, running, until};
use crate::support::{Place, output_of, tandem_path};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

pub(crate) type Authority = CertifiedIssuer<'static, KeyPair>;

pub(crate) fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "our proxies");
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate")
}

/// Writes `NAME.crt` and `NAME.key`, the key first.
pub(crate) fn sign(place: &Place, ca: &Authority, name: &str, year: i32) {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(year, 1, 1));
    write_pair(place, ca, name, &params);
}

/// As [`sign`], with a serial number, by which a list can revoke the certificate.
pub(crate) fn sign_serial(place: &Place, ca: &Authority, name: &str, serial: u64) {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.serial_number = Some(serial.into());
    write_pair(place, ca, name, &params);
}

fn write_pair(place: &Place, ca: &Authority, name: &str, params: &CertificateParams) {
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, ca).expect("a certificate");
    let path = format!("{name}.key");
    place.write(&path, &key.serialize_pem());
    fs::set_permissions(place.path().join(path), fs::Permissions::from_mode(0o600)).expect("our file");
    place.write(&format!("{name}.crt"), &certificate.pem());
}

pub(crate) fn connect_response(at: &str, to: SocketAddr) -> String {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n").expect("it listens");
    let mut response = [0; 4096];
    let count = stream.read(&mut response).expect("it answers");
    let mut text = String::from_utf8_lossy(&response[..count]).into_owned();
    if !text.starts_with("HTTP/1.1 200") {
        stream.read_to_string(&mut text).expect("text");
    }
    text
}

/// Place of a server-side proxy with `[tls]`.
pub(crate) fn far(ca: &Authority, year: i32) -> Place {
    let place =
        configured("[tls]\ncertificate = '127.0.0.1.crt'\nkey = '127.0.0.1.key'\nclient_ca = 'ca.crt'\n");
    let text = place.read("proxy.toml").replace("protocol = 'tcp'", "protocol = 'tcp'\ntls = true");
    place.write("proxy.toml", &text);
    place.write("ca.crt", &ca.pem());
    sign(&place, ca, "127.0.0.1", year);
    place
}

#[test]
fn renewed_certificate_is_read_without_a_signal() {
    let ca = authority();
    let far = running(far(&ca, 2021), &[]);
    let near = configured(&format!(
        "[upstream]\naddress = '{}'\nprotocol = 'tcp'\n\
        [upstream.tls]\nca = 'ca.crt'\ncertificate = 'device.crt'\nkey = 'device.key'\n",
        far.address()
    ));
    near.write("ca.crt", &ca.pem());
    sign(&near, &ca, "device", 2096);
    let near = running(near, &[]);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    let response = connect_response(&near.address(), to);
    assert!(response.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{response}");
    let reason = "the upstream proxy refused: its certificate has expired, by the clock of this host\n";
    assert!(response.contains(reason), "{response}");
    sign(&far.place, &ca, "127.0.0.1", 2096);
    until("the new certificate counts", || connect_response(&near.address(), to).starts_with("HTTP/1.1 200"));
}

#[test]
fn failed_renewal_is_repeated_and_logged_once() {
    let ca = authority();
    let mut far = running(far(&ca, 2021), &[]);
    let address = far.address();
    let near = configured(&format!(
        "[upstream]\naddress = '{address}'\nprotocol = 'tcp'\n[upstream.tls]\nca = 'ca.crt'\n\
        certificate = 'device.crt'\nkey = 'device.key'\n"
    ));
    near.write("ca.crt", &ca.pem());
    sign(&near, &ca, "device", 2096);
    let near = running(near, &[]);
    let config = far.place.read("proxy.toml");
    far.place.write("proxy.toml", "nonsense");
    sign(&far.place, &ca, "127.0.0.1", 2096);
    // Two looks at the files.
    thread::sleep(Duration::from_secs(11));
    far.place.write("proxy.toml", &config);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    until("the new certificate counts", || connect_response(&near.address(), to).starts_with("HTTP/1.1 200"));
    far.signal("TERM");
    let log = far.await_end();
    assert_eq!(log.matches("the configuration stays as it was").count(), 1, "{log}");
}

#[test]
fn upstream_with_an_ipv6_address_and_options_of_tls_is_accepted() {
    let place = far(&authority(), 2096);
    let options = ["--listen", "127.0.0.1:0", "--upstream", "[::1]:1080", "--ca", "ca.crt"];
    let output = place.run(&[&["proxy", "--check"], &options[..]].concat());
    assert_eq!((output.code, &*output.err), (0, ""));
    assert!(output.out.contains("[::1]:1080 (connect over TLS)"), "{}", output.out);
}

#[test]
fn mistakes_in_tls_files_are_told_with_their_line() {
    let ca = authority();
    let place = far(&ca, 2096);
    let check = || place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    let good = check();
    assert_eq!((good.code, &*good.err), (0, ""));
    assert!(good.out.contains("(auto over TLS)") && good.out.contains("with a certificate"), "{}", good.out);
    let mut told = Vec::new();
    let mut problem = |what: &str| {
        let output = check();
        assert_eq!(output.code, 3, "{what}: {}", output.err);
        told.push(format!("{what}:\n{}\n", output.err));
    };
    let key = place.read("127.0.0.1.key");
    place.write("127.0.0.1.key", &KeyPair::generate().expect("a key").serialize_pem());
    problem("another key");
    place.write("127.0.0.1.key", "nonsense");
    problem("no key");
    place.write("127.0.0.1.key", &key);
    fs::set_permissions(place.path().join("127.0.0.1.key"), fs::Permissions::from_mode(0o644))
        .expect("our file");
    problem("a key that others can read");
    fs::set_permissions(place.path().join("127.0.0.1.key"), fs::Permissions::from_mode(0o600))
        .expect("our file");
    place.write("ca.crt", "");
    problem("no CA");
    fs::remove_file(place.path().join("127.0.0.1.crt")).expect("our file");
    place.write("ca.crt", &ca.pem());
    problem("no certificate");
    let text = place.read("proxy.toml");
    place.write("proxy.toml", &text.replace("tls = true", "tls = true\nserve = 'convert'"));
    sign(&place, &ca, "127.0.0.1", 2096);
    problem("Convert");
    insta::assert_snapshot!("tls_mistakes", told.concat());
}

/// The gateway and the proxy that it needs, in a network namespace of their own. With certificates
/// that fit it starts, and ends when asked.
#[test]
#[ignore = "needs root"]
fn needs_root_gateway_opens_a_tls_session_before_it_redirects() {
    let ca = authority();
    let place = Place::new();
    place.write("ca.crt", &ca.pem());
    place.write("other.crt", &authority().pem());
    sign(&place, &ca, "127.0.0.1", 2096);
    sign(&place, &ca, "device", 2096);
    let gateway = |options: &str, meanwhile: &str| {
        let script = format!(
            "ip link set lo up
            \"$0\" -q proxy --listen 127.0.0.1:1080 --allow 127.0.0.0/8 --tls-cert 127.0.0.1.crt \\
                --tls-key 127.0.0.1.key --tls-clients ca.crt 2>/dev/null &
            proxy=$!
            sleep 1
            mkdir -p run state
            {meanwhile}
            RUNTIME_DIRECTORY=$PWD/run STATE_DIRECTORY=$PWD/state timeout -s TERM 12 \"$0\" gateway up \\
                --upstream 127.0.0.1:1080 --interface lo=other {options}
            code=$?
            kill $proxy
            exit $code"
        );
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]).arg(tandem_path()).current_dir(place.path());
        output_of(&mut command)
    };
    let options = "--client-cert device.crt --client-key device.key";
    for (options, reason) in [
        (format!("{options} --ca other.crt"), "its certificate is signed by an unknown CA"),
        ("--ca ca.crt".to_owned(), "it demands a client certificate"),
        (format!("{options} --ca ca.crt --server-name a.example"), "its certificate is for "),
    ] {
        let refused = gateway(&options, "");
        let message = format!("error: cannot reach the server-side proxy 127.0.0.1:1080: {reason}");
        assert!(refused.code == 1 && refused.err.contains(&message), "{options}: {}", refused.err);
        assert!(refused.err.contains("; nothing was redirected\n hint: --ca, "), "{}", refused.err);
    }
    // A new pair counts after the next look, also without a signal; a key without its certificate does not.
    sign(&place, &ca, "next", 2096);
    let renew = "{ sleep 2; mv next.key device.key; mv next.crt device.crt; sleep 6; \
        cp 127.0.0.1.crt device.crt; } &";
    let fits = gateway(&format!("{options} --ca ca.crt"), renew);
    assert!(
        !fits.err.contains("cannot reach") && fits.err.contains("connections are direct again"),
        "{}",
        fits.err
    );
    let [renewed, kept] = [
        "new connections to the upstream use the certificates as they are now",
        "the certificates stay as they were:\n--client-key device.key: the key is not that of the certificate",
    ];
    assert!(fits.err.contains(renewed) && fits.err.contains(kept), "{}", fits.err);
}
