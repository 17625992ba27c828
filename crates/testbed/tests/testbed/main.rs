//! Runs of scenarios on the real kernel, in namespaces.

mod allowance;
mod capture_file;
mod counters;
mod delay;
mod faults;
mod plain_tcp;
mod proxied_server;
mod stacks;
mod video;
mod when_needed;

use scenario::Scenario;

/// A scenario that names no files.
fn parse(name: &str, text: &str) -> Scenario {
    let no_files = |_: &str| Err("no such file".to_owned());
    Scenario::parse(name, text, &no_files).expect("the scenario is valid")
}
