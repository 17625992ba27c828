//! See `tandem_fuzzing::cmcd`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::cmcd(bytes));
