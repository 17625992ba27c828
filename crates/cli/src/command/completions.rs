//! `tandem completions`.

use crate::arguments::Completions;
use crate::failure::Failure;
use crate::{output, package};

pub(crate) fn run(arguments: &Completions) -> Result<(), Failure> {
    output::write(&package::completion(arguments.shell))
}
