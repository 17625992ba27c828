//! Exceptions, which `tandem_mptcp.errors` defines.

use ::capture::ReadError;
use ::scenario::{Diagnostic, SettingError};
use ::sweep::SweepError;
use policy::PolicyError;
use pyo3::PyErr;
use pyo3::exceptions::PyOSError;

#[allow(missing_docs, unreachable_pub, reason = "classes of the Python module")]
mod classes {
    pyo3::import_exception!(tandem_mptcp.errors, CaptureError);
    pyo3::import_exception!(tandem_mptcp.errors, PolicyError);
    pyo3::import_exception!(tandem_mptcp.errors, ScenarioError);
    pyo3::import_exception!(tandem_mptcp.errors, SweepError);
}

/// Problems of a scenario, as the members of `tandem_mptcp.Diagnostic`.
pub(crate) fn scenario(found: &[Diagnostic]) -> PyErr {
    let text = found.iter().map(|one| one.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n\n");
    let members: Vec<_> = found
        .iter()
        .map(|one| {
            let (expected, hint) = (one.expected.clone(), one.hint.clone());
            (one.message.clone(), one.file.clone(), one.line, one.column, expected, hint)
        })
        .collect();
    classes::ScenarioError::new_err((text, members))
}

/// A key that cannot be set in the scenario `name`.
pub(crate) fn setting(name: &str, error: &SettingError) -> PyErr {
    let place: (Option<usize>, Option<usize>) = (None, None);
    let member = (error.to_string(), name.to_owned(), place.0, place.1, None::<String>, Some(error.hint()));
    classes::ScenarioError::new_err((with_hint(error, &error.hint()), vec![member]))
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
        SweepError::Scenario { problems, .. } => scenario(problems),
        SweepError::File { source, path, .. } => match source.raw_os_error() {
            Some(number) => {
                PyOSError::new_err((number, experiments::files::reason(source), path.display().to_string()))
            }
            None => PyOSError::new_err(error.to_string()),
        },
        _ => classes::SweepError::new_err((with_hint(error, &error.hint()), error.hint())),
    }
}

fn with_hint(error: &dyn std::error::Error, hint: &str) -> String {
    if hint.is_empty() { error.to_string() } else { format!("{error}\nhint: {hint}") }
}
