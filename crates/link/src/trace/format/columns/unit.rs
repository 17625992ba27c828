//! Units of rates and times, as headers of columns name them.

/// Unit of a column of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) struct RateUnit {
    /// Name for tables and errors.
    pub(in crate::trace) name: &'static str,
    /// Bits per second of one unit.
    pub(in crate::trace) bps: u32,
    /// True for an amount without a time, such as `bytes`: per second or per row.
    pub(in crate::trace) is_amount: bool,
}

pub(in crate::trace) const BYTES_PER_SECOND: RateUnit = rate("bytes/s", 8);
pub(in crate::trace) const MBPS: RateUnit = rate("Mbit/s", 1_000_000);
pub(super) const MINUTE_NANOS: u64 = 60_000_000_000;
pub(super) const HOUR_NANOS: u64 = 60 * MINUTE_NANOS;
const KBPS: RateUnit = rate("kbit/s", 1000);

const fn rate(name: &'static str, bps: u32) -> RateUnit {
    RateUnit { name, bps, is_amount: false }
}

/// Names of amounts of data in lower case, with the unit of the amount per second.
const AMOUNTS: [(&[&str], RateUnit); 8] = [
    (&["bit", "bits"], rate("bit/s", 1)),
    (&["kbit", "kbits", "kilobit", "kilobits"], KBPS),
    (&["mbit", "mbits", "megabit", "megabits"], MBPS),
    (&["gbit", "gbits", "gigabit", "gigabits"], rate("Gbit/s", 1_000_000_000)),
    (&["byte", "bytes", "octets"], BYTES_PER_SECOND),
    (&["kbyte", "kbytes", "kilobyte", "kilobytes"], rate("kB/s", 8000)),
    (&["mbyte", "mbytes", "megabyte", "megabytes"], rate("MB/s", 8_000_000)),
    (&["kib", "kibibyte", "kibibytes"], rate("KiB/s", 8192)),
];

impl RateUnit {
    /// Returns the unit that the name of a column contains; `None` without one, or with several.
    ///
    /// `DL_bitrate` and `UL_bitrate` are columns of the UCC data sets (Raca et al., MMSys 2018 and
    /// 2020), in kbit/s.
    pub(in crate::trace) fn in_name(name: &str) -> Option<Self> {
        if matches!(name, "DL_bitrate" | "UL_bitrate") {
            return Some(KBPS);
        }
        let name = name.replace('/', " per ");
        let all: Vec<&str> = words(&name).collect();
        let mut found: Option<Self> = None;
        for (i, word) in all.iter().enumerate() {
            let divisor = divisor(&all[i + 1..]);
            let Some(unit) = rate_word(word).or_else(|| amount_word(word, divisor)) else { continue };
            if found.is_some_and(|other| other != unit) {
                return None;
            }
            found = Some(unit);
        }
        found
    }
}

/// Returns the words of a name: runs of letters and digits.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_second(word: &str) -> bool {
    ["s", "sec", "secs", "second", "seconds"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// The word by which an amount is divided, given the words after the amount: the one after `per`, or
/// a unit of time.
fn divisor<'n>(after: &[&'n str]) -> Option<&'n str> {
    match after {
        [per, word, ..] if per.eq_ignore_ascii_case("per") => Some(word),
        [word, ..] => time_unit_nanos(word).map(|_| *word),
        [] => None,
    }
}

/// A rate in one word: `Mbps`. A capital B before `ps` is a byte, unless all letters are capitals.
fn rate_word(word: &str) -> Option<RateUnit> {
    let (prefix, is_byte) = match word.strip_suffix("Bps") {
        Some(prefix) => (prefix, true),
        None => (word.get(..word.len().checked_sub(3)?)?, false),
    };
    if !is_byte && !word.get(prefix.len()..)?.eq_ignore_ascii_case("bps") {
        return None;
    }
    short_unit(prefix, is_byte)
}

