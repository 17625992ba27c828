//! Figures printed in Cao et al.: Receiver-centric Buffer Blocking-aware Multipath Data
//! Distribution in MPTCP-based Heterogeneous Wireless Networks (2016).

/// One of the three paths (section 5.1 and Table 1; the loss columns of that table are lost).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperPath {
    /// The path's letter.
    pub name: &'static str,
    /// Access technology that the path models.
    pub technology: &'static str,
    /// Rate of the access link, in kbit/s.
    pub rate_kbps: u32,
    /// Range of the propagation delay, in milliseconds.
    pub delay_ms: (u32, u32),
}

/// Paths A, B and C (section 5.1).
pub const PATHS: [PaperPath; 3] = [
    PaperPath { name: "A", technology: "3G/UMTS", rate_kbps: 384, delay_ms: (20, 50) },
    PaperPath { name: "B", technology: "Wi-Fi/IEEE 802.11b", rate_kbps: 11_000, delay_ms: (10, 20) },
    PaperPath { name: "C", technology: "WiMAX/IEEE 802.16", rate_kbps: 10_000, delay_ms: (20, 50) },
];

/// Duration of each run, in seconds (section 5.1).
pub const DURATION_S: u64 = 120;
/// Maximum rate of background traffic, as a share of the access rate (section 5.1).
pub const MAX_BACKGROUND_SHARE: f64 = 0.5;
/// Share of the background traffic's bytes over TCP (section 5.1).
pub const TCP_BACKGROUND_SHARE: f64 = 0.9;
/// Throughput ratio of MPTCP-rec to standard MPTCP, minus one (section 5.2, Fig. 8).
pub const THROUGHPUT_GAIN: f64 = 0.4093;
/// One minus the ratio of the end-to-end delays of MPTCP-rec and standard MPTCP (section 5.2, Fig.
/// 9).
pub const DELAY_REDUCTION: f64 = 0.4873;
/// Peak out-of-order offset of standard MPTCP and of MPTCP-rec (section 5.2, Fig. 7).
pub const PEAK_OUT_OF_ORDER: (f64, f64) = (3.0e5, 1.8e5);
