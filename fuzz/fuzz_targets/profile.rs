//! See `tandem_fuzzing::profile`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::profile(bytes));