/// An amount of data: `bytes`, or `MB` and `Mb` per second. `None` if it is divided by anything but a
/// second.
fn amount_word(word: &str, divisor: Option<&str>) -> Option<RateUnit> {
    let is_amount = divisor.is_none();
    if !divisor.is_none_or(is_second) {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    let is_kibibit = lower == "kib" && word.ends_with('b');
    let is_named = |names: &[&str]| names.contains(&lower.as_str()) && !is_kibibit;
    if let Some((_, unit)) = AMOUNTS.iter().find(|(names, _)| is_named(names)) {
        return Some(RateUnit { is_amount, ..*unit });
    }
    let prefix = word.strip_suffix(['b', 'B']).filter(|_| !is_amount)?;
    short_unit(prefix, word.ends_with('B'))
}

/// The unit with a prefix of one letter or none.
fn short_unit(prefix: &str, is_byte: bool) -> Option<RateUnit> {
    let names: &[&str] = match (prefix.to_ascii_lowercase().as_str(), is_byte) {
        ("", false) => &["bit"],
        ("k", false) => &["kbit"],
        ("m", false) => &["mbit"],
        ("g", false) => &["gbit"],
        ("", true) => &["byte"],
        ("k", true) => &["kbyte"],
        ("m", true) => &["mbyte"],
        _ => return None,
    };
    AMOUNTS.iter().find(|(all, _)| all.contains(&names[0])).map(|(_, unit)| *unit)
}

/// Returns the nanoseconds of the unit that the name of a column of times contains.
pub(super) fn time_unit_nanos(name: &str) -> Option<u64> {
    words(name).find_map(|word| match word.to_ascii_lowercase().as_str() {
        "ns" | "nanos" | "nanoseconds" => Some(1),
        "us" | "micros" | "microseconds" => Some(1000),
        "ms" | "msec" | "millis" | "milliseconds" => Some(1_000_000),
        word if is_second(word) => Some(1_000_000_000),
        "min" | "mins" | "minute" | "minutes" => Some(MINUTE_NANOS),
        "h" | "hour" | "hours" => Some(HOUR_NANOS),
        _ => None,
    })
}

/// Returns true if the name of a column is that of a time.
pub(in crate::trace::format) fn is_time(name: &str) -> bool {
    const NAMES: [&str; 10] =
        ["time", "timestamp", "datetime", "date", "epoch", "unix", "elapsed", "start", "t", "ts"];
    let mut all = words(name);
    let is_bare_second = all.next().is_some_and(is_second) && all.next().is_none();
    is_bare_second || has_word(name, &NAMES) && !is_delay(name)
}

/// Returns true if the name of a column contains a unit of time: `offset_ms`. Delays, rates and `min`,
/// which may be a minimum, do not count.
pub(in crate::trace::format) fn has_time_unit(name: &str) -> bool {
    time_unit_nanos(name).is_some()
        && RateUnit::in_name(name).is_none()
        && !is_delay(name)
        && !has_word(name, &["min"])
}

/// Returns true if the name of a column is that of a measured delay.
pub(super) fn is_delay(name: &str) -> bool {
    has_word(name, &["rtt", "latency", "delay", "ping", "jitter"])
}

/// Returns true if a name contains one of these words, which are in lower case.
pub(super) fn has_word(name: &str, known: &[&str]) -> bool {
    words(name).any(|word| known.iter().any(|one| word.eq_ignore_ascii_case(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> Option<&'static str> {
        RateUnit::in_name(name).map(|unit| unit.name)
    }

    #[test]
    fn names_of_columns_contain_units_of_rates() {
        for name in ["throughput_mbps", "Mbps", "Throughput (Mbit/s)", "rate Mb/s", "mbits_per_sec", "MBPS"] {
            assert_eq!(unit(name), Some("Mbit/s"), "{name}");
        }
        for name in ["throughput_kbps", "kbit/s", "DL_bitrate", "UL_bitrate", "Kb/s", "bandwidth_kbps"] {
            assert_eq!(unit(name), Some("kbit/s"), "{name}");
        }
        for name in ["bits_per_second", "bps", "b/s", "bit/s", "bits"] {
            assert_eq!(unit(name), Some("bit/s"), "{name}");
        }
        for name in ["bytes_per_second", "bytes", "B/s", "Bps", "rx_bytes"] {
            assert_eq!(unit(name), Some("bytes/s"), "{name}");
        }
        assert_eq!((unit("MB/s"), unit("MBps"), unit("kB/s")), (Some("MB/s"), Some("MB/s"), Some("kB/s")));
        assert_eq!((unit("Gbps"), unit("KiB/s")), (Some("Gbit/s"), Some("KiB/s")));
        for name in
            ["throughput", "time", "time_s", "dl_bitrate", "RSRP", "", "bytes_mbps", "b", "MB", "ébps"]
        {
            assert_eq!(unit(name), None, "{name}");
        }
        assert!(RateUnit::in_name("bytes").is_some_and(|unit| unit.is_amount));
        assert!(RateUnit::in_name("bytes/s").is_some_and(|unit| !unit.is_amount));
    }

    #[test]
    fn kibibits_are_no_kibibytes() {
        for name in ["Kib/s", "kib_per_second", "Kib", "Mib/s"] {
            assert_eq!(unit(name), None, "{name}");
        }
        for name in ["KiB/s", "KiB", "kibibytes_per_second"] {
            assert_eq!(unit(name), Some("KiB/s"), "{name}");
        }
    }

    #[test]
    fn amounts_per_another_time_are_no_rate() {
        for name in ["bytes_per_ms", "bits/ms", "kbit per minute", "MB/h", "rx_bytes_ms", "Bytes/100ms"] {
            assert_eq!(unit(name), None, "{name}");
        }
        assert_eq!((unit("rx/tx_bytes"), unit("bits_per_ms_mbps")), (Some("bytes/s"), Some("Mbit/s")));
    }

    #[test]
    fn names_of_columns_contain_times() {
        for name in ["time", "Timestamp", "time_s", "second", "elapsed (ms)", "t", "unix_time"] {
            assert!(is_time(name), "{name}");
        }
        for name in ["bytes_per_second", "Mbit/s", "RSRP", "State", "Speed", "rtt_ms", "ping time", "ms"] {
            assert!(!is_time(name), "{name}");
        }
        assert_eq!(time_unit_nanos("timestamp_ms"), Some(1_000_000));
        assert_eq!(time_unit_nanos("Timestamp"), None);
        assert!(has_time_unit("offset_minutes") && !has_time_unit("min"));
    }
}
