//! See `tandem_fuzzing::proxy_users`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::proxy_users(bytes));
