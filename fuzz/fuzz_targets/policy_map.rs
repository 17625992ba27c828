//! See `tandem_fuzzing::policy_map`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::policy_map(bytes));
