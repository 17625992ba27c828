//! Options of the linker for the program.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Some 100,000 relocations of tables take 2 MB in the usual form, which every start reads.
    let of = |name: &str| env::var(name).unwrap_or_default();
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
