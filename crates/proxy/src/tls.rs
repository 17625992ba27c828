//! TLS of listeners and towards the upstream proxy, with certificates on both sides if wanted.
//!
//! Certificates and keys are PEM. A key or certificate that does not fit is an error of the
//! configuration; handshakes fail with a reason in words.

use crate::relay::lingering_close;
use crate::stream::{SharedTcp, Stream};
use core::fmt;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{
    AlertDescription, CertificateError, ClientConfig, Error, RootCertStore, ServerConfig,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Ciphertext and plaintext that a session may hold for a slow peer, in bytes.
const SESSION_BUFFER_BYTES: usize = 32 << 10;

/// Time for a client to read why its handshake failed.
const LINGER: Duration = Duration::from_secs(1);

/// Texts of PEM files.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    /// Certificate, followed by the certificates of intermediate CAs.
    pub certificate: &'a str,
    /// Private key.
    pub key: &'a str,
}

/// Invalid TLS file: the key of the configuration that names it, and the reason.
pub type Invalid = (&'static str, String);

/// TLS of listeners.
#[derive(Clone)]
pub struct ServerTls {
    config: Arc<ServerConfig>,
    /// Whether clients have to present a certificate.
    verifies_clients: bool,
    /// Digest of the files.
    digest: [u8; 32],
}

/// TLS towards the upstream proxy.
#[derive(Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
    digest: [u8; 32],
}

impl ServerTls {
    /// TLS with a certificate. With a CA, clients have to present a certificate that it signed.
    ///
    /// # Errors
    /// A text has no certificate or no key, or key and certificate differ.
    pub fn new(identity: Identity<'_>, client_ca: Option<&str>) -> Result<Self, Invalid> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| ("certificate", error.to_string()))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(text) => {
                let roots = Arc::new(authorities(text).map_err(|reason| ("client_ca", reason))?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| ("client_ca", error.to_string()))?)
            }
        };
        let (chain, key) = identity.read()?;
        let config = builder.with_single_cert(chain, key).map_err(mismatch)?;
        let digest = digest(&[identity.certificate, identity.key, client_ca.unwrap_or_default()]);
        Ok(Self { config: Arc::new(config), verifies_clients: client_ca.is_some(), digest })
    }

    /// Whether clients have to present a certificate.
    pub fn verifies_clients(&self) -> bool {
        self.verifies_clients
    }

    /// Accepts a session. A failure returns the closed connection and the reason.
    pub(crate) async fn accept_until(
        &self,
        deadline: Instant,
        tcp: TcpStream,
    ) -> Result<Stream, (Stream, String)> {
        let tcp = Arc::new(tcp);
        let accept = TlsAcceptor::from(Arc::clone(&self.config)).accept(SharedTcp(Arc::clone(&tcp)));
        let error = match timeout_at(deadline, accept).await {
            Ok(Ok(mut session)) => {
                session.get_mut().1.set_buffer_limit(Some(SESSION_BUFFER_BYTES));
                return Ok(Stream::of_session(tcp, session.into()));
            }
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
        let reason = reason(&error).unwrap_or_else(|| match error.kind() {
            io::ErrorKind::TimedOut => "no complete handshake in time".to_owned(),
            io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
            kind => kind.to_string(),
        });
        let tcp = Arc::into_inner(tcp).expect("the failed handshake has dropped its reference");
        let stream = Stream::Tcp(tcp);
        // The client can read the alert, which a reset would discard.
        lingering_close(&stream, LINGER).await;
        Err((stream, reason))
    }
}

impl ClientTls {
    /// TLS that trusts the CAs of a text, or those of the system. `server_name` replaces the host
    /// of the upstream as the name in the certificate; the identity is presented on demand.
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

    /// Opens a session with `host` over a connection.
    pub(crate) async fn connect(&self, tcp: TcpStream, host: &str) -> io::Result<Stream> {
        let name = match &self.server_name {
            Some(name) => name.clone(),
            None => ServerName::try_from(host.to_owned()).map_err(io::Error::other)?,
        };
        let tcp = Arc::new(tcp);
        let connect = TlsConnector::from(Arc::clone(&self.config)).connect(name, SharedTcp(Arc::clone(&tcp)));
        let mut session = connect.await?;
        session.get_mut().1.set_buffer_limit(Some(SESSION_BUFFER_BYTES));
        Ok(Stream::of_session(tcp, session.into()))
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
        f.debug_struct("ServerTls").field("verifies_clients", &self.verifies_clients).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTls").field("server_name", &self.server_name).finish_non_exhaustive()
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

/// Reason of a failed session in words, about the peer as "it"; `None` for errors of TCP.
pub(crate) fn reason(error: &io::Error) -> Option<String> {
    let text = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(certificate) => certificate_reason(certificate),
        Error::NoCertificatesPresented => "it presents no certificate".to_owned(),
        Error::AlertReceived(alert) => alert_reason(*alert),
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        error => format!("TLS: {error}"),
    };
    Some(text)
}

fn certificate_reason(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired, by the clock of this host".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet, by the clock of this host".to_owned()
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is signed by an unknown CA".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names = if presented.is_empty() { "no name".to_owned() } else { presented.join(", ") };
            format!("its certificate is for {names}, not for {}", expected.to_str())
        }
        CertificateError::NotValidForName => "its certificate is for another name".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is for another purpose (extended key usage)".to_owned()
        }
        error => format!("its certificate is invalid: {error}"),
    }
}

fn alert_reason(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => "it demands a client certificate".to_owned(),
        AlertDescription::UnknownCA => "it does not know the CA of our certificate".to_owned(),
        AlertDescription::CertificateExpired => "it reports that our certificate has expired".to_owned(),
        AlertDescription::BadCertificate
        | AlertDescription::DecryptError
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => format!("it rejects our certificate ({alert:?})"),
        alert => format!("it ended the TLS session ({alert:?})"),
    }
}
