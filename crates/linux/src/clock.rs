//! Monotonic time since a start instant, as the sans-IO state machines take it.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use units::Instant;

/// CLOCK_MONOTONIC relative to a start instant. Copies share the start, also across threads.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// Starts a clock at zero.
    pub fn start() -> Self {
        Self { start: to_nanos(clock_gettime(ClockId::Monotonic)) }
    }

    /// Time elapsed since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(to_nanos(clock_gettime(ClockId::Monotonic)).saturating_sub(self.start))
    }

    /// Sleeps the calling thread until `at`; returns at once when `at` has passed.
    pub fn sleep_until(&self, at: Instant) {
        let nanos = self.start + at.as_nanos();
        let at = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ };
        // A signal ends the sleep early; callers tolerate that.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
    }

    /// Time left until `at` as a `timespec`; zero when `at` has passed.
    pub fn until(&self, at: Instant) -> Timespec {
        let left = at.as_nanos().saturating_sub(self.now().as_nanos());
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ }
    }
}

/// Total time this machine has been suspended since boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC.
pub fn suspended() -> units::Duration {
    let (boot, running) = (clock_gettime(ClockId::Boottime), clock_gettime(ClockId::Monotonic));
    // CLOCK_BOOTTIME is read first, so the difference is never too large.
    units::Duration::from_nanos(to_nanos(boot).saturating_sub(to_nanos(running)))
}

/// Seconds since boot, including suspensions (CLOCK_BOOTTIME). Unlike the wall clock it never jumps.
pub fn uptime_seconds() -> i64 {
    clock_gettime(ClockId::Boottime).tv_sec
}

/// Wall-clock time in seconds since 1970. Arbitrary until the system clock is set.
pub fn unix_seconds() -> i64 {
    clock_gettime(ClockId::Realtime).tv_sec
}

fn to_nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sets the timer slack of the calling thread to 1 ns. The default lets a sleep last 50 us longer.
pub fn use_precise_timers() {
    // On failure timers stay coarser; nothing else changes.
    let _ = rustix::thread::set_current_timer_slack(core::num::NonZeroU64::new(1));
}

/// Requests SCHED_FIFO for the calling thread, so that it preempts all ordinary threads. A thread
/// with a real-time class, as under chrt(1), keeps its own. Returns false without CAP_SYS_NICE; the
/// thread then keeps its scheduling class.
pub fn request_realtime_priority() -> bool {
    // SAFETY: the call has no effect, and pid 0 is the calling thread.
    #[allow(unsafe_code)]
    let class = unsafe { libc::sched_getscheduler(0) };
    if matches!(class, libc::SCHED_FIFO | libc::SCHED_RR) {
        return true;
    }
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: pid 0 is the calling thread, and `parameters` outlives the call.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    answer == 0
}

/// Release of the running kernel, such as `6.18.0`.
pub fn kernel_release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
