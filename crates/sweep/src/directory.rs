//! The directory of a sweep: its description, the parts that are finished, and the dataset.
//!
//! Every file appears as a whole: it is written under a temporary name and renamed. The name of a
//! part says which runs it holds, so that a killed sweep goes on without reading them. A lock
//! (flock(2)) keeps a second process out.

use crate::dataset::merge_into;
use crate::{Part, PartSource, Spec, Sweep, SweepError};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The description of the sweep.
pub(crate) const SPEC_FILE: &str = "sweep.json";
/// The dataset.
const DATASET: &str = "sweep.parquet";
/// Directory of the parts.
const PARTS: &str = "parts";
/// Beginning of the name of a file that is being written.
const TEMPORARY: &str = ".writing-";

/// An open directory of a sweep.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// The open directory, which holds the lock.
    _lock: File,
}

impl Directory {
    /// Checks that a sweep can be kept in `path`, without creating anything.
    ///
    /// # Errors
    /// A file, a directory with other content, or with another sweep.
    pub fn check(path: &Path, sweep: &Sweep) -> Result<(), SweepError> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let message = format!("{} is a file, not a directory", path.display());
                return Err(SweepError::invalid(message, "name a new or empty directory"));
            }
            Err(error) => return Err(SweepError::read(path)(error)),
        };
        let manifest = path.join(SPEC_FILE);
        match fs::read_to_string(&manifest) {
            Ok(json) => check_same(path, &Spec::from_json(&json)?, sweep.spec()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut names =
                    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
                match names.find(|name| !name.starts_with(TEMPORARY)) {
                    None => Ok(()),
                    // Another process has written it since.
                    Some(_) if manifest.exists() => Self::check(path, sweep),
                    Some(name) => Err(SweepError::invalid(
                        format!(
                            "{} holds `{name}` but no {SPEC_FILE}, so it is not a directory of a sweep",
                            path.display()
                        ),
                        "name a new or empty directory",
                    )),
                }
            }
            Err(error) => Err(SweepError::read(&manifest)(error)),
        }
    }

    /// Opens the directory of a sweep for this process alone, and creates it if there is none.
    ///
    /// # Errors
    /// As [`check`](Self::check); also a directory that another process uses or that cannot be
    /// written.
    pub fn open(path: &Path, sweep: &Sweep) -> Result<Self, SweepError> {
        let directory = Self::locked(path, sweep, FlockOperation::NonBlockingLockExclusive)?;
        directory.remove_temporary_files();
        Ok(directory)
    }

    /// Opens the directory beside other processes, each of which runs a
    /// [shard](Sweep::shard).
    ///
    /// # Errors
    /// As [`open`](Self::open); another process may only use it in this way.
    pub fn open_for_shard(path: &Path, sweep: &Sweep) -> Result<Self, SweepError> {
        Self::locked(path, sweep, FlockOperation::NonBlockingLockShared)
    }

    fn locked(path: &Path, sweep: &Sweep, operation: FlockOperation) -> Result<Self, SweepError> {
        Self::check(path, sweep)?;
        fs::create_dir_all(path).map_err(SweepError::write(path))?;
        let lock = File::open(path).map_err(SweepError::read(path))?;
        // A file system without locks is no obstacle.
        if flock(&lock, operation) == Err(rustix::io::Errno::WOULDBLOCK) {
            return Err(SweepError::invalid(
                format!("another process runs the sweep in {}", path.display()),
                "wait until it ends, or name another directory",
            ));
        }
        let directory = Self { path: path.to_owned(), _lock: lock };
        directory.write_spec(sweep)?;
        // Another process may have begun another sweep since the first check.
        Self::check(path, sweep)?;
        // Only now, because a directory with parts and no description is not that of a sweep.
        let parts = path.join(PARTS);
        fs::create_dir_all(&parts).map_err(SweepError::write(&parts))?;
        Ok(directory)
    }

    /// The dataset, `sweep.parquet`.
    pub fn dataset(&self) -> PathBuf {
        self.path.join(DATASET)
    }

    /// The runs of `wanted` that are still to do, as ranges in ascending order.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn unfinished(&self, wanted: Range<u64>) -> Result<Vec<Range<u64>>, SweepError> {
        if self.dataset().exists() {
            return Ok(Vec::new());
        }
        let finished: Vec<Range<u64>> = self.parts()?.into_iter().map(|(runs, _)| runs).collect();
        Ok(gaps(&finished, wanted))
    }

    /// Keeps a part. A part without runs is left out.
    ///
    /// # Errors
    /// Runs without rows, or the file cannot be written; then there is none.
    pub fn write_part(&self, part: &Part) -> Result<(), SweepError> {
        if part.runs.is_empty() {
            return Ok(());
        }
        if part.bytes.is_empty() {
            let message = format!("a part without rows for the runs {:?}", part.runs);
            return Err(SweepError::invalid(message, "run them again"));
        }
        self.write(&format!("{PARTS}/{}", part_name(&part.runs)), &part.bytes)
    }

    /// Merges the parts to the dataset, and removes them.
    ///
    /// # Errors
    /// A run is in no part, or a file cannot be read or written.
    pub fn finish(&self, sweep: &Sweep) -> Result<(), SweepError> {
        if !self.dataset().exists() {
            let parts: Vec<PartSource> =
                self.parts()?.into_iter().map(|(_, path)| PartSource::File(path)).collect();
            let target = self.dataset();
            let mut file = self.temporary()?;
            merge_into(sweep, &parts, file.as_file_mut(), &target)?;
            put(file, &target)?;
        }
        let parts = self.path.join(PARTS);
        match fs::remove_dir_all(&parts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SweepError::write(&parts)(error)),
            _ => Ok(()),
        }
    }

    /// Writes a file of the directory as a whole.
    ///
    /// # Errors
    /// The file cannot be written; an earlier one stays.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), SweepError> {
        let target = self.path.join(name);
        let mut file = self.temporary()?;
        file.write_all(content).map_err(SweepError::write(&target))?;
        put(file, &target)
    }

    /// Writes the description of the sweep, unless there is one.
    fn write_spec(&self, sweep: &Sweep) -> Result<(), SweepError> {
        let target = self.path.join(SPEC_FILE);
        if target.exists() {
            return Ok(());
        }
        let json: serde_json::Value = serde_json::to_value(sweep.spec()).unwrap_or_default();
        let mut file = self.temporary()?;
        file.write_all(format!("{json:#}\n").as_bytes()).map_err(SweepError::write(&target))?;
        make_complete(&file).map_err(SweepError::write(&target))?;
        match file.persist_noclobber(&target) {
            // The process of another shard was faster.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Some file systems cannot rename without replacing.
            Err(error) if !target.exists() => put(error.file, &target),
            Err(error) => Err(SweepError::write(&target)(error.error)),
            Ok(_) => Ok(()),
        }
    }

    /// The finished parts with their runs, in ascending order.
    fn parts(&self) -> Result<Vec<(Range<u64>, PathBuf)>, SweepError> {
        let folder = self.path.join(PARTS);
        let entries = fs::read_dir(&folder).map_err(SweepError::read(&folder))?;
        let mut parts = Vec::new();
        for entry in entries {
            let path = entry.map_err(SweepError::read(&folder))?.path();
            if let Some(runs) = runs_of(&path) {
                parts.push((runs, path));
            }
        }
        parts.sort_by_key(|(runs, _)| (runs.start, runs.end));
        Ok(parts)
    }

    fn temporary(&self) -> Result<tempfile::NamedTempFile, SweepError> {
        tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempfile_in(&self.path)
            .map_err(SweepError::write(&self.path))
    }

    /// Removes files that killed processes left.
    fn remove_temporary_files(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Moves a complete file to its place.
fn put(file: tempfile::NamedTempFile, target: &Path) -> Result<(), SweepError> {
    make_complete(&file).map_err(SweepError::write(target))?;
    file.persist(target).map_err(|error| SweepError::write(target)(error.error))?;
    Ok(())
}

/// Writes a file to disk, and lets everybody read it: a temporary file is its owner's alone.
fn make_complete(file: &tempfile::NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    file.as_file().sync_all()
}

/// Name of the file of a part, `FIRST-LAST.parquet`, in the directory `parts` of a sweep.
pub fn part_name(runs: &Range<u64>) -> String {
    format!("{:012}-{:012}.parquet", runs.start, runs.end.saturating_sub(1))
}

/// The runs of `wanted` that are in no part, as ranges in ascending order. `names` are the names of
/// the parts' files in any order; other files are left out.
pub fn unfinished<'n>(names: impl IntoIterator<Item = &'n str>, wanted: Range<u64>) -> Vec<Range<u64>> {
    let mut finished: Vec<Range<u64>> =
        names.into_iter().filter_map(|name| runs_of(Path::new(name))).collect();
    finished.sort_by_key(|runs| (runs.start, runs.end));
    gaps(&finished, wanted)
}

