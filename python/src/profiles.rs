//! The radio profiles.

use pyo3::prelude::*;

/// All profiles as a JSON list.
#[pyfunction]
pub(crate) fn profiles() -> String {
    experiments::profiles::json(&radio::profiles()).to_string()
}

/// A profile as TOML for a scenario; `None` if there is none of that name.
#[pyfunction]
pub(crate) fn profile_toml(name: &str) -> Option<String> {
    radio::profiles().iter().find(|profile| profile.name == name).map(radio::Profile::to_toml)
}
