//! MPTCP and TCP sockets: opening, options, statistics.
//!
//! The results are the standard library's [`TcpStream`] and [`TcpListener`]; reads and writes do
//! not differ between MPTCP and TCP.

mod client;
mod host;
mod mptcp_info;
mod tcp_info;

pub use client::client_network;
pub use host::is_address_or_localhost;
pub use mptcp_info::{MptcpInfo, SubflowInfo};
pub use tcp_info::{TcpInfo, TcpState};

use crate::netlink::read_array;
use crate::{Error, option};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_FULL_INFO: i32 = 4;
/// Maximum number of subflows reported: the first, eight additional ones, and closing ones.
const MAX_SUBFLOWS: usize = 32;

/// Length of a listener's accept queue, by default.
pub const ACCEPT_QUEUE_LEN: i32 = 4096;

/// Transport protocol of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// MPTCP, with fallback to TCP when the peer does not support it.
    Mptcp,
    /// Plain TCP.
    Tcp,
}

/// Options set before listening or connecting; `None` keeps the kernel's default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Congestion control of every subflow, such as `cubic`.
    pub congestion: Option<String>,
    /// Send buffer in bytes; disables the kernel's autotuning.
    pub send_buffer: Option<usize>,
    /// Receive buffer in bytes; disables the kernel's autotuning.
    pub receive_buffer: Option<usize>,
    /// Interface to bind to (SO_BINDTODEVICE).
    pub bind_device: Option<String>,
    /// Local address to connect from; port 0 picks any port.
    pub bind: Option<SocketAddr>,
    /// Disables the Nagle algorithm (TCP_NODELAY).
    pub no_delay: bool,
    /// Connect timeout; `None` is the kernel's own.
    pub timeout: Option<Duration>,
    /// Length of the accept queue; `None` is [`ACCEPT_QUEUE_LEN`].
    pub backlog: Option<i32>,
    /// On a listener: accept connections to foreign addresses, as redirected by TPROXY
    /// (`IP_TRANSPARENT`, ip(7)).
    pub transparent: bool,
    /// On a listener: share the port with other listeners of this user that do so too
    /// (SO_REUSEPORT, socket(7)).
    pub reuse_port: bool,
    /// Limit of unsent bytes in the kernel (`TCP_NOTSENT_LOWAT`, tcp(7)). Data for a slow peer then
    /// stays in the application.
    pub notsent_lowat: Option<u32>,
    /// Firewall mark of the packets (SO_MARK, socket(7)); needs CAP_NET_ADMIN.
    pub mark: Option<u32>,
    /// On a listener: limit of pending connections with data in their SYN (TCP Fast Open, RFC
    /// 7413); `None` disables it.
    pub fast_open: Option<i32>,
}

/// Listens at `address`. With [`Protocol::Mptcp`] accepted connections may be MPTCP.
///
/// # Errors
/// Fails when the address is taken or not local, the kernel has no MPTCP, or an option cannot be
/// set.
pub fn listen(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<TcpListener, Error> {
    let socket = open_socket(address, protocol, options)?;
    let doing = || format!("listen at {address}");
    if options.transparent {
        set_transparent(&socket, address)?;
    }
    if let Some(pending) = options.fast_open {
        const TCP_FASTOPEN: i32 = 23;
        option::set_number(&socket, libc::SOL_TCP, TCP_FASTOPEN, pending)
            .map_err(|error| Error::system("enable TCP Fast Open", error))?;
    }
    if options.reuse_port {
        set_reuse_port(&socket, true)?;
    }
    sockopt::set_socket_reuseaddr(&socket, true)
        .and_then(|()| net::bind(&socket, &address))
        .and_then(|()| net::listen(&socket, options.backlog.unwrap_or(ACCEPT_QUEUE_LEN)))
        .map_err(|error| Error::system(doing(), error))?;
    Ok(socket.into())
}

/// Lets a listener share its port with other listeners of this user that do so too (SO_REUSEPORT,
/// socket(7)).
///
/// # Errors
/// Fails when the socket is not a listener, or not yet bound and closed.
pub fn set_reuse_port(listener: impl AsFd, shares: bool) -> Result<(), Error> {
    sockopt::set_socket_reuseport(listener, shares).map_err(|error| Error::system("share a port", error))
}

/// Connects to `address`.
///
/// # Errors
/// Fails when the connection is refused or times out, the kernel has no MPTCP, or an option cannot
/// be set.
pub fn connect(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<TcpStream, Error> {
    let stream = start_connect(address, protocol, options)?;
    let doing = || format!("connect to {address}");
    wait_connected(&stream, options.timeout).map_err(|error| Error::system(doing(), error))?;
    stream.set_nonblocking(false).map_err(|error| Error::system(doing(), error))?;
    Ok(stream)
}

/// Begins to connect to `address` and returns a non-blocking socket. It becomes writable when it is
/// connected or has failed; [`TcpStream::take_error`] tells which. Ignores `timeout`.
///
/// # Errors
/// As [`connect`], without errors of the network.
pub fn start_connect(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<TcpStream, Error> {
    let socket = open_unconnected(address, protocol, options)?;
    match net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(socket),
        Err(error) => Err(Error::system(format!("connect to {address}"), error)),
    }
}

/// Opens a non-blocking, unconnected socket for `address`; the caller connects it. Ignores
/// `timeout` and the listener options.
///
/// # Errors
/// Fails when the kernel has no MPTCP, or an option cannot be set.
pub fn open_unconnected(
    address: SocketAddr,
    protocol: Protocol,
    options: &Options,
) -> Result<TcpStream, Error> {
    let socket = open_socket(address, protocol, options)?;
    if let Some(from) = options.bind {
        net::bind(&socket, &from).map_err(|error| Error::system(format!("bind to {from}"), error))?;
    }
    ioctl_fionbio(&socket, true)
        .map_err(|error| Error::system(format!("open a socket to {address}"), error))?;
    Ok(socket.into())
}

/// True once a socket of [`start_connect`] is connected; false while it connects.
///
/// # Errors
/// The error with which the attempt has failed.
pub fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    let mut files = [PollFd::new(stream, PollFlags::OUT)];
    match poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        Ok(_) => sockopt::socket_error(stream)?.map(|()| true).map_err(Into::into),
        Err(error) => Err(error.into()),
    }
}

