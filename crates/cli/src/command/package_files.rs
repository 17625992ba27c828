//! `tandem package-files`.

use crate::arguments::PackageFiles;
use crate::failure::Failure;
use crate::new_file::write_new;
use crate::{output, package};

pub(crate) fn run(arguments: &PackageFiles) -> Result<(), Failure> {
    let files = package::files(&arguments.root, &arguments.date);
    let written = write_new(&files)?;
    written.iter().try_for_each(|path| output::write(&format!("{}\n", path.display())))
}
