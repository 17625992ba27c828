//! Policies by their written form, with the files that they name.

use crate::errors;
use experiments::files;
use policy::PolicyConfig;
use pyo3::prelude::*;
use std::fs::File;

/// A policy with its parameters, without the content of its file.
pub(crate) fn parse(text: &str) -> PyResult<PolicyConfig> {
    text.parse().map_err(|error| errors::policy(&error))
}

/// Content of the file that a policy names; `None` for a policy without one.
pub(crate) fn file_content(policy: &PolicyConfig) -> PyResult<Option<String>> {
    let Some(path) = policy.file() else { return Ok(None) };
    let content = File::open(path).and_then(files::read_text_to_end);
    content.map(Some).map_err(|error| errors::file(path, &error))
}

/// A policy that can run: with the content of the file that it names.
pub(crate) fn read(text: &str) -> PyResult<PolicyConfig> {
    let policy = parse(text)?;
    let Some(content) = file_content(&policy)? else { return Ok(policy) };
    let name = policy.file().unwrap_or_default();
    policy.with_file(name, &content).map_err(|found| errors::scenario(&found))
}
