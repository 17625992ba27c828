//! See `tandem_fuzzing::sidx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::sidx(bytes));
