//! TCP and MPTCP connections of a namespace, of all processes (sock_diag(7)).
//!
//! A subflow is a TCP connection with an MPTCP upper-layer protocol and is listed among TCP
//! sockets. MPTCP connections are listed separately. A dump keeps one datagram in memory at a time.
//!
//! | File | Contents |
//! |---|---|
//! | `wire` | encoding of requests and parsing of responses, without I/O |

mod wire;

pub use wire::{Connection, Filter, Subflow, TcpConnection};

use crate::Error;
use crate::netlink::{Dump, Family, Malformed, Request, Socket};

/// sock_diag socket for the namespace in which it was opened.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
    request: Request,
}

impl Diag {
    /// Opens the socket.
    ///
    /// # Errors
    /// Fails with [`Error::Lacks`] when the kernel cannot list sockets.
    pub fn open() -> Result<Self, Error> {
        Ok(Self { socket: Socket::open(Family::SockDiag)?, request: Request::new() })
    }

    /// All subflows.
    ///
    /// # Errors
    /// As [`Self::for_each_subflow`].
    pub fn subflows(&mut self) -> Result<Vec<Subflow>, Error> {
        let mut all = Vec::new();
        self.for_each_subflow(&Filter::default(), |subflow| all.push(subflow))?;
        Ok(all)
    }

    /// Calls `each` for every subflow that passes the filter. A subflow that begins or ends
    /// meanwhile may be missing; none is reported twice. Closing subflows are included, TIME_WAIT
    /// sockets are not.
    ///
    /// Without CAP_NET_ADMIN the kernel hides the MPTCP attributes, and the list is empty.
    ///
    /// # Errors
    /// Fails with [`Error::Lacks`] when the kernel cannot list TCP sockets (CONFIG_INET_TCP_DIAG);
    /// when it rejects the request, or the response is malformed.
    pub fn for_each_subflow(&mut self, filter: &Filter, mut each: impl FnMut(Subflow)) -> Result<(), Error> {
        for family in filter.families() {
            wire::list_sockets_request(&mut self.request, *family, filter);
            self.dump(format_args!("list the subflows"), |payload| {
                if let Some(subflow) = Subflow::parse_if(payload, filter)? {
                    each(subflow);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Calls `each` for every plain TCP connection that passes the filter, as
    /// [`Self::for_each_subflow`]. Without CAP_NET_ADMIN subflows are included.
    ///
    /// # Errors
    /// As [`Self::for_each_subflow`].
    pub fn for_each_tcp(
        &mut self,
        filter: &Filter,
        mut each: impl FnMut(TcpConnection),
    ) -> Result<(), Error> {
        for family in filter.families() {
            wire::list_sockets_request(&mut self.request, *family, filter);
            self.dump(format_args!("list the TCP connections"), |payload| {
                if let Some(tcp) = TcpConnection::parse_if(payload, filter)? {
                    each(tcp);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// All MPTCP connections, without those that fell back to TCP.
    ///
    /// # Errors
    /// As [`Self::for_each_connection`].
    pub fn connections(&mut self) -> Result<Vec<Connection>, Error> {
        let mut all = Vec::new();
        self.for_each_connection(|connection| all.push(connection))?;
        Ok(all)
    }

    /// Calls `each` for every MPTCP connection, as [`Self::for_each_subflow`].
    ///
    /// # Errors
    /// Fails with [`Error::Lacks`] when the kernel cannot list them (Linux 5.9,
    /// CONFIG_INET_MPTCP_DIAG); when it rejects the request, or the response is malformed.
    pub fn for_each_connection(&mut self, mut each: impl FnMut(Connection)) -> Result<(), Error> {
        for family in Filter::default().families() {
            wire::list_connections_request(&mut self.request, *family);
            self.dump(format_args!("list the MPTCP connections"), |payload| {
                if let Some(connection) = Connection::parse(payload)? {
                    each(connection);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The connection with this local token, or `None`. The kernel looks it up without a dump.
    ///
    /// # Errors
    /// As [`Self::for_each_connection`].
    pub fn connection(&mut self, token: u32) -> Result<Option<Connection>, Error> {
        wire::find_connection_request(&mut self.request, token);
        let mut connection = None;
        let doing = format_args!("find MPTCP connection {token:08x}");
        let answer = self.socket.transact(&mut self.request, doing, |message| {
            connection = Connection::parse(message.payload)?;
            Ok(())
        });
        match answer {
            Err(error) if error.errno() == Some(libc::ENOENT) => {
                // ENOENT means an unknown token or a missing mptcp_diag. A dump fails only for the
                // latter.
                wire::probe_mptcp_diag_request(&mut self.request);
                self.dump(doing, |_| Ok(())).map(|()| None)
            }
            answer => answer.map(|()| connection),
        }
    }

    fn dump(
        &mut self,
        doing: std::fmt::Arguments<'_>,
        mut each: impl FnMut(&[u8]) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        let dump = self.socket.dump(&mut self.request, doing, |message| {
            if message.header.kind == wire::SOCK_DIAG_BY_FAMILY { each(message.payload) } else { Ok(()) }
        });
        match dump {
            // Sockets come and go during a dump; an interrupted dump is expected here.
            Ok(Dump::Consistent | Dump::Interrupted) => Ok(()),
            Err(error) => Err(explain_missing_diag(error)),
        }
    }
}

/// Explains ENOENT, which a kernel without the diag module returns.
fn explain_missing_diag(error: Error) -> Error {
    match error {
        Error::Refused { doing, source, .. } if source.raw_os_error() == Some(libc::ENOENT) => Error::Lacks {
            what: format!("cannot {doing}: the kernel has no sock_diag for it"),
            hint: "build it with CONFIG_INET_TCP_DIAG and CONFIG_INET_MPTCP_DIAG, or: modprobe -a tcp_diag mptcp_diag"
                .to_owned(),
        },
        error => error,
    }
}
