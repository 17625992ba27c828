//! Addresses of segments.

use crate::http::Range;
use url::Url;

/// Address of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) url: Url,
    pub(crate) range: Option<Range>,
}

/// Removes credentials from an address, since records are shown to others.
pub fn without_login(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}
