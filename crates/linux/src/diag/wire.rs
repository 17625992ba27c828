//! sock_diag messages: encoding and parsing (`<linux/inet_diag.h>`, `<linux/mptcp.h>`).

use crate::netlink::{Attributes, Malformed, Request, kind, read_array};
use crate::socket::{MptcpInfo, TcpInfo, TcpState};
use std::net::{IpAddr, SocketAddr};

pub(super) const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET: u8 = libc::AF_INET as u8;
const INET6: u8 = libc::AF_INET6 as u8;
/// Length of `struct inet_diag_msg`.
const DIAG_MSG_BYTES: usize = 72;

/// Request attributes (`INET_DIAG_REQ_*`).
const REQ_BYTECODE: u16 = 1;
const REQ_PROTOCOL: u16 = 3;
/// Response attributes (`INET_DIAG_*`).
const INFO: u16 = 2;
const CONG: u16 = 4;
const ULP_INFO: u16 = 19;
const ULP_NAME: u16 = 1;
const ULP_MPTCP: u16 = 3;

/// Subflow attributes (`MPTCP_SUBFLOW_ATTR_*`).
const TOKEN_REM: u16 = 1;
const TOKEN_LOC: u16 = 2;
const FLAGS: u16 = 8;
const ID_REM: u16 = 9;
const ID_LOC: u16 = 10;

/// Bit mask of TCP states: all except LISTEN, TIME_WAIT and NEW_SYN_RECV, which hold no subflow.
const LISTED_STATES: u32 = 0x0fff & !(1 << 6 | 1 << 10);

/// Selection of subflows; `None` matches all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Local address, matched by the kernel.
    pub local: Option<IpAddr>,
    /// Local port, matched by the kernel. On a server this keeps the list short.
    pub local_port: Option<u16>,
    /// Remote port, matched by the kernel.
    pub remote_port: Option<u16>,
    /// Local token of the connection. The kernel lists all; others are skipped here.
    pub token: Option<u32>,
    /// Report each subflow's congestion control.
    pub congestion: bool,
}

impl Filter {
    /// Subflows from the local address `address`.
    pub fn local(address: IpAddr) -> Self {
        Self { local: Some(address), ..Self::default() }
    }

    /// Subflows of the connection with this local token.
    pub fn token(token: u32) -> Self {
        Self { token: Some(token), ..Self::default() }
    }

    pub(super) fn families(&self) -> &'static [u8] {
        match self.local {
            // An IPv6 socket may carry IPv4.
            Some(IpAddr::V6(_)) => &[INET6],
            _ => &[INET, INET6],
        }
    }
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subflow {
    /// Local address. IPv4-mapped IPv6 is reported as IPv4.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Index of the interface it is bound to; 0 for none.
    pub device: u32,
    /// Socket cookie: unique for the lifetime of the kernel.
    pub cookie: u64,
    /// Local token of its connection.
    pub token: u32,
    /// Token of its connection at the peer; 0 unless this end initiated the join.
    pub remote_token: u32,
    /// Address ID of the local address; 0 for the first subflow.
    pub local_id: u8,
    /// Address ID of the remote address, assigned by the peer.
    pub remote_id: u8,
    /// This end marked it as backup.
    pub backup: bool,
    /// The peer marked it as backup.
    pub remote_backup: bool,
    /// Joined with MP_JOIN; false for the first subflow.
    pub joined: bool,
    /// This end opened it; false if the peer did.
    pub initiated: bool,
    /// The MPTCP handshake is complete in both directions.
    pub fully_established: bool,
    /// TCP statistics.
    pub tcp: TcpInfo,
    /// Congestion control when [`Filter::congestion`] was set; else empty.
    pub congestion: String,
}

impl Subflow {
    /// Parses the payload of a response; `None` for a socket that is no subflow.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        Self::parse_if(payload, &Filter::default())
    }

    pub(super) fn parse_if(payload: &[u8], filter: &Filter) -> Result<Option<Self>, Malformed> {
        let message = Message::parse(payload)?;
        if filter.local.is_some_and(|local| local != message.local.ip()) {
            return Ok(None);
        }
        let (mut ulp, mut info, mut congestion) = (None, None, "");
        for attribute in message.attributes.clone() {
            let attribute = attribute?;
            match attribute.kind {
                ULP_INFO => ulp = Ulp::parse(attribute.nested())?,
                INFO => info = Some(attribute.value),
                CONG => congestion = attribute.text()?,
                _ => {}
            }
        }
        // Most sockets are no subflows: skip the long `tcp_info` for those.
        let (Some(ulp), Some(info)) = (ulp, info) else { return Ok(None) };
        if filter.token.is_some_and(|token| token != ulp.token) {
            return Ok(None);
        }
        let has = |bit: u32| ulp.flags & (1 << bit) != 0;
        let mut tcp = TcpInfo::parse(info)?;
        tcp.state = message.state;
        Ok(Some(Self {
            local: message.local,
            remote: message.remote,
            device: message.device,
            cookie: message.cookie,
            token: ulp.token,
            remote_token: ulp.remote_token,
            local_id: ulp.local_id,
            remote_id: ulp.remote_id,
            joined: has(2) || has(3),
            initiated: has(1) || has(3),
            remote_backup: has(4),
            backup: has(5),
            fully_established: has(6),
            tcp,
            congestion: congestion.to_owned(),
        }))
    }
}

