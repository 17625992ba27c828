//! Kernel state of the subflows of both hosts (sock_diag).

use crate::topology::{Topology, path_of};
use linux::Error;
use linux::diag::{Diag, Filter, Subflow};
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::socket::TcpInfo;
use sim::Experiment;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Duration;

/// Samples the sockets of both hosts, and keeps the counters of closed ones.
#[derive(Debug)]
pub(crate) struct SubflowMonitor {
    /// Sockets of the device and of the server.
    hosts: [Diag; 2],
    server: Namespace,
    /// Last known count of retransmissions of each subflow, by host and addresses.
    retransmissions: BTreeMap<(usize, SocketAddr, SocketAddr), u64>,
    /// The connections use plain TCP.
    is_plain_tcp: bool,
    paths: Vec<PathSample>,
    /// Subflows of the device and of the server in the last sample.
    latest: [Vec<Subflow>; 2],
}

/// Sum of a path's subflows in the last sample.
#[derive(Debug, Clone, Copy, Default)]
struct PathSample {
    srtt: Option<Duration>,
    /// Congestion windows, in bytes.
    cwnd: u64,
}

impl SubflowMonitor {
    /// Interval between samples. A closed socket keeps no counters, so events of its last interval
    /// are missed.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

    pub(crate) fn open(experiment: &Experiment, topology: &Topology) -> Result<Self, Error> {
        Ok(Self {
            hosts: [topology.device.run(Diag::open)?, topology.server.run(Diag::open)?],
            server: topology.server.run(Namespace::current)?,
            retransmissions: BTreeMap::new(),
            is_plain_tcp: !matches!(experiment.transport.protocol, sim::Protocol::Mptcp),
            latest: Default::default(),
            paths: vec![PathSample::default(); experiment.paths.len()],
        })
    }

    /// Takes a sample of all sockets.
    pub(crate) fn sample(&mut self) -> Result<(), Error> {
        self.paths.fill(PathSample::default());
        let mut sockets: Vec<(usize, SocketAddr, SocketAddr, TcpInfo)> = Vec::new();
        for (host, diag) in self.hosts.iter_mut().enumerate() {
            self.latest[host] = diag.subflows()?;
            sockets.extend(self.latest[host].iter().map(|one| (host, one.local, one.remote, one.tcp)));
            if self.is_plain_tcp {
                diag.for_each_tcp(&Filter::default(), |one| {
                    sockets.push((host, one.local, one.remote, one.tcp));
                })?;
            }
        }
        for (host, local, remote, tcp) in sockets {
            let device = if host == 0 { local } else { remote };
            let path = path_of(device.ip()).filter(|&path| path < self.paths.len());
            let Some(path) = path else { continue };
            self.retransmissions.insert((host, local, remote), u64::from(tcp.total_retransmitted));
            let sample = &mut self.paths[path];
            // Only the data sender has a meaningful RTT and congestion window.
            if tcp.bytes_sent > tcp.bytes_received {
                let srtt = Duration::from_micros(u64::from(tcp.srtt_us));
                sample.srtt = Some(srtt).filter(|srtt| !srtt.is_zero()).or(sample.srtt);
                sample.cwnd += u64::from(tcp.cwnd) * u64::from(tcp.mss);
            }
        }
        Ok(())
    }

    /// Segments retransmitted over a path, in both directions, by open and closed subflows.
    pub(crate) fn retransmissions(&self, path: usize) -> u64 {
        let is_on_path = |(host, local, remote): &(usize, SocketAddr, SocketAddr)| {
            let device = if *host == 0 { local } else { remote };
            path_of(device.ip()) == Some(path)
        };
        self.retransmissions.iter().filter(|(key, _)| is_on_path(key)).map(|(_, count)| count).sum()
    }

    /// Smoothed RTT of a path.
    pub(crate) fn srtt(&self, path: usize) -> Option<Duration> {
        self.paths[path].srtt
    }

    /// Sum of a path's congestion windows, in bytes.
    pub(crate) fn cwnd(&self, path: usize) -> u64 {
        self.paths[path].cwnd
    }

    /// Subflows of the device and of the server in the last sample.
    pub(crate) fn latest(&self) -> [Vec<Subflow>; 2] {
        self.latest.clone()
    }

    /// Number of MP_PRIO options received by the server.
    pub(crate) fn priorities_heard(&self) -> Result<u64, Error> {
        let counters = self.server.run(Mib::read)?;
        Ok(counters.counter("MPTcpExtMPPrioRx").unwrap_or(0))
    }
}
