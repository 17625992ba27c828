//! Attacks on the whole program, as `make attack` runs them: short here, long by a variable.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

mod cuts;
mod faults;
mod load;
mod mutated;

/// Value of an environment variable, or the number for a short test.
pub(super) fn env_number(name: &str, short: u64) -> u64 {
    let Ok(text) = std::env::var(name) else { return short };
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .unwrap_or_else(|| panic!("{name}={text} is no number above 0"))
}
