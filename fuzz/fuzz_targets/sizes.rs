//! See `tandem_fuzzing::sizes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::sizes(bytes));
