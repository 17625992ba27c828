//! A host of a case: Linux or Tandem.

use crate::case::Kind;
use crate::kernel_host::KernelHost;
use crate::network::{client_address, path_address};
use crate::plan::{Join, Plan};
use crate::progress::{Script, Shared};
use crate::stack_host::StackHost;
use linux::mib::Mib;
use linux::tun::Tun;
use mptcp::Failure;
use std::net::IpAddr;

/// Port of the server.
pub(crate) const PORT: u16 = 5201;
/// Port of the announced address, in the plans with one.
pub(crate) const ANNOUNCED_PORT: u16 = 6201;

/// How to set up a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) v6: bool,
    pub(crate) is_client: bool,
}

impl Setup<'_> {
    pub(crate) fn script(&self) -> Script {
        let plan = self.plan;
        let (send, last) = if self.is_client {
            (plan.up, plan.server_closes_first)
        } else {
            (plan.down, plan.client_closes_first)
        };
        Script {
            send,
            first: plan.first_part(send),
            waits_for_end: last,
            answers_late: last && plan.half_close,
            reads_late: plan.reads_late,
            stream: u8::from(!self.is_client),
        }
    }
    /// Address of the host on the second path.
    pub(crate) fn second_address(&self) -> IpAddr {
        if self.is_client { client_address(self.v6, 1) } else { path_address(self.v6, 1) }
    }
    /// The host announces its address on the second path.
    pub(crate) fn announces(&self) -> bool {
        match self.plan.join {
            Join::Announced | Join::AnnouncedPort => !self.is_client,
            Join::Server => self.is_client,
            _ => false,
        }
    }
    pub(crate) fn announced_port(&self) -> Option<u16> {
        matches!(self.plan.join, Join::AnnouncedPort | Join::Server).then_some(ANNOUNCED_PORT)
    }
    /// An IPv6 address, a port and an HMAC leave no space for timestamps.
    pub(crate) fn has_timestamps(&self) -> bool {
        !(self.v6 && self.announced_port().is_some())
    }
    /// The client opens a subflow over the second path by itself.
    pub(crate) fn joins(&self) -> bool {
        self.is_client
            && !matches!(self.plan.join, Join::None | Join::Server)
            && !matches!(self.plan.join, Join::Announced | Join::AnnouncedPort)
    }
    pub(crate) fn is_backup(&self) -> bool {
        self.plan.join == Join::ClientBackup
    }
    /// The server accepts no further subflows.
    pub(crate) fn refuses_joins(&self) -> bool {
        !self.is_client && self.plan.join == Join::Refused
    }
}

/// A running host with one connection.
pub(crate) enum Host {
    Kernel(Box<KernelHost>),
    Stack(StackHost),
}

impl Host {
    /// Sets up a host, and returns the far ends of its devices.
    pub(crate) fn start(kind: Kind, setup: Setup<'_>) -> Result<(Self, Vec<Tun>), String> {
        Ok(match kind {
            Kind::Linux => {
                let (host, devices) = KernelHost::start(setup).map_err(|error| error.to_string())?;
                (Self::Kernel(Box::new(host)), devices)
            }
            Kind::Tandem => {
                let (host, devices) = StackHost::start(setup).map_err(|error| error.to_string())?;
                (Self::Stack(host), devices)
            }
        })
    }

    /// Opens the connection of a client.
    pub(crate) fn connect(&mut self) {
        match self {
            Self::Kernel(host) => host.connect(),
            Self::Stack(host) => host.connect(),
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        match self {
            Self::Kernel(host) => host.shared(),
            Self::Stack(host) => host.shared(),
        }
    }

    pub(crate) fn is_mptcp(&self) -> bool {
        match self {
            Self::Kernel(host) => host.is_mptcp(),
            Self::Stack(host) => host.is_mptcp(),
        }
    }

    /// The connection has negotiated DSS checksums.
    pub(crate) fn uses_checksum(&self) -> bool {
        match self {
            Self::Kernel(host) => host.uses_checksum(),
            Self::Stack(host) => host.uses_checksum(),
        }
    }

    /// Packets to the emulator that were lost.
    pub(crate) fn lost_packets(&self) -> u64 {
        match self {
            Self::Kernel(_) => 0,
            Self::Stack(host) => host.lost_packets(),
        }
    }

    /// Number of established subflows.
    pub(crate) fn subflows(&self) -> usize {
        match self {
            Self::Kernel(host) => host.subflows(),
            Self::Stack(host) => host.subflows(),
        }
    }

    /// The peer has changed the priority of a subflow.
    pub(crate) fn saw_priority(&self) -> bool {
        match self {
            Self::Kernel(host) => host.counter("MPTcpExtMPPrioRx") > 0,
            Self::Stack(host) => host.saw(|event| matches!(event, mptcp::Event::Priority(..))),
        }
    }

    /// Makes the second subflow a backup (MP_PRIO).
    pub(crate) fn set_backup(&mut self) -> Result<(), String> {
        match self {
            Self::Kernel(host) => host.set_backup().map_err(|error| error.to_string()),
            Self::Stack(host) => {
                host.set_backup();
                Ok(())
            }
        }
    }

    /// Removes the local address of the second path (REMOVE_ADDR).
    pub(crate) fn remove_address(&mut self) -> Result<(), String> {
        match self {
            Self::Kernel(host) => host.remove_address().map_err(|error| error.to_string()),
            Self::Stack(host) => {
                host.remove_address();
                Ok(())
            }
        }
    }

    /// Aborts the connection (MP_FASTCLOSE).
    pub(crate) fn abort(&mut self) {
        match self {
            Self::Kernel(host) => host.abort(),
            Self::Stack(host) => host.abort(),
        }
    }

    /// The peer has joined with a backup.
    pub(crate) fn has_backup(&self) -> bool {
        match self {
            Self::Kernel(host) => host.counter("MPTcpExtMPJoinSynBackupRx") > 0,
            Self::Stack(host) => host.has_backup(),
        }
    }

    pub(crate) const fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel(_))
    }

    /// A subflow of Tandem ended for a reason for which `is_wanted` is true.
    pub(crate) fn lost_subflow(&self, is_wanted: impl Fn(&Failure) -> bool) -> bool {
        match self {
            Self::Kernel(_) => false,
            Self::Stack(host) => host.saw(|event| match event {
                mptcp::Event::SubflowDown(_, Some(failure)) => is_wanted(failure),
                _ => false,
            }),
        }
    }

    /// A counter of the kernel; 0 for Tandem.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        match self {
            Self::Kernel(host) => host.counter(name),
            Self::Stack(_) => 0,
        }
    }

    /// Counters of the kernel; `None` for Tandem.
    ///
    /// # Errors
    /// If the kernel's counters cannot be read.
    pub(crate) fn mib(&self) -> Result<Option<Mib>, String> {
        match self {
            Self::Kernel(host) => host.mib().map(Some).map_err(|error| error.to_string()),
            Self::Stack(_) => Ok(None),
        }
    }
}
