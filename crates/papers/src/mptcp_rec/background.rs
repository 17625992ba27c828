//! Background traffic of the paper's paths.

use super::paper::{MAX_BACKGROUND_SHARE, PATHS, PaperPath, TCP_BACKGROUND_SHARE};
use sim::BackgroundSpec;
use traffic::{Direction, Kind, Mix, TrafficConfig, Vbr};
use units::{Bitrate, Duration, Instant};

/// Time after which the background traffic draws a new rate.
const RATE_INTERVAL: Duration = Duration::from_secs(1);

/// Protocols of the background traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Datagrams only. Their rate is the paper's, whatever the load.
    Datagrams,
    /// 90 % of the rate over a TCP connection per path, 10 % as datagrams. TCP backs off, and
    /// sends its backlog later.
    Tcp,
}

impl Background {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Datagrams => "udp",
            Self::Tcp => "tcp",
        }
    }

    /// The other kind.
    pub const fn other(self) -> Self {
        match self {
            Self::Datagrams => Self::Tcp,
            Self::Tcp => Self::Datagrams,
        }
    }

    /// Share of the rate over TCP.
    const fn tcp_share(self) -> f64 {
        match self {
            Self::Datagrams => 0.0,
            Self::Tcp => TCP_BACKGROUND_SHARE,
        }
    }

    /// Flows of datagrams.
    pub(super) fn datagrams(self) -> Vec<BackgroundSpec> {
        let flow = |(path, paper)| BackgroundSpec {
            path,
            direction: Direction::Down,
            start: Instant::ZERO,
            stop: None,
            packets: packets(paper, 1.0 - self.tcp_share()),
        };
        PATHS.iter().enumerate().map(flow).collect()
    }

    /// Connections beside the measured one.
    pub(super) fn connections(self) -> Vec<TrafficConfig> {
        let connection = |(path, paper)| TrafficConfig {
            tcp_path: Some(path),
            ..TrafficConfig::new(Kind::Vbr(packets(paper, self.tcp_share())))
        };
        match self {
            Self::Datagrams => Vec::new(),
            Self::Tcp => PATHS.iter().enumerate().map(connection).collect(),
        }
    }
}

/// Packets with this share of a path's background rate.
fn packets(path: &PaperPath, share: f64) -> Vbr {
    Vbr {
        low: Bitrate::ZERO,
        high: Bitrate::from_bps((f64::from(path.rate_kbps) * 1e3 * MAX_BACKGROUND_SHARE * share) as u64),
        every: RATE_INTERVAL,
        // The paper's mix: half of the packets have 44 bytes, a quarter each 576 and 1500.
        mix: Mix::TRIMODAL,
        bursts: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_offer_the_papers_rate() {
        for kind in [Background::Datagrams, Background::Tcp] {
            assert_eq!(kind.other().other(), kind);
            for (path, paper) in PATHS.iter().enumerate() {
                let datagrams = kind.datagrams()[path].packets.high.as_bps();
                let tcp = kind.connections().get(path).map_or(0, |connection| {
                    assert_eq!(connection.tcp_path, Some(path));
                    connection.kind.mean_rate().map_or(0, |rate| 2 * rate.as_bps())
                });
                let offered = (datagrams + tcp) as f64 / (f64::from(paper.rate_kbps) * 1e3);
                assert!((offered - MAX_BACKGROUND_SHARE).abs() < 1e-4, "{offered}");
            }
        }
    }
}
