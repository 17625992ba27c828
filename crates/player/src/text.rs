//! Text formats: instants, identifiers.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Instant in the form of RFC 3339, in UTC and to the millisecond; the epoch for earlier times.
pub fn rfc3339(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

/// Year, month and day of a day since 1970-01-01 in the Gregorian calendar. Years begin in March,
/// so the leap day is the last of a year; an era is 400 years, 146,097 days.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march = (5 * day + 2) / 153;
    let day = day - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Name of this machine's time zone, such as `Europe/Berlin`: the variable `TZ`, or the target of
/// `/etc/localtime`. `None` if neither names one.
pub fn time_zone() -> Option<String> {
    let variable = std::env::var("TZ").ok().map(|zone| zone.trim_start_matches(':').to_owned());
    let target = || {
        let path = std::fs::read_link("/etc/localtime").ok()?;
        path.to_str()?.split_once("zoneinfo/").map(|(_, zone)| zone.to_owned())
    };
    variable.filter(|zone| !zone.is_empty()).or_else(target).filter(|zone| zone.len() <= 64)
}

/// A new UUID (RFC 9562, version 4).
///
/// # Errors
/// If the system has no random bytes.
pub fn uuid() -> std::io::Result<String> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn instants_are_written_in_utc() {
        let at = |secs, ms| rfc3339(UNIX_EPOCH + Duration::from_secs(secs) + Duration::from_millis(ms));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(4_107_542_400, 5), "2100-03-01T00:00:00.005Z", "no leap year");
        assert_eq!(at(1_795_335_904, 123), "2026-11-22T08:25:04.123Z");
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn identifiers_are_new_and_of_version_4() {
        let (one, two) = (uuid().unwrap(), uuid().unwrap());
        assert_ne!(one, two);
        assert_eq!((one.len(), &one[14..15]), (36, "4"));
        assert!("89ab".contains(&one[19..20]), "{one}");
    }
}
