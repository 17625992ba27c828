//! A folder of results that appears complete or not at all.
//!
//! Files are written into a hidden folder beside it, which is renamed at the end. A program that is
//! killed in between leaves that hidden folder at most; the next run cleans it away.

use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The names of the files that a folder of results may hold. One that holds anything else is not
/// replaced: somebody put it there.
const OURS: [&str; 8] = [
    "result.json",
    "series.csv",
    "runs.csv",
    "report.html",
    "capture.pcapng",
    "session.json",
    "sessions.jsonl",
    "p1203.json",
];

/// The file without which a folder is not one of results.
const MARKER: &str = "result.json";

/// A hidden folder of this age belongs to a run that was killed.
const LEFT_OVER: Duration = Duration::from_secs(600);

/// Writing a folder takes less than this.
const WRITING: Duration = Duration::from_secs(60);

/// Stands in the name of a hidden folder, after that of the one it is to become.
const PART: &str = ".tandem-part-";

/// Where results are going to be written.
#[derive(Debug)]
pub(crate) struct Folder {
    /// As the user knows it.
    shown: PathBuf,
    /// Links followed, as far as it exists.
    target: PathBuf,
}

impl Folder {
    /// Looks whether results may be written to `path`, before they cost time. Creates nothing.
    pub(crate) fn plan(path: &Path) -> Result<Self, Failure> {
        let target = fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .map_err(|error| Failure::write(path, &error))?;
        let folder = Self { shown: path.to_owned(), target };
        if folder.target.file_name().is_none() {
            return Err(folder.refuse("it has no name of its own"));
        }
        folder.check()?;
        // What will be the parent has to let us in; a probe says so before the work is done.
        tempfile::Builder::new()
            .prefix(".tandem-probe-")
            .tempdir_in(folder.there())
            .map_err(|error| Failure::write(path, &error))?;
        Ok(folder)
    }

    /// A file beside where the results are going to be, for what is too long to be kept in memory. It has no
    /// name: nothing is left of it, however the program ends.
    pub(crate) fn stream(&self) -> Result<File, Failure> {
        tempfile::tempfile_in(self.there()).map_err(|error| Failure::write(&self.shown, &error))
    }

    /// Writes all files and puts the folder in its place. The path of each is `self.file(name)`.
    pub(crate) fn write(&self, files: &[(&str, &[u8])]) -> Result<(), Failure> {
        self.write_with(files, None)
    }

    /// The same, with what was written to a [`stream`](Self::stream).
    pub(crate) fn write_with(
        &self,
        files: &[(&str, &[u8])],
        stream: Option<(&str, &File)>,
    ) -> Result<(), Failure> {
        let mut names = files.iter().map(|(name, _)| name).chain(stream.iter().map(|(name, _)| name));
        debug_assert!(names.all(|name| OURS.contains(name)), "a name that is not ours");
        self.check()?;
        self.write_all(files, stream).map_err(|error| Failure::write(&self.shown, &error))
    }

    /// The path of a file in it, as the user knows the folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.shown.join(name)
    }

    fn write_all(&self, files: &[(&str, &[u8])], stream: Option<(&str, &File)>) -> io::Result<()> {
        let parent = self.parent();
        fs::create_dir_all(parent)?;
        self.clean(parent);
        // Removed by its own when something goes wrong.
        let new = tempfile::Builder::new().prefix(&self.prefix()).tempdir_in(parent)?;
        let content = new.path().join("new");
        fs::create_dir(&content)?;
        for (name, bytes) in files {
            fs::write(content.join(name), bytes)?;
        }
        if let Some((name, mut stream)) = stream {
            stream.rewind()?;
            io::copy(&mut stream, &mut File::create(content.join(name))?)?;
        }
        let old = new.path().join("old");
        if self.target.exists() {
            fs::rename(&self.target, &old)?;
        }
        fs::rename(&content, &self.target).inspect_err(|_| {
            // What was there before is better than nothing.
            let _ = fs::rename(&old, &self.target);
        })
    }

    /// Refuses a place that holds anything but results of ours.
    fn check(&self) -> Result<(), Failure> {
        let Ok(kind) = fs::metadata(&self.target) else { return Ok(()) };
        if !kind.is_dir() {
            return Err(self.refuse("it is a file, not a directory"));
        }
        let here = std::env::current_dir().and_then(fs::canonicalize);
        if here.is_ok_and(|here| here.starts_with(&self.target)) {
            return Err(self.refuse("it is the directory you are in, or above it"));
        }
        let entries = fs::read_dir(&self.target).map_err(|error| Failure::write(&self.shown, &error))?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        if let Some(name) = names.iter().find(|name| !OURS.contains(&name.as_str())) {
            return Err(self.refuse(&format!("it holds `{name}`, which is no result of tandem")));
        }
        if !names.is_empty() && !names.iter().any(|name| name == MARKER) {
            return Err(self.refuse(&format!("it holds no {MARKER}, so it is no directory of results")));
        }
        Ok(())
    }

    fn refuse(&self, why: &str) -> Failure {
        Failure::Other {
            message: format!("will not replace {}: {why}", self.shown.display()),
            hint: "name another directory with `--out DIR`, or remove this one".to_owned(),
        }
    }

    /// Removes what killed runs left for the same folder.
    fn clean(&self, parent: &Path) {
        let prefix = self.prefix();
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let old = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            let ours = entry.file_name().to_string_lossy().starts_with(&prefix);
            // With `new` in its place, an `old` in there is all there is of the results before.
            let holds_results = entry.path().join("old").exists() && !self.target.exists();
            if ours && !holds_results && old.is_some_and(|age| age > LEFT_OVER) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Removes everything in `parent` that a run which was killed has left half-written, and says how much
    /// there was. What a run of this moment writes is left alone, as is the only copy of older results.
    pub(crate) fn remove_unfinished(parent: &Path) -> Result<u32, Failure> {
        let mut removed = 0;
        let entries = match fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Failure::write(parent, &error)),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = name.starts_with(".tandem-probe-") || name.contains(PART);
            let old = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if ours && old.is_some_and(|age| age > WRITING) && !entry.path().join("old").exists() {
                fs::remove_dir_all(entry.path()).map_err(|error| Failure::write(&entry.path(), &error))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn prefix(&self) -> String {
        let name = self.target.file_name().map(|name| name.to_string_lossy().into_owned());
        format!(".{}{PART}", name.unwrap_or_default())
    }

    /// What exists already of the way to its place.
    fn there(&self) -> &Path {
        let mut there = self.parent();
        while !there.exists() {
            let Some(above) = there.parent() else { break };
            there = above;
        }
        there
    }

    fn parent(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }
}
