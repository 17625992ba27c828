//! What the paper prints: Cao et al.: Receiver-centric Buffer Blocking-aware Multipath Data Distribution
//! in MPTCP-based Heterogeneous Wireless Networks (2016).

/// One of the three paths (section 5.1 and Table 1, whose loss columns are lost).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperPath {
    /// Its letter.
    pub name: &'static str,
    /// What it stands for.
    pub technology: &'static str,
    /// Rate of the access link, in kbit/s.
    pub rate_kbps: u32,
    /// Propagation delay from and to, in milliseconds.
    pub delay_ms: (u32, u32),
}

/// Paths A, B and C (section 5.1).
pub const PATHS: [PaperPath; 3] = [
    PaperPath { name: "A", technology: "3G/UMTS", rate_kbps: 384, delay_ms: (20, 50) },
    PaperPath { name: "B", technology: "Wi-Fi/IEEE 802.11b", rate_kbps: 11_000, delay_ms: (10, 20) },
    PaperPath { name: "C", technology: "WiMAX/IEEE 802.16", rate_kbps: 10_000, delay_ms: (20, 50) },
];

/// Of each run, in seconds (section 5.1).
pub const DURATION_S: u64 = 120;
/// Background on each path goes up to this share of the access rate (section 5.1).
pub const MOST_BACKGROUND: f64 = 0.5;
/// MPTCP-rec's throughput over standard MPTCP's, less one (section 5.2, Fig. 8).
pub const THROUGHPUT_GAIN: f64 = 0.4093;
/// One less MPTCP-rec's end-to-end delay over standard MPTCP's (section 5.2, Fig. 9).
pub const DELAY_REDUCTION: f64 = 0.4873;
/// Peak of the out-of-order offset of standard MPTCP and of MPTCP-rec (section 5.2, Fig. 7).
pub const PEAK_OUT_OF_ORDER: (f64, f64) = (3.0e5, 1.8e5);
