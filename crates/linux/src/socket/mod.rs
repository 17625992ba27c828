//! MPTCP and TCP sockets: opened, tuned, and asked about themselves.
//!
//! What comes out is the standard library's [`TcpStream`] and [`TcpListener`]: reading and writing an
//! MPTCP socket is no different.

mod mptcp_info;
mod tcp_info;

pub use mptcp_info::{MptcpInfo, SubflowInfo};
pub use tcp_info::{TcpInfo, TcpState};

use crate::netlink::fixed;
use crate::{Error, option};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_FULL_INFO: i32 = 4;
/// How many subflows a connection has at most: eight beside its first, and those that are closing.
const SUBFLOWS: usize = 32;

/// Which protocol a socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// MPTCP, or TCP where the peer knows no more.
    Mptcp,
    /// TCP alone.
    Tcp,
}

/// How a socket is set before it listens or connects; all that is `None` stays as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Congestion control of every subflow, such as `cubic`.
    pub congestion: Option<String>,
    /// How many bytes may be written and not yet acknowledged; the kernel then no longer tunes it itself.
    pub send_buffer: Option<usize>,
    /// How many bytes may be received and not yet read; the kernel then no longer tunes it itself.
    pub receive_buffer: Option<usize>,
    /// The interface that it is bound to.
    pub bind_device: Option<String>,
    /// The address that it connects from, or with port 0 any port of it.
    pub bind: Option<SocketAddr>,
    /// Send each write at once (no Nagle algorithm).
    pub no_delay: bool,
    /// How long to wait for a connection; `None` is as long as the kernel tries.
    pub timeout: Option<Duration>,
    /// How many connections may wait to be accepted; `None` is 4096.
    pub backlog: Option<i32>,
    /// Of one that listens: it takes connections to addresses that are not of this host, as TPROXY hands
    /// them over (`IP_TRANSPARENT`, ip(7)).
    pub transparent: bool,
    /// How many bytes it takes that it cannot send yet (`TCP_NOTSENT_LOWAT`, tcp(7)): what waits for a slow
    /// peer waits in the sender, and not in the kernel.
    pub notsent_lowat: Option<u32>,
    /// Of one that listens: how many connections with data in their SYN may be pending (TCP Fast Open,
    /// RFC 7413); `None` is none.
    pub fast_open: Option<i32>,
}

/// Listens at `address`; connections that come may be MPTCP where `protocol` is.
///
/// # Errors
/// Where the address is taken or not here, the kernel has no MPTCP, or an option cannot be set.
pub fn listen(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<TcpListener, Error> {
    let socket = open(address, protocol, options)?;
    let doing = || format!("listen at {address}");
    if options.transparent {
        transparent(&socket, address)?;
    }
    if let Some(pending) = options.fast_open {
        const TCP_FASTOPEN: i32 = 23;
        option::set_number(&socket, libc::SOL_TCP, TCP_FASTOPEN, pending)
            .map_err(|error| Error::system("take data in SYNs", error))?;
    }
    sockopt::set_socket_reuseaddr(&socket, true)
        .and_then(|()| net::bind(&socket, &address))
        .and_then(|()| net::listen(&socket, options.backlog.unwrap_or(4096)))
        .map_err(|error| Error::system(doing(), error))?;
    Ok(socket.into())
}

/// Connects to `address`.
///
/// # Errors
/// Where nobody listens there or answers in time, the kernel has no MPTCP, or an option cannot be set.
pub fn connect(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<TcpStream, Error> {
    let socket = open(address, protocol, options)?;
    let doing = || format!("connect to {address}");
    if let Some(from) = options.bind {
        net::bind(&socket, &from).map_err(|error| Error::system(format!("bind to {from}"), error))?;
    }
    ioctl_fionbio(&socket, true).map_err(|error| Error::system(doing(), error))?;
    match net::connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            connected(&socket, options.timeout).map_err(|error| Error::system(doing(), error))?;
        }
        Err(error) => return Err(Error::system(doing(), error)),
    }
    ioctl_fionbio(&socket, false).map_err(|error| Error::system(doing(), error))?;
    Ok(socket.into())
}

/// A socket towards `address` that is not connected yet, for whoever waits in a way of its own; it does not
/// block. `timeout` and what concerns listening are not looked at.
///
/// # Errors
/// Where the kernel has no MPTCP, or an option cannot be set.
pub fn open_unconnected(
    address: SocketAddr,
    protocol: Protocol,
    options: &Options,
) -> Result<TcpStream, Error> {
    let socket = open(address, protocol, options)?;
    if let Some(from) = options.bind {
        net::bind(&socket, &from).map_err(|error| Error::system(format!("bind to {from}"), error))?;
    }
    ioctl_fionbio(&socket, true)
        .map_err(|error| Error::system(format!("open a socket to {address}"), error))?;
    Ok(socket.into())
}

