//! See `tandem_fuzzing::mpd`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::mpd(bytes));
