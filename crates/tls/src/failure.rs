//! Failures of TLS sessions in words.

use std::error::Error as StdError;
use std::io;
use tokio_rustls::rustls::{AlertDescription, CertificateError, Error};

/// Reason of a failed handshake in words, about the peer as "it".
pub fn handshake_reason(error: &io::Error) -> String {
    reason(error).unwrap_or_else(|| match error.kind() {
        io::ErrorKind::TimedOut => "no complete handshake in time".to_owned(),
        io::ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        kind => kind.to_string(),
    })
}

/// True if no known CA signed the peer's certificate.
pub fn is_unknown_ca(error: &io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    matches!(
        error,
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature))
    )
}

/// Reason of a failed session that an error has as one of its sources.
pub fn source_reason(error: &(dyn StdError + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(reason) = error.downcast_ref::<io::Error>().and_then(reason) {
            return Some(reason);
        }
        next = error.source();
    }
    None
}

/// Reason of a failed session in words, about the peer as "it"; `None` for errors of TCP.
pub fn reason(error: &io::Error) -> Option<String> {
    let text = match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(certificate) => certificate_reason(certificate),
        Error::NoCertificatesPresented => "it presents no certificate".to_owned(),
        Error::AlertReceived(alert) => alert_reason(*alert),
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Error::InvalidCertRevocationList(error) => {
            format!("the revocation list for its certificate is invalid: {error:?}")
        }
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
        CertificateError::Revoked => "its certificate is revoked".to_owned(),
        CertificateError::UnknownRevocationStatus => "no revocation list covers its certificate".to_owned(),
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => {
            "the revocation list for its certificate has expired, by the clock of this host".to_owned()
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
        AlertDescription::CertificateRevoked => "it reports that our certificate is revoked".to_owned(),
        AlertDescription::BadCertificate
        | AlertDescription::DecryptError
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => format!("it rejects our certificate ({alert:?})"),
        alert => format!("it ended the TLS session ({alert:?})"),
    }
}
