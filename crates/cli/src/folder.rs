//! Folders of results, written as a whole or not at all.
//!
//! Files are written to a hidden folder, which is renamed at the end. A killed program leaves at
//! most the hidden folder, which the next run removes. Earlier results of other settings are
//! renamed, not replaced.

use crate::failure::{Failure, reason};
use crate::hidden_folder::{HiddenFolder, PROBE_PREFIX, lock, remove_abandoned};
use crate::output::Terminal;
use crate::provenance::{Earlier, Provenance};
use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
use scenario::InputFile;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

/// Files that a folder of results may hold. A folder with any other file is not replaced.
const RESULT_FILES: [&str; 9] = [
    "result.json",
    "series.csv",
    "runs.csv",
    "report.html",
    "capture.pcapng",
    "session.json",
    "sessions.jsonl",
    "p1203.json",
    "map.toml",
];

/// The file that every folder of results has.
const MARKER: &str = "result.json";

/// Number of hexadecimal digits that name kept results without an id.
const KEPT_DIGITS: usize = 12;

/// Written results.
#[derive(Debug)]
#[must_use]
pub(crate) struct Written {
    report: PathBuf,
    /// Fate of earlier results in the same folder; empty if the new ones replaced equal ones.
    earlier: String,
}

impl Written {
    /// Names the report, and the fate of earlier results, on stderr.
    pub(crate) fn announce(&self, terminal: Terminal) {
        terminal.note(&format!("\nreport: {}", self.report.display()));
        if !self.earlier.is_empty() {
            terminal.note(&self.earlier);
        }
    }
}

/// The folder of results of a run.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Path as given.
    shown: PathBuf,
    /// Absolute path; links are resolved if it exists.
    target: PathBuf,
    /// Provenance of the new results; without one they replace any earlier results.
    made_by: Option<Provenance>,
    /// The new results are incomplete; complete ones of the same settings are kept.
    incomplete: bool,
}

impl Folder {
    /// Checks before a run that results can be written to `path`. Creates nothing.
    pub(crate) fn plan(path: &Path) -> Result<Self, Failure> {
        let target = fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .map_err(|error| Failure::write(path, &error))?;
        let folder = Self { shown: path.to_owned(), target, made_by: None, incomplete: false };
        folder.check()?;
        // A probe shows whether the parent folder is writable.
        tempfile::Builder::new()
            .prefix(PROBE_PREFIX)
            .tempdir_in(folder.existing_ancestor())
            .map_err(|error| Failure::write(path, &error))?;
        Ok(folder)
    }

    /// Keeps earlier results of other settings when the results of `made_by` are written.
    pub(crate) fn made_by(self, made_by: &Provenance) -> Self {
        Self { made_by: Some(made_by.clone()), ..self }
    }

    /// Marks the new results as incomplete.
    pub(crate) fn incomplete(self) -> Self {
        Self { incomplete: true, ..self }
    }

    /// Returns an unnamed temporary file on the same file system, for data too large for memory.
    /// The kernel removes it when the program ends.
    pub(crate) fn stream(&self) -> Result<File, Failure> {
        tempfile::tempfile_in(self.existing_ancestor()).map_err(|error| Failure::write(&self.shown, &error))
    }

    /// Writes all files and moves the folder to its place.
    pub(crate) fn write(&self, files: &[(&str, &[u8])]) -> Result<Written, Failure> {
        self.write_with(files, None)
    }

    /// Like [`write`](Self::write), with the content of a [`stream`](Self::stream).
    pub(crate) fn write_with(
        &self,
        files: &[(&str, &[u8])],
        stream: Option<(&str, &File)>,
    ) -> Result<Written, Failure> {
        let mut names = files.iter().map(|(name, _)| name).chain(stream.iter().map(|(name, _)| name));
        debug_assert!(
            names.all(|name| RESULT_FILES.contains(name)),
            "a file that is not listed in RESULT_FILES"
        );
        let content =
            self.write_hidden(files, stream).map_err(|error| Failure::write(&self.shown, &error))?;
        // Another run that ends now must not replace results between their check and their renaming.
        let _lock = lock(self.parent());
        let (kept, earlier) = self.earlier();
        match self.check().map_err(|failure| failure.to_text()).and_then(|()| {
            self.put_in_place(&content, kept.as_deref())
                .map_err(|error| format!("cannot replace {}: {}", self.shown.display(), reason(&error)))
        }) {
            Ok(()) => Ok(Written { report: self.file("report.html"), earlier }),
            Err(why) => Err(self.put_aside(content, &why)),
        }
    }