/// A TCP connection that is no MPTCP subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpConnection {
    /// Local address. IPv4-mapped IPv6 is reported as IPv4.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// TCP statistics.
    pub tcp: TcpInfo,
}

impl TcpConnection {
    /// Parses the payload of a response; `None` for a subflow.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        Self::parse_if(payload, &Filter::default())
    }

    pub(super) fn parse_if(payload: &[u8], filter: &Filter) -> Result<Option<Self>, Malformed> {
        let message = Message::parse(payload)?;
        if filter.local.is_some_and(|local| local != message.local.ip()) {
            return Ok(None);
        }
        let mut info = None;
        for attribute in message.attributes.clone() {
            let attribute = attribute?;
            match attribute.kind {
                ULP_INFO if Ulp::parse(attribute.nested())?.is_some() => return Ok(None),
                INFO => info = Some(attribute.value),
                _ => {}
            }
        }
        let Some(info) = info else { return Ok(None) };
        let mut tcp = TcpInfo::parse(info)?;
        tcp.state = message.state;
        Ok(Some(Self { local: message.local, remote: message.remote, tcp }))
    }
}

/// An MPTCP connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Local address of the first subflow.
    pub local: SocketAddr,
    /// Remote address of the first subflow.
    pub remote: SocketAddr,
    /// State of the MPTCP socket.
    pub state: TcpState,
    /// UID of the socket's owner.
    pub user: u32,
    /// Inode of the socket, as in `/proc/PID/fd`; 0 when no process has it open any more.
    pub inode: u32,
    /// MPTCP statistics: token, bytes, number of subflows.
    pub info: MptcpInfo,
}

impl Connection {
    /// Parses the payload of a response; `None` without MPTCP information.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let message = Message::parse(payload)?;
        for attribute in message.attributes.clone() {
            let attribute = attribute?;
            if attribute.kind == INFO {
                return Ok(Some(Self {
                    local: message.local,
                    remote: message.remote,
                    state: message.state,
                    user: message.user,
                    inode: message.inode,
                    info: MptcpInfo::parse(attribute.value)?,
                }));
            }
        }
        Ok(None)
    }
}

/// `struct inet_diag_msg` and its attributes.
struct Message<'a> {
    state: TcpState,
    local: SocketAddr,
    remote: SocketAddr,
    device: u32,
    cookie: u64,
    user: u32,
    inode: u32,
    attributes: Attributes<'a>,
}

impl<'a> Message<'a> {
    fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let truncated = Malformed("truncated socket");
        let word = |at| read_array(payload, at).map(u32::from_ne_bytes).ok_or(truncated);
        let [family, state, _, _] = read_array(payload, 0).ok_or(truncated)?;
        let address = |port: usize, at: usize| {
            let address = match family {
                INET => IpAddr::from(read_array::<4>(payload, at).ok_or(truncated)?),
                INET6 => IpAddr::from(read_array::<16>(payload, at).ok_or(truncated)?).to_canonical(),
                _ => return Err(Malformed("socket is neither IPv4 nor IPv6")),
            };
            let port = read_array(payload, port).map(u16::from_be_bytes).ok_or(truncated)?;
            Ok(SocketAddr::new(address, port))
        };
        Ok(Self {
            state: state.into(),
            local: address(4, 8)?,
            remote: address(6, 24)?,
            device: word(40)?,
            cookie: u64::from(word(44)?) | u64::from(word(48)?) << 32,
            user: word(64)?,
            inode: word(68)?,
            attributes: Attributes::new(payload.get(DIAG_MSG_BYTES..).ok_or(truncated)?),
        })
    }
}

/// MPTCP attributes of a subflow, from `INET_DIAG_ULP_INFO`.
#[derive(Default)]
struct Ulp {
    token: u32,
    remote_token: u32,
    local_id: u8,
    remote_id: u8,
    flags: u32,
}

