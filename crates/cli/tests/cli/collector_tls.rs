//! A collector with certificates, as the guide sets it up (docs/how-to/collector-tls.md).

use crate::play::{SIZES, Serving};
use crate::proxy::until;
use crate::proxy_tls::{Authority, authority, sign};
use crate::support::{Output, Place, output_of};
use rcgen::KeyPair;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tls::ClientTls;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(crate) const IDENTITY: [&str; 4] = ["--tls-cert", "127.0.0.1.crt", "--tls-key", "127.0.0.1.key"];
pub(crate) const CLIENT: [&str; 6] =
    ["--ca", "ca.crt", "--client-cert", "device.crt", "--client-key", "device.key"];
/// Connections that a collector serves at the same time.
const PLACES: usize = 512;

/// A process that is killed at the end of the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

pub(crate) fn place(ca: &Authority) -> Place {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    place.write("ca.crt", &ca.pem());
    sign(&place, ca, "127.0.0.1", 2096);
    sign(&place, ca, "device", 2096);
    place
}

/// Starts a collector with TLS and further options. It logs to `log`.
pub(crate) fn serving(place: &Place, options: &[&str]) -> Serving {
    let log = fs::File::create(place.path().join("log")).expect("our folder");
    let begin = ["serve", "--listen", "127.0.0.1:0", "--database", "s.db"];
    Serving::run(place.command(&[&begin, &IDENTITY[..], options].concat()).stderr(log))
}

/// Plays a session that fails at once, and posts its record.
pub(crate) fn post(place: &Place, serving: &Serving, options: &[&str]) -> Output {
    let collector = format!("https://{}/", serving.address);
    let begin = ["play", "sizes.json", "--server", "http://127.0.0.1:1/", "--retries", "0"];
    output_of(&mut place.command(&[&begin, &["--post", &collector][..], options].concat()))
}

/// Stored sessions, as a collector without TLS lists them.
fn stored(place: &Place) -> usize {
    let serving = Serving::start(place, &["--database", "s.db"]);
    serving.get("api/sessions")["sessions"].as_array().expect("a list").len()
}

/// Status of the response to a request over TLS.
fn status(ca: &Authority, address: &str, request: &str) -> u16 {
    let tls = ClientTls::new(Some(&ca.pem()), None, None).expect("a CA");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let response = runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let mut session = tls.connect(stream, "127.0.0.1").await.expect("a session");
        session.write_all(request.as_bytes()).await.expect("it reads");
        let mut response = [0; 1024];
        let count = session.read(&mut response).await.expect("it answers");
        String::from_utf8_lossy(&response[..count]).into_owned()
    });
    response.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

#[test]
fn records_arrive_over_tls_with_certificates_of_both() {
    let ca = authority();
    let place = place(&ca);
    let server = serving(&place, &["--tls-clients", "ca.crt"]);
    let arrived = post(&place, &server, &CLIENT);
    assert!(!arrived.err.contains("cannot post"), "{}", arrived.err);
    let anonymous = post(&place, &server, &["--ca", "ca.crt"]);
    assert!(anonymous.code == 1, "{}", anonymous.err);
    assert!(anonymous.err.contains("no response: it demands a client certificate\n"), "{}", anonymous.err);
    drop(server);
    assert_eq!(stored(&place), 1);
}

#[test]
fn certificate_of_an_unknown_ca_is_told_with_the_option() {
    let place = place(&authority());
    let server = serving(&place, &[]);
    place.write("other.crt", &authority().pem());
    let wrong = post(&place, &server, &["--ca", "other.crt"]);
    assert!(wrong.code == 1, "{}", wrong.err);
    let reason = "its certificate is signed by an unknown CA\n";
    assert!(wrong.err.contains(reason), "{}", wrong.err);
    let hint = " hint: --ca other.crt: expected the CA that signed the collector's certificate\n";
    assert!(wrong.err.ends_with(hint), "{}", wrong.err);
    // The system does not know the CA either.
    let system = post(&place, &server, &[]);
    let hint = " hint: `--ca FILE` names the CA that signed the collector's certificate\n";
    assert!(system.err.contains(reason) && system.err.ends_with(hint), "{}", system.err);
    drop(server);
    assert_eq!(stored(&place), 0);
}

#[test]
fn plain_http_at_a_tls_port_gets_a_short_answer() {
    let place = place(&authority());
    let server = serving(&place, &[]);
    let end = |sent: &[u8]| {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
        stream.write_all(sent).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an end without a reset");
        answer
    };
    let request = format!("POST /api/sessions HTTP/1.1\r\nHost: x\r\n\r\n{}", "x".repeat(4000));
    let answer = String::from_utf8(end(request.as_bytes())).expect("text");
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nthis port speaks TLS: use an https:// address\n"), "{answer}");
    // An alert of TLS (RFC 8446, section 6): record type 21, two bytes of data.
    let alert = end(b"\x05\x01\x00 SOCKS or anything else");
    assert!(alert.len() == 7 && alert[0] == 21, "{alert:?}");
}