    /// Puts results that cannot have their place beside it, so that they are not lost.
    fn put_aside(&self, content: HiddenFolder, why: &str) -> Failure {
        let name = self.target.file_name().map(|name| name.to_string_lossy().into_owned());
        let base = format!("{}-new", name.unwrap_or_default());
        let numbered = (2_u32..).map(|n| format!("{base}-{n}"));
        let is_free = |name: &String| fs::symlink_metadata(self.parent().join(name)).is_err();
        let free = core::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base);
        let place = self.parent().join(&free);
        let place = match fs::rename(content.content(), &place) {
            Ok(()) => place,
            Err(_) => content.keep(),
        };
        Failure::Other {
            message: format!("{why}; the results are in {}", place.display()),
            hint: "`--out DIR` chooses another directory".to_owned(),
        }
    }

    /// Name under which earlier results are kept, if they are, and a note on their fate.
    fn earlier(&self) -> (Option<String>, String) {
        let Some(made_by) = &self.made_by else { return (None, String::new()) };
        let Ok(bytes) = fs::read(self.target.join(MARKER)) else { return (None, String::new()) };
        let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let relation = made_by.compare(&result["made_by"]);
        let was_complete = result["complete"] != Value::Bool(false);
        match relation {
            Earlier::Same if !(self.incomplete && was_complete) => (None, String::new()),
            Earlier::Edited if !made_by.keeps_edited() => {
                (None, "replaced earlier results: an input file has changed since".to_owned())
            }
            _ => {
                let id = result["made_by"]["id"].as_str().map(str::to_owned);
                let id = id.unwrap_or_else(|| InputFile::new("", &bytes).sha256[..KEPT_DIGITS].to_owned());
                let kept = self.kept_name(&id, result["complete"] != Value::Bool(false));
                let which = match relation {
                    Earlier::Same => "complete earlier results",
                    Earlier::Edited => "earlier results of other input files",
                    Earlier::Other => "earlier results of other settings",
                };
                // Beside the directory itself, which is elsewhere if the given path is a link.
                let is_link = fs::symlink_metadata(&self.shown).is_ok_and(|meta| meta.is_symlink());
                let place =
                    if is_link { self.parent().join(&kept) } else { self.shown.with_file_name(&kept) };
                let note = format!("{which} are kept: {}", place.display());
                (Some(kept), note)
            }
        }
    }

    /// A free name for results with this id. Results of the same id may be replaced, except complete
    /// ones by incomplete ones.
    fn kept_name(&self, id: &str, are_complete: bool) -> String {
        let name = self.target.file_name().map(|name| name.to_string_lossy().into_owned());
        let base = format!("{}-{id}", name.unwrap_or_default());
        let is_free = |name: &String| {
            let target = self.parent().join(name);
            let Ok(bytes) = fs::read(target.join(MARKER)) else { return !target.exists() };
            let result: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let other = Self { shown: target.clone(), target, made_by: None, incomplete: false };
            let may_replace = are_complete || result["complete"] == Value::Bool(false);
            result["made_by"]["id"] == *id && may_replace && other.check().is_ok()
        };
        let numbered = (2_u32..).map(|n| format!("{base}-{n}"));
        core::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
    }

    /// Path of a result file, relative as the folder was given.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.shown.join(name)
    }

    /// Writes all files to a hidden folder beside the final one.
    fn write_hidden(
        &self,
        files: &[(&str, &[u8])],
        stream: Option<(&str, &File)>,
    ) -> io::Result<HiddenFolder> {
        let parent = self.parent();
        fs::create_dir_all(parent)?;
        let name = self.target.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        remove_abandoned(parent, &name);
        // Removed automatically on errors.
        let new = HiddenFolder::create(parent, &name)?;
        for (name, bytes) in files {
            fs::write(new.content().join(name), bytes)?;
        }
        if let Some((name, mut stream)) = stream {
            stream.rewind()?;
            io::copy(&mut stream, &mut File::create(new.content().join(name))?)?;
        }
        Ok(new)
    }

    /// Renames earlier results to `kept`, or drops them, and moves the new ones to their place.
    fn put_in_place(&self, new: &HiddenFolder, kept: Option<&str>) -> io::Result<()> {
        let old = match kept {
            Some(name) => self.parent().join(name),
            None => new.old(),
        };
        if kept.is_some() && old.exists() {
            fs::rename(&old, new.old())?;
        }
        if self.target.exists() {
            fs::rename(&self.target, &old)?;
        }
        fs::rename(new.content(), &self.target).inspect_err(|_| {
            // Restore the earlier results.
            let _ = fs::rename(&old, &self.target);
        })
    }

    /// Refuses a folder that holds anything but results.
    fn check(&self) -> Result<(), Failure> {
        if self.target.file_name().is_none() {
            return Err(self.refuse("it has no name of its own"));
        }
        if let Some(link) = self.dangling_link() {
            let why = format!("{} is a symbolic link to a directory that does not exist", link.display());
            return Err(self.refuse(&why));
        }
        let Ok(kind) = fs::metadata(&self.target) else { return Ok(()) };
        if !kind.is_dir() {
            return Err(self.refuse("it is a file, not a directory"));
        }
        if is_mount_point(&self.target) {
            return Err(self.refuse("it is a mount point; a directory below it can be replaced"));
        }
        let here = std::env::current_dir().and_then(fs::canonicalize);
        if here.is_ok_and(|here| here.starts_with(&self.target)) {
            return Err(self.refuse("it is the directory you are in, or above it"));
        }
        let entries = fs::read_dir(&self.target).map_err(|error| Failure::write(&self.shown, &error))?;
        let mut names: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        if let Some(name) = names.iter().find(|name| !RESULT_FILES.contains(&name.as_str())) {
            return Err(self.refuse(&format!("it holds `{name}`, which is not a result file of tandem")));
        }
        if !names.is_empty() && !names.iter().any(|name| name == MARKER) {
            return Err(self.refuse(&format!("it holds no {MARKER}, so it is not a directory of results")));
        }
        Ok(())
    }

    fn refuse(&self, why: &str) -> Failure {
        Failure::Other {
            message: format!("will not replace {}: {why}", self.shown.display()),
            hint: "name a new directory with `--out DIR`, or one that holds results of tandem only"
                .to_owned(),
        }
    }

    /// The path or the ancestor of it that is a symbolic link to nothing.
    fn dangling_link(&self) -> Option<&Path> {
        let is_dangling =
            |path: &&Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) && !path.exists();
        self.target.ancestors().find(is_dangling)
    }

    /// The closest existing ancestor of the folder.
    fn existing_ancestor(&self) -> &Path {
        let mut ancestor = self.parent();
        while !ancestor.exists() {
            let Some(parent) = ancestor.parent() else { break };
            ancestor = parent;
        }
        ancestor
    }

    fn parent(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }
}

