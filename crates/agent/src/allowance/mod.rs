//! Data allowances: traffic limits of interfaces per period.
//!
//! Functions take the time as an argument, in seconds since 1970; [`trusted_clock`] guards it
//! against jumps.

use jiff::civil::{Date, Weekday};
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};
use units::Bytes;

pub mod cap_gate;
pub mod counters;
pub mod trusted_clock;
pub mod usage_file;
pub mod usage_store;

/// First of January 2024, in seconds since 1970. A clock before that has not been set yet.
const EARLIEST_VALID_TIME: i64 = 1_704_067_200;
/// End of the year 9998, in seconds since 1970: the calendar ends one year later.
const LATEST_TIME: i64 = 253_370_764_799;

/// A data allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Limit, sum of both directions.
    pub data: Bytes,
    /// Period of the limit.
    pub period: Period,
    /// Action when the limit is reached.
    pub at_cap: CapAction,
}

/// Action when an allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum CapAction {
    /// Close the subflows and open none.
    Close,
    /// Use the interface only when no other is available.
    Backup,
    /// Log only.
    Warn,
}

impl CapAction {
    /// Name in the configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A recurring period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Starts at midnight.
    Day,
    /// Starts on a day of the week; Monday is 1.
    Week {
        /// 1 to 7.
        from: u8,
    },
    /// Starts on a day of the month; on the last day of a shorter month.
    Month {
        /// 1 to 31.
        from: u8,
    },
}

/// Time zone: a fixed offset from UTC, or a zone of the tz database with its daylight saving time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Self {
        Self(TimeZone::UTC)
    }
}

impl FromStr for Zone {
    type Err = ();

    /// Parses an offset such as `+01:00` or `-03:30`, or a name such as `Europe/Berlin`.
    fn from_str(text: &str) -> Result<Self, ()> {
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return TimeZone::get(text).map(Self).map_err(|_| ());
        }
        if text.len() != "+00:00".len() {
            return Err(());
        }
        let parsed = strtime::parse("%:z", text).map_err(|_| ())?;
        let offset = parsed.offset().ok_or(())?;
        // UTC+14 is the largest offset in use.
        if offset.seconds().abs() < 15 * 3600 { Ok(Self(TimeZone::fixed(offset))) } else { Err(()) }
    }
}

impl Zone {
    /// Local date at `time`, in seconds since 1970; times beyond the year 9998 are clamped.
    fn date(&self, time: i64) -> Date {
        let time = Timestamp::from_second(time.clamp(0, LATEST_TIME)).unwrap_or_default();
        self.0.to_datetime(time).date()
    }

    /// Local midnight at the start of `date`, in seconds since 1970.
    fn midnight(&self, date: Date) -> i64 {
        let midnight = self.0.to_timestamp(date.at(0, 0, 0, 0));
        midnight.map_or(i64::MAX, Timestamp::as_second)
    }
}

impl Period {
    /// Start of the period that contains `now`, in seconds since 1970.
    pub fn start(self, now: i64, zone: &Zone) -> i64 {
        let today = zone.date(now);
        let start = match self {
            Self::Day => today,
            Self::Week { from } => {
                let first = Weekday::from_monday_one_offset(from as i8).unwrap_or(Weekday::Monday);
                today.saturating_sub(i64::from(today.weekday().since(first)).days())
            }
            Self::Month { from } => {
                let this_month = day_of_month(today, from);
                if this_month <= today {
                    this_month
                } else {
                    day_of_month(today.saturating_sub(1.month()), from)
                }
            }
        };
        zone.midnight(start)
    }

    /// Start of the period after the one that starts at `start`, in seconds since 1970.
    pub fn next(self, start: i64, zone: &Zone) -> i64 {
        let start = zone.date(start);
        let next = match self {
            Self::Day => start.saturating_add(1.day()),
            Self::Week { .. } => start.saturating_add(7.days()),
            Self::Month { from } => day_of_month(start.saturating_add(1.month()), from),
        };
        zone.midnight(next)
    }

    /// Name of the period in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week { .. } => "week",
            Self::Month { .. } => "month",
        }
    }
}

/// The `day` of the month that contains `date`; the last day of a shorter month.
fn day_of_month(date: Date, day: u8) -> Date {
    let day = (day as i8).clamp(1, date.days_in_month());
    date.with().day(day).build().unwrap_or(date)
}

/// Number of other periods whose traffic is kept, for a clock that is set back.
const MAX_OTHER_PERIODS: usize = 3;

/// Traffic of the current period; the stored form of an allowance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Start of the period, in seconds since 1970.
    pub period: i64,
    /// Bytes used in the period.
    pub used: u64,
    /// The clock jumped into the period.
    pub by_jump: bool,
    /// `used` at the last jump into it.
    pub at_jump: u64,
    /// Bytes of `used` that were added to an earlier period too. Older files do not contain it.
    #[serde(default)]
    pub moved: u64,
    /// Traffic of other periods, by their start.
    pub others: BTreeMap<i64, OtherPeriod>,
    /// Names of the interfaces that it was counted on.
    pub interfaces: BTreeSet<String>,
}

/// Traffic of a period that is not the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherPeriod {
    /// Bytes used.
    pub used: u64,
    /// The clock jumped into the period.
    pub by_jump: bool,
    /// `used` at the last jump into it. Older files do not contain it.
    #[serde(default)]
    pub at_jump: u64,
    /// Bytes of `used` that were added to an earlier period too. Older files do not contain it.
    #[serde(default)]
    pub moved: u64,
    /// Position in the order in which the periods were left. Older files do not contain it.
    #[serde(default)]
    pub order: u64,
}

