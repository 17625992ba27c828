//! Keys, tokens and HMACs of the peer that a script plays (RFC 8684, sections 3.1, 3.2, 3.4.1).
//!
//! They are computed here, not by the endpoint, so that an error in one of them shows.

use core::net::IpAddr;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Token of a key.
pub(crate) fn token(key: u64) -> u32 {
    (number(&Sha256::digest(key.to_be_bytes())[..8]) >> 32) as u32
}

/// Initial data sequence number of a key.
pub(crate) fn initial_dsn(key: u64) -> u64 {
    number(&Sha256::digest(key.to_be_bytes())[24..])
}

/// HMAC of MP_JOIN, sent by the owner of the first key and the first nonce.
pub(crate) fn join_hmac(keys: (u64, u64), nonces: (u32, u32)) -> [u8; 32] {
    let message = [nonces.0.to_be_bytes(), nonces.1.to_be_bytes()].concat();
    digest(keys, &message)
}

/// HMAC of ADD_ADDR, sent by the owner of the first key.
pub(crate) fn address_hmac(keys: (u64, u64), id: u8, address: IpAddr, port: Option<u16>) -> u64 {
    let mut message = vec![id];
    match address {
        IpAddr::V4(v4) => message.extend(v4.octets()),
        IpAddr::V6(v6) => message.extend(v6.octets()),
    }
    message.extend(port.unwrap_or(0).to_be_bytes());
    number(&digest(keys, &message)[24..])
}

fn digest(keys: (u64, u64), message: &[u8]) -> [u8; 32] {
    let key = [keys.0.to_be_bytes(), keys.1.to_be_bytes()].concat();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// The first 8 bytes as a number.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_initial_dsn_of_key_2() {
        assert_eq!((token(2), initial_dsn(2)), (0xcd04_a475, 0x8865_40e5_dce7_7f70));
    }
}
