//! See `tandem_fuzzing::sequence`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::sequence(bytes));
