//! What the paper prints: Kumar, Gupta, Franklin: Experimental Evaluation of YouTube Performance on MPTCP-based
//! LTE-WLAN Integration (2017).

/// Over what the device was connected.
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
    /// In the order of Table III.
    pub const ALL: [Self; 3] = [Self::Wifi, Self::Lte, Self::Both];

    /// As the paper calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wifi => "Wi-Fi",
            Self::Lte => "LTE",
            Self::Both => "LTE-Wi-Fi",
        }
    }
}

/// Which of the two encodings (section VI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clip {
    /// 3840 x 2160.
    FourK,
    /// 2560 x 1440.
    TwoK,
}

impl Clip {
    /// In the order of Table III.
    pub const ALL: [Self; 2] = [Self::FourK, Self::TwoK];

    /// As the paper calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FourK => "4K",
            Self::TwoK => "2K",
        }
    }

    /// Its size, in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::FourK => 131_000_000,
            Self::TwoK => 50_000_000,
        }
    }
}

/// How long the video plays, in seconds.
pub const DURATION_S: u64 = 66;

/// Of Table III: stalls, and their mean length in seconds.
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

/// Table II: the mean round trip to the proxy, in milliseconds.
pub const fn round_trip_ms(access: Access) -> f64 {
    match access {
        Access::Wifi => 11.686,
        _ => 17.51,
    }
}

/// What an LTE carrier of 25 resource blocks carries at most, in Mbit/s: 18,336 bits in a millisecond (3GPP TS
/// 36.213, table 7.1.7.2.1-1, the largest transport block; one antenna).
pub const LTE_MOST_MBPS: f64 = 18.336;

/// The round trip between proxy and server, in milliseconds (Table II).
pub const PROXY_TO_SERVER_MS: f64 = 24.751;

/// MOS of 4K over both, over that of one alone, less one (section VI).
pub const fn mos_gain_4k(over: Access) -> f64 {
    match over {
        Access::Lte => 0.344,
        _ => 0.204,
    }
}

/// By how much the load time over both is shorter than over one alone, as a part of that (section VI).
pub const fn load_time_reduction(over: Access) -> f64 {
    match over {
        Access::Lte => 0.43,
        _ => 0.35,
    }
}

/// The same in the conclusion, which does not say of what.
pub const LOAD_TIME_REDUCTION_IN_CONCLUSION: f64 = 0.1739;

/// What both gains say of the single links: MOS of 4K over Wi-Fi, over that over LTE. The row with both links
/// cancels out.
pub const fn mos_of_wifi_over_lte() -> f64 {
    (1.0 + mos_gain_4k(Access::Lte)) / (1.0 + mos_gain_4k(Access::Wifi))
}
