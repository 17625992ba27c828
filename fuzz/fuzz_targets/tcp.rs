//! See `tandem_fuzzing::tcp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::tcp(bytes));
