//! Targets of the proxy's files: users, credentials, certificates and keys.

use proxy::credentials::Credential;
use proxy::users::{Users, edit};
use tls::{ClientAuthority, ClientTls, Identity, ServerTls};

/// Upper limit of the memory of a hash in KiB: a verification must not exhaust the host.
const MAX_HASH_KIB: u64 = 256 << 10;
const MAX_PASSES: u64 = 16;
const MAX_LANES: u64 = 16;

/// Fuzz target: users file. An accepted file has bounded hashes, and stays valid after an edit.
pub fn proxy_users(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if Users::parse(&text).is_err() {
        return;
    }
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    for line in lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (name, hash) = line.split_once(':').expect("an accepted line has a hash");
        let parameters = hash.split('$').flat_map(|part| part.split(','));
        for (key, value) in parameters.filter_map(|parameter| parameter.split_once('=')) {
            let limit = match key {
                "m" => MAX_HASH_KIB,
                "t" => MAX_PASSES,
                "p" => MAX_LANES,
                _ => continue,
            };
            assert!(value.parse::<u64>().is_ok_and(|value| value <= limit), "unbounded {key}: {line}");
        }
        for edited in [edit(&text, name, None), edit(&text, name, Some(hash))] {
            let edited = edited.expect("the user exists");
            assert!(Users::parse(&edited).is_ok(), "an edit makes the file invalid: {edited:?}");
        }
    }
}

/// Fuzz target: credential file, and the value of `Proxy-Authorization`.
pub fn proxy_credentials(bytes: &[u8]) {
    for line in bytes.split(|&byte| byte == b'\n') {
        let parsed = [Credential::parse(&String::from_utf8_lossy(line)), Credential::from_basic(line)];
        for one in parsed.into_iter().flatten() {
            assert!(!one.username.contains(':') && (1..=255).contains(&one.password.len()));
            let again = Credential::from_basic(one.to_basic().as_bytes());
            assert_eq!(again.as_ref(), Some(&one), "another credential after a round trip");
            assert!(!format!("{one:?}").contains(&*one.to_basic()), "the password is printed");
        }
    }
}

/// Fuzz target: PEM files. Certificate, key, CA, server name and revocation lists are separated by
/// zero bytes.
pub fn proxy_tls(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let mut next = || parts.next().unwrap_or_default();
    let (certificate, key, ca, name, crl) = (next(), next(), next(), next(), next());
    let identity = Identity { certificate, key };
    let server = ServerTls::new(identity, None);
    let strict = ServerTls::new(identity, Some(ClientAuthority { ca, crl: None }));
    let revoking = ServerTls::new(identity, Some(ClientAuthority { ca, crl: Some(crl) }));
    let client = ClientTls::new(Some(ca), Some(name), Some(identity));
    if let Ok(strict) = &strict {
        assert!(strict.verifies_clients() && server.is_ok());
        assert!(ClientTls::new(Some(ca), None, None).is_ok());
    }
    assert!(revoking.is_err() || strict.is_ok());
    for (place, reason) in [server.err(), strict.err(), revoking.err(), client.err()].into_iter().flatten() {
        assert!(!place.is_empty() && !reason.is_empty(), "rejected without a message");
        let secret = key.lines().map(str::trim).find(|line| line.len() > 32 && !line.contains("-----"));
        // A message may name the server, and the input may repeat the key there.
        let printed = secret.filter(|secret| reason.contains(secret) && !name.contains(secret));
        assert!(printed.is_none(), "the key is printed: {reason}");
    }
}
