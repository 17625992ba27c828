//! TLS towards servers and collectors.

use std::fmt;
use std::io;
use tls::ClientTls;
use tokio::net::TcpStream;

pub(super) type Stream = tokio_rustls::client::TlsStream<TcpStream>;

/// TLS of a client: configured, or with the CAs of the system, which are read on first use.
pub(super) struct Connector {
    tls: Option<ClientTls>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("known", &self.tls.is_some()).finish()
    }
}

impl Connector {
    pub(super) fn new(tls: Option<ClientTls>) -> Self {
        Self { tls }
    }

    pub(super) async fn connect(&mut self, host: &str, stream: TcpStream) -> io::Result<Stream> {
        if self.tls.is_none() {
            let system = ClientTls::new(None, None, None);
            self.tls = Some(system.map_err(|(_, reason)| io::Error::other(reason))?);
        }
        let tls = self.tls.as_ref().expect("it was set");
        tls.connect(stream, host.trim_start_matches('[').trim_end_matches(']')).await
    }
}
