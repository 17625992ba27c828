//! Integration tests of an endpoint, in one program, because linking dominates the build time.
//! Tests with adversarial networks and peers are in `adversary.rs`.

mod addresses;
mod checksum;
mod coupling;
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a missing value fails the test")]
mod decode;
mod decoded;
mod fallback;
mod fast_paths;
mod fastclose;
mod gaps;
mod handshake;
mod pair;
mod paths;
mod protocol;
mod rec;
mod recovery;
mod rfc8684_map;
mod schedulers;
mod strict_peer;
mod switches;
mod windows;
