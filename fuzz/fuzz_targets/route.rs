//! See `tandem_fuzzing::route`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::route(bytes));
