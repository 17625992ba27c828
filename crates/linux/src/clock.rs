//! Real time as the sans-IO machines want it: nanoseconds since a start.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::Instant;

/// The monotonic clock, counted from its start. Copies count from the same start, in every thread.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Self {
        Self { start: nanos(clock_gettime(ClockId::Monotonic)) }
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(nanos(clock_gettime(ClockId::Monotonic)).saturating_sub(self.start))
    }

    /// Lets the calling thread sleep until then; at once back where that has passed.
    pub fn sleep_until(&self, at: Instant) {
        let nanos = self.start + at.as_nanos();
        let at = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
        // A signal only wakes it early.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
    }

    /// How long it is until `at`, as a system call wants it; zero where that has passed.
    pub fn until(&self, at: Instant) -> Timespec {
        let left = at.as_nanos().saturating_sub(self.now().as_nanos());
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ }
    }
}

/// How long this machine has been suspended since it booted: what CLOCK_BOOTTIME counts and CLOCK_MONOTONIC
/// does not.
pub fn suspended() -> units::Duration {
    let (boot, running) = (clock_gettime(ClockId::Boottime), clock_gettime(ClockId::Monotonic));
    // Read one after the other, in this order: never less than nothing by much.
    units::Duration::from_nanos(nanos(boot).saturating_sub(nanos(running)))
}

/// Seconds since 1970, as the system's clock has it: wrong until somebody sets it.
pub fn unix_seconds() -> i64 {
    clock_gettime(ClockId::Realtime).tv_sec
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets the kernel wake this thread to the microsecond: without it a sleep may last 50 us longer.
pub fn use_precise_timers() {
    // A kernel without it only wakes later.
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

/// Lets the calling thread come before all that are not realtime themselves; false where the system does
/// not allow it (CAP_SYS_NICE), and then it runs as others do.
pub fn request_realtime_priority() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is the calling thread, and the structure lives until the call is over.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    answer == 0
}

/// The running kernel's release, such as `6.18.0`.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
