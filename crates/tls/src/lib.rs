//! TLS of listeners and of clients, with certificates on both sides if wanted.
//!
//! Certificates and keys are PEM. A key or certificate that does not fit is an error that names its
//! part; handshakes fail with a reason in words. The proxy and the collector with its clients share
//! this crate, so that both have the same protocol versions, limits and messages.

mod failure;
mod failure_counts;
mod revocation;

pub use failure::{handshake_reason, is_unknown_ca, reason, source_reason};
pub use failure_counts::FailureCounts;

use core::fmt;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// Ciphertext and plaintext that a session may hold for a slow peer, in bytes.
const SESSION_BUFFER_BYTES: usize = 32 << 10;

/// Texts of PEM files.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// Certificate, followed by the certificates of intermediate CAs.
    pub certificate: &'a str,
    /// Private key.
    pub key: &'a str,
}

/// Texts of PEM files by which clients are verified.
#[derive(Debug, Clone, Copy)]
pub struct ClientAuthority<'a> {
    /// Certificates of CAs: one of them has signed the certificate of each client.
    pub ca: &'a str,
    /// Certificate revocation lists, one of each CA.
    pub crl: Option<&'a str>,
}

/// Invalid TLS file: its part (`certificate`, `key`, `ca`, `client_ca`, `crl`, `server_name`), and
/// the reason.
pub type Invalid = (&'static str, String);

/// TLS of listeners.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    /// Verifier of the certificates that clients have to present.
    verifier: Option<Arc<dyn ClientCertVerifier>>,
    /// Digest of the files.
    digest: [u8; 32],
}

/// TLS towards a server.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
    digest: [u8; 32],
}

impl ServerTls {
    /// TLS with a certificate. With a CA, clients have to present a certificate that it signed and
    /// has not revoked.
    ///
    /// # Errors
    /// A text has no certificate or no key, key and certificate differ, or a revocation list is
    /// missing or not valid now.
    pub fn new(identity: Identity<'_>, clients: Option<ClientAuthority<'_>>) -> Result<Self, Invalid> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ("certificate", error.to_string()))?;
        let verifier = clients.map(ClientAuthority::verifier).transpose()?;
        let builder = match &verifier {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
        };
        let (chain, key) = identity.read()?;
        let mut config = builder.with_single_cert(chain, key).map_err(mismatch)?;
        let crl = clients.and_then(|clients| clients.crl);
        if clients.is_some() {
            // A resumed session does not verify the certificate again, which may have expired.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        let ca = clients.map_or("", |clients| clients.ca);
        let digest = digest(&[identity.certificate, identity.key, ca, crl.unwrap_or_default()]);
        Ok(Self { config: Arc::new(config), verifier, digest })
    }

    /// Whether clients have to present a certificate.
    pub fn verifies_clients(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether a revocation list has a certificate of this chain.
    pub fn has_revoked(&self, chain: &[CertificateDer<'_>]) -> bool {
        let (Some(verifier), Some((client, authorities))) = (&self.verifier, chain.split_first()) else {
            return false;
        };
        is_revoked(|at| verifier.verify_client_cert(client, authorities, at), UnixTime::now())
    }

    /// Accepts a session. A failure returns the stream, over which an alert was sent.
    ///
    /// # Errors
    /// The client does not speak TLS, presents no valid certificate, or the stream failed.
    pub async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> Result<server::TlsStream<S>, (io::Error, S)> {
        let accept = TlsAcceptor::from(Arc::clone(&self.config)).accept(stream);
        let mut session = accept.into_fallible().await?;
        session.get_mut().1.set_buffer_limit(Some(SESSION_BUFFER_BYTES));
        Ok(session)
    }
}

/// Whether `verify` finds a revocation. It checks the validity first, so a certificate that has expired
/// since the handshake is verified as of the end of its validity.
fn is_revoked<T>(verify: impl Fn(UnixTime) -> Result<T, Error>, mut at: UnixTime) -> bool {
    loop {
        match verify(at) {
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }))
                if not_after < at =>
            {
                at = not_after;
            }
            result => return matches!(result, Err(Error::InvalidCertificate(CertificateError::Revoked))),
        }
    }
}

/// Completes when `current` holds a configuration that has revoked a client's certificate. The
/// handshake of the client followed `used`. Without a certificate it never does.
pub async fn revocation<T>(
    mut current: watch::Receiver<T>,
    tls_of: fn(&T) -> Option<&ServerTls>,
    used: ServerTls,
    chain: Vec<CertificateDer<'static>>,
) {
    let is_revoked = |current: &T| tls_of(current).is_some_and(|tls| *tls != used && tls.has_revoked(&chain));
    if chain.is_empty() || current.wait_for(is_revoked).await.is_err() {
        core::future::pending::<()>().await;
    }
}

