//! `tandem interop --hostile`.

use crate::failure::Failure;
use crate::output::{self, Terminal};
use crate::progress;
use std::fmt::Write as _;
use twin::{Difference, Findings, Peers};
use units::Seed;

/// Differences without an explanation that are printed.
const EXAMPLES: usize = 20;
/// The seed of the documentation.
const SEED: Seed = Seed::new(1);

pub(super) fn run(first: u64, count: u64, terminal: Terminal) -> Result<(), Failure> {
    let mut is_explained = true;
    for (name, peers) in [("clients", Peers::Clients), ("servers", Peers::Servers)] {
        let bar = progress::bar(terminal, count, &format!("exchanges with hostile {name}"));
        bar.tick();
        let found = twin::run(peers, SEED, first, count, &|done| bar.set_position(done));
        let found = found.map_err(|error| Failure::MissingRequirement {
            message: error.to_string(),
            hint: "it needs root, TUN devices and Multipath TCP in the kernel".to_owned(),
        })?;
        bar.finish_and_clear();
        output::write(&format!("Hostile {name}: {}", describe(&found)))?;
        is_explained &= found.unexplained.is_empty();
    }
    if is_explained { Ok(()) } else { Err(Failure::Reported { code: 1 }) }
}

fn describe(found: &Findings) -> String {
    let mut text = format!("{} exchanges, {} without a difference\n", found.exchanges, found.same);
    for (name, (times, _)) in &found.explained {
        _ = writeln!(text, "{times:6} {name}");
    }
    _ = writeln!(text, "{:6} not explained", found.unexplained.len());
    for difference in found.unexplained.iter().take(EXAMPLES) {
        describe_difference(&mut text, difference);
    }
    text
}

fn describe_difference(text: &mut String, difference: &Difference) {
    let [linux, tandem] = &difference.outcomes;
    _ = writeln!(text, "{}: {}\n  Linux:  {linux}\n  Tandem: {tandem}", difference.number, difference.script);
}
