//! TLS with the system's certificates.

use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(super) type Stream = tokio_rustls::client::TlsStream<TcpStream>;

/// TLS configuration, read once on first use.
#[derive(Default)]
pub(super) struct Connector {
    known: Option<TlsConnector>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("known", &self.known.is_some()).finish()
    }
}

impl Connector {
    pub(super) async fn connect(&mut self, host: &str, stream: TcpStream) -> io::Result<Stream> {
        let connector = match &self.known {
            Some(known) => known.clone(),
            None => self.known.insert(load()?).clone(),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = host.try_into().map_err(io::Error::other)?;
        connector.connect(name, stream).await
    }
}

/// The system's roots, or those in the file named by `SSL_CERT_FILE`.
fn load() -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(io::Error::other(
            "there are no certificates here to check a server by (ca-certificates)",
        ));
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