/// True if a file system is mounted at the directory, which then cannot be renamed.
fn is_mount_point(path: &Path) -> bool {
    let statx = rustix::fs::statx(rustix::fs::CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS);
    statx.is_ok_and(|meta| meta.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeSet;
    use std::sync::Barrier;
    use std::thread;

    #[test]
    fn runs_that_end_at_once_lose_no_results() {
        const RUNS: u64 = 4;
        for _ in 0..50 {
            let place = tempfile::tempdir().unwrap();
            let target = place.path().join("out");
            let start = Barrier::new(RUNS as usize);
            let write = &|seed: u64| {
                let made_by = Provenance::new("run").option("--seed", [seed]);
                let folder = Folder::plan(&target).unwrap().made_by(&made_by);
                let result = json!({"made_by": made_by.to_json()}).to_string();
                start.wait();
                folder.write(&[(MARKER, result.as_bytes())]).map(|_| ()).map_err(|failure| failure.to_text())
            };
            thread::scope(|scope| {
                let threads: Vec<_> = (0..RUNS).map(|seed| scope.spawn(move || write(seed))).collect();
                for thread in threads {
                    thread.join().unwrap().unwrap();
                }
            });
            let settings = |entry: fs::DirEntry| {
                let result = fs::read(entry.path().join(MARKER)).unwrap();
                serde_json::from_slice::<Value>(&result).unwrap()["made_by"]["settings"].to_string()
            };
            let entries = fs::read_dir(place.path()).unwrap();
            let kept: BTreeSet<String> = entries.map(|entry| settings(entry.unwrap())).collect();
            assert_eq!(kept.len(), RUNS as usize, "{kept:?}");
        }
    }
}
