//! Files that a scenario names: given by the caller, or read from a folder.

use scenario::Files;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Contents by the name in the scenario; files that are not yet known are read from a folder.
#[derive(Debug)]
pub(crate) struct KnownFiles {
    folder: PathBuf,
    contents: RefCell<BTreeMap<String, String>>,
}

impl KnownFiles {
    pub(crate) fn new(folder: &Path, contents: BTreeMap<String, String>) -> Self {
        Self { folder: folder.to_owned(), contents: RefCell::new(contents) }
    }

    /// Contents of the files that were given or read.
    pub(crate) fn into_contents(self) -> BTreeMap<String, String> {
        self.contents.into_inner()
    }
}

impl Files for KnownFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        if let Some(text) = self.contents.borrow().get(path) {
            return Ok(text.clone());
        }
        let text = experiments::files::read(&self.folder.join(path))?;
        self.contents.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}
