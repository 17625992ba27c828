//! Messages of sock_diag(7), to meanings and back (`<linux/inet_diag.h>`, `<linux/mptcp.h>`).

use crate::netlink::{Attributes, Malformed, Request, fixed, kind};
use crate::socket::{MptcpInfo, TcpInfo, TcpState};
use std::net::{IpAddr, SocketAddr};

pub(super) const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET: u8 = libc::AF_INET as u8;
const INET6: u8 = libc::AF_INET6 as u8;
/// `struct inet_diag_msg`.
const LENGTH: usize = 72;

/// Attributes of requests.
const REQ_BYTECODE: u16 = 1;
const REQ_PROTOCOL: u16 = 3;
/// Attributes of answers.
const INFO: u16 = 2;
const CONG: u16 = 4;
const ULP_INFO: u16 = 19;
const ULP_NAME: u16 = 1;
const ULP_MPTCP: u16 = 3;

/// Attributes of a subflow (`MPTCP_SUBFLOW_ATTR_*`).
const TOKEN_REM: u16 = 1;
const TOKEN_LOC: u16 = 2;
const FLAGS: u16 = 8;
const ID_REM: u16 = 9;
const ID_LOC: u16 = 10;

/// All states but LISTEN, TIME_WAIT and NEW_SYN_RECV, which are no subflows, or none any more.
const STATES: u32 = 0x0fff & !(1 << 6 | 1 << 10);

/// Which subflows to list; all that is `None` passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// The local address; the kernel passes over the others.
    pub local: Option<IpAddr>,
    /// The local port; the kernel passes over the others. For a server this is what keeps a list short.
    pub local_port: Option<u16>,
    /// The remote port; the kernel passes over the others.
    pub remote_port: Option<u16>,
    /// The connection, by its local token. The kernel lists all, and the others are passed over here.
    pub token: Option<u32>,
    /// Give each subflow's congestion control.
    pub congestion: bool,
}

impl Filter {
    /// Subflows from `address`.
    pub fn local(address: IpAddr) -> Self {
        Self { local: Some(address), ..Self::default() }
    }

    /// Subflows of the connection of that local token.
    pub fn token(token: u32) -> Self {
        Self { token: Some(token), ..Self::default() }
    }

    pub(super) fn families(&self) -> &'static [u8] {
        match self.local {
            // A socket of IPv6 may speak IPv4.
            Some(IpAddr::V6(_)) => &[INET6],
            _ => &[INET, INET6],
        }
    }
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subflow {
    /// This end. IPv4 over an IPv6 socket is given as IPv4.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The interface that it is bound to; 0 for none.
    pub device: u32,
    /// The number by which the kernel tells this socket from all others, ever.
    pub cookie: u64,
    /// Its connection here.
    pub token: u32,
    /// Its connection at the peer; 0 but for a subflow that this end joined to it.
    pub remote_token: u32,
    /// The identifier of the local address; 0 for that of the first subflow.
    pub local_id: u8,
    /// The peer's identifier of the remote address.
    pub remote_id: u8,
    /// This end wants it used only where no other is.
    pub backup: bool,
    /// The peer does.
    pub remote_backup: bool,
    /// It joined a connection (MP_JOIN); else it is the first.
    pub joined: bool,
    /// Both ends know that the other has the keys.
    pub fully_established: bool,
    /// What TCP knows of it.
    pub tcp: TcpInfo,
    /// Its congestion control, where it was asked for; else empty.
    pub congestion: String,
}

impl Subflow {
    /// Reads what follows the header of an answer; `None` where it is no subflow.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
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
        // Most sockets of a host are none: only of subflows is the long part read.
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
            remote_backup: has(4),
            backup: has(5),
            fully_established: has(6),
            tcp,
            congestion: congestion.to_owned(),
        }))
    }
}

/// A TCP connection that is no subflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tcp {
    /// This end. IPv4 over an IPv6 socket is given as IPv4.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// What TCP knows of it.
    pub tcp: TcpInfo,
}

impl Tcp {
    /// Reads what follows the header of an answer; `None` where it is a subflow.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
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
    /// This end of its first subflow.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Its state, as of a TCP connection.
    pub state: TcpState,
    /// The user whose it is.
    pub user: u32,
    /// The number of its socket as a file, as in `/proc/PID/fd`; 0 where no process has it any more.
    pub inode: u32,
    /// What MPTCP knows of it: token, bytes, how many subflows.
    pub info: MptcpInfo,
}

