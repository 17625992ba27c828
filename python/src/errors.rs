//! Exceptions, which `tandem_mptcp.errors` defines.

use ::capture::ReadError;
use ::scenario::{Diagnostic, Setting, SettingError};
use ::sweep::SweepError;
use experiments::setting_place::show_in_settings;
use policy::PolicyError;
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;
use std::io;

#[allow(missing_docs, unreachable_pub, reason = "classes of the Python module")]
mod classes {
    pyo3::import_exception!(tandem_mptcp.errors, CaptureError);
    pyo3::import_exception!(tandem_mptcp.errors, PolicyError);
    pyo3::import_exception!(tandem_mptcp.errors, ScenarioError);
    pyo3::import_exception!(tandem_mptcp.errors, SweepError);
}

/// File of a problem in a key or a value that was set.
pub(crate) const SET: &str = "Scenario.set";
/// File of a problem in a key or a value of a sweep.
pub(crate) const VARY: &str = "vary";

/// Problems of the scenario `name` with settings, given by `by`, that were applied to its text.
pub(crate) fn scenario_with(
    found: Vec<Diagnostic>,
    by: &str,
    name: &str,
    settings: &[Setting],
    text: &str,
) -> PyErr {
    if settings.is_empty() {
        return scenario(&found);
    }
    scenario(&show_in_settings(found, by, name, settings, text))
}

/// Problems of a scenario, as the members of `tandem_mptcp.Diagnostic`.
pub(crate) fn scenario(found: &[Diagnostic]) -> PyErr {
    let text = found.iter().map(|one| one.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n\n");
    let members: Vec<_> = found
        .iter()
        .map(|one| {
            let (expected, hint) = (one.expected.clone(), one.hint.clone());
            let setting = [SET, VARY].contains(&&*one.file).then(|| one.line_text.clone());
            (one.message.clone(), one.file.clone(), one.line, one.column, expected, hint, setting)
        })
        .collect();
    classes::ScenarioError::new_err((text, members))
}

/// A key that cannot be set to a value, given by `by`, in the scenario `name`.
pub(crate) fn setting(by: &str, name: &str, key: &str, value: &str, error: &SettingError) -> PyErr {
    let place: (Option<usize>, Option<usize>) = (None, None);
    let setting = format!("{key}={value}");
    let text = format!("{by} {setting}: {}", with_hint(error, &error.hint()));
    let (message, hint) = (error.to_string(), Some(error.hint()));
    let member = (message, name.to_owned(), place.0, place.1, None::<String>, hint, Some(setting));
    classes::ScenarioError::new_err((text, vec![member]))
}

/// A policy that is unknown, or that the scenario's device cannot follow.
pub(crate) fn policy(error: &PolicyError) -> PyErr {
    classes::PolicyError::new_err((with_hint(error, &error.hint()), error.hint()))
}

/// A file that is not a capture.
pub(crate) fn capture(file: &str, error: &ReadError) -> PyErr {
    let hint = "`tcpdump -w`, Wireshark and `tandem run --pcap` write readable captures";
    classes::CaptureError::new_err((format!("{file}: {error}\nhint: {hint}"), file.to_owned(), hint))
}

/// A sweep that cannot be described, run or merged. A file that cannot be read or written is an
/// `OSError`.
pub(crate) fn sweep(error: &SweepError) -> PyErr {
    match error {
        SweepError::Scenario { name, settings, text, problems } => {
            scenario_with(problems.clone(), VARY, name, settings, text)
        }
        SweepError::File { source, path, .. } if source.raw_os_error().is_some() => {
            file(&path.display().to_string(), source)
        }
        SweepError::File { .. } => PyOSError::new_err(error.to_string()),
        _ => classes::SweepError::new_err((with_hint(error, &error.hint()), error.hint())),
    }
}

/// A file that cannot be read or written: an `OSError` with its name.
pub(crate) fn file(path: &str, error: &io::Error) -> PyErr {
    let reason = experiments::files::reason(error);
    match error.raw_os_error() {
        Some(number) => PyOSError::new_err((number, reason, path.to_owned())),
        None => PyOSError::new_err(format!("{path}: {reason}")),
    }
}

fn with_hint(error: &dyn std::error::Error, hint: &str) -> String {
    if hint.is_empty() { error.to_string() } else { format!("{error}\nhint: {hint}") }
}
