//! The paper's test bed as an experiment: twelve nodes, one Wi-Fi cell, one LTE cell, four cases.

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

// Bandwidths and round-trip times as Fig. 3 labels them.
const WIFI_MBPS: f64 = 2.0;
const LTE_MBPS: f64 = 100.0;
const WIFI_RTT: Duration = Duration::from_millis(10);
const LTE_RTT: Duration = Duration::from_millis(100);
/// Send buffer of an ns-3 socket (`TcpSocket::SndBufSize`).
const SOCKET_BUFFER_BYTES: u64 = 131_072;
/// Options of a TCP data segment: timestamps.
const TCP_OPTION_BYTES: u64 = 12;
/// Options of an MPTCP data segment: timestamps and a DSS.
const MPTCP_OPTION_BYTES: u64 = 36;

/// Airtime of a frame beside its own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mac {
    /// No overhead: IP packets get the whole 2 Mbit/s of the label.
    None,
    /// OFDM timing (IEEE 802.11a, the default of ns-3): DIFS 34 µs, mean backoff of 7.5 slots of 9
    /// µs, preamble 20 µs, SIFS 16 µs, ACK 44 µs, and 36 bytes of MAC and LLC headers at 2 Mbit/s.
    Ofdm,
    /// DSSS timing with long preambles (IEEE 802.11b): DIFS 50 µs, mean backoff of 15.5 slots of
    /// 20 µs, preamble 192 µs, SIFS 10 µs, ACK 248 µs, and the same headers.
    Dsss,
}

impl Mac {
    /// Airtime added to each frame.
    pub const fn overhead(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Ofdm => Duration::from_micros(34 + 68 + 20 + 16 + 44 + 144),
            Self::Dsss => Duration::from_micros(50 + 310 + 192 + 10 + 248 + 144),
        }
    }
}

/// How the multipath sender takes data from the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Each interface is offered its own stream of 1 Mbit/s through its own socket buffer.
    TwoStreams,
    /// The same, divided by Table I for each segment.
    TwoStreamsTableOne,
    /// One stream and one send buffer, the preset `ns3-mptcp-2012`, divided by Table I.
    OneBuffer,
}

impl Stream {
    /// Actuator of eMTCP that divides the data.
    pub const fn actuator(self) -> Actuator {
        match self {
            Self::TwoStreams => Actuator::Ideal,
            Self::TwoStreamsTableOne | Self::OneBuffer => Actuator::TableOne,
        }
    }

    /// All stream models.
    pub const ALL: [Self; 3] = [Self::TwoStreams, Self::TwoStreamsTableOne, Self::OneBuffer];

    /// Identifier of the transport in result files.
    pub const fn id(self) -> &'static str {
        match self {
            Self::TwoStreams | Self::TwoStreamsTableOne => "two-streams",
            Self::OneBuffer => "ns3-mptcp-2012",
        }
    }
}

/// Parameters that the sweep and the sensitivity analysis vary.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// How the sender of the multipath cases takes data.
    pub stream: Stream,
    /// Congestion control of the multipath cases.
    pub congestion: CongestionKind,
    /// Scheduler of the multipath cases with two streams.
    pub scheduler: SchedulerKind,
    /// Policy that replaces the policy of the case.
    pub policy: Option<PolicyConfig>,
    /// Frame timing of the Wi-Fi cell.
    pub mac: Mac,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            stream: Stream::TwoStreams,
            congestion: CongestionKind::Reno,
            scheduler: SchedulerKind::Share,
            policy: None,
            mac: Mac::Ofdm,
        }
    }
}

impl Variant {
    /// A stream model with its actuator and this offload share.
    pub fn share(stream: Stream, congestion: CongestionKind, share: f64) -> Self {
        let actuator = stream.actuator();
        let policy = Some(Emtcp { share, actuator }.into());
        Self { stream, policy, ..Self::plain(stream, congestion) }
    }

    /// A stream model without offloading.
    pub fn plain(stream: Stream, congestion: CongestionKind) -> Self {
        let stream = if stream == Stream::OneBuffer { stream } else { Stream::TwoStreams };
        Self { stream, congestion, ..Self::default() }
    }
}

/// The experiment of one run of a case.
pub fn experiment(case: Case, calibration: &Calibration, variant: &Variant, seed: u64) -> Experiment {
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
            config: transport(case, variant),
        },
        traffic: vec![TrafficConfig {
            // As the on-off application of ns-3: it drops packets while the send buffer is full.
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

fn transport(case: Case, variant: &Variant) -> mptcp::Config {
    let common = mptcp::Config {
        recv_buffer: receive_buffer(),
        scheduler: variant.scheduler.into(),
        // RFC 6298 and ns-3: one second.
        min_rto: Duration::from_secs(1),
        ..mptcp::Config::default()
    };
    // The MSS counts options too, so that each packet carries the paper's 1040 bytes of payload.
    if case.is_multipath() {
        let common = match variant.stream {
            Stream::TwoStreams | Stream::TwoStreamsTableOne => {
                mptcp::Config { subflow_buffer: SOCKET_BUFFER_BYTES, ..common }
            }
            // The paper takes data "out to the sub-flows" from one buffer with the size of Eq. (1).
            Stream::OneBuffer => {
                mptcp::Config { recv_buffer: receive_buffer(), ..mptcp::Config::ns3_mptcp_2012() }
            }
        };
        mptcp::Config {
            mss: (PACKET_BYTES + MPTCP_OPTION_BYTES) as u16,
            send_buffer: receive_buffer(),
            congestion: variant.congestion.into(),
            ..common
        }
    } else {
        mptcp::Config {
            mss: (PACKET_BYTES + TCP_OPTION_BYTES) as u16,
            send_buffer: SOCKET_BUFFER_BYTES,
            subflow_buffer: u64::MAX,
            congestion: CongestionKind::Reno.into(),
            ..common
        }
    }
}

/// The policy of a case in the paper.
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

/// The Wi-Fi cell. In case 1 all nine other sinks share it. With an LTE cell beside it, the four
/// sinks with LTE coverage only use that cell, and five stay on Wi-Fi (UE-B5 and UE-B7 to UE-B10).
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

/// The LTE cell. Each other sink receives the paper's 1 Mbit/s; the cell is never saturated.
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
        // Drop-tail queue of ns-3.
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
        also_measure: vec![Arc::new(Profile::named(measured).expect("the profile is built in"))],
    };
    let wifi = || Hop::Cell { cell: 0, station: station(WIFI_RTT, Loss::None) };
    let lte_down = Hop::Cell { cell: 1, station: station(LTE_RTT, Loss::Uniform(calibration.lte_loss)) };
    // An LTE cell models the downlink. No other station uses the uplink, so a plain link does.
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
    fn receive_buffer_matches_equation_1() {
        assert_eq!(receive_buffer(), 2_550_000);
    }

    #[test]
    fn cells_hold_the_nine_other_sinks_in_every_case() {
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
