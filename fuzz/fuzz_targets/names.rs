//! See `tandem_fuzzing::names`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::names(bytes));