impl ClientTls {
    /// TLS that trusts the CAs of a text, or the system's CAs. `server_name` replaces the host
    /// of the server as the name in the certificate; the identity is presented on demand.
    ///
    /// # Errors
    /// A text has no certificate or no key, key and certificate differ, the name is malformed, or
    /// the system has no CAs.
    pub fn new(
        ca: Option<&str>,
        server_name: Option<&str>,
        identity: Option<Identity<'_>>,
    ) -> Result<Self, Invalid> {
        let roots = match ca {
            Some(text) => authorities(text),
            None => system_authorities(),
        };
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ("ca", error.to_string()))?
            .with_root_certificates(roots.map_err(|reason| ("ca", reason))?);
        let config = match &identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.read()?;
                builder.with_client_auth_cert(chain, key).map_err(mismatch)?
            }
        };
        let name = |text: &str| {
            ServerName::try_from(text.to_owned()).map_err(|_| {
                ("server_name", format!("`{}` is not a host name or address", text.escape_debug()))
            })
        };
        let (certificate, key) = identity.map_or(("", ""), |identity| (identity.certificate, identity.key));
        let digest = digest(&[ca.unwrap_or_default(), server_name.unwrap_or_default(), certificate, key]);
        Ok(Self { config: Arc::new(config), server_name: server_name.map(name).transpose()?, digest })
    }

    /// Opens a session with `host`, a name or an address, over a stream.
    ///
    /// # Errors
    /// The server's certificate is not valid for the name, the server refuses, or the stream
    /// failed.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        host: &str,
    ) -> io::Result<client::TlsStream<S>> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned()).map_err(io::Error::other)?,
        };
        let mut session = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        session.get_mut().1.set_buffer_limit(Some(SESSION_BUFFER_BYTES));
        Ok(session)
    }
}

impl PartialEq for ServerTls {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl PartialEq for ClientTls {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for ServerTls {}
impl Eq for ClientTls {}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verifies_clients = self.verifies_clients();
        f.debug_struct("ServerTls").field("verifies_clients", &verifies_clients).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl ClientAuthority<'_> {
    fn verifier(self) -> Result<Arc<dyn ClientCertVerifier>, Invalid> {
        let roots = Arc::new(authorities(self.ca).map_err(|reason| ("client_ca", reason))?);
        let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), provider());
        if let Some(text) = self.crl {
            let lists = revocation::lists(text, &roots, UnixTime::now());
            let lists = lists.map_err(|reason| ("crl", reason))?;
            builder = builder.with_crls(lists).enforce_revocation_expiration();
        }
        builder.build().map_err(|error| match error {
            VerifierBuilderError::InvalidCrl(error) => {
                ("crl", format!("unusable revocation list: {error:?}"))
            }
            error => ("client_ca", error.to_string()),
        })
    }
}

impl Identity<'_> {
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), Invalid> {
        let chain = certificates(self.certificate).map_err(|reason| ("certificate", reason))?;
        // The reason of the parser could quote the key.
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|_| ("key", "no private key in PEM".to_owned()))?;
        Ok((chain, key))
    }
}

fn mismatch(error: Error) -> Invalid {
    match error {
        Error::InconsistentKeys(_) => ("key", "the key is not that of the certificate".to_owned()),
        Error::InvalidCertificate(_) => ("certificate", "malformed certificate".to_owned()),
        error => ("key", error.to_string()),
    }
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(text.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| "malformed PEM".to_owned())?;
    if all.is_empty() { Err("no certificate in PEM".to_owned()) } else { Ok(all) }
}

fn authorities(text: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for one in certificates(text)? {
        roots.add(one).map_err(|_| "malformed certificate".to_owned())?;
    }
    Ok(roots)
}

fn system_authorities() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if added == 0 {
        return Err("the system has no CA certificates (package ca-certificates)".to_owned());
    }
    Ok(roots)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn digest(texts: &[&str]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both certificates expired in 2021.
    #[test]
    fn revocation_of_an_expired_certificate_is_noticed() {
        let (ca, crl) = (
            include_str!("../tests/certificates/ca.crt"),
            Some(include_str!("../tests/certificates/ca.crl")),
        );
        let verifier = ClientAuthority { ca, crl }.verifier().expect("a CA and its list");
        for (text, expected) in [
            (include_str!("../tests/certificates/revoked.crt"), true),
            (include_str!("../tests/certificates/expired.crt"), false),
        ] {
            let chain = certificates(text).expect("a certificate");
            let verify = |at| verifier.verify_client_cert(&chain[0], &[], at);
            assert_eq!(is_revoked(verify, UnixTime::now()), expected);
        }
    }
}