fn transparent(socket: &OwnedFd, address: SocketAddr) -> Result<(), Error> {
    const IP_TRANSPARENT: i32 = 19;
    const IPV6_TRANSPARENT: i32 = 75;
    let set = |level, name| option::set_number(socket, level, name, 1);
    match address {
        SocketAddr::V4(_) => set(libc::SOL_IP, IP_TRANSPARENT),
        SocketAddr::V6(_) => set(libc::SOL_IPV6, IPV6_TRANSPARENT),
    }
    .map_err(|error| Error::system("take connections to other hosts", error))
}

/// Ends a connection at once: the peer is sent a reset (of MPTCP, MP_FASTCLOSE; RFC 8684, section 3.5), and
/// what was written and not sent never is.
///
/// # Errors
/// Where the socket cannot be disconnected.
pub fn abort(socket: impl AsFd) -> Result<(), Error> {
    net::connect_unspec(socket).map_err(|error| Error::system("abort a connection", error))
}

/// Waits until a socket is connected, or why it is not.
fn connected(socket: &OwnedFd, timeout: Option<Duration>) -> io::Result<()> {
    let end = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let wait = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::new(socket, PollFlags::OUT)], wait.as_ref()) {
            Ok(0) if left.is_some_and(|left| left.is_zero()) => return Err(Errno::TIMEDOUT.into()),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return sockopt::socket_error(socket)?.map_err(Into::into),
            Err(error) => return Err(error.into()),
        }
    }
}

fn open(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<OwnedFd, Error> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let number = match protocol {
        Protocol::Mptcp => net::ipproto::MPTCP,
        Protocol::Tcp => net::ipproto::TCP,
    };
    let socket =
        net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(number)).map_err(no_mptcp)?;
    if let Some(name) = &options.congestion {
        set_congestion(&socket, name)?;
    }
    if let Some(bytes) = options.send_buffer {
        // Only with CAP_NET_ADMIN beyond `net.core.wmem_max`.
        sockopt::set_socket_send_buffer_size_force(&socket, bytes)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, bytes))
            .map_err(|error| Error::system("set a socket's send buffer", error))?;
    }
    if let Some(bytes) = options.receive_buffer {
        sockopt::set_socket_recv_buffer_size_force(&socket, bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, bytes))
            .map_err(|error| Error::system("set a socket's receive buffer", error))?;
    }
    if let Some(device) = &options.bind_device {
        option::set(&socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device.as_bytes())
            .map_err(|error| Error::system(format!("bind a socket to {device}"), error))?;
    }
    if let Some(bytes) = options.notsent_lowat {
        const TCP_NOTSENT_LOWAT: i32 = 25;
        // Kernels before 6.9 know it of TCP alone; without it more waits in the kernel, and that is all.
        _ = option::set_number(&socket, libc::SOL_TCP, TCP_NOTSENT_LOWAT, bytes.min(i32::MAX as u32) as i32);
    }
    if options.no_delay {
        sockopt::set_tcp_nodelay(&socket, true).map_err(|error| Error::system("set TCP_NODELAY", error))?;
    }
    Ok(socket)
}

fn no_mptcp(error: Errno) -> Error {
    match error {
        Errno::PROTONOSUPPORT | Errno::INVAL => Error::Lacks {
            what: "the kernel has no MPTCP".to_owned(),
            hint: "it needs Linux 5.6 or later, built with CONFIG_MPTCP".to_owned(),
        },
        Errno::NOPROTOOPT => Error::Lacks {
            what: "MPTCP is switched off here".to_owned(),
            hint: "switch it on: sysctl net.mptcp.enabled=1".to_owned(),
        },
        error => Error::system("open a socket", error),
    }
}

/// What is written to a UDP socket becomes datagrams of so many bytes each (UDP_SEGMENT, udp(7)).
///
/// # Errors
/// Where the kernel does not split datagrams (before Linux 4.18).
pub fn split_datagrams(socket: impl AsFd, size: u16) -> Result<(), Error> {
    const UDP_SEGMENT: i32 = 103;
    option::set_number(socket, libc::SOL_UDP, UDP_SEGMENT, i32::from(size))
        .map_err(|error| Error::system("have datagrams split", error))
}

/// Sets the congestion control of a TCP socket, or of every subflow of an MPTCP socket, later ones too.
///
/// # Errors
/// Where the kernel has none of that name, or does not allow it to this user
/// (`net.ipv4.tcp_allowed_congestion_control`).
pub fn set_congestion(socket: impl AsFd, name: &str) -> Result<(), Error> {
    sockopt::set_tcp_congestion(socket, name).map_err(|error| match error {
        Errno::NOENT => Error::Lacks {
            what: format!("the kernel has no congestion control called {name}"),
            hint: "those it has: sysctl net.ipv4.tcp_available_congestion_control".to_owned(),
        },
        Errno::PERM => Error::Lacks {
            what: format!("the congestion control {name} is not allowed here"),
            hint: "allow it in the first namespace: sysctl net.ipv4.tcp_allowed_congestion_control"
                .to_owned(),
        },
        error => Error::system(format!("set the congestion control {name}"), error),
    })
}

