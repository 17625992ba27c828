//! See `tandem_fuzzing::mib`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::mib(bytes));
