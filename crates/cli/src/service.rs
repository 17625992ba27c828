//! Shared parts of the daemons `tandem agent`, `gateway`, `proxy` and `serve`.

use sd_notify::NotifyState;
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The directory in an environment variable of systemd, or its default. The first of several
/// counts.
pub(crate) fn directory(variable: &str, default: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    let first = value.and_then(|value| Some(PathBuf::from(value.to_str()?.split(':').next()?)));
    first.unwrap_or_else(|| PathBuf::from(default))
}

/// systemd as the service manager (sd_notify(3)). Without it, all reports do nothing.
#[derive(Debug)]
pub(crate) struct ServiceManager {
    /// Interval of the reports that the watchdog expects; `None` without one.
    interval: Option<Duration>,
    last: Cell<Instant>,
}

impl ServiceManager {
    pub(crate) fn new() -> Self {
        // Half of the timeout, as sd_watchdog_enabled(3) recommends.
        let interval = sd_notify::watchdog_enabled().map(|timeout| timeout / 2);
        Self { interval, last: Cell::new(Instant::now()) }
    }

    /// Reports that the daemon serves: `Type=notify` starts dependent units now.
    pub(crate) fn ready() {
        notify(&[NotifyState::Ready]);
    }

    /// Reports that the daemon reads its configuration again; [`Self::ready`] ends this.
    pub(crate) fn reloading() {
        let mut state = vec![NotifyState::Reloading];
        state.extend(NotifyState::monotonic_usec_now());
        notify(&state);
    }

    /// Reports that the daemon works. To be called often: the watchdog restarts a silent daemon.
    pub(crate) fn alive(&self) {
        if self.is_due() {
            self.last.set(Instant::now());
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// Whether the next report to the watchdog is due.
    pub(crate) fn is_due(&self) -> bool {
        self.interval.is_some_and(|interval| self.last.get().elapsed() >= interval / 2)
    }

    /// Reports that the daemon ends.
    pub(crate) fn stopping() {
        notify(&[NotifyState::Stopping]);
    }

    /// Reports that the daemon ends within a time that may exceed the `TimeoutStopSec` of its unit.
    pub(crate) fn stopping_within(time: Duration) {
        let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        notify(&[NotifyState::Stopping, NotifyState::ExtendTimeoutUsec(micros)]);
    }
}

fn notify(state: &[NotifyState<'_>]) {
    // A manager that cannot be reached notices by its own timeouts.
    _ = sd_notify::notify(state);
}
