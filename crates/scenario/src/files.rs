//! Access to the files that a scenario names, and a record of their contents.

use core::cell::RefCell;
use core::fmt::Write as _;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Access to the files that a scenario names: traces, manifests and radio profiles.
pub trait Files {
    /// Reads the file at `path`, relative to the folder of the scenario.
    ///
    /// # Errors
    /// A short reason, such as "no such file".
    fn read(&self, path: &str) -> Result<String, String>;
}

impl<F: Fn(&str) -> Result<String, String>> Files for F {
    fn read(&self, path: &str) -> Result<String, String> {
        self(path)
    }
}

/// Files that are read once, and kept by their names.
#[derive(Debug)]
pub struct KeptFiles<F> {
    files: F,
    contents: RefCell<BTreeMap<String, String>>,
}

impl<F: Files> KeptFiles<F> {
    /// Reads from `files` all that `contents` does not have.
    pub const fn new(files: F, contents: BTreeMap<String, String>) -> Self {
        Self { files, contents: RefCell::new(contents) }
    }

    /// The contents given at the start, and of all files read.
    pub fn into_contents(self) -> BTreeMap<String, String> {
        self.contents.into_inner()
    }
}

impl<F: Files> Files for KeptFiles<F> {
    fn read(&self, path: &str) -> Result<String, String> {
        if let Some(text) = self.contents.borrow().get(path) {
            return Ok(text.clone());
        }
        let text = self.files.read(path)?;
        self.contents.borrow_mut().insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

/// An input file: its name and the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// Name as the scenario has it.
    pub name: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
}

impl InputFile {
    /// Describes a file by its content.
    pub fn new(name: impl Into<String>, content: &[u8]) -> Self {
        Self::from_digest(name, &Sha256::digest(content))
    }

    /// Describes a file by the SHA-256 of its content.
    pub fn from_digest(name: impl Into<String>, digest: &[u8]) -> Self {
        let mut sha256 = String::new();
        for byte in digest {
            let _ = write!(sha256, "{byte:02x}");
        }
        Self { name: name.into(), sha256 }
    }
}

/// Files that pass through, with a record of each.
pub(crate) struct Recorder<'a> {
    files: &'a dyn Files,
    read: RefCell<Vec<InputFile>>,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, read: RefCell::default() }
    }

    pub(crate) fn into_files(self) -> Vec<InputFile> {
        self.read.into_inner()
    }
}

impl Files for Recorder<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        let text = self.files.read(path)?;
        let mut read = self.read.borrow_mut();
        if !read.iter().any(|file| file.name == path) {
            read.push(InputFile::new(path, text.as_bytes()));
        }
        Ok(text)
    }
}
