//! See `tandem_fuzzing::agent_port`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::agent_port(bytes));