/// The runs of `wanted` that are in none of the ranges, which ascend.
fn gaps(finished: &[Range<u64>], wanted: Range<u64>) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut next = wanted.start;
    for runs in finished {
        let start = runs.start.min(wanted.end);
        if start > next {
            left.push(next..start);
        }
        next = next.max(runs.end);
    }
    if next < wanted.end {
        left.push(next..wanted.end);
    }
    left
}

/// The runs of a part by its name, `FIRST-LAST.parquet`.
fn runs_of(path: &Path) -> Option<Range<u64>> {
    let name = path.file_name()?.to_str()?.strip_suffix(".parquet")?;
    let (first, last) = name.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    Some(first..last.checked_add(1)?)
}

fn check_same(path: &Path, found: &Spec, wanted: &Spec) -> Result<(), SweepError> {
    if found == wanted {
        return Ok(());
    }
    let differences = wanted.differences(found).join(", ");
    let hint = if found.tandem == wanted.tandem {
        "give the same command as before to go on with it, or name another directory".to_owned()
    } else {
        let (begun_by, this) = (&found.tandem, &wanted.tandem);
        format!(
            "tandem {begun_by} began it, and this is {this}: go on with that one, or name another directory"
        )
    };
    Err(SweepError::invalid(format!("{} holds another sweep: different {differences}", path.display()), hint))
}
