//! Division of the file descriptors of the process (RLIMIT_NOFILE) among its uses.
//!
//! Connections get what listeners, lookups and parallel connection attempts leave.

use crate::config::Limits;
use crate::{Config, Error, parallel};

/// Descriptors of a client connection and its server connection.
const PER_CONNECTION: u64 = 2;
/// Descriptors of a name lookup: a socket for each address family, and retries over TCP.
const PER_LOOKUP: u64 = 4;
/// Connection attempts of all connections together beside the first of each.
const MAX_PARALLEL_ATTEMPTS: u64 = parallel::MAX_PARALLEL_ATTEMPTS as u64;
/// Spare descriptors: clients of the status socket, log files at a reload, sockets to the agent.
const SPARE: u64 = 16;
/// Share of each of lookups and parallel attempts, where the limit is low.
const SHARE: u64 = 32;

/// Descriptors that `config` needs for all its limits.
pub fn needed(config: &Config) -> u64 {
    let Limits { connections, lookups, .. } = config.limits;
    let fixed = 64 + 2 * workers(config);
    fixed + PER_CONNECTION * connections as u64 + PER_LOOKUP * lookups as u64 + MAX_PARALLEL_ATTEMPTS
}

/// Limits that the descriptors of this process allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Limit of the process.
    pub(crate) limit: u64,
    /// Concurrent attempts beside the first of each connection.
    pub(crate) parallel: usize,
    /// Descriptors left for lookups and connections.
    rest: u64,
}

impl Descriptors {
    /// Divides `limit` descriptors, of which `open` are in use by the process.
    pub(crate) fn divide(config: &Config, limit: u64, open: u64) -> Self {
        let share = limit / SHARE;
        let parallel = share.clamp(1, MAX_PARALLEL_ATTEMPTS);
        let fixed = open + SPARE + 2 * workers(config) + parallel;
        Self { limit, parallel: parallel as usize, rest: limit.saturating_sub(fixed) }
    }

    /// Divides the descriptors of this process.
    ///
    /// # Errors
    /// They do not suffice for one connection.
    pub(crate) fn of_process(config: &Config) -> Result<Self, Error> {
        let limit = linux::process::open_file_limit();
        // Without procfs: the usual number of a proxy with one listener.
        let open = std::fs::read_dir("/proc/self/fd").map_or(24, |files| files.count() as u64);
        let all = Self::divide(config, limit, open);
        if all.connections(config) > 0 {
            return Ok(all);
        }
        let serves = |limit: &u64| Self::divide(config, *limit, open).connections(config) > 0;
        let most = limit + open + needed(config);
        Err(Error::FewFiles { limit, needed: (limit..most).find(serves).unwrap_or(most) })
    }

    /// Concurrent lookups.
    pub(crate) fn lookups(&self, config: &Config) -> usize {
        (self.limit / SHARE).clamp(1, (config.limits.lookups as u64).max(1)) as usize
    }

    /// Concurrent client connections.
    pub(crate) fn connections(&self, config: &Config) -> u64 {
        let for_connections = self.rest.saturating_sub(PER_LOOKUP * self.lookups(config) as u64);
        (config.limits.connections as u64).min(for_connections / PER_CONNECTION)
    }
}

/// Worker threads; each has a pipe of two descriptors.
fn workers(config: &Config) -> u64 {
    let default = || std::thread::available_parallelism().map_or(1, Into::into);
    config.workers.unwrap_or_else(default) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_suffice_for_every_use_at_once() {
        let config = Config { workers: Some(2), ..Config::default() };
        for limit in [64, 100, 256, 1024, 4096, 30_000, 1 << 20] {
            let all = Descriptors::divide(&config, limit, 14);
            let used = 14
                + 2 * 2
                + PER_CONNECTION * all.connections(&config)
                + PER_LOOKUP * all.lookups(&config) as u64
                + all.parallel as u64;
            assert!(used + SPARE <= limit, "{limit}: {all:?}");
            assert!(
                all.connections(&config) > 0 && all.parallel > 0 && all.lookups(&config) > 0,
                "{limit}: {all:?}"
            );
        }
        let all = Descriptors::divide(&config, needed(&config), 14);
        assert_eq!(all.connections(&config), config.limits.connections as u64);
        assert_eq!(all.lookups(&config), config.limits.lookups);
        assert_eq!(Descriptors::divide(&config, 32, 14).connections(&config), 0);
    }
}