impl Connection {
    /// Reads what follows the header of an answer; `None` where nothing of MPTCP is in it.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
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

/// `struct inet_diag_msg` and what follows it.
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
        let cut = Malformed("a socket is cut off");
        let word = |at| fixed(payload, at).map(u32::from_ne_bytes).ok_or(cut);
        let [family, state, _, _] = fixed(payload, 0).ok_or(cut)?;
        let address = |port: usize, at: usize| {
            let address = match family {
                INET => IpAddr::from(fixed::<4>(payload, at).ok_or(cut)?),
                INET6 => IpAddr::from(fixed::<16>(payload, at).ok_or(cut)?).to_canonical(),
                _ => return Err(Malformed("a socket is neither of IPv4 nor of IPv6")),
            };
            let port = fixed(payload, port).map(u16::from_be_bytes).ok_or(cut)?;
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
            attributes: Attributes::new(payload.get(LENGTH..).ok_or(cut)?),
        })
    }
}

/// What MPTCP says of a subflow.
#[derive(Default)]
struct Ulp {
    token: u32,
    remote_token: u32,
    local_id: u8,
    remote_id: u8,
    flags: u32,
}

impl Ulp {
    /// `None` where another protocol is on top of TCP.
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
struct Want {
    family: u8,
    protocol: u8,
    extensions: u8,
    states: u32,
    local_port: u16,
    remote_port: u16,
    cookie: u32,
}

impl Want {
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

pub(super) fn list_subflows(request: &mut Request, family: u8, filter: &Filter) {
    let congestion = if filter.congestion { 1 << (CONG - 1) } else { 0 };
    let want = Want {
        family,
        protocol: libc::IPPROTO_TCP as u8,
        // Of the upper protocol it tells unasked.
        extensions: 1 << (INFO - 1) | congestion,
        states: STATES,
        local_port: filter.local_port.unwrap_or(0),
        remote_port: filter.remote_port.unwrap_or(0),
        cookie: u32::MAX,
    };
    want.emit(request.start(SOCK_DIAG_BY_FAMILY, kind::DUMP));
    if let Some(local) = filter.local {
        request.attribute(REQ_BYTECODE, &from_address(local));
    }
}

/// A program of one condition for the kernel: the local address is this (`INET_DIAG_BC_S_COND`).
fn from_address(address: IpAddr) -> Vec<u8> {
    const SOURCE: u8 = 7;
    let (family, octets) = match address {
        IpAddr::V4(address) => (INET, address.octets().to_vec()),
        IpAddr::V6(address) => (INET6, address.octets().to_vec()),
    };
    let length = (4 + 8 + octets.len()) as u8;
    // If so, on to the end of the program; if not, four bytes beyond it, which is a refusal.
    let mut program = vec![SOURCE, length];
    program.extend_from_slice(&u16::from(length + 4).to_ne_bytes());
    program.extend_from_slice(&[family, octets.len() as u8 * 8, 0, 0]);
    // Any port.
    program.extend_from_slice(&(-1i32).to_ne_bytes());
    program.extend_from_slice(&octets);
    program
}

pub(super) fn list_connections(request: &mut Request, family: u8) {
    connections(request, kind::DUMP, family, STATES, u32::MAX);
}

/// A list of none: refused where the kernel cannot list them.
pub(super) fn list_nothing(request: &mut Request) {
    connections(request, kind::DUMP, INET, 0, u32::MAX);
}

/// By its token, which the kernel takes where a cookie would stand.
pub(super) fn one_connection(request: &mut Request, token: u32) {
    connections(request, kind::ACK, INET, STATES, token);
}

fn connections(request: &mut Request, flags: u16, family: u8, states: u32, cookie: u32) {
    let want = Want {
        family,
        // 262 does not fit here: an attribute says it.
        protocol: libc::IPPROTO_RAW as u8,
        extensions: 1 << (INFO - 1),
        states,
        local_port: 0,
        remote_port: 0,
        cookie,
    };
    want.emit(request.start(SOCK_DIAG_BY_FAMILY, flags));
    request.u32(REQ_PROTOCOL, libc::IPPROTO_MPTCP as u32);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
