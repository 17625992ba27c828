//! Civil time guarded by monotonic time.
//!
//! A wall clock that jumps is believed only after it has stood by its new time for
//! `CONFIRMATION_S`. Until then time continues from before the jump at the pace of the clock
//! since boot. So a jump ahead and back neither starts a period nor resets one. The time for which
//! it has stood there outlives the boot ([`UnconfirmedJump`]). Two corrections of
//! a clock that was wrong at boot are believed at once: the setting back of a clock that was ahead,
//! within the first hour, and the first setting of a clock that was behind.

use super::EARLIEST_VALID_TIME;
use serde::{Deserialize, Serialize};

/// Difference between wall clock and uptime that counts as drift, in seconds.
const MAX_DRIFT_S: i64 = 60;
/// Time after which a jump of the wall clock is believed, in seconds.
const CONFIRMATION_S: i64 = 3600;

/// Stored form of a jump that is not yet confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnconfirmedJump {
    /// Last time by the wall clock, in seconds since 1970.
    wall: i64,
    /// Uptime for which the clock has stood by it, in seconds.
    stood_s: i64,
}

/// Civil time in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedClock {
    /// Trusted civil time at boot.
    offset: i64,
    /// A jump that is not yet confirmed: civil time at boot by the wall clock, and the uptime at
    /// which it was first seen.
    candidate: Option<(i64, i64)>,
    /// The last believed jump: times before and after.
    jump: Option<(i64, i64)>,
    /// The latest time known at boot, while the wall clock is behind it and so has not been set.
    unset_before: Option<i64>,
}

impl TrustedClock {
    /// Starts from the wall clock at `uptime` seconds after boot. `known` is the latest civil time
    /// known from before, or 0: a wall clock behind it has not been set yet, and is believed at once
    /// when it is. A wall clock ahead of it may be wrong, so it is believed at once if it is set back
    /// within the first hour of the boot.
    pub fn new(wall: i64, uptime: i64, known: i64) -> Self {
        let jump = (known > 0 && known < wall).then_some((known, wall));
        let unset_before = (wall < known).then_some(known);
        Self { offset: wall.max(known).saturating_sub(uptime), candidate: None, jump, unset_before }
    }

    /// Continues a clock of the same boot, which showed `time` at `uptime`.
    pub fn resumed(time: i64, uptime: i64) -> Self {
        Self { offset: time.saturating_sub(uptime), candidate: None, jump: None, unset_before: None }
    }

    /// Continues a jump that was stored at `stored_at` seconds after the same boot.
    pub fn with_jump(mut self, jump: Option<UnconfirmedJump>, stored_at: i64, uptime: i64) -> Self {
        let offset = |jump: UnconfirmedJump| jump.wall.saturating_sub(stored_at);
        self.candidate = jump.map(|jump| (offset(jump), uptime.saturating_sub(jump.stood_s)));
        self
    }

    /// Continues a jump back of an earlier boot, if the wall clock has not been set back since. A
    /// clock without a battery begins each boot with the same time.
    pub fn with_jump_of_earlier_boot(
        mut self,
        jump: Option<UnconfirmedJump>,
        wall: i64,
        uptime: i64,
    ) -> Self {
        let jump = jump.filter(|jump| self.unset_before.is_some() && jump.wall <= wall);
        let offset = wall.saturating_sub(uptime);
        self.candidate = jump.map(|jump| (offset, uptime.saturating_sub(jump.stood_s)));
        self
    }

    /// The jump that is not yet confirmed, to be stored at `uptime`.
    pub fn unconfirmed_jump(&self, uptime: i64) -> Option<UnconfirmedJump> {
        self.candidate.map(|(offset, since)| UnconfirmedJump {
            wall: offset.saturating_add(uptime),
            stood_s: uptime.saturating_sub(since),
        })
    }

    /// Updates the clock and returns the trusted time.
    pub fn update(&mut self, wall: i64, uptime: i64) -> i64 {
        let before = self.time(uptime);
        let offset = wall.saturating_sub(uptime);
        if wall < EARLIEST_VALID_TIME {
            return before;
        }
        // Below the earliest valid time, the clock is set for the first time since boot.
        if before < EARLIEST_VALID_TIME || is_close(offset, self.offset) {
            self.believe(offset);
        } else if self.is_first_setting(wall)
            || self.is_boot_correction(wall, uptime)
            || self.is_confirmed(offset, uptime)
        {
            self.believe(offset);
            self.jump = Some((before, wall));
        }
        self.time(uptime)
    }

    fn believe(&mut self, offset: i64) {
        (self.offset, self.candidate, self.unset_before) = (offset, None, None);
    }

    /// True when a clock that was behind at boot is set.
    fn is_first_setting(&self, wall: i64) -> bool {
        self.unset_before.is_some_and(|known| known <= wall)
    }

    /// True when a clock that was ahead at boot is set back, to a time after the known one.
    fn is_boot_correction(&self, wall: i64, uptime: i64) -> bool {
        let is_after_known = self.jump.is_some_and(|(known, _)| known <= wall);
        uptime < CONFIRMATION_S && is_after_known && wall < self.time(uptime)
    }

    /// True when the wall clock has stood by the same jump for `CONFIRMATION_S`.
    fn is_confirmed(&mut self, offset: i64, uptime: i64) -> bool {
        let (seen, since) = *self.candidate.get_or_insert((offset, uptime));
        if !is_close(seen, offset) {
            self.candidate = Some((offset, uptime));
            return false;
        }
        uptime.saturating_sub(since) >= CONFIRMATION_S
    }

    /// Trusted time at `uptime` seconds after boot.
    pub fn time(&self, uptime: i64) -> i64 {
        self.offset.saturating_add(uptime)
    }

