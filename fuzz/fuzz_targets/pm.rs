//! See `tandem_fuzzing::pm`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::pm(bytes));
