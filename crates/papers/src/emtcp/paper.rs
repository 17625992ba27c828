//! Figures printed in Chen, Yuan, Muntean: An Energy-aware Multipath-TCP-based Content Delivery
//! Scheme in Heterogeneous Wireless Networks (2013).

use serde::Serialize;

/// The four test cases, in the paper's order (Table II).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Case 1: TCP over Wi-Fi.
    TcpWifi,
    /// Case 2: TCP over LTE.
    TcpLte,
    /// Case 3: MPTCP over both.
    Mptcp,
    /// Case 4: eMTCP over both.
    Emtcp,
}

/// A case's figures as printed (Table IV).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Printed {
    /// Average throughput, in Mbit/s.
    pub throughput_mbps: f64,
    /// Energy consumption rate, in W.
    pub energy_rate_w: f64,
    /// Mean PSNR, in dB.
    pub psnr_db: f64,
    /// Standard deviation of the PSNR, in dB.
    pub psnr_sd_db: f64,
    /// Estimated life of a battery of 300 J, in seconds.
    pub lifespan_s: f64,
}

impl Case {
    /// All four.
    pub const ALL: [Self; 4] = [Self::TcpWifi, Self::TcpLte, Self::Mptcp, Self::Emtcp];

    /// Identifier in result files.
    pub const fn id(self) -> &'static str {
        match self {
            Self::TcpWifi => "tcp-wifi",
            Self::TcpLte => "tcp-lte",
            Self::Mptcp => "mptcp",
            Self::Emtcp => "emtcp",
        }
    }

    /// Name in tables and text.
    pub const fn title(self) -> &'static str {
        match self {
            Self::TcpWifi => "TCP over Wi-Fi",
            Self::TcpLte => "TCP over LTE",
            Self::Mptcp => "MPTCP",
            Self::Emtcp => "eMTCP",
        }
    }

    /// Whether parameters are fitted to this case.
    pub const fn is_calibrated(self) -> bool {
        matches!(self, Self::TcpWifi | Self::TcpLte)
    }

    /// Whether the case uses both interfaces.
    pub const fn is_multipath(self) -> bool {
        !self.is_calibrated()
    }

    /// `MAX_Bitrate` and `EXP_Thr` of Eq. (2), in Mbit/s: 1 per path.
    pub const fn max_bitrate_mbps(self) -> f64 {
        if self.is_multipath() { 2.0 } else { 1.0 }
    }

    /// The figures of Table IV.
    pub const fn printed(self) -> Printed {
        let (energy_rate_w, throughput_mbps, psnr_db, psnr_sd_db, lifespan_s) = match self {
            Self::TcpWifi => (0.052, 0.846, 16.274, 0.263, 5769.23),
            Self::TcpLte => (0.505, 0.934, 23.964, 2.815, 594.06),
            Self::Mptcp => (0.628, 1.951, 32.572, 2.712, 477.71),
            Self::Emtcp => (0.539, 1.910, 27.029, 0.690, 556.59),
        };
        Printed { throughput_mbps, energy_rate_w, psnr_db, psnr_sd_db, lifespan_s }
    }
}

/// Offload share at the peak of Fig. 4.
pub const BEST_SHARE: f64 = 0.24;
/// Capacity of UE-B6's battery, in joules (Table II).
pub const BATTERY_J: f64 = 300.0;
/// Duration of each case, in seconds (Table II).
pub const DURATION_S: u64 = 150;
/// Payload of a packet, in bytes (section V.A).
pub const PACKET_BYTES: u64 = 1040;
/// Sinks beside UE-B6 in the topology (Fig. 3).
pub const OTHER_SINKS: u32 = 9;
/// Sinks with LTE coverage only: UE-B1 to UE-B4.
pub const LTE_ONLY_SINKS: u32 = 4;
