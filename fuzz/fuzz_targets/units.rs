//! See `tandem_fuzzing::units`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::units(bytes));
