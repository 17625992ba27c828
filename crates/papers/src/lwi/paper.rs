//! Figures printed in Kumar, Gupta, Franklin: Experimental Evaluation of YouTube Performance on
//! MPTCP-based LTE-WLAN Integration (2017).

/// Access networks of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// TCP over Wi-Fi.
    Wifi,
    /// TCP over LTE.
    Lte,
    /// Multipath TCP over both: the paper's LWI.
    Both,
}

impl Access {
    /// All of them in the order of Table III.
    pub const ALL: [Self; 3] = [Self::Wifi, Self::Lte, Self::Both];

    /// Name in the paper.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wifi => "Wi-Fi",
            Self::Lte => "LTE",
            Self::Both => "LTE-Wi-Fi",
        }
    }
}

/// The two encodings of the video (section VI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clip {
    /// 3840 x 2160.
    FourK,
    /// 2560 x 1440.
    TwoK,
}

impl Clip {
    /// Both in the order of Table III.
    pub const ALL: [Self; 2] = [Self::FourK, Self::TwoK];

    /// Name in the paper.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FourK => "4K",
            Self::TwoK => "2K",
        }
    }

    /// Size in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::FourK => 131_000_000,
            Self::TwoK => 50_000_000,
        }
    }
}

/// Duration of the video, in seconds.
pub const DURATION_S: u64 = 66;

/// Table III: number of stalls, and their mean length in seconds.
pub const fn stalls(access: Access, clip: Clip) -> (f64, f64) {
    match (access, clip) {
        (Access::Wifi, Clip::FourK) => (5.32, 4.55),
        (Access::Wifi, Clip::TwoK) => (3.67, 2.75),
        (Access::Lte, Clip::FourK) => (6.44, 5.89),
        (Access::Lte, Clip::TwoK) => (4.26, 3.83),
        (Access::Both, Clip::FourK) => (2.38, 3.69),
        (Access::Both, Clip::TwoK) => (0.88, 2.01),
    }
}

/// A row of Table II: round-trip times, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundTrip {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub avg: f64,
    /// Maximum.
    pub max: f64,
    /// Standard deviation, as `ping` prints it.
    pub mdev: f64,
}

/// Table II: round-trip time to the proxy.
pub const fn round_trip(access: Access) -> RoundTrip {
    match access {
        Access::Wifi => RoundTrip { min: 2.67, avg: 11.686, max: 30.562, mdev: 6.893 },
        _ => RoundTrip { min: 12.052, avg: 17.51, max: 26.19, mdev: 3.87 },
    }
}

/// Maximum rate of an LTE carrier with 25 resource blocks, in Mbit/s: 18,336 bits per millisecond,
/// the largest transport block with one antenna (3GPP TS 36.213, table 7.1.7.2.1-1).
pub const LTE_MAX_MBPS: f64 = 18.336;

/// Round-trip time between proxy and server, in milliseconds (Table II).
pub const PROXY_TO_SERVER_MS: f64 = 24.751;

/// Relative gain of the MOS of 4K video over both links, compared with one link (section VI).
pub const fn mos_gain_4k(over: Access) -> f64 {
    match over {
        Access::Lte => 0.344,
        _ => 0.204,
    }
}

/// Relative reduction of the load time over both links, compared with one link (section VI).
pub const fn load_time_reduction(over: Access) -> f64 {
    match over {
        Access::Lte => 0.43,
        _ => 0.35,
    }
}

/// Reduction of the load time in the conclusion, which does not name the reference.
pub const LOAD_TIME_REDUCTION_IN_CONCLUSION: f64 = 0.1739;

/// Ratio of the MOS of 4K video over Wi-Fi to that over LTE. It follows from both printed gains, in
/// which the MOS over both links cancels out.
pub const fn mos_ratio_wifi_to_lte() -> f64 {
    (1.0 + mos_gain_4k(Access::Lte)) / (1.0 + mos_gain_4k(Access::Wifi))
}