impl OtherPeriod {
    /// Bytes that belong to another period if the clock was wrong.
    fn since_jump(&self) -> u64 {
        if self.by_jump { self.used.saturating_sub(self.at_jump) } else { 0 }
    }

    /// Marks the bytes since the last jump as moved to an earlier period, and returns them.
    fn move_since_jump(&mut self) -> u64 {
        let moved = self.since_jump();
        self.at_jump = self.used;
        self.moved = self.moved.saturating_add(moved);
        moved
    }
}

impl Usage {
    /// Advances to the trusted time `now`. `has_jumped_over` tells whether the clock jumped over a
    /// time instead of reaching it second by second. Returns true when a new period has started.
    pub fn advance(
        &mut self,
        allowance: &Allowance,
        now: i64,
        zone: &Zone,
        has_jumped_over: impl Fn(i64) -> bool,
    ) -> bool {
        let start = allowance.period.start(now, zone);
        if self.period < EARLIEST_VALID_TIME {
            // First use, or the clock had not been set: the usage may belong to this period.
            self.period = start;
            return false;
        }
        if self.has_changed_calendar(allowance.period, start, zone) {
            self.change_calendar(start);
            return false;
        }
        if start > self.period {
            let is_new = !self.others.contains_key(&start);
            self.go_ahead(start, has_jumped_over(start));
            return is_new;
        }
        if start < self.period && now >= EARLIEST_VALID_TIME {
            self.go_back(start);
        }
        false
    }

    /// True when another zone or another first day applied at the start of the period, and `start`
    /// is less than one period away from it.
    fn has_changed_calendar(&self, period: Period, start: i64, zone: &Zone) -> bool {
        let length = period.next(start, zone).abs_diff(start);
        period.start(self.period, zone) != self.period && start.abs_diff(self.period) < length
    }

    /// Continues the usage in the period of another calendar that starts at `start`. The earlier
    /// periods of the old calendar that lie in it belong to it, for instance the days of a month.
    fn change_calendar(&mut self, start: i64) {
        let included = self.others.range(start..).take_while(|(other, _)| **other < self.period);
        let used = included.map(|(_, other)| other.used.saturating_sub(other.moved));
        let added = used.fold(0, u64::saturating_add);
        self.used = self.used.saturating_add(added);
        self.at_jump = self.at_jump.saturating_add(added);
        self.period = start;
        self.others.clear();
    }

    /// The clock has reached a later period. If it jumped there and had been set back before, the
    /// earlier period was wrong: its traffic since that jump is added to the later one.
    fn go_ahead(&mut self, start: i64, by_jump: bool) {
        let was_set_back = self.others.range(self.period..=start).any(|(&other, _)| other > self.period);
        let mut left = self.current();
        let moved = if by_jump && was_set_back { left.since_jump() } else { 0 };
        left.at_jump = left.at_jump.saturating_add(moved);
        self.others.insert(self.period, left);
        self.enter(start, by_jump, moved);
    }

    /// The clock was set back to an earlier period. The later periods that a jump led to were
    /// wrong: their traffic since that jump is added to the earlier one. A period before all known
    /// ones takes over the whole usage instead, because the clock may be wrong now. The later
    /// periods stay known.
    fn go_back(&mut self, start: i64) {
        let mut left = self.current();
        let is_before_all = !self.others.contains_key(&start)
            && (!left.by_jump || self.others.range(..start).next().is_none());
        let mut moved = left.move_since_jump();
        if is_before_all {
            moved = left.used;
        } else {
            for (_, later) in self.others.iter_mut().filter(|(other, _)| **other > start) {
                moved = moved.saturating_add(later.move_since_jump());
            }
        }
        self.others.insert(self.period, left);
        self.enter(start, true, moved);
    }

    fn current(&self) -> OtherPeriod {
        let order = self.others.values().map(|other| other.order.saturating_add(1)).max().unwrap_or(0);
        let Self { used, by_jump, at_jump, moved, .. } = *self;
        OtherPeriod { used, by_jump, at_jump, moved, order }
    }

    /// Continues the period that starts at `start`. `added` bytes of other periods are added to it;
    /// they do not move again. A period that the clock reaches second by second was wrong before:
    /// the bytes that moved from it do not belong to it.
    fn enter(&mut self, start: i64, by_jump: bool, added: u64) {
        let mut entered = self.others.remove(&start).unwrap_or_default();
        if !by_jump {
            entered.used = entered.used.saturating_sub(std::mem::take(&mut entered.moved));
        }
        self.period = start;
        self.by_jump = by_jump;
        self.used = entered.used.saturating_add(added);
        self.at_jump = self.used;
        self.moved = entered.moved;
        while self.others.len() > MAX_OTHER_PERIODS {
            let left_first = self.others.iter().min_by_key(|(start, other)| (other.order, **start));
            let Some((&start, _)) = left_first else { break };
            self.others.remove(&start);
        }
    }

    /// Adds the usage of another rule. An earlier period than that of the other one is dropped.
    #[must_use]
    pub fn merge(mut self, mut other: Self) -> Self {
        if self.period < other.period {
            std::mem::swap(&mut self, &mut other);
        }
        if self.period == other.period {
            self.used = self.used.saturating_add(other.used);
            self.at_jump = self.at_jump.saturating_add(other.at_jump);
            self.moved = self.moved.saturating_add(other.moved);
        }
        self.interfaces.append(&mut other.interfaces);
        self
    }

    /// Remaining allowance.
    pub fn remaining(&self, allowance: &Allowance) -> Bytes {
        allowance.data - Bytes::new(self.used)
    }
}

#[cfg(test)]
mod tests;
