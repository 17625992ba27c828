//! Amounts of data, and rates.

use crate::Duration;
use crate::parse::{Scale, UnitError, serde_as_text};
use crate::spelling::Spelling;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

const BYTES: Scale = Scale {
    quantity: "data",
    units: "an amount such as `64KiB`; units: B, kB, MB, GB, KiB, MiB, GiB",
    factors: &[
        ("B", 1.0),
        ("kB", 1e3),
        ("KB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ],
    spelling: Spelling::Size,
};

const BITRATE: Scale = Scale {
    quantity: "rate",
    units: "a rate such as `2Mbps`; units: bps, kbps, Mbps, Gbps",
    factors: &[
        ("bps", 1.0),
        ("kbps", 1e3),
        ("Mbps", 1e6),
        ("Gbps", 1e9),
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
    ],
    spelling: Spelling::Rate,
};

/// An amount of data, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// Creates an amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Returns the number of bits, at most [`u64::MAX`].
    pub const fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }
    /// Returns megabits (10^6 bits).
    pub fn as_mbit(self) -> f64 {
        self.bits() as f64 / 1e6
    }
    /// Returns the mean rate of this amount over `span`; zero if `span` is zero. The rate
    /// is rounded down to a bit per second, and at most [`u64::MAX`].
    pub fn per(self, span: Duration) -> Bitrate {
        if span.is_zero() {
            return Bitrate::ZERO;
        }
        let rate = self.0 as u128 * 8_000_000_000 / span.as_nanos() as u128;
        Bitrate(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl Bitrate {
    /// Zero bits per second.
    pub const ZERO: Self = Self(0);
    /// Creates a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// Creates a rate of `mbps` megabits per second; zero if `mbps` is negative or NaN.
    pub fn from_mbps(mbps: f64) -> Self {
        Self((mbps * 1e6 + 0.5) as u64)
    }
    /// Returns bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns megabits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the transmission time of `bytes`, rounded up to a nanosecond; [`Duration::MAX`] at
    /// rate zero.
    pub fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Below 2.3 GB the product fits into 64 bits. A 64-bit division is several times faster
        // than a 128-bit one.
        if bytes.0 < 2_300_000_000 {
            return Duration::from_nanos((bytes.0 * 8_000_000_000).div_ceil(self.0));
        }
        let nanos = (bytes.0 as u128 * 8_000_000_000).div_ceil(self.0 as u128);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
    /// Returns the amount transmitted in `span`, rounded down to a byte.
    pub fn over(self, span: Duration) -> Bytes {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / 8_000_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    /// Returns the difference, or zero if `other` is larger.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl Add for Bitrate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.read_whole(text).map(Self)
    }
}
impl FromStr for Bitrate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        BITRATE.read_whole(text).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        match b {
            _ if b >= 1_048_576 && b.is_multiple_of(1_048_576) => write!(f, "{}MiB", b / 1_048_576),
            _ if b >= 1_024 && b.is_multiple_of(1_024) => write!(f, "{}KiB", b / 1_024),
            _ if b >= 1_000_000 => write!(f, "{}MB", b as f64 / 1e6),
            _ if b >= 10_000 => write!(f, "{}kB", b as f64 / 1e3),
            _ => write!(f, "{b}B"),
        }
    }
}
impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        match b {
            _ if b >= 1_000_000_000 => write!(f, "{}Gbps", b as f64 / 1e9),
            _ if b >= 1_000_000 => write!(f, "{}Mbps", b as f64 / 1e6),
            _ if b >= 1_000 => write!(f, "{}kbps", b as f64 / 1e3),
            _ => write!(f, "{b}bps"),
        }
    }
}

serde_as_text!(Bytes, Bitrate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_time_is_bits_over_rate() {
        let rate: Bitrate = "2Mbps".parse().unwrap();
        assert_eq!(rate.time_for(Bytes::new(1500)), Duration::from_millis(6));
        assert_eq!(rate.over(Duration::from_millis(6)), Bytes::new(1500));
        assert_eq!(Bytes::new(1500).per(Duration::from_millis(6)), rate);
        assert_eq!(Bitrate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
    }

    #[test]
    fn amounts_beyond_64_bits_saturate() {
        let most = Bytes::new(u64::MAX);
        assert_eq!(most.bits(), u64::MAX);
        assert_eq!(most.per(Duration::from_secs(8)), Bitrate::from_bps(u64::MAX));
        assert_eq!(most.per(Duration::from_nanos(1)), Bitrate::from_bps(u64::MAX));
        assert_eq!(Bytes::new(u64::MAX / 8).bits(), u64::MAX - 7);
    }

    #[test]
    fn transmission_times_below_and_above_the_64_bit_limit_agree() {
        let rate = Bitrate::from_bps(333_333_333);
        let below = rate.time_for(Bytes::new(2_299_999_999)).as_nanos();
        let above = rate.time_for(Bytes::new(2_300_000_000)).as_nanos();
        assert!(above - below <= 25);
    }

    #[test]
    fn written_amounts_parse_back() {
        for text in ["64KiB", "1MiB", "1040B", "2.5MB", "300kB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        for text in ["2Mbps", "384kbps", "1.5Gbps", "0bps"] {
            assert_eq!(text.parse::<Bitrate>().unwrap().to_string(), text);
        }
        assert!("-2Mbps".parse::<Bitrate>().is_err());
    }
}