    /// True when the wall clock jumped ahead over `boundary`, instead of reaching it second by
    /// second.
    pub fn has_jumped_over(&self, boundary: i64) -> bool {
        self.jump.is_some_and(|(before, after)| before < boundary && boundary <= after)
    }
}

fn is_close(one: i64, other: i64) -> bool {
    one.abs_diff(other) <= MAX_DRIFT_S as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: i64 = 1_800_000_000;
    const YEAR: i64 = 365 * 86_400;

    #[test]
    fn jump_is_ignored_until_it_lasts_an_hour() {
        for jump in [3600, YEAR, -3600, -YEAR] {
            let mut clock = TrustedClock::new(NOW, 100, 0);
            assert_eq!(clock.update(NOW + 10, 110), NOW + 10);
            assert_eq!(clock.update(NOW + 20 + jump, 120), NOW + 20, "{jump}");
            assert_eq!(clock.update(NOW + 3600 + jump, 3700), NOW + 3600, "{jump}");
            let mut back = clock;
            assert_eq!(back.update(NOW + 3700, 3800), NOW + 3700, "and back");
            assert_eq!(clock.update(NOW + 3700 + jump, 3800), NOW + 3700 + jump, "{jump}, believed");
            assert_eq!(clock.has_jumped_over(NOW + 3800), jump > 100);
        }
    }

    #[test]
    fn unset_clock_is_believed_once_it_is_set() {
        let mut clock = TrustedClock::new(5, 5, 0);
        assert_eq!(clock.update(9, 9), 9);
        assert_eq!(clock.update(NOW, 20), NOW);
        assert_eq!(clock.update(30, 30), NOW + 10, "reset to 1970");
        // At the start of a boot the clock may lie behind the time of the last run.
        let mut clock = TrustedClock::new(NOW - YEAR, 5, NOW);
        assert_eq!(clock.update(NOW - YEAR + 1, 6), NOW + 1);
    }

    #[test]
    fn clock_behind_at_boot_is_believed_at_once_when_it_is_set() {
        for wrong in [5, NOW - YEAR, NOW - 3600] {
            let boot = || TrustedClock::new(wrong, 10, NOW);
            let mut clock = boot();
            assert_eq!(clock.update(wrong + 10, 20), NOW + 10);
            assert_eq!(clock.update(NOW + 8 * 3600, 30), NOW + 8 * 3600, "{wrong}");
            assert!(clock.has_jumped_over(NOW + 3600));
            assert_eq!(clock.update(NOW + 2 * YEAR, 40), NOW + 8 * 3600 + 10, "only once");
            let mut clock = boot();
            assert_eq!(clock.update(NOW - 1000, 20), NOW + 10, "before the known time");
        }
    }

    #[test]
    fn clock_ahead_at_boot_is_set_back_at_once_but_not_before_the_known_time() {
        let boot = || TrustedClock::new(NOW + YEAR, 100, NOW);
        let mut clock = boot();
        assert!(clock.has_jumped_over(NOW + 10));
        assert_eq!(clock.update(NOW - 10, 110), NOW + YEAR + 10, "before the known time");
        assert_eq!(clock.update(NOW + 50, 150), NOW + 50);
        assert_eq!(clock.update(NOW + 20, 3000), NOW + 2900, "only once");
        let mut late = boot();
        assert_eq!(late.update(NOW + 3600, 3700), NOW + YEAR + 3600, "more than an hour after boot");
        let mut first = TrustedClock::new(NOW, 100, 0);
        assert_eq!(first.update(NOW - YEAR, 110), NOW + 10, "no known time");
    }

    #[test]
    fn time_for_which_a_jump_has_stood_outlives_the_boot() {
        // The last boot was a year ahead; two boots of 40 minutes follow.
        let mut first = TrustedClock::new(NOW, 10, NOW + YEAR);
        first.update(NOW + 10, 20);
        first.update(NOW + 2400, 2410);
        let jump = first.unconfirmed_jump(2410);
        let boot = |wall| TrustedClock::new(wall, 10, NOW + YEAR).with_jump_of_earlier_boot(jump, wall, 10);
        let mut second = boot(NOW + 9000);
        assert_eq!(second.update(NOW + 9100, 110), NOW + YEAR + 100);
        assert_eq!(second.update(NOW + 10_300, 1310), NOW + 10_300);
        assert_eq!(second.unconfirmed_jump(1310), None);
        // Without a battery the clock begins anew.
        let mut same = boot(NOW);
        assert_eq!(same.update(NOW + 1300, 1310), NOW + YEAR + 1300);
        // The agent was restarted instead.
        let mut resumed = TrustedClock::resumed(NOW + YEAR, 2410).with_jump(jump, 2410, 9010);
        assert_eq!(resumed.update(NOW + 9100, 9110), NOW + YEAR + 6700);
        assert_eq!(resumed.update(NOW + 10_300, 10_310), NOW + 10_300);
    }

    proptest! {
        #[test]
        fn time_runs_at_the_pace_of_the_uptime_between_believed_jumps(
            steps in prop::collection::vec((0_i64..1800, -YEAR..YEAR), 1..40),
        ) {
            let mut clock = TrustedClock::new(NOW, 0, 0);
            let (mut uptime, mut before) = (0, NOW);
            for (span, wrong) in steps {
                // The clock is right at every second reading.
                for jump in [wrong, 0] {
                    uptime += span;
                    let time = clock.update(NOW + uptime + jump, uptime);
                    prop_assert!((time - before - span).abs() <= 2 * MAX_DRIFT_S);
                    before = time;
                }
            }
            prop_assert_eq!(before, NOW + uptime);
        }
    }
}
