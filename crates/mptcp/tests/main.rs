//! All that is asked of an endpoint, in one program: linking one for each file took most of the time. What
//! adversaries do to it has its own, `adversary.rs`.

mod addresses;
mod checksum;
#[allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what is not there fails the test")]
mod decode;
mod decoded;
mod fallback;
mod fastclose;
mod handshake;
mod pair;
mod paths;
mod predicted;
mod protocol;
mod rec;
mod recovery;
mod rfc8684_map;
mod schedulers;
mod switches;
mod windows;
