//! Settings of a host: MPTCP endpoints and limits, and values under `/proc/sys/net`.

use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::{Error, sysctl};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Settings of a host at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Endpoints of the kernel's path manager, by address ID.
    pub endpoints: Vec<Endpoint>,
    /// Limits of the path manager.
    pub limits: Limits,
    /// All readable values of `net.mptcp` and `net.ipv4`, by name.
    pub sysctls: BTreeMap<String, String>,
}

impl Settings {
    /// Reads the settings of `host`.
    pub(crate) fn read(host: &Namespace) -> Result<Self, Error> {
        host.run(|| {
            let mut manager = PathManager::open()?;
            let mut endpoints = manager.endpoints()?;
            endpoints.sort_by_key(|endpoint| endpoint.id);
            let mut sysctls = BTreeMap::new();
            for folder in ["mptcp", "ipv4"] {
                let path = Path::new("/proc/sys/net").join(folder);
                collect_sysctls(&path, &format!("net.{folder}"), &mut sysctls);
            }
            Ok(Self { endpoints, limits: manager.limits()?, sysctls })
        })
    }
}

/// Adds all values below `folder` to `sysctls`. Skips write-only values.
fn collect_sysctls(folder: &Path, name: &str, sysctls: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{name}.{}", entry.file_name().display());
        if entry.path().is_dir() {
            collect_sysctls(&entry.path(), &name, sysctls);
        } else if let Ok(value) = sysctl::read(&name) {
            sysctls.insert(name, value);
        }
    }
}