fn set_transparent(socket: &OwnedFd, address: SocketAddr) -> Result<(), Error> {
    const IP_TRANSPARENT: i32 = 19;
    const IPV6_TRANSPARENT: i32 = 75;
    let set = |level, name| option::set_number(socket, level, name, 1);
    match address {
        SocketAddr::V4(_) => set(libc::SOL_IP, IP_TRANSPARENT),
        SocketAddr::V6(_) => set(libc::SOL_IPV6, IPV6_TRANSPARENT),
    }
    .map_err(|error| Error::system("accept connections to foreign addresses", error))
}

/// Destination of a connection before NAT redirected it to this host (SO_ORIGINAL_DST).
///
/// # Errors
/// Fails when no NAT changed the connection, or the kernel tracks no connections.
pub fn original_destination(stream: &(impl AsFd + ?Sized), is_ipv6: bool) -> Result<SocketAddr, Error> {
    // The same number serves IPv4 and IPv6 (linux/netfilter_ipv4.h, netfilter_ipv6/ip6_tables.h).
    const SO_ORIGINAL_DST: i32 = 80;
    let level = if is_ipv6 { libc::SOL_IPV6 } else { libc::SOL_IP };
    let doing = "read the original destination of a connection";
    // A sockaddr_in has 16 bytes, a sockaddr_in6 28.
    let mut bytes = [0; 28];
    // SAFETY: this option contains no pointers.
    #[allow(unsafe_code)]
    unsafe { option::get(stream.as_fd(), level, SO_ORIGINAL_DST, &mut bytes) }
        .map_err(|error| Error::system(doing, error))?;
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    let address = if is_ipv6 {
        read_array::<16>(&bytes, 8).map(IpAddr::from)
    } else {
        read_array::<4>(&bytes, 4).map(IpAddr::from)
    };
    let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    Ok(SocketAddr::new(address, port))
}

/// Opens a non-blocking UDP socket between two addresses, of which `local` may be in use by sockets
/// connected to other peers.
///
/// # Errors
/// Fails when `local` is not an address of this host, or a socket holds it exclusively.
pub fn datagrams_between(local: SocketAddr, remote: SocketAddr) -> Result<UdpSocket, Error> {
    let doing = || format!("open a UDP socket from {local} to {remote}");
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::DGRAM, flags, None)
        .map_err(|error| Error::system(doing(), error))?;
    sockopt::set_socket_reuseaddr(&socket, true)
        .and_then(|()| net::bind(&socket, &local))
        .and_then(|()| net::connect(&socket, &remote))
        .map_err(|error| Error::system(doing(), error))?;
    Ok(socket.into())
}

