//! `tandem reproduce`.

use crate::arguments::{Paper, Reproduce};
use crate::failure::Failure;
use crate::output::Talk;

pub(crate) fn run(arguments: &Reproduce, _talk: &Talk) -> Result<(), Failure> {
    match arguments.paper {
        Paper::Emtcp => Err(Failure::Other {
            message: "the reproduction of the eMTCP paper is not in this build yet".to_owned(),
            hint: "`tandem run` and `tandem compare` work on scenarios of your own".to_owned(),
        }),
    }
}
