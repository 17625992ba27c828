//! See `tandem_fuzzing::trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::trace(bytes));
