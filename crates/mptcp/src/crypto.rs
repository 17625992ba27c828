//! Keys, tokens and HMACs (RFC 8684, sections 3.1 and 3.2).

use core::net::IpAddr;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The most significant 32 bits of the key's SHA-256 (section 3.2).
pub(crate) fn token(key: u64) -> u32 {
    let digest = Sha256::digest(key.to_be_bytes());
    u32::from_be_bytes(digest[..4].try_into().expect("SHA-256 has 32 bytes"))
}

/// The initial data sequence number: the least significant 64 bits of the key's SHA-256 (section
/// 3.1).
pub(crate) fn initial_dsn(key: u64) -> u64 {
    let digest = Sha256::digest(key.to_be_bytes());
    u64::from_be_bytes(digest[24..].try_into().expect("SHA-256 has 32 bytes"))
}

fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in message {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn joined_keys(first: u64, second: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&second.to_be_bytes());
    key
}

/// HMAC that the holder of `own_key` sends in MP_JOIN (section 3.2).
pub(crate) fn join_hmac(own_key: u64, peer_key: u64, own_nonce: u32, peer_nonce: u32) -> [u8; 32] {
    hmac(&joined_keys(own_key, peer_key), &[&own_nonce.to_be_bytes(), &peer_nonce.to_be_bytes()])
}

/// The most significant 64 bits of a join's HMAC, for the SYN/ACK (section 3.2).
pub(crate) fn truncate_join_hmac(hmac: &[u8; 32]) -> u64 {
    u64::from_be_bytes(hmac[..8].try_into().expect("an HMAC has 32 bytes"))
}

/// The least significant 64 bits of the HMAC of an ADD_ADDR (section 3.4.1).
pub(crate) fn address_hmac(own_key: u64, peer_key: u64, id: u8, address: IpAddr, port: Option<u16>) -> u64 {
    let port = port.unwrap_or(0).to_be_bytes();
    let key = joined_keys(own_key, peer_key);
    let digest = match address {
        IpAddr::V4(v4) => hmac(&key, &[&[id], &v4.octets(), &port]),
        IpAddr::V6(v6) => hmac(&key, &[&[id], &v6.octets(), &port]),
    };
    u64::from_be_bytes(digest[24..].try_into().expect("SHA-256 has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_and_initial_dsn_are_parts_of_the_key_digest() {
        // Expected values: SHA-256 of the key, computed with another implementation.
        assert_eq!((token(1), initial_dsn(1)), (0xcd26_6215, 0x19ec_5090_83d0_0a50));
        assert_eq!((token(2), initial_dsn(2)), (0xcd04_a475, 0x8865_40e5_dce7_7f70));
        let key = 0x0102_0304_0506_0708;
        assert_eq!((token(key), initial_dsn(key)), (0x6684_0dda, 0xf5a1_01d3_d29d_6f72));
    }

    fn hex(digest: [u8; 32]) -> String {
        digest
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|n| char::from_digit(n.into(), 16))
            .collect()
    }

    #[test]
    fn hmac_matches_the_kernel_test_vectors() {
        // Vectors of the Linux kernel's own tests; key and message are ASCII.
        let table = [
            (
                "0b0b0b0b0b0b0b0b",
                "48692054",
                "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa",
            ),
            (
                "aaaaaaaaaaaaaaaa",
                "dddddddd",
                "2c5e219164ff1dca1c4a92318d847bb6b9d44492984e1eb71aff9022f71046e9",
            ),
            (
                "0102030405060708",
                "cdcdcdcd",
                "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6f23b4d8c4da736a5dbbc6e7d",
            ),
        ];
        for (key, message, expected) in table {
            assert_eq!(hex(hmac(key.as_bytes(), &[message.as_bytes()])), expected);
        }
    }

    #[test]
    fn join_hmac_uses_the_own_key_and_nonce_first() {
        let (key_a, key_b, nonce_a, nonce_b) = (7, 9, 1, 2);
        // The key is A's key followed by B's; the message is A's nonce followed by B's.
        assert_ne!(join_hmac(key_a, key_b, nonce_a, nonce_b), join_hmac(key_b, key_a, nonce_b, nonce_a));
        let message: [&[u8]; 2] = [&1_u32.to_be_bytes(), &2_u32.to_be_bytes()];
        let expected = hmac(&[&7_u64.to_be_bytes()[..], &9_u64.to_be_bytes()[..]].concat(), &message);
        assert_eq!(join_hmac(key_a, key_b, nonce_a, nonce_b), expected);
    }
}
