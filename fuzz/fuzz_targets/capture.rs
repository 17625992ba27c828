//! See `tandem_fuzzing::capture`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::capture(bytes));
