//! The paper's test bed as an experiment: twelve nodes, a Wi-Fi cell, an LTE cell, four cases.

use super::calibration::Calibration;
use super::paper::{BATTERY_J, Case, DURATION_S, LTE_ONLY_SINKS, OTHER_SINKS, PACKET_BYTES};
use link::{CellConfig, CellKind, Delay, LinkConfig, Load, Loss, QueueLimit, Rate, StationConfig};
use mptcp::{CongestionKind, SchedulerKind};
use policy::{Actuator, Emtcp, PolicyConfig};
use radio::{InterfaceKind, Profile};
use sim::{CellSpec, Device, Experiment, Hop, PathSpec, Protocol, Transport};
use std::sync::Arc;
use traffic::{Kind, OnFull, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Energy, Instant, Power, Seed};

/// Bandwidths and round trips as Fig. 3 labels them.
const WIFI_MBPS: f64 = 2.0;
const LTE_MBPS: f64 = 100.0;
const WIFI_RTT: Duration = Duration::from_millis(10);
const LTE_RTT: Duration = Duration::from_millis(100);
/// Send buffer of a socket of ns-3 (`TcpSocket::SndBufSize`).
const SOCKET_BUFFER: u64 = 131_072;
/// Options that every data segment carries: timestamps, and with MPTCP a DSS.
const TCP_OPTIONS: u64 = 12;
const MPTCP_OPTIONS: u64 = 36;

/// What the air costs beside a frame's own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mac {
    /// Nothing: the label's 2 Mbit/s are all for IP packets.
    None,
    /// OFDM timing (IEEE 802.11a, which ns-3 takes by default): DIFS 34 µs, mean backoff of 7.5 slots of
    /// 9 µs, preamble 20 µs, SIFS 16 µs, an ACK of 44 µs, and 36 bytes of MAC and LLC header at 2 Mbit/s.
    Ofdm,
    /// DSSS timing with long preambles (IEEE 802.11b): DIFS 50 µs, 15.5 slots of 20 µs, preamble 192 µs,
    /// SIFS 10 µs, an ACK of 248 µs, and the same headers.
    Dsss,
}

impl Mac {
    /// Time added to each frame.
    pub const fn overhead(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Ofdm => Duration::from_micros(34 + 68 + 20 + 16 + 44 + 144),
            Self::Dsss => Duration::from_micros(50 + 310 + 192 + 10 + 248 + 144),
        }
    }
}

/// What may be otherwise than in the reproduction itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The multipath cases' congestion control.
    pub congestion: CongestionKind,
    /// Their scheduler.
    pub scheduler: SchedulerKind,
    /// The policy in place of that of the case.
    pub policy: Option<PolicyConfig>,
    /// The Wi-Fi cell's timing.
    pub mac: Mac,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            congestion: CongestionKind::Reno,
            scheduler: SchedulerKind::Share,
            policy: None,
            mac: Mac::Ofdm,
        }
    }
}

impl Variant {
    /// The ideal actuator with this share.
    pub fn share(share: f64) -> Self {
        Self { policy: Some(Emtcp { share, actuator: Actuator::Ideal }.into()), ..Self::default() }
    }
}

/// One run of a case.
pub fn experiment(case: Case, calibration: &Calibration, variant: &Variant, seed: u64) -> Experiment {
    let transport = mptcp::Config {
        // Each packet carries the paper's 1040 bytes, in every case.
        mss: (PACKET_BYTES + if case.is_multipath() { MPTCP_OPTIONS } else { TCP_OPTIONS }) as u16,
        send_buffer: if case.is_multipath() { receive_buffer() } else { SOCKET_BUFFER },
        subflow_buffer: if case.is_multipath() { SOCKET_BUFFER } else { u64::MAX },
        recv_buffer: receive_buffer(),
        scheduler: variant.scheduler.into(),
        congestion: if case.is_multipath() { variant.congestion.into() } else { CongestionKind::Reno.into() },
        // RFC 6298 and ns-3: a second.
        min_rto: Duration::from_secs(1),
        ..mptcp::Config::default()
    };
    Experiment {
        seed: Seed::new(seed),
        duration: Duration::from_secs(DURATION_S),
        sample: Duration::from_secs(1),
        device: Device {
            name: "UE-B6".into(),
            battery: Energy::from_joules(BATTERY_J),
            policy: variant.policy.clone().unwrap_or_else(|| policy(case)),
            joint_power: Power::ZERO,
        },
        cells: vec![wifi_cell(case, calibration, variant.mac), lte_cell(case)],
        paths: paths(calibration),
        transport: Transport {
            protocol: match case {
                Case::TcpWifi => Protocol::Tcp { path: 0 },
                Case::TcpLte => Protocol::Tcp { path: 1 },
                Case::Mptcp | Case::Emtcp => Protocol::Mptcp,
            },
            config: transport,
        },
        traffic: vec![TrafficConfig {
            // As ns-3's on-off application: what finds the buffer full is dropped.
            on_full: OnFull::Drop,
            ..TrafficConfig::new(Kind::Cbr {
                rate: Bitrate::from_mbps(case.max_bitrate_mbps()),
                packet: Bytes::new(PACKET_BYTES),
            })
        }],
        background: Vec::new(),
        capture: false,
    }
}

