//! Events after the end of the run. `--duration` can shorten a run after its scenario was checked.

use super::Warning;
use link::Rate;
use sim::{Experiment, Hop};
use units::{Duration, Instant};

pub(super) fn check(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    let end = End(experiment.duration);
    for (index, traffic) in experiment.traffic.iter().enumerate() {
        end.check(&format!("traffic {} starts", index + 1), traffic.start, "start", warnings);
    }
    for background in &experiment.background {
        end.check("the traffic of datagrams starts", background.start, "start", warnings);
    }
    for path in &experiment.paths {
        let name = &path.name;
        end.check(&format!("the path `{name}` joins"), path.join_at, "join_at", warnings);
        if let Some(leave) = path.leave_at {
            end.check(&format!("the path `{name}` leaves"), leave, "leave_at", warnings);
        }
        for (direction, hop) in [("down", &path.down), ("up", &path.up)] {
            check_hop(&end, &format!("path.{name}.{direction}"), hop, warnings);
        }
        for (index, middlebox) in path.middleboxes.iter().enumerate() {
            let what = format!("middlebox {} of the path `{name}` starts", index + 1);
            end.check(&what, middlebox.from, "from", warnings);
        }
    }
    for cell in &experiment.cells {
        for load in &cell.config.others {
            end.check(&format!("a load of the cell `{}` starts", cell.name), load.start, "start", warnings);
        }
    }
}

fn check_hop(end: &End, key: &str, hop: &Hop, warnings: &mut Vec<Warning>) {
    let outages = match hop {
        Hop::Link(link) => &link.outages,
        Hop::Cell { station, .. } => &station.outages,
    };
    if let Some((first, _)) = outages.first() {
        end.check(&format!("the first of `{key}.outages` begins"), *first, "outages", warnings);
    }
    if let Hop::Link(link) = hop
        && let Rate::Steps(steps) = &link.rate
        && let Some((second, _)) = steps.get(1)
    {
        end.check(&format!("the second step of `{key}.rate` begins"), *second, "steps", warnings);
    }
}

/// End of the run.
struct End(Duration);

impl End {
    /// Warns if an event is not before the end.
    fn check(&self, event: &str, at: Instant, key: &str, warnings: &mut Vec<Warning>) {
        let Self(duration) = *self;
        let at = at.since(Instant::ZERO);
        if !at.is_zero() && at >= duration {
            warnings.push(Warning::new(
                format!("{event} at {at}, not before the end of the run of {duration}"),
                format!("choose an earlier `{key}` or a longer duration"),
            ));
        }
    }
}
