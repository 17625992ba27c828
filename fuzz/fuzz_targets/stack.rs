//! See `tandem_fuzzing::stack`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::stack(bytes));