/// What the kernel knows of an MPTCP connection of this process; `None` where the socket is plain TCP,
/// by choice or by fallback.
///
/// # Errors
/// Where the socket fails, or the answer cannot be read.
pub fn mptcp_info(socket: impl AsFd) -> Result<Option<MptcpInfo>, Error> {
    let doing = "ask a socket about its MPTCP connection";
    let mut bytes = [0; mptcp_info::LENGTH];
    // SAFETY: this option has no pointers in it.
    #[allow(unsafe_code)]
    match unsafe { option::read(socket, SOL_MPTCP, MPTCP_INFO, &mut bytes) } {
        Ok(length) => MptcpInfo::parse(&bytes[..length]).map(Some).map_err(|error| error.answering(doing)),
        Err(error) if is_tcp(&error) => Ok(None),
        Err(error) => Err(Error::system(doing, error)),
    }
}

/// What the kernel knows of each subflow of an MPTCP connection of this process; none where the socket
/// is plain TCP, by choice or by fallback.
///
/// # Errors
/// Where the kernel is older than Linux 6.5, the socket fails, or the answer cannot be read.
pub fn full_info(socket: impl AsFd) -> Result<Vec<SubflowInfo>, Error> {
    let doing = "ask a socket about its subflows";
    let mut subflows = vec![0u8; SUBFLOWS * mptcp_info::SUBFLOW_LENGTH];
    let mut tcp = vec![0u8; SUBFLOWS * tcp_info::LENGTH];
    // `struct mptcp_full_info`: six numbers, two pointers, and `struct mptcp_info`.
    let mut bytes = [0u8; 40 + mptcp_info::LENGTH];
    let numbers = [0, tcp_info::LENGTH, 0, mptcp_info::SUBFLOW_LENGTH, 0, SUBFLOWS];
    for (at, number) in numbers.into_iter().enumerate() {
        bytes[at * 4..at * 4 + 4].copy_from_slice(&(number as u32).to_ne_bytes());
    }
    bytes[24..32].copy_from_slice(&(subflows.as_mut_ptr() as u64).to_ne_bytes());
    bytes[32..40].copy_from_slice(&(tcp.as_mut_ptr() as u64).to_ne_bytes());
    // SAFETY: the kernel writes to both pointers, at most as many elements of the lengths given: no more
    // than there is room for in `subflows` and `tcp`, which live until the end of this function.
    #[allow(unsafe_code)]
    let answer = unsafe { option::read(socket, SOL_MPTCP, MPTCP_FULL_INFO, &mut bytes) };
    match answer {
        Ok(_) => {}
        Err(error) if is_tcp(&error) => return Ok(Vec::new()),
        Err(error) => return Err(Error::system(doing, error)),
    }
    let word = |at: usize| fixed(&bytes, at).map_or(0, u32::from_ne_bytes) as usize;
    let (tcp_length, count) = (word(0), word(16).min(SUBFLOWS));
    mptcp_info::parse_full(count, &subflows, &tcp, tcp_length).map_err(|error| error.answering(doing))
}

/// An MPTCP option of a socket that speaks TCP: not known at that level.
fn is_tcp(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::ENOTCONN))
}

/// What the kernel knows of a TCP connection, or of the first subflow of an MPTCP connection.
///
/// # Errors
/// Where the socket fails, or the answer cannot be read.
pub fn tcp_info(socket: impl AsFd) -> Result<TcpInfo, Error> {
    let doing = "ask a socket about its TCP connection";
    let mut bytes = [0; tcp_info::LENGTH];
    // SAFETY: this option has no pointers in it.
    #[allow(unsafe_code)]
    let length = unsafe { option::read(socket, libc::SOL_TCP, libc::TCP_INFO, &mut bytes) }
        .map_err(|error| Error::system(doing, error))?;
    TcpInfo::parse(&bytes[..length]).map_err(|error| error.answering(doing))
}

/// Bytes written to a socket that are not yet acknowledged (SIOCOUTQ); of MPTCP, at the data level.
///
/// # Errors
/// Where the socket is not connected.
pub fn unacknowledged(socket: impl AsFd) -> Result<u64, Error> {
    queued(socket, libc::TIOCOUTQ, "ask a socket what is not acknowledged")
}

/// Bytes written to a socket that are not yet sent (SIOCOUTQNSD); of MPTCP, not yet given to a subflow.
///
/// # Errors
/// Where the socket is not connected.
pub fn unsent(socket: impl AsFd) -> Result<u64, Error> {
    const SIOCOUTQNSD: libc::c_ulong = 0x894B;
    queued(socket, SIOCOUTQNSD, "ask a socket what is not sent")
}

fn queued(socket: impl AsFd, request: libc::c_ulong, doing: &str) -> Result<u64, Error> {
    let mut bytes: libc::c_int = 0;
    let socket = socket.as_fd();
    retry_on_intr(|| {
        // SAFETY: both requests write one `int` to where the pointer points, which lives until the call
        // is over.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut bytes) };
        if answer < 0 {
            Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
        } else {
            Ok(())
        }
    })
    .map_err(|error| Error::system(doing, error))?;
    Ok(bytes.max(0) as u64)
}

#[cfg(test)]
mod tests;
