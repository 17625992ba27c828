//! `tandem schema`.

use crate::failure::Failure;
use crate::output;

pub(crate) fn run() -> Result<(), Failure> {
    output::write(&output::pretty(&scenario::json_schema()))
}
