//! Shared parts of the commands that run on the real kernel.

use crate::failure::{Failure, reason};
use crate::output::Terminal;
use experiments::run::{Reaction, Run};
use experiments::warnings::Warning;
use sim::Experiment;
use units::Duration;

/// Median, 99th percentile and maximum of the lateness of the emulator.
pub(crate) fn lateness_quantiles(lateness: &testbed::Lateness) -> [Duration; 3] {
    [lateness.quantile(0.5), lateness.quantile(0.99), lateness.longest()]
}

/// The reactions of the policy, with names of paths in place of their indices.
pub(crate) fn named_reactions(experiment: &Experiment, reactions: &[testbed::Reaction]) -> Vec<Reaction> {
    let named = |reaction: &testbed::Reaction| Reaction {
        path: experiment.paths[reaction.path].name.clone(),
        total: reaction.total,
        signalling: reaction.signalling,
        sender: reaction.sender,
        link: reaction.link,
        committed_time: reaction.committed_time,
        committed: reaction.committed,
    };
    reactions.iter().map(named).collect()
}

/// Prints the warnings of a run that were not printed before it.
pub(crate) fn warn_further(terminal: Terminal, run: &Run, warned: &[Warning]) {
    let further: Vec<Warning> =
        run.warnings.iter().filter(|warning| !warned.contains(warning)).cloned().collect();
    terminal.warn(&further);
}

/// The warning about packets that no link of the scenario has lost.
pub(crate) fn lost_packets(count: u64) -> Option<Warning> {
    (count > 0).then(|| {
        Warning::new(
            format!("{count} packets were lost between Tandem's stack and the emulator, on no link"),
            "the machine is too busy, or `net.core.wmem_max` too small: repeat the run",
        )
    })
}

/// The warning about the first failed connection.
pub(crate) fn failed_connection(failure: Option<(usize, String)>) -> Option<Warning> {
    failure.map(|(number, reason)| Warning::new(format!("connection {number} failed: {reason}"), ""))
}

/// The failure of the program for a failed run on the kernel.
pub(crate) fn failure(error: &testbed::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    match error {
        testbed::Error::System(linux::Error::Lacks { .. }) => Failure::MissingRequirement { message, hint },
        testbed::Error::System(linux::Error::Program { name, source }) => Failure::CannotRun {
            message: format!("cannot run `{name}`: {}", reason(source)),
            found: source.kind() != std::io::ErrorKind::NotFound,
        },
        testbed::Error::Unsupported { .. } => Failure::Unsupported { message, hint },
        _ => Failure::Other { message, hint },
    }
}
