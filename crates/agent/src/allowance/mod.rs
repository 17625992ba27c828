//! Data allowances: traffic limits of interfaces per period.
//!
//! Functions take the time as an argument, in seconds since 1970. Kernel counters restart with the
//! interface and with the machine. The last reading of each is stored, so traffic while no agent
//! runs is counted by the next one.

use jiff::civil::{Date, Weekday};
use jiff::fmt::strtime;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use strum::{EnumString, IntoStaticStr};
use units::{Bitrate, Bytes, Duration};

pub mod usage_store;

/// First of January 2024, in seconds since 1970. A clock before that has not been set yet.
const EARLIEST_VALID_TIME: i64 = 1_704_067_200;
/// End of the year 9998, in seconds since 1970: the calendar ends one year later.
const LATEST_TIME: i64 = 253_370_764_799;
/// Time from the decision to close an interface until its last byte: the sampling interval, MP_PRIO
/// or a reset in transit, and the send queue.
const REACTION_TIME: Duration = Duration::from_millis(500);

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

/// Local time as a fixed offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(Offset);

impl Default for Zone {
    fn default() -> Self {
        Self(Offset::UTC)
    }
}

impl FromStr for Zone {
    type Err = ();

    /// Parses an offset such as `+01:00` or `-03:30`.
    fn from_str(text: &str) -> Result<Self, ()> {
        if text.len() != "+00:00".len() {
            return Err(());
        }
        let parsed = strtime::parse("%:z", text).map_err(|_| ())?;
        let offset = parsed.offset().ok_or(())?;
        // UTC+14 is the largest offset in use.
        if offset.seconds().abs() < 15 * 3600 { Ok(Self(offset)) } else { Err(()) }
    }
}

impl Zone {
    /// Local date at `time`, in seconds since 1970; times beyond the year 9998 are clamped.
    fn date(self, time: i64) -> Date {
        let time = Timestamp::from_second(time.clamp(0, LATEST_TIME)).unwrap_or_default();
        self.0.to_datetime(time).date()
    }

    /// Local midnight at the start of `date`, in seconds since 1970.
    fn midnight(self, date: Date) -> i64 {
        let midnight = self.0.to_timestamp(date.at(0, 0, 0, 0));
        midnight.map_or(i64::MAX, Timestamp::as_second)
    }
}

impl Period {
    /// Start of the period that contains `now`, in seconds since 1970.
    pub fn start(self, now: i64, zone: Zone) -> i64 {
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
    pub fn next(self, start: i64, zone: Zone) -> i64 {
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

/// Traffic of the current period; the stored form of an allowance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Start of the period, in seconds since 1970.
    pub period: i64,
    /// Bytes used in the period.
    pub used: u64,
    /// Boot ID of the stored counters.
    pub boot: String,
    /// Last counter reading, by interface name.
    pub seen: BTreeMap<String, CounterReading>,
}

/// A counter reading of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterReading {
    /// Interface index; a different index is a different interface.
    pub index: u32,
    /// Bytes received and sent.
    pub bytes: u64,
}

impl Usage {
    /// Advances to `now`. Returns true when a new period has started and `used` was reset.
    pub fn advance(&mut self, allowance: &Allowance, now: i64, zone: Zone) -> bool {
        let start = allowance.period.start(now, zone);
        if self.period == 0 {
            // First use: nothing has been counted yet.
            self.period = start;
            return false;
        }
        if start > self.period {
            // Before, the clock was not set: the usage may belong to this period.
            let fresh = self.period >= EARLIEST_VALID_TIME;
            self.period = start;
            if fresh {
                self.used = 0;
            }
            return fresh;
        }
        if start < self.period && now >= EARLIEST_VALID_TIME {
            // The clock was wrong or has been set back: the usage is kept.
            self.period = start;
        }
        false
    }

    /// Counts a counter reading. The first reading of an unknown interface counts nothing, because
    /// the period of that traffic is unknown.
    pub fn count(&mut self, boot: &str, name: &str, index: u32, bytes: u64) {
        if self.boot != boot {
            // All counters restarted at zero with the machine.
            for seen in self.seen.values_mut() {
                *seen = CounterReading { index: 0, bytes: 0 };
            }
            boot.clone_into(&mut self.boot);
        }
        let now = CounterReading { index, bytes };
        let Some(before) = self.seen.insert(name.to_owned(), now) else { return };
        let carried =
            if before.index == index && bytes >= before.bytes { bytes - before.bytes } else { bytes };
        self.used = self.used.saturating_add(carried);
    }

    /// Remaining allowance.
    pub fn remaining(&self, allowance: &Allowance) -> Bytes {
        allowance.data - Bytes::new(self.used)
    }

    /// True when it is used up, or will be within the reaction time at `rate`.
    pub fn is_used_up(&self, allowance: &Allowance, rate: Bitrate) -> bool {
        self.remaining(allowance) <= rate.over(REACTION_TIME)
    }
}

#[cfg(test)]
mod tests;
