//! Options of TLS, which several commands share.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// TLS of listeners.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ServerTlsOptions {
    /// Encrypt by TLS with this certificate in PEM, followed by those of intermediate CAs
    #[arg(
        long = "tls-cert",
        id = "tls_cert",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_key"
    )]
    pub(crate) certificate: Option<PathBuf>,
    /// Private key of --tls-cert in PEM; only its owner may have access to the file
    #[arg(
        long = "tls-key",
        id = "tls_key",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_cert"
    )]
    pub(crate) key: Option<PathBuf>,
    /// Serve only clients with a certificate that a CA of this file signed (mutual TLS)
    #[arg(
        long = "tls-clients",
        id = "tls_clients",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_cert"
    )]
    pub(crate) clients: Option<PathBuf>,
    /// Refuse clients whose certificate the CA revokes in this list (CRL, PEM; one of each CA)
    #[arg(
        long = "tls-crl",
        id = "tls_crl",
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        requires = "tls_clients"
    )]
    pub(crate) crl: Option<PathBuf>,
}

/// TLS towards servers.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ClientTlsOptions {
    /// CA certificates in PEM that servers are verified by, in place of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// Certificate in PEM for servers that demand one (mutual TLS)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "client_key")]
    pub(crate) client_cert: Option<PathBuf>,
    /// Private key of --client-cert in PEM; only its owner may have access to the file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

/// TLS towards the server-side proxy.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpstreamTlsOptions {
    /// Encrypt the connections to --upstream by TLS; implied by the other options of TLS to it
    #[arg(long, requires = "upstream")]
    pub(crate) upstream_tls: bool,
    /// Name or address in the certificate of --upstream [default: its host]
    #[arg(long, value_name = "NAME", requires = "upstream")]
    pub(crate) server_name: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientTlsOptions,
}
