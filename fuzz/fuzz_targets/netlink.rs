//! See `tandem_fuzzing::netlink`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tandem_fuzzing::netlink(bytes));
