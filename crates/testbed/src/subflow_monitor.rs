//! State of the subflows of both hosts: from sock_diag for a kernel, or from Tandem's stack.

use crate::stacks::StackKind;
use crate::topology::{Topology, path_of};
use linux::Error;
use linux::diag::{Diag, Filter, Subflow};
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::socket::TcpInfo;
use policy::PathRoundTrip;
use sim::Experiment;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Duration;

/// Samples the sockets of both hosts, and keeps the counters of closed ones.
#[derive(Debug)]
pub(crate) struct SubflowMonitor {
    /// Sockets of the device's and of the server's kernel.
    kernels: [Option<Diag>; 2],
    /// Namespace of a server that uses the kernel.
    server: Option<Namespace>,
    /// Last known count of retransmissions of each subflow.
    retransmissions: BTreeMap<SocketKey, u64>,
    paths: Vec<PathSample>,
    /// Subflows of the kernels of the device and of the server in the last sample.
    latest: [Vec<Subflow>; 2],
}

/// Host, local and remote address of a socket.
type SocketKey = (usize, SocketAddr, SocketAddr);

/// A path's subflows in the last sample.
#[derive(Debug, Clone, Default)]
struct PathSample {
    round_trip: PathRoundTrip<SocketKey>,
    srtt: Option<Duration>,
    /// Sum of the congestion windows, in bytes.
    cwnd: u64,
}

impl SubflowMonitor {
    /// Interval between samples. A closed socket keeps no counters, so events of its last interval
    /// are missed.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

    pub(crate) fn open(experiment: &Experiment, topology: &Topology) -> Result<Self, Error> {
        let stacks = topology.stacks;
        let open = |kind: StackKind, host: &Namespace| {
            (kind == StackKind::Linux).then(|| host.run(Diag::open)).transpose()
        };
        let server = (stacks.server == StackKind::Linux).then(|| topology.server.run(Namespace::current));
        Ok(Self {
            kernels: [open(stacks.device, &topology.device)?, open(stacks.server, &topology.server)?],
            server: server.transpose()?,
            retransmissions: BTreeMap::new(),
            latest: Default::default(),
            paths: vec![PathSample::default(); experiment.paths.len()],
        })
    }

    /// Takes a sample of all sockets.
    pub(crate) fn sample(&mut self, topology: &Topology) -> Result<(), Error> {
        let mut sockets = Vec::new();
        for (host, stack) in [topology.device_host(), topology.server_host()].into_iter().enumerate() {
            if let Some(diag) = &mut self.kernels[host] {
                self.latest[host] = diag.subflows()?;
                let subflows = self.latest[host].iter();
                sockets.extend(
                    subflows.map(|one| SocketSample::of_kernel(host, one.local, one.remote, &one.tcp)),
                );
                diag.for_each_tcp(&Filter::default(), |one| {
                    sockets.push(SocketSample::of_kernel(host, one.local, one.remote, &one.tcp));
                })?;
            }
            if let Some(stack) = stack {
                sockets.extend(stack.subflows().iter().map(|one| SocketSample::of_stack(host, one)));
            }
        }
        let mut round_trips = vec![BTreeMap::new(); self.paths.len()];
        self.paths.iter_mut().for_each(|path| path.cwnd = 0);
        for socket in sockets {
            let path = path_of(socket.device_address().ip()).filter(|&path| path < self.paths.len());
            let Some(path) = path else { continue };
            self.retransmissions.insert(socket.key(), socket.retransmissions);
            // Only the data sender has a meaningful RTT and congestion window.
            if socket.sends {
                round_trips[path].extend(socket.srtt.map(|srtt| (socket.key(), srtt)));
                self.paths[path].cwnd += socket.cwnd;
            }
        }
        for (path, round_trips) in self.paths.iter_mut().zip(round_trips) {
            path.srtt = path.round_trip.observe(round_trips);
        }
        Ok(())
    }

    /// Segments retransmitted over a path, in both directions, by open and closed subflows.
    pub(crate) fn retransmissions(&self, path: usize) -> u64 {
        let is_on_path = |(host, local, remote): &SocketKey| {
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
    pub(crate) fn priorities_heard(&self, topology: &Topology) -> Result<u64, Error> {
        let Some(server) = &self.server else {
            return Ok(topology.server_host().map_or(0, stack::Host::priorities_heard));
        };
        let counters = server.run(Mib::read)?;
        Ok(counters.counter("MPTcpExtMPPrioRx").unwrap_or(0))
    }
}

/// A socket at one moment.
struct SocketSample {
    /// 0 for the device, 1 for the server.
    host: usize,
    local: SocketAddr,
    remote: SocketAddr,
    /// It sends more than it receives.
    sends: bool,
    srtt: Option<Duration>,
    /// Congestion window, in bytes.
    cwnd: u64,
    retransmissions: u64,
}

impl SocketSample {
    fn of_kernel(host: usize, local: SocketAddr, remote: SocketAddr, tcp: &TcpInfo) -> Self {
        let srtt = Duration::from_micros(u64::from(tcp.srtt_us));
        Self {
            host,
            local,
            remote,
            sends: tcp.bytes_sent > tcp.bytes_received,
            srtt: Some(srtt).filter(|srtt| !srtt.is_zero()),
            cwnd: u64::from(tcp.cwnd) * u64::from(tcp.mss),
            retransmissions: u64::from(tcp.total_retransmitted),
        }
    }

    fn of_stack(host: usize, one: &stack::SubflowSample) -> Self {
        Self {
            host,
            local: one.tuple.local,
            remote: one.tuple.remote,
            sends: one.sends,
            srtt: one.info.srtt,
            cwnd: one.info.cwnd,
            retransmissions: one.info.retransmissions,
        }
    }

    fn key(&self) -> SocketKey {
        (self.host, self.local, self.remote)
    }

    fn device_address(&self) -> SocketAddr {
        if self.host == 0 { self.local } else { self.remote }
    }
}
