//! What a host is set to: Multipath TCP's endpoints and limits, and the settings under `/proc/sys/net`.

use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::{Error, sysctl};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a host is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The endpoints of the kernel's path manager, by identifier.
    pub endpoints: Vec<Endpoint>,
    /// Its limits.
    pub limits: Limits,
    /// `net.mptcp` and `net.ipv4` with what is below them, all that can be read, by name.
    pub sysctls: BTreeMap<String, String>,
}

impl Settings {
    pub(crate) fn of(host: &Namespace) -> Result<Self, Error> {
        host.run(|| {
            let mut manager = PathManager::open()?;
            let mut endpoints = manager.endpoints()?;
            endpoints.sort_by_key(|endpoint| endpoint.id);
            let mut sysctls = BTreeMap::new();
            for folder in ["mptcp", "ipv4"] {
                list(&Path::new("/proc/sys/net").join(folder), &format!("net.{folder}"), &mut sysctls);
            }
            Ok(Self { endpoints, limits: manager.limits()?, sysctls })
        })
    }
}

/// Some settings can only be written: those have nothing to tell.
fn list(folder: &Path, name: &str, sysctls: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{name}.{}", entry.file_name().display());
        if entry.path().is_dir() {
            list(&entry.path(), &name, sysctls);
        } else if let Ok(value) = sysctl::read(&name) {
            sysctls.insert(name, value);
        }
    }
}