/// The case's own policy.
fn policy(case: Case) -> PolicyConfig {
    match case {
        Case::Emtcp => Emtcp::PAPER.into(),
        _ => PolicyConfig::default(),
    }
}

/// Eq. (1): 2.55 Mbyte.
fn receive_buffer() -> u64 {
    mptcp::receive_buffer(&[(WIFI_MBPS * 1e6) as u64, (LTE_MBPS * 1e6) as u64], LTE_RTT)
}

/// In case 1 the cell is shared by the nine other sinks. With an LTE cell beside it, the four that see
/// LTE only are there, and five are left on Wi-Fi (UE-B5 and UE-B7 to UE-B10).
fn wifi_cell(case: Case, calibration: &Calibration, mac: Mac) -> CellSpec {
    let others = if case == Case::TcpWifi { OTHER_SINKS } else { OTHER_SINKS - LTE_ONLY_SINKS };
    CellSpec {
        name: "Wi-Fi".into(),
        config: CellConfig {
            kind: CellKind::Wifi,
            rate: Bitrate::from_mbps(WIFI_MBPS),
            overhead: mac.overhead(),
            others: vec![load(others, calibration.other_sink_rate)],
            ..CellConfig::default()
        },
    }
}

/// Each of the others receives the paper's 1 Mbit/s; the cell has room for all of them.
fn lte_cell(case: Case) -> CellSpec {
    let others = if case == Case::TcpLte { OTHER_SINKS } else { LTE_ONLY_SINKS };
    CellSpec {
        name: "LTE".into(),
        config: CellConfig {
            kind: CellKind::Lte,
            rate: Bitrate::from_mbps(LTE_MBPS),
            others: vec![load(others, Bitrate::from_mbps(1.0))],
            ..CellConfig::default()
        },
    }
}

fn load(count: u32, rate: Bitrate) -> Load {
    Load { count, rate, packet: Bytes::new(PACKET_BYTES), ..Load::default() }
}

fn paths(calibration: &Calibration) -> Vec<PathSpec> {
    let station = |rtt: Duration, loss: Loss| StationConfig {
        // ns-3's drop-tail queue.
        queue: QueueLimit::Packets(100),
        delay: Delay::Fixed(rtt / 2),
        loss,
        ..StationConfig::default()
    };
    let path = |name: &str, kind: InterfaceKind, measured: &str, down: Hop, up: Hop| PathSpec {
        name: name.into(),
        profile: calibration.profile(kind),
        down,
        up,
        middleboxes: Vec::new(),
        backup: false,
        join_at: Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: vec![Arc::new(Profile::named(measured).expect("it is built in"))],
    };
    let wifi = || Hop::Cell { cell: 0, station: station(WIFI_RTT, Loss::None) };
    let lte_down = Hop::Cell { cell: 1, station: station(LTE_RTT, Loss::Uniform(calibration.lte_loss)) };
    // An LTE cell is one direction; nobody else sends on the way up.
    let lte_up = Hop::Link(LinkConfig {
        rate: Rate::Fixed(Bitrate::from_mbps(LTE_MBPS)),
        delay: Delay::Fixed(LTE_RTT / 2),
        ..LinkConfig::default()
    });
    vec![
        path("wifi", InterfaceKind::Wifi, "huang2012.wifi", wifi(), wifi()),
        path("lte", InterfaceKind::Lte, "huang2012.lte", lte_down, lte_up),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receive_buffer_is_that_of_the_paper() {
        assert_eq!(receive_buffer(), 2_550_000);
    }

    #[test]
    fn the_topology_has_the_papers_sinks() {
        let calibration = Calibration::shipped();
        let others = |case: Case, cell: usize| {
            let experiment = experiment(case, &calibration, &Variant::default(), 1);
            experiment.cells[cell].config.others.iter().map(|load| load.count).sum::<u32>()
        };
        assert_eq!(others(Case::TcpWifi, 0), 9);
        assert_eq!(others(Case::TcpLte, 1), 9);
        for case in [Case::Mptcp, Case::Emtcp] {
            assert_eq!(others(case, 0) + others(case, 1), 9);
        }
    }
}
