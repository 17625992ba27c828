//! Certificate revocation lists of clients.

use crate::support::{echo, start, tunnel, wait_until};
use crate::tls::{Authority, Pair, client_authority, connect_response, far_config, near_config};
use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevocationReason, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use std::io::{Read, Write};
use std::net::SocketAddr;
use tandem_proxy::{Config, Proxy};
use tls::{Invalid, ServerTls};

/// List of a CA that is valid between the years.
fn list(ca: &Authority, years: [i32; 2], revoked: &[u64]) -> String {
    let [this_update, next_update] = years.map(|year| date_time_ymd(year, 1, 1));
    let revoked = revoked.iter().map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(*serial),
        revocation_time: this_update,
        reason_code: Some(RevocationReason::KeyCompromise),
        invalidity_date: None,
    });
    let params = CertificateRevocationListParams {
        this_update,
        next_update,
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(&ca.0).unwrap().pem().unwrap()
}

fn server_tls(pair: &Pair, ca: &str, crl: &str) -> Result<ServerTls, Invalid> {
    ServerTls::new(pair.identity(), Some(client_authority(ca, Some(crl))))
}

fn config(pair: &Pair, ca: &Authority, revoked: &[u64]) -> Config {
    let tls = server_tls(pair, &ca.pem(), &list(ca, [2020, 2096], revoked)).unwrap();
    Config { tls: Some(tls), ..far_config(pair, Some(ca)) }
}

/// Failed handshakes with this reason. A client may be answered before its failure is counted.
fn failures(proxy: &Proxy, reason: &str) -> u64 {
    proxy.status().tls_failures[reason]
}

/// Proxy of a device whose certificate has this serial number.
fn device(there: SocketAddr, ca: &Authority, serial: u64) -> (Proxy, SocketAddr) {
    start(near_config(there, ca, Some(&ca.sign_serial("device", serial))))
}

/// Response to a client of the device's proxy, which refuses it.
fn response(there: SocketAddr, ca: &Authority, serial: u64) -> String {
    let (_near, at) = device(there, ca, serial);
    connect_response(at, echo())
}

#[test]
fn revoked_client_is_refused_and_counted() {
    let ca = Authority::new("ours");
    let pair = ca.sign("127.0.0.1");
    let (far, there) = start(config(&pair, &ca, &[7, 9]));
    for _ in 0..10 {
        let refused = response(there, &ca, 7);
        assert!(refused.contains("it reports that our certificate is revoked\n"), "{refused}");
    }
    let (_near, at) = device(there, &ca, 8);
    tunnel(at, echo());
    wait_until("ten failures", || (failures(&far, "revoked"), far.totals().tls_failed) == (10, 10));
    assert!(
        tandem_proxy::status::metrics(&far.status())
            .contains("tandem_proxy_tls_failed_total{reason=\"revoked\"} 10\n")
    );
}

#[test]
fn revocation_ends_open_sessions_of_its_client_only() {
    let ca = Authority::new("ours");
    let pair = ca.sign("127.0.0.1");
    let (far, there) = start(config(&pair, &ca, &[]));
    let [first, second] = [7, 8].map(|serial| device(there, &ca, serial));
    let [mut revoked, mut other] = [first.1, second.1].map(|at| tunnel(at, echo()));
    far.reload(config(&pair, &ca, &[7])).unwrap();
    assert!(matches!(revoked.read(&mut [0; 10]), Ok(0) | Err(_)));
    other.write_all(b"on").unwrap();
    other.read_exact(&mut [0; 2]).unwrap();
    wait_until("one connection is left", || far.totals().open == 1);
    // A session of the revoked client is not resumed either.
    let refused = connect_response(first.1, echo());
    assert!(refused.contains("our certificate is revoked"), "{refused}");
}

#[test]
fn list_that_is_not_valid_now_is_refused_with_the_reason() {
    let (ca, other) = (Authority::new("ours"), Authority::new("other"));
    let pair = ca.sign("127.0.0.1");
    let good = list(&ca, [2020, 2096], &[]);
    let reason = |ca: &str, crl: &str| server_tls(&pair, ca, crl).map(drop).unwrap_err();
    let both = ca.pem() + &other.pem();
    let expired = "its certificate revocation list has expired, by the clock of this host";
    let early = "its certificate revocation list is not valid yet, by the clock of this host";
    for (ca_text, crl, expected) in [
        (ca.pem(), String::new(), "no certificate revocation list in PEM"),
        (ca.pem(), ca.pem(), "no certificate revocation list in PEM"),
        (
            ca.pem(),
            "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".into(),
            "malformed certificate revocation list",
        ),
        (ca.pem(), list(&ca, [2020, 2021], &[]), expired),
        (ca.pem(), list(&ca, [2094, 2096], &[]), early),
        (ca.pem(), good.clone() + &good, "two certificate revocation lists of one CA"),
        (both, good.clone(), "no certificate revocation list of a CA in `client_ca`"),
    ] {
        assert_eq!(reason(&ca_text, &crl), ("crl", expected.to_owned()));
    }
    let both = server_tls(&pair, &(ca.pem() + &other.pem()), &(good + &list(&other, [2020, 2096], &[])));
    assert!(both.is_ok(), "{both:?}");
}

#[test]
fn forged_list_lets_nobody_in() {
    let (ca, same_name) = (Authority::new("ours"), Authority::new("ours"));
    let pair = ca.sign("127.0.0.1");
    let tls = server_tls(&pair, &ca.pem(), &list(&same_name, [2020, 2096], &[])).unwrap();
    let (far, there) = start(Config { tls: Some(tls), ..far_config(&pair, Some(&ca)) });
    let refused = response(there, &ca, 8);
    assert!(refused.starts_with("HTTP/1.1 502"), "{refused}");
    wait_until("a failure", || failures(&far, "revocation_unknown") == 1);
}
