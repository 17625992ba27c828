//! See `tandem_fuzzing::scenario`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::scenario(bytes));
