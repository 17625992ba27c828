//! See `tandem_fuzzing::proxy_convert`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::proxy_convert(bytes));
