//! See `tandem_fuzzing::proxy_tls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::proxy_tls(bytes));
