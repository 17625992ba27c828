//! Certificates and keys that options name.

use crate::arguments::{ClientTlsOptions, ServerTlsOptions, UpstreamTlsOptions};
use crate::failure::{Failure, reason};
use experiments::files::{self, read_text_to_end};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tls::{ClientAuthority, ClientTls, Identity, Invalid, ServerTls};

/// TLS of listeners; `None` without `--tls-cert`.
pub(crate) fn server(options: &ServerTlsOptions) -> Result<Option<ServerTls>, Failure> {
    let (Some(certificate), Some(key)) = (&options.certificate, &options.key) else { return Ok(None) };
    let certificate = public("--tls-cert", certificate)?;
    let key = secret("--tls-key", key)?;
    let clients = options.clients.as_deref().map(|file| public("--tls-clients", file)).transpose()?;
    let crl = options.crl.as_deref().map(|file| public("--tls-crl", file)).transpose()?;
    let identity = Identity { certificate: &certificate, key: &key };
    let clients = clients.as_ref().map(|ca| ClientAuthority { ca, crl: crl.as_deref() });
    ServerTls::new(identity, clients).map(Some).map_err(|(part, reason)| {
        let (option, file) = match part {
            "key" => ("--tls-key", &options.key),
            "client_ca" => ("--tls-clients", &options.clients),
            "crl" => ("--tls-crl", &options.crl),
            _ => ("--tls-cert", &options.certificate),
        };
        invalid(option, file.as_deref(), &reason)
    })
}

/// TLS towards servers; `None` without options, for the CAs of the system.
pub(crate) fn client(options: &ClientTlsOptions) -> Result<Option<ClientTls>, Failure> {
    if files_of_client(options).is_empty() { Ok(None) } else { client_with_name(options, None).map(Some) }
}

/// TLS towards the server-side proxy at `host`; `None` without options.
pub(crate) fn upstream(options: &UpstreamTlsOptions, host: &str) -> Result<Option<ClientTls>, Failure> {
    let is_wanted = options.upstream_tls || options.server_name.is_some();
    if !is_wanted && files_of_client(&options.client).is_empty() {
        return Ok(None);
    }
    let name = options.server_name.as_deref().map_or(("--upstream", host), |name| ("--server-name", name));
    client_with_name(&options.client, Some(name)).map(Some)
}

/// `name` is the name of the server, after the option that gives it.
fn client_with_name(options: &ClientTlsOptions, name: Option<(&str, &str)>) -> Result<ClientTls, Failure> {
    let (name_option, name) = name.unzip();
    let ca = options.ca.as_deref().map(|file| public("--ca", file)).transpose()?;
    let certificate = options.client_cert.as_deref().map(|file| public("--client-cert", file)).transpose()?;
    let key = options.client_key.as_deref().map(|file| secret("--client-key", file)).transpose()?;
    let pair = certificate.as_ref().zip(key.as_ref());
    let identity = pair.map(|(certificate, key)| Identity { certificate, key });
    ClientTls::new(ca.as_deref(), name, identity).map_err(|(part, reason): Invalid| match part {
        "ca" => invalid("--ca", options.ca.as_deref(), &reason),
        "key" => invalid("--client-key", options.client_key.as_deref(), &reason),
        "server_name" => Failure::Usage {
            message: format!("{}: {reason}", name_option.unwrap_or_default()),
            hint: "such as proxy.example or 192.0.2.1".to_owned(),
        },
        _ => invalid("--client-cert", options.client_cert.as_deref(), &reason),
    })
}

/// Files of a listener. Their changes are followed.
pub(crate) fn files_of_server(options: &ServerTlsOptions) -> Vec<PathBuf> {
    let files = [&options.certificate, &options.key, &options.clients, &options.crl];
    files.into_iter().flatten().cloned().collect()
}

/// Files of a client. Their changes are followed.
pub(crate) fn files_of_client(options: &ClientTlsOptions) -> Vec<PathBuf> {
    [&options.ca, &options.client_cert, &options.client_key].into_iter().flatten().cloned().collect()
}

/// Reads a file that only its owner can read, or that systemd keeps for this service.
pub(crate) fn read_secret(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| reason(&error))?;
    let mode = file.metadata().map_err(|error| reason(&error))?.permissions().mode();
    // The mode of a credential shows the mask of its access list (systemd.exec(5), "LoadCredential").
    let is_credential =
        std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder));
    if mode & 0o077 != 0 && !is_credential {
        return Err("others than its owner can read it".to_owned());
    }
    read_text_to_end(file).map_err(|error| reason(&error))
}

fn secret(option: &str, path: &Path) -> Result<String, Failure> {
    read_secret(path).map_err(|reason| Failure::Unreadable {
        message: format!("{option}: cannot read {}: {reason}", path.display()),
        hint: format!("expected a file that only its owner can read: `chmod 600 {}`", path.display()),
    })
}

fn public(option: &str, path: &Path) -> Result<String, Failure> {
    files::read(path).map_err(|reason| Failure::Unreadable {
        message: format!("{option}: cannot read {}: {reason}", path.display()),
        hint: format!("expected a file with {} in PEM", content_of(option)),
    })
}

fn content_of(option: &str) -> &'static str {
    if option.ends_with("crl") { "certificate revocation lists" } else { "certificates" }
}

fn invalid(option: &str, path: Option<&Path>, reason: &str) -> Failure {
    let file = path.map(|path| format!(" {}", path.display())).unwrap_or_default();
    let expected = if option.ends_with("key") {
        "expected the private key of the certificate, in PEM"
    } else if option == "--tls-crl" {
        "expected the valid certificate revocation list of each CA of --tls-clients, in PEM"
    } else {
        "expected certificates in PEM"
    };
    Failure::Unreadable { message: format!("{option}{file}: {reason}"), hint: expected.to_owned() }
}
