//! What the kernel knows of the subflows of both hosts.

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

/// Looks at both hosts' sockets and keeps what outlives them.
#[derive(Debug)]
pub(crate) struct Watch {
    hosts: [Diag; 2],
    server: Namespace,
    /// The last that was seen of each subflow, by host and addresses.
    seen: BTreeMap<(usize, SocketAddr, SocketAddr), u64>,
    /// Connections are of plain TCP.
    is_plain: bool,
    now: Vec<Now>,
    /// All of them at the last look, of the device and of the server.
    latest: [Vec<Subflow>; 2],
}

/// One path's subflows at the last look.
#[derive(Debug, Clone, Copy, Default)]
struct Now {
    srtt: Option<Duration>,
    cwnd: u64,
}

impl Watch {
    /// So often sockets are looked at, so that none ends unseen with much to tell.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(250);

    pub(crate) fn open(experiment: &Experiment, topology: &Topology) -> Result<Self, Error> {
        Ok(Self {
            hosts: [topology.device.run(Diag::open)?, topology.server.run(Diag::open)?],
            server: topology.server.run(Namespace::current)?,
            seen: BTreeMap::new(),
            is_plain: !matches!(experiment.transport.protocol, sim::Protocol::Mptcp),
            latest: Default::default(),
            now: vec![Now::default(); experiment.paths.len()],
        })
    }

    pub(crate) fn look(&mut self) -> Result<(), Error> {
        self.now.fill(Now::default());
        let mut all: Vec<(usize, SocketAddr, SocketAddr, TcpInfo)> = Vec::new();
        for (host, diag) in self.hosts.iter_mut().enumerate() {
            self.latest[host] = diag.subflows()?;
            all.extend(self.latest[host].iter().map(|one| (host, one.local, one.remote, one.tcp)));
            if self.is_plain {
                diag.for_each_tcp(&Filter::default(), |one| {
                    all.push((host, one.local, one.remote, one.tcp));
                })?;
            }
        }
        for (host, local, remote, tcp) in all {
            let device = if host == 0 { local } else { remote };
            let path = path_of(device.ip()).filter(|&path| path < self.now.len());
            let Some(path) = path else { continue };
            self.seen.insert((host, local, remote), u64::from(tcp.total_retransmitted));
            let now = &mut self.now[path];
            // Who sends data knows the round trip; the other one's window says nothing.
            if tcp.bytes_sent > tcp.bytes_received {
                let srtt = Duration::from_micros(u64::from(tcp.srtt_us));
                now.srtt = Some(srtt).filter(|srtt| !srtt.is_zero()).or(now.srtt);
                now.cwnd += u64::from(tcp.cwnd) * u64::from(tcp.mss);
            }
        }
        Ok(())
    }

    /// Segments sent again over a path, both ways, by all subflows that were ever seen.
    pub(crate) fn retransmissions(&self, path: usize) -> u64 {
        let of = |(host, local, remote): &(usize, SocketAddr, SocketAddr)| {
            let device = if *host == 0 { local } else { remote };
            path_of(device.ip()) == Some(path)
        };
        self.seen.iter().filter(|(key, _)| of(key)).map(|(_, count)| count).sum()
    }

    pub(crate) fn srtt(&self, path: usize) -> Option<Duration> {
        self.now[path].srtt
    }

    pub(crate) fn cwnd(&self, path: usize) -> u64 {
        self.now[path].cwnd
    }

    /// The subflows of the device and of the server at the last look.
    pub(crate) fn latest(&self) -> [Vec<Subflow>; 2] {
        self.latest.clone()
    }

    /// How often the server has heard MP_PRIO.
    pub(crate) fn priorities_heard(&self) -> Result<u64, Error> {
        let counters = self.server.run(Mib::read)?;
        Ok(counters.counter("MPTcpExtMPPrioRx").unwrap_or(0))
    }
}
