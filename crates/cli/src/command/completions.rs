//! `tandem completions`.

use crate::arguments::{Arguments, Completions};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory as _;

pub(crate) fn run(arguments: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "tandem", &mut script);
    output::write(&String::from_utf8_lossy(&script))
}
