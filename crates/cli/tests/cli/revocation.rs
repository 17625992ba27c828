//! Certificate revocation lists of the proxy and the collector, which they read again when they change.

use crate::collector_tls::{CLIENT, place, post, serving};
use crate::proxy::{Running, configured, running, until};
use crate::proxy_tls::{Authority, authority, connect_response, far, sign, sign_serial};
use crate::support::Place;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, date_time_ymd};
use std::fs::File;
use std::net::TcpListener;
use std::process::Command;
use tls::{ClientTls, Identity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Serial number of the certificates of the test.
const SERIAL: u64 = 7;

/// Writes the list of a CA that is valid until a year.
fn write_list(place: &Place, ca: &Authority, until: i32, revoked: &[u64]) {
    let this_update = date_time_ymd(2020, 1, 1);
    let revoked = revoked.iter().map(|serial| RevokedCertParams {
        serial_number: (*serial).into(),
        revocation_time: this_update,
        reason_code: None,
        invalidity_date: None,
    });
    let params = CertificateRevocationListParams {
        this_update,
        next_update: date_time_ymd(until, 1, 1),
        crl_number: 1.into(),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    place.write("ca.crl", &params.signed_by(ca).expect("a list").pem().expect("PEM"));
}

/// Response of a collector over TLS, to a client with the certificate of `name`.
fn get(place: &Place, name: &str, address: &str, path: &str) -> String {
    let [ca, certificate, key] =
        ["ca.crt".to_owned(), format!("{name}.crt"), format!("{name}.key")].map(|file| place.read(&file));
    let identity = Identity { certificate: &certificate, key: &key };
    let tls = ClientTls::new(Some(&ca), None, Some(identity)).expect("our files");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let mut session = tls.connect(stream, "127.0.0.1").await.expect("a session");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        session.write_all(request.as_bytes()).await.expect("it reads");
        let mut response = String::new();
        session.read_to_string(&mut response).await.expect("it answers");
        response
    })
}

#[test]
fn changed_revocation_list_of_the_proxy_counts_without_a_signal() {
    let ca = authority();
    let place = far(&ca, 2096);
    let text =
        place.read("proxy.toml").replace("client_ca = 'ca.crt'", "client_ca = 'ca.crt'\ncrl = 'ca.crl'");
    place.write("proxy.toml", &text);
    let check = |place: &Place| place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    let missing = check(&place);
    assert!(missing.code == 3 && missing.err.contains("cannot read `ca.crl`"), "{}", missing.err);
    write_list(&place, &ca, 2021, &[]);
    let expired = check(&place);
    let reason = "its certificate revocation list has expired, by the clock of this host";
    assert!(expired.code == 3 && expired.err.contains(reason), "{}", expired.err);
    write_list(&place, &ca, 2096, &[]);
    let log = File::create(place.path().join("log")).expect("our folder");
    let program = place.command(&["proxy", "--config", "proxy.toml"]).stderr(log).spawn();
    let far = Running::answering(program.expect("the program starts"), place);
    let near = configured(&format!(
        "[upstream]\naddress = '{}'\nprotocol = 'tcp'\n\
        [upstream.tls]\nca = 'ca.crt'\ncertificate = 'device.crt'\nkey = 'device.key'\n",
        far.address()
    ));
    near.write("ca.crt", &ca.pem());
    sign_serial(&near, &ca, "device", SERIAL);
    let near = running(near, &[]);
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    let response = || connect_response(&near.address(), to);
    assert!(response().starts_with("HTTP/1.1 200"), "{}", response());
    write_list(&far.place, &ca, 2096, &[SERIAL]);
    until("the list counts", || response().contains("it reports that our certificate is revoked\n"));
    // An expired list stays outside, and the revocation in force.
    write_list(&far.place, &ca, 2021, &[]);
    until("a warning", || far.place.read("log").contains(reason));
    assert!(response().contains("it reports that our certificate is revoked\n"), "{}", response());
}

#[test]
fn revoked_client_of_the_collector_is_refused_and_counted() {
    let ca = authority();
    let place = place(&ca);
    sign_serial(&place, &ca, "device", SERIAL);
    sign(&place, &ca, "other", 2096);
    write_list(&place, &ca, 2096, &[]);
    let server = serving(&place, &["--tls-clients", "ca.crt", "--tls-crl", "ca.crl"]);
    let arrived = post(&place, &server, &CLIENT);
    assert!(!arrived.err.contains("cannot post"), "{}", arrived.err);
    let hangup = || {
        let id = server.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "HUP", &id]).status().expect("there is a kill").success());
    };
    place.write("ca.crl", "nonsense");
    hangup();
    let kept = "the certificate stays as it was:\n--tls-crl ca.crl: no certificate revocation list in PEM\n";
    until("a warning", || place.read("log").contains(kept));
    write_list(&place, &ca, 2096, &[SERIAL]);
    hangup();
    let reason = "it reports that our certificate is revoked\n";
    until("the list counts", || post(&place, &server, &CLIENT).err.contains(reason));
    let metrics = get(&place, "other", &server.address, "/metrics");
    assert!(metrics.contains("tandem_collector_tls_failed_total{reason=\"revoked\"} "), "{metrics}");
    assert!(!metrics.contains("{reason=\"revoked\"} 0\n"), "{metrics}");
}