/// Aborts a connection: sends a reset (for MPTCP MP_FASTCLOSE; RFC 8684, section 3.5) and discards
/// unsent data.
///
/// # Errors
/// Fails when the socket cannot be disconnected.
pub fn abort(socket: impl AsFd) -> Result<(), Error> {
    net::connect_unspec(socket).map_err(|error| Error::system("abort a connection", error))
}

/// Waits for a pending connect; returns its error, if any.
fn wait_connected(socket: &TcpStream, timeout: Option<Duration>) -> io::Result<()> {
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

fn open_socket(address: SocketAddr, protocol: Protocol, options: &Options) -> Result<OwnedFd, Error> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let number = match protocol {
        Protocol::Mptcp => net::ipproto::MPTCP,
        Protocol::Tcp => net::ipproto::TCP,
    };
    let socket = net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(number))
        .map_err(explain_open_error)?;
    if let Some(name) = &options.congestion {
        set_congestion(&socket, name)?;
    }
    if let Some(bytes) = options.send_buffer {
        // Exceeding `net.core.wmem_max` needs CAP_NET_ADMIN.
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
        // SAFETY: the kernel reads the bytes as a name, without pointers.
        #[allow(unsafe_code)]
        unsafe { option::set(&socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, device.as_bytes()) }
            .map_err(|error| Error::system(format!("bind a socket to {device}"), error))?;
    }
    if let Some(bytes) = options.notsent_lowat {
        // Kernels before 6.9 support this for TCP only. Without it more data waits in the kernel.
        let bytes = bytes.min(i32::MAX as u32) as i32;
        _ = option::set_number(&socket, libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT, bytes);
    }
    if let Some(mark) = options.mark {
        option::set_number(&socket, libc::SOL_SOCKET, libc::SO_MARK, mark.cast_signed())
            .map_err(|error| Error::system("mark a socket's packets", error))?;
    }
    if options.no_delay {
        sockopt::set_tcp_nodelay(&socket, true).map_err(|error| Error::system("set TCP_NODELAY", error))?;
    }
    Ok(socket)
}

fn explain_open_error(error: Errno) -> Error {
    match error {
        Errno::PROTONOSUPPORT | Errno::INVAL => Error::Lacks {
            what: "the kernel has no MPTCP".to_owned(),
            hint: "use Linux 5.6 or later, built with CONFIG_MPTCP".to_owned(),
        },
        Errno::NOPROTOOPT => Error::Lacks {
            what: "MPTCP is disabled in this network namespace".to_owned(),
            hint: "enable it: sysctl net.mptcp.enabled=1".to_owned(),
        },
        error => Error::system("open a socket", error),
    }
}

/// Makes a UDP socket split each write into datagrams of `size` bytes (UDP_SEGMENT, udp(7)).
///
/// # Errors
/// Fails on kernels without UDP segmentation (before Linux 4.18).
pub fn split_datagrams(socket: impl AsFd, size: u16) -> Result<(), Error> {
    const UDP_SEGMENT: i32 = 103;
    option::set_number(socket, libc::SOL_UDP, UDP_SEGMENT, i32::from(size))
        .map_err(|error| Error::system("enable UDP segmentation", error))
}

/// Sets the congestion control of a TCP socket, or of all present and future subflows.
///
/// # Errors
/// Fails when the kernel lacks the algorithm, or restricts it to privileged users
/// (`net.ipv4.tcp_allowed_congestion_control`).
pub fn set_congestion(socket: impl AsFd, name: &str) -> Result<(), Error> {
    sockopt::set_tcp_congestion(socket, name).map_err(|error| match error {
        Errno::NOENT => Error::Lacks {
            what: format!("the kernel has no congestion control called {name}"),
            hint: "list those available: sysctl net.ipv4.tcp_available_congestion_control".to_owned(),
        },
        Errno::PERM => Error::Lacks {
            what: format!("the congestion control {name} is not allowed here"),
            hint: "allow it in the initial namespace: sysctl net.ipv4.tcp_allowed_congestion_control"
                .to_owned(),
        },
        error => Error::system(format!("set the congestion control {name}"), error),
    })
}

/// MPTCP statistics of a socket of this process (MPTCP_INFO); `None` for plain TCP, also after
/// fallback.
///
/// # Errors
/// Fails when the socket fails, or the response cannot be parsed.
pub fn mptcp_info(socket: impl AsFd) -> Result<Option<MptcpInfo>, Error> {
    let doing = "read MPTCP_INFO of a socket";
    let mut bytes = [0; mptcp_info::MPTCP_INFO_BYTES];
    // SAFETY: this option contains no pointers.
    #[allow(unsafe_code)]
    match unsafe { option::get(socket, SOL_MPTCP, MPTCP_INFO, &mut bytes) } {
        Ok(length) => MptcpInfo::parse(&bytes[..length]).map(Some).map_err(|error| error.in_reply_to(doing)),
        Err(error) if is_plain_tcp(&error) => Ok(None),
        Err(error) => Err(Error::system(doing, error)),
    }
}

