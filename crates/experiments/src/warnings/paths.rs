//! Keys of paths and cells without effect.

use super::{Warning, names, single_path};
use link::Delay;
use sim::{Experiment, Hop, PathSpec};

pub(super) fn check(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    let backups: Vec<&str> =
        experiment.paths.iter().filter(|path| path.backup).map(|path| &*path.name).collect();
    if !backups.is_empty() {
        if let Some(why) = single_path(experiment) {
            warnings.push(Warning::new(
                format!("`backup` of {} has no effect: {why}", names(&backups)),
                "remove `backup`",
            ));
        } else if backups.len() == experiment.paths.len() {
            warnings.push(Warning::new(
                "`backup` has no effect: every path is a backup, so that all carry data",
                "leave one path without `backup`",
            ));
        }
    }
    if experiment.paths.len() < 2 && experiment.device.joint_power > units::Power::ZERO {
        warnings.push(Warning::new(
            "`joint_power` has no effect: the device has one radio",
            "add a second `[[path]]`, or remove the key",
        ));
    }
    for path in &experiment.paths {
        check_reorder(path, warnings);
    }
    for (index, cell) in experiment.cells.iter().enumerate() {
        let joins = |hop: &Hop| matches!(hop, Hop::Cell { cell, .. } if *cell == index);
        if !experiment.paths.iter().any(|path| joins(&path.down) || joins(&path.up)) {
            warnings.push(Warning::new(
                format!("the cell `{}` has no effect: no path joins it", cell.name),
                format!("add `cell = \"{}\"` to a direction of a path, or remove the cell", cell.name),
            ));
        }
    }
}

/// `reorder = true` lets packets overtake others only if their delays differ.
fn check_reorder(path: &PathSpec, warnings: &mut Vec<Warning>) {
    for (direction, hop) in [("down", &path.down), ("up", &path.up)] {
        let (reorder, delay) = match hop {
            Hop::Link(link) => (link.reorder, link.delay),
            Hop::Cell { station, .. } => (station.reorder, station.delay),
        };
        if reorder && matches!(delay, Delay::Fixed(_)) {
            warnings.push(Warning::new(
                format!("`path.{}.{direction}.reorder` has no effect: the delay is constant", path.name),
                "vary it: `delay = { uniform = [\"10ms\", \"30ms\"] }`",
            ));
        }
    }
}
