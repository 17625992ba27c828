//! See `tandem_fuzzing::diag`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::diag(bytes));
