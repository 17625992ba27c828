//! `tandem schema`.

use crate::arguments::Schema;
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(arguments: &Schema) -> Result<(), Failure> {
    if arguments.markdown {
        return output::write(&scenario::docs_markdown());
    }
    output::write(&output::pretty(&scenario::json_schema()))
}
