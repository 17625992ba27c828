//! Values of the field `Host` that DNS rebinding cannot forge.

use std::net::IpAddr;

/// Whether the value of a field `Host` (RFC 9110, section 7.2) is an address or `localhost`, with or
/// without a port. A server for this host alone refuses all other names: any web page can make a name
/// of its own point here and then read the answers (DNS rebinding).
///
/// ```
/// use tandem_linux::socket::is_address_or_localhost;
///
/// assert!(is_address_or_localhost("127.0.0.1:9464") && is_address_or_localhost("[::1]:9464"));
/// assert!(is_address_or_localhost("localhost") && !is_address_or_localhost("rebound.example:9464"));
/// ```
#[must_use]
pub fn is_address_or_localhost(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}
