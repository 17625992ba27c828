//! Attacks on the whole program, as `make attack` runs them: short here, long by a variable.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

mod cuts;
mod faults;
mod load;
mod mutated;

/// Value of an environment variable, or the number for a short test.
pub(super) fn env_number(name: &str, short: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}
