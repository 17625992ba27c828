//! See `tandem_fuzzing::calibration`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::calibration(bytes));
