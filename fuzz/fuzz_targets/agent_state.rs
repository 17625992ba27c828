//! See `tandem_fuzzing::agent_state`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::agent_state(bytes));
