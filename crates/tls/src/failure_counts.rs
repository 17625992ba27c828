//! Counts of failed handshakes by reason, for metrics.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::io;
use tokio_rustls::rustls::{CertificateError, Error};

/// Reasons, as labels of a metric.
const REASONS: [&str; 11] = [
    "timeout",
    "closed",
    "not_tls",
    "incompatible",
    "no_certificate",
    "unknown_ca",
    "expired",
    "revoked",
    "revocation_unknown",
    "invalid_certificate",
    "alert",
];
const OTHER: &str = "other";

/// Failed handshakes since the start.
#[derive(Debug, Default)]
pub struct FailureCounts {
    by_reason: [AtomicU64; REASONS.len()],
    other: AtomicU64,
}

impl FailureCounts {
    /// Counts a failed handshake.
    pub fn count(&self, error: &io::Error) {
        let label = label(error);
        let index = REASONS.iter().position(|reason| *reason == label);
        index.map_or(&self.other, |index| &self.by_reason[index]).fetch_add(1, Relaxed);
    }

    /// Number of failed handshakes by reason.
    pub fn each(&self) -> Vec<(&'static str, u64)> {
        let known = REASONS.iter().copied().zip(&self.by_reason);
        known.chain([(OTHER, &self.other)]).map(|(label, count)| (label, count.load(Relaxed))).collect()
    }
}

fn label(error: &io::Error) -> &'static str {
    let Some(error) = error.get_ref().and_then(|error| error.downcast_ref::<Error>()) else {
        return if error.kind() == io::ErrorKind::TimedOut { "timeout" } else { "closed" };
    };
    match error {
        Error::InvalidMessage(_) => "not_tls",
        Error::PeerIncompatible(_) => "incompatible",
        Error::NoCertificatesPresented => "no_certificate",
        Error::InvalidCertificate(error) => certificate_label(error),
        Error::InvalidCertRevocationList(_) => "revocation_unknown",
        Error::AlertReceived(_) => "alert",
        _ => OTHER,
    }
}

fn certificate_label(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => "unknown_ca",
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => "expired",
        CertificateError::Revoked => "revoked",
        CertificateError::UnknownRevocationStatus
        | CertificateError::ExpiredRevocationList
        | CertificateError::ExpiredRevocationListContext { .. } => "revocation_unknown",
        _ => "invalid_certificate",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::{AlertDescription, InvalidMessage, PeerIncompatible};

    #[test]
    fn every_failure_counts_once_under_its_reason() {
        let counts = FailureCounts::default();
        let certificate = |error| io::Error::other(Error::InvalidCertificate(error));
        let failures = [
            (io::ErrorKind::TimedOut.into(), "timeout"),
            (io::ErrorKind::UnexpectedEof.into(), "closed"),
            (io::ErrorKind::ConnectionReset.into(), "closed"),
            (io::Error::other(Error::InvalidMessage(InvalidMessage::InvalidContentType)), "not_tls"),
            (io::Error::other(Error::from(PeerIncompatible::NoCipherSuitesInCommon)), "incompatible"),
            (io::Error::other(Error::NoCertificatesPresented), "no_certificate"),
            (certificate(CertificateError::UnknownIssuer), "unknown_ca"),
            (certificate(CertificateError::Expired), "expired"),
            (certificate(CertificateError::Revoked), "revoked"),
            (certificate(CertificateError::UnknownRevocationStatus), "revocation_unknown"),
            (certificate(CertificateError::ExpiredRevocationList), "revocation_unknown"),
            (certificate(CertificateError::BadEncoding), "invalid_certificate"),
            (io::Error::other(Error::AlertReceived(AlertDescription::UnknownCA)), "alert"),
            (io::Error::other(Error::DecryptError), "other"),
        ];
        for (error, expected) in &failures {
            assert_eq!(label(error), *expected, "{error}");
            counts.count(error);
        }
        let each = counts.each();
        assert_eq!(each.iter().map(|(_, count)| count).sum::<u64>(), failures.len() as u64);
        assert!(each.contains(&("revoked", 1)) && each.contains(&("closed", 2)), "{each:?}");
    }
}
