//! See `tandem_fuzzing::packetdrill`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::packetdrill(bytes));