/// Only https://HOST is the collector's own origin: anybody on the way can forge a page of http://HOST.
#[test]
fn page_in_clear_text_is_not_the_own_page_of_a_tls_collector() {
    let ca = authority();
    let place = place(&ca);
    let server = serving(&place, &[]);
    let delete = |scheme: &str| {
        let address = &server.address;
        let request = format!(
            "DELETE /api/sessions?confirm=0 HTTP/1.1\r\nHost: {address}\r\nOrigin: {scheme}://{address}\r\n\r\n"
        );
        status(&ca, address, &request)
    };
    assert_eq!((delete("http"), delete("https")), (403, 200));
}

/// Clients that begin no handshake take all places, but not for long.
#[test]
fn silent_clients_of_a_tls_collector_lose_their_places() {
    let ca = authority();
    let place = place(&ca);
    let server = serving(&place, &[]);
    let connect = || {
        let stream = TcpStream::connect(&server.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        stream
    };
    let begun = Instant::now();
    let mut silent: Vec<_> = (0..PLACES).map(|_| connect()).collect();
    for half in silent.iter_mut().take(PLACES / 2) {
        // The first bytes of a ClientHello.
        half.write_all(&[22, 3, 1, 2, 0, 1, 0]).expect("it reads");
    }
    for stream in &mut silent {
        let mut byte = [0];
        // With unread data the kernel closes by a reset.
        assert!(!matches!(stream.read(&mut byte), Ok(1..)), "an answer");
    }
    let took = begun.elapsed();
    assert!((8..18).contains(&took.as_secs()), "{took:?}");
    let arrived = post(&place, &server, &["--ca", "ca.crt"]);
    assert!(!arrived.err.contains("cannot post"), "{}", arrived.err);
}

#[test]
fn renewed_certificate_of_the_collector_counts_without_a_restart() {
    let ca = authority();
    let place = place(&ca);
    sign(&place, &ca, "127.0.0.1", 2021);
    let server = serving(&place, &[]);
    let expired = post(&place, &server, &["--ca", "ca.crt"]);
    assert!(
        expired.err.contains("its certificate has expired, by the clock of this host"),
        "{}",
        expired.err
    );
    place.write("127.0.0.1.crt", "nonsense");
    let hangup = Command::new("kill").args(["-s", "HUP", &server.child.id().to_string()]).status();
    assert!(hangup.expect("there is a kill").success());
    let kept = "the certificate stays as it was:\n--tls-cert 127.0.0.1.crt: no certificate in PEM\n";
    until("a warning", || place.read("log").contains(kept));
    let same = post(&place, &server, &["--ca", "ca.crt"]);
    assert!(same.err.contains("its certificate has expired"), "{}", same.err);
    sign(&place, &ca, "127.0.0.1", 2096);
    until("the new certificate counts", || {
        !post(&place, &server, &["--ca", "ca.crt"]).err.contains("cannot post")
    });
}

#[test]
fn token_does_not_cross_a_network_in_clear_text() {
    let ca = authority();
    let place = place(&ca);
    let run = |arguments: &[&str]| output_of(place.command(arguments).env("TANDEM_TOKEN", "sesame"));
    let refused = run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(
        (refused.code, &*refused.err),
        (
            2,
            "error: --listen: the token would cross a network in clear text on the way to 0.0.0.0:0\n \
         hint: encrypt by --tls-cert and --tls-key, or accept the risk: --clear-token\n",
        )
    );
    let collector =
        ["play", "sizes.json", "--server", "http://127.0.0.1:1/", "--post", "http://192.0.2.1:8090/"];
    let refused = run(&collector);
    assert_eq!(
        (refused.code, &*refused.err),
        (
            2,
            "error: --post: the token of TANDEM_TOKEN would reach http://192.0.2.1:8090/ in clear text over a network\n \
         hint: use an https: address, or accept the risk: --clear-token\n",
        )
    );
    for options in [&IDENTITY[..], &["--clear-token"]] {
        let arguments = [&["-q", "serve", "--listen", "0.0.0.0:0"], options].concat();
        let server = Serving::run(place.command(&arguments).env("TANDEM_TOKEN", "sesame"));
        assert!(server.address.starts_with("0.0.0.0:"), "{}", server.address);
    }
}

#[test]
fn mistakes_in_tls_files_of_options_are_told_with_the_option() {
    let ca = authority();
    let place = place(&ca);
    let mut told = Vec::new();
    let mut problem = |what: &str, arguments: &[&str], code: i32| {
        let output = place.run(arguments);
        assert_eq!(output.code, code, "{what}: {}", output.err);
        told.push(format!("{what}:\n{}\n", output.err));
    };
    let serve = [&["serve", "--listen", "127.0.0.1:0"], &IDENTITY[..]].concat();
    let proxy = [&["proxy", "--check", "--listen", "127.0.0.1:0"], &IDENTITY[..]].concat();
    let play = [&["play", "sizes.json"], &CLIENT[..]].concat();
    problem("a certificate without a key", &["serve", "--tls-cert", "127.0.0.1.crt"], 2);
    problem("a CA that is no file", &["proxy", "--check", "--upstream", "x.example:1", "--ca", "no.crt"], 3);
    problem("no name for TLS", &["proxy", "--check", "--upstream", "256.0.0.1:1", "--ca", "ca.crt"], 2);
    problem("a CA without an upstream", &["proxy", "--check", "--ca", "ca.crt"], 2);
    problem("options beside a file", &["proxy", "--check", "--config", "p.toml", "--ca", "ca.crt"], 2);
    let key = |mode: u32| {
        for name in ["127.0.0.1.key", "device.key"] {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(place.path().join(name), permissions).expect("our file");
        }
    };
    key(0o640);
    problem("a key that others can read", &serve, 3);
    problem("a client's key that others can read", &play, 3);
    key(0o600);
    place.write("127.0.0.1.key", &KeyPair::generate().expect("a key").serialize_pem());
    problem("another key", &proxy, 3);
    insta::assert_snapshot!("tls_options", told.concat());
}

#[test]
fn proxies_by_options_encrypt_between_them() {
    let ca = authority();
    let place = place(&ca);
    let start = |options: &[&str]| {
        let begin = ["proxy", "--listen", "127.0.0.1:0", "--allow-destination", "127.0.0.0/8"];
        let mut command = place.command(&[&begin, options].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let log = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
        let address = std::io::BufRead::lines(log).map_while(Result::ok).find_map(|line| {
            let address = line.split("listening at ").nth(1)?.split(' ').next()?;
            Some(address.trim_end_matches([',', ';', ':']).to_owned())
        });
        (Ended(child), address.expect("it listens"))
    };
    let demanding = [&IDENTITY[..], &["--tls-clients", "ca.crt"]].concat();
    let (_far, far) = start(&demanding);
    let response = |options: &[&str]| {
        let (_near, near) = start(&[&["--upstream", &far], options].concat());
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = server.local_addr().expect("an address");
        crate::proxy_tls::connect_response(&near, to)
    };
    let open = response(&CLIENT);
    assert!(open.starts_with("HTTP/1.1 200"), "{open}");
    let anonymous = response(&["--ca", "ca.crt"]);
    assert!(anonymous.contains("it demands a client certificate"), "{anonymous}");
    let elsewhere = response(&[&CLIENT[..], &["--server-name", "proxy.example"]].concat());
    assert!(elsewhere.contains("its certificate is for"), "{elsewhere}");
}

#[test]
fn units_hand_private_keys_over_as_credentials() {
    let place = place(&authority());
    let here = place.path().canonicalize().expect("it is there").display().to_string();
    let serve = place.done(&[&["serve", "unit", "--tls-clients", "ca.crt"], &IDENTITY[..]].concat());
    assert!(serve.contains(&format!("\nLoadCredential=tls-key:{here}/127.0.0.1.key\n")), "{serve}");
    assert!(
        serve.contains(&format!(" --tls-cert {here}/127.0.0.1.crt --tls-clients {here}/ca.crt")),
        "{serve}"
    );
    assert!(serve.contains(" --tls-key %d/tls-key $TANDEM_SERVE_OPTIONS\n"), "{serve}");
    let up = ["gateway", "unit", "--upstream", "proxy.example:1080", "--server-name", "far.example"];
    let gateway = place.done(&[&up, &CLIENT[..]].concat());
    let options = format!(" --ca {here}/ca.crt --client-cert {here}/device.crt --server-name far.example ");
    assert!(gateway.contains(&options) && gateway.contains(" --client-key %d/client-key\n"), "{gateway}");
    assert!(gateway.contains(&format!("\nLoadCredential=client-key:{here}/device.key\n")), "{gateway}");
    for unit in [serve, gateway, place.done(&["proxy", "unit"]), place.done(&["serve", "unit"])] {
        assert!(unit.contains("\nGroup=tandem\n"), "{unit}");
    }
    // A service reads a credential with any mode.
    fs::set_permissions(place.path().join("127.0.0.1.key"), fs::Permissions::from_mode(0o440)).expect("ours");
    let mut command = place.command(&["-q", "serve", "--listen", "127.0.0.1:0", "--database", "s.db"]);
    command.args(["--tls-cert", "127.0.0.1.crt", "--tls-key", &format!("{here}/127.0.0.1.key")]);
    let server = Serving::run(command.env("CREDENTIALS_DIRECTORY", &here));
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
}