impl Ulp {
    /// Returns `None` for another upper-layer protocol, such as TLS.
    fn parse(attributes: Attributes<'_>) -> Result<Option<Self>, Malformed> {
        let (mut mptcp, mut named) = (None, true);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                ULP_NAME => named = attribute.text()? == "mptcp",
                ULP_MPTCP => mptcp = Some(attribute.nested()),
                _ => {}
            }
        }
        let (Some(mptcp), true) = (mptcp, named) else { return Ok(None) };
        let mut ulp = Self::default();
        for attribute in mptcp {
            let attribute = attribute?;
            match attribute.kind {
                TOKEN_REM => ulp.remote_token = attribute.u32()?,
                TOKEN_LOC => ulp.token = attribute.u32()?,
                FLAGS => ulp.flags = attribute.u32()?,
                ID_REM => ulp.remote_id = attribute.u8()?,
                ID_LOC => ulp.local_id = attribute.u8()?,
                _ => {}
            }
        }
        Ok(Some(ulp))
    }
}

/// `struct inet_diag_req_v2`.
struct DiagRequest {
    family: u8,
    protocol: u8,
    extensions: u8,
    states: u32,
    local_port: u16,
    remote_port: u16,
    cookie: u32,
}

impl DiagRequest {
    fn emit(&self, request: &mut Request) {
        let [local, remote] = [self.local_port, self.remote_port].map(u16::to_be_bytes);
        request
            .raw(&[self.family, self.protocol, self.extensions, 0])
            .raw(&self.states.to_ne_bytes())
            .raw(&[local[0], local[1], remote[0], remote[1]])
            .raw(&[0; 36])
            .raw(&self.cookie.to_ne_bytes())
            .raw(&[0xff; 4]);
    }
}

pub(super) fn list_sockets_request(request: &mut Request, family: u8, filter: &Filter) {
    let congestion = if filter.congestion { 1 << (CONG - 1) } else { 0 };
    let diag_request = DiagRequest {
        family,
        protocol: libc::IPPROTO_TCP as u8,
        // The kernel reports INET_DIAG_ULP_INFO without being asked.
        extensions: 1 << (INFO - 1) | congestion,
        states: LISTED_STATES,
        local_port: filter.local_port.unwrap_or(0),
        remote_port: filter.remote_port.unwrap_or(0),
        cookie: u32::MAX,
    };
    diag_request.emit(request.start(SOCK_DIAG_BY_FAMILY, kind::DUMP));
    if let Some(local) = filter.local {
        request.attribute(REQ_BYTECODE, &local_address_filter(local));
    }
}

/// Bytecode with one condition, on the local address (`INET_DIAG_BC_S_COND`).
fn local_address_filter(address: IpAddr) -> Vec<u8> {
    const SOURCE: u8 = 7;
    let (family, octets) = match address {
        IpAddr::V4(address) => (INET, address.octets().to_vec()),
        IpAddr::V6(address) => (INET6, address.octets().to_vec()),
    };
    let length = (4 + 8 + octets.len()) as u8;
    // Jump offsets: a match goes to the end of the program; a mismatch goes 4 bytes past it, which
    // rejects the socket.
    let mut program = vec![SOURCE, length];
    program.extend_from_slice(&u16::from(length + 4).to_ne_bytes());
    program.extend_from_slice(&[family, octets.len() as u8 * 8, 0, 0]);
    // Any port.
    program.extend_from_slice(&(-1i32).to_ne_bytes());
    program.extend_from_slice(&octets);
    program
}

pub(super) fn list_connections_request(request: &mut Request, family: u8) {
    mptcp_request(request, kind::DUMP, family, LISTED_STATES, u32::MAX);
}

/// Requests a dump of no states. The kernel rejects it when it cannot list MPTCP sockets.
pub(super) fn probe_mptcp_diag_request(request: &mut Request) {
    mptcp_request(request, kind::DUMP, INET, 0, u32::MAX);
}

/// Requests the connection with this token, passed in the place of the socket cookie.
pub(super) fn find_connection_request(request: &mut Request, token: u32) {
    mptcp_request(request, kind::ACK, INET, LISTED_STATES, token);
}

fn mptcp_request(request: &mut Request, flags: u16, family: u8, states: u32, cookie: u32) {
    let diag_request = DiagRequest {
        family,
        // IPPROTO_MPTCP (262) exceeds this byte and is passed as an attribute.
        protocol: libc::IPPROTO_RAW as u8,
        extensions: 1 << (INFO - 1),
        states,
        local_port: 0,
        remote_port: 0,
        cookie,
    };
    diag_request.emit(request.start(SOCK_DIAG_BY_FAMILY, flags));
    request.u32(REQ_PROTOCOL, libc::IPPROTO_MPTCP as u32);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
