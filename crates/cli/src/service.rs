//! Shared parts of the daemons `tandem agent` and `tandem proxy`.

use std::path::PathBuf;

/// The directory in an environment variable of systemd, or its default. The first of several
/// counts.
pub(crate) fn directory(variable: &str, default: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    let first = value.and_then(|value| Some(PathBuf::from(value.to_str()?.split(':').next()?)));
    first.unwrap_or_else(|| PathBuf::from(default))
}
