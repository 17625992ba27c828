//! Tokens, initial data sequence numbers and HMACs of keys (RFC 8684, sections 3.1 and 3.2).

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::net::Ipv4Addr;

/// Token, and initial data sequence number, of a key.
pub(crate) fn token_and_idsn(key: u64) -> (u32, u64) {
    let hash: [u8; 32] = Sha256::digest(key.to_be_bytes()).into();
    let token = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
    let mut low = [0; 8];
    low.copy_from_slice(&hash[24..]);
    (token, u64::from_be_bytes(low))
}

/// HMAC of the sender's and the receiver's key over their nonces.
pub(crate) fn join_hmac(keys: [u64; 2], [own, peer]: [u32; 2]) -> [u8; 32] {
    hmac(keys, &[&own.to_be_bytes(), &peer.to_be_bytes()])
}

/// HMAC of an ADD_ADDR of the sender (RFC 8684, section 3.4.1).
pub(crate) fn address_hmac([own, peer]: [u64; 2], id: u8, address: Ipv4Addr) -> u64 {
    let mut message = vec![id];
    message.extend(address.octets());
    message.extend([0, 0]);
    let digest = hmac([own, peer], &[&message]);
    let mut low = [0; 8];
    low.copy_from_slice(&digest[24..]);
    u64::from_be_bytes(low)
}

fn hmac([own, peer]: [u64; 2], message: &[&[u8]]) -> [u8; 32] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&own.to_be_bytes());
    key[8..].copy_from_slice(&peer.to_be_bytes());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes keys of any length");
    for part in message {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn token_and_number_are_the_ends_of_the_hash_of_the_key() {
        assert_eq!(super::token_and_idsn(0), (0xaf55_70f5, 0xe5b2_328d_e0e8_3dfc));
    }
}
