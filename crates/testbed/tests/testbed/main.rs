//! Runs of scenarios on the real kernel, in namespaces.

mod allowance;
mod capture_file;
mod counters;
mod delay;
mod emulated;
mod faults;
mod plain_tcp;
mod proxied_server;
mod series;
mod stacks;
mod video;
mod when_needed;

use scenario::Scenario;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

/// A scenario that names no files.
fn parse(name: &str, text: &str) -> Scenario {
    let no_files = |_: &str| Err("no such file".to_owned());
    Scenario::parse(name, text, &no_files).expect("the scenario is valid")
}

/// The command that runs a helper program: a test that other tests start in the namespaces. Without
/// the variable TANDEM_SERVER it returns at once.
fn helper(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("/proc is mounted"));
    command.args(["--ignored", "--exact", test]).stdout(Stdio::null());
    command
}

/// Address of the server, in a helper program.
fn server() -> Option<SocketAddr> {
    let address = std::env::var("TANDEM_SERVER").ok()?;
    Some(SocketAddr::new(address.parse().expect("an address"), 5000))
}
