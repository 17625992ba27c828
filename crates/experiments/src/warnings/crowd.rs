//! Warnings about scenarios with several devices.

use super::Warning;
use scenario::Crowd;

/// Shares of policies that reach no device, and cells that no path joins.
pub fn of_crowd(crowd: &Crowd) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (policy, share, _) in crowd.adopters().into_iter().filter(|(.., count)| *count == 0) {
        warnings.push(Warning::new(
            format!("`adoption.{policy}` of {share} reaches none of the {} devices", crowd.count()),
            "each kind of devices rounds its share to whole devices; raise the share, or `count`",
        ));
    }
    for name in crowd.unused_cells() {
        warnings.push(Warning::new(
            format!("no path joins the cell `{name}`"),
            format!("write `cell = \"{name}\"` in a path, or remove the cell"),
        ));
    }
    warnings
}