/// Statistics of each subflow of a socket of this process (MPTCP_FULL_INFO). Empty for plain TCP,
/// also after fallback.
///
/// # Errors
/// Fails on kernels before 6.5, when the socket fails, or the response cannot be parsed.
pub fn full_info(socket: impl AsFd) -> Result<Vec<SubflowInfo>, Error> {
    let doing = "read MPTCP_FULL_INFO of a socket";
    let mut subflows = vec![0u8; MAX_SUBFLOWS * mptcp_info::SUBFLOW_INFO_BYTES];
    let mut tcp = vec![0u8; MAX_SUBFLOWS * tcp_info::TCP_INFO_BYTES];
    // `struct mptcp_full_info`: six integers, two pointers, and `struct mptcp_info`.
    let mut bytes = [0u8; 40 + mptcp_info::MPTCP_INFO_BYTES];
    let numbers = [0, tcp_info::TCP_INFO_BYTES, 0, mptcp_info::SUBFLOW_INFO_BYTES, 0, MAX_SUBFLOWS];
    for (at, number) in numbers.into_iter().enumerate() {
        bytes[at * 4..at * 4 + 4].copy_from_slice(&(number as u32).to_ne_bytes());
    }
    bytes[24..32].copy_from_slice(&(subflows.as_mut_ptr() as u64).to_ne_bytes());
    bytes[32..40].copy_from_slice(&(tcp.as_mut_ptr() as u64).to_ne_bytes());
    // SAFETY: the kernel writes through both pointers at most as many elements of the given lengths
    // as `subflows` and `tcp` hold. Both vectors outlive the call.
    #[allow(unsafe_code)]
    let answer = unsafe { option::get(socket, SOL_MPTCP, MPTCP_FULL_INFO, &mut bytes) };
    match answer {
        Ok(_) => {}
        Err(error) if is_plain_tcp(&error) => return Ok(Vec::new()),
        Err(error) => return Err(Error::system(doing, error)),
    }
    let word = |at: usize| read_array(&bytes, at).map_or(0, u32::from_ne_bytes) as usize;
    let (tcp_length, count) = (word(0), word(16).min(MAX_SUBFLOWS));
    mptcp_info::parse_full(count, &subflows, &tcp, tcp_length).map_err(|error| error.in_reply_to(doing))
}

/// Error of an MPTCP option on a TCP socket.
fn is_plain_tcp(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::ENOTCONN))
}

/// TCP statistics of a connection, or of the first subflow of an MPTCP connection (TCP_INFO).
///
/// # Errors
/// Fails when the socket fails, or the response cannot be parsed.
pub fn tcp_info(socket: impl AsFd) -> Result<TcpInfo, Error> {
    let doing = "read TCP_INFO of a socket";
    let mut bytes = [0; tcp_info::TCP_INFO_BYTES];
    // SAFETY: this option contains no pointers.
    #[allow(unsafe_code)]
    let length = unsafe { option::get(socket, libc::SOL_TCP, libc::TCP_INFO, &mut bytes) }
        .map_err(|error| Error::system(doing, error))?;
    TcpInfo::parse(&bytes[..length]).map_err(|error| error.in_reply_to(doing))
}

/// Written bytes that are not acknowledged yet (SIOCOUTQ); for MPTCP at the data level.
///
/// # Errors
/// Fails when the socket is not connected.
pub fn unacknowledged(socket: impl AsFd) -> Result<u64, Error> {
    read_queue_length(socket, libc::TIOCOUTQ, "read the unacknowledged bytes of a socket")
}

/// Written bytes that are not sent yet (SIOCOUTQNSD); for MPTCP not assigned to a subflow.
///
/// # Errors
/// Fails when the socket is not connected.
pub fn unsent(socket: impl AsFd) -> Result<u64, Error> {
    const SIOCOUTQNSD: libc::c_ulong = 0x894B;
    read_queue_length(socket, SIOCOUTQNSD, "read the unsent bytes of a socket")
}

fn read_queue_length(socket: impl AsFd, request: libc::c_ulong, doing: &str) -> Result<u64, Error> {
    let mut bytes: libc::c_int = 0;
    let socket = socket.as_fd();
    retry_on_intr(|| {
        // SAFETY: both requests write one `int` through the pointer, which outlives the call.
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
