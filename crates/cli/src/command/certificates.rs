//! Watch over the certificates of a daemon.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use tracing::info;

/// Certificates and keys of a daemon, to reload them when they are renewed.
pub(in crate::command) struct Certificates {
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
    next_look: Instant,
}

/// Inode, size and time of modification of a file.
type Stamp = (u64, u64, SystemTime);

impl Certificates {
    const INTERVAL: Duration = Duration::from_secs(5);

    pub(in crate::command) fn of(files: Vec<PathBuf>) -> Self {
        let seen = Self::stamps(&files);
        Self { files, seen, next_look: Instant::now() + Self::INTERVAL }
    }

    fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
        let stamp = |file: &PathBuf| {
            let file = fs::metadata(file).ok()?;
            Some((file.ino(), file.len(), file.modified().ok()?))
        };
        files.iter().map(stamp).collect()
    }

    /// Whether a file is another one than before. A file that is missing may be about to be renamed.
    pub(in crate::command) fn have_changed(&mut self) -> bool {
        if self.files.is_empty() || Instant::now() < self.next_look {
            return false;
        }
        self.next_look = Instant::now() + Self::INTERVAL;
        let now = Self::stamps(&self.files);
        let changed = now.iter().all(Option::is_some) && now != self.seen;
        if changed {
            info!("a certificate or key has changed");
            self.seen = now;
        }
        changed
    }
}
