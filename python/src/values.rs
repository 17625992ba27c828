//! Python data, given as JSON, as TOML.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize as _;
use serde_json::Value;

/// A TOML document from the JSON of a dictionary.
#[pyfunction]
pub(crate) fn document(json: &str) -> PyResult<String> {
    toml::to_string(&parse(json)?).map_err(|error| invalid(&error))
}

/// A TOML value in one line from JSON.
#[pyfunction]
pub(crate) fn value(json: &str) -> PyResult<String> {
    let mut text = String::new();
    parse(json)?.serialize(toml::ser::ValueSerializer::new(&mut text)).map_err(|error| invalid(&error))?;
    Ok(text)
}

fn parse(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|error| invalid(&error))
}

fn invalid(error: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("TOML has no such value: {error}"))
}
