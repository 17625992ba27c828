//! See `tandem_fuzzing::agent_players`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::agent_players(bytes));
