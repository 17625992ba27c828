//! See `tandem_fuzzing::proxy_socks5`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::proxy_socks5(bytes));
