//! How much interfaces may carry in a period, and how much they have.
//!
//! Time is seconds since 1970 and an argument. Counters are those of the kernel, which begin anew with the
//! interface and with the machine; what is kept is the last that was seen of each, so that what was carried
//! while nobody looked is counted as well.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::str::FromStr;
use units::{Bitrate, Bytes, Duration};

pub mod usage_store;

const DAY: i64 = 86_400;
/// A clock before this (the first of January 2024) has not been set yet.
const PLAUSIBLE: i64 = 1_704_067_200;
/// Between the decision to close and the last byte: the next look, MP_PRIO or a reset on its way, and what is
/// queued (some 0.3 s on Linux 6.18 with 50 ms of round trip).
const REACTION: Duration = Duration::from_millis(500);

/// What interfaces may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// How much, both ways together.
    pub data: Bytes,
    /// In which time.
    pub period: Period,
    /// What happens then.
    pub at_cap: CapAction,
}

/// What happens when an allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapAction {
    /// Subflows end, and none is opened.
    Close,
    /// Carries only where nothing else does.
    Backup,
    /// It is said.
    Warn,
}

impl CapAction {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Backup => "backup",
            Self::Warn => "warn",
        }
    }
}

/// A time that comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// From midnight.
    Day,
    /// From a day of the week, Monday being 1.
    Week {
        /// 1 to 7.
        from: u8,
    },
    /// From a day of the month, or from its last day where it is shorter.
    Month {
        /// 1 to 31.
        from: u8,
    },
}

/// How far local time is from UTC, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zone(i64);

impl FromStr for Zone {
    type Err = ();
    /// `+01:00`, `-03:30`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (sign, rest) = match text.split_at_checked(1) {
            Some(("+", rest)) => (1, rest),
            Some(("-", rest)) => (-1, rest),
            _ => return Err(()),
        };
        let (hours, minutes) = rest.split_once(':').ok_or(())?;
        let number = |text: &str, most: i64| {
            let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number: &i64| digits && *number <= most).ok_or(())
        };
        // The farthest that anybody lives from Greenwich.
        Ok(Self(sign * (number(hours, 14)? * 3600 + number(minutes, 59)? * 60)))
    }
}

impl Period {
    /// When the period began in which `now` lies.
    pub fn start(self, now: i64, zone: Zone) -> i64 {
        let days = local_days(now, zone);
        let start = match self {
            Self::Day => days,
            // 1970 began on a Thursday, which is day 4.
            Self::Week { from } => days - (days + 4 - i64::from(from)).rem_euclid(7),
            Self::Month { from } => {
                let (year, month, _) = civil(days);
                let this = month_day(year, month, from);
                if this <= days {
                    this
                } else if month == 1 {
                    month_day(year - 1, 12, from)
                } else {
                    month_day(year, month - 1, from)
                }
            }
        };
        start * DAY - zone.0
    }

    /// When the period after that one begins which began at `start`.
    pub fn next(self, start: i64, zone: Zone) -> i64 {
        let days = local_days(start, zone);
        let next = match self {
            Self::Day => days + 1,
            Self::Week { .. } => days + 7,
            Self::Month { from } => {
                let (year, month, _) = civil(days);
                if month == 12 { month_day(year + 1, 1, from) } else { month_day(year, month + 1, from) }
            }
        };
        next * DAY - zone.0
    }

    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week { .. } => "week",
            Self::Month { .. } => "month",
        }
    }
}

/// Days since 1970 where that zone is. Clocks that are wrong are wrong by less than to the year 9999.
fn local_days(time: i64, zone: Zone) -> i64 {
    (time.clamp(0, 253_402_300_799) + zone.0).div_euclid(DAY)
}

/// Days since 1970 of a day of a month, or of its last where there is none such.
fn month_day(year: i64, month: i64, day: u8) -> i64 {
    let next = if month == 12 { days(year + 1, 1, 1) } else { days(year, month + 1, 1) };
    (days(year, month, 1) + i64::from(day) - 1).min(next - 1)
}

/// Days since 1970 of a date of the Gregorian calendar. Years are counted from March, so that the leap day
/// is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March on, months have 31 and 30 days in turn, but for July and August, and December and January.
    before + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Year, month and day of a day since 1970.
fn civil(day: i64) -> (i64, i64, i64) {
    let guess = |year: i64| days(year, 1, 1) <= day;
    let mut year = 1970 + day.div_euclid(366);
    while guess(year + 1) {
        year += 1;
    }
    while !guess(year) {
        year -= 1;
    }
    let mut month = 12;
    while days(year, month, 1) > day {
        month -= 1;
    }
    (year, month, day - days(year, month, 1) + 1)
}

/// What interfaces have carried in a period. It is what is written to the disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// When the period began, in seconds since 1970.
    pub period: i64,
    /// Bytes carried in it.
    pub used: u64,
    /// The boot that the counters are of.
    pub boot: String,
    /// What was seen last, by name of the interface.
    pub seen: BTreeMap<String, Seen>,
}

/// What was seen of an interface's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The kernel's number for the interface: another one is another interface.
    pub index: u32,
    /// Bytes received and sent.
    pub bytes: u64,
}

impl Usage {
    /// Lets time pass up to `now`; true where a period began with which `used` begins at nothing.
    pub fn advance(&mut self, allowance: &Allowance, now: i64, zone: Zone) -> bool {
        let start = allowance.period.start(now, zone);
        if self.period == 0 {
            // Nothing has been counted yet.
            self.period = start;
            return false;
        }
        if start > self.period {
            // From the time before the clock was set to now is no period: what was carried may be of this one.
            let fresh = self.period >= PLAUSIBLE;
            self.period = start;
            if fresh {
                self.used = 0;
            }
            return fresh;
        }
        if start < self.period && now >= PLAUSIBLE {
            // The clock was wrong before, or was set back over the edge: what was carried stays carried.
            self.period = start;
        }
        false
    }

    /// Counts what an interface shows. The first look at one that nobody knows of counts nothing: it was
    /// carried before, in whatever period.
    pub fn count(&mut self, boot: &str, name: &str, index: u32, bytes: u64) {
        if self.boot != boot {
            // All counters began at nothing with the machine.
            for seen in self.seen.values_mut() {
                *seen = Seen { index: 0, bytes: 0 };
            }
            boot.clone_into(&mut self.boot);
        }
        let now = Seen { index, bytes };
        let Some(before) = self.seen.insert(name.to_owned(), now) else { return };
        let carried =
            if before.index == index && bytes >= before.bytes { bytes - before.bytes } else { bytes };
        self.used = self.used.saturating_add(carried);
    }

    /// What is left.
    pub fn left(&self, allowance: &Allowance) -> Bytes {
        allowance.data - Bytes::new(self.used)
    }

    /// Whether it is used up, or will be before anything that is done now takes effect.
    pub fn is_up(&self, allowance: &Allowance, rate: Bitrate) -> bool {
        self.left(allowance) <= rate.over(REACTION)
    }
}

#[cfg(test)]
mod tests;
