//! See `tandem_fuzzing::score`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::score(bytes));
