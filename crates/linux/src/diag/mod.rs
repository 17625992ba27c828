//! Every TCP and MPTCP connection of a namespace, whichever process has it (sock_diag(7)).
//!
//! A subflow is a TCP connection with MPTCP on top, and is listed among those; connections are listed for
//! themselves. However many there are, one datagram of them is in memory at a time.
//!
//! | File | What it is |
//! |---|---|
//! | `wire` | requests and answers, pure |

mod wire;

pub use wire::{Connection, Filter, Subflow, Tcp};

use crate::Error;
use crate::netlink::{Dump, Family, Malformed, Request, Socket};

/// Lists the connections of the namespace in which it was opened.
#[derive(Debug)]
pub struct Diag {
    socket: Socket,
    request: Request,
}

impl Diag {
    /// Opens it.
    ///
    /// # Errors
    /// [`Error::Lacks`] where the kernel cannot list sockets.
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

    /// Hands every subflow that passes the filter to `each`. One that begins or ends meanwhile may be
    /// missing; none comes twice. Those that are closing are there; those that only wait for a last packet
    /// (TIME_WAIT) are not.
    ///
    /// Whose MPTCP part is told only to a caller with CAP_NET_ADMIN: without it there are none.
    ///
    /// # Errors
    /// [`Error::Lacks`] where the kernel cannot list TCP sockets (CONFIG_INET_TCP_DIAG); where it refuses,
    /// or its answer cannot be read.
    pub fn for_each_subflow(&mut self, filter: &Filter, mut each: impl FnMut(Subflow)) -> Result<(), Error> {
        for family in filter.families() {
            wire::list_subflows(&mut self.request, *family, filter);
            self.dump(format_args!("list the subflows"), |payload| {
                if let Some(subflow) = Subflow::parse_if(payload, filter)? {
                    each(subflow);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Hands every TCP connection that passes the filter, and is no subflow, to `each`, as [`Self::for_each_subflow`]. Who
    /// lacks CAP_NET_ADMIN is told of subflows too.
    ///
    /// # Errors
    /// As [`Self::for_each_subflow`].
    pub fn for_each_tcp(&mut self, filter: &Filter, mut each: impl FnMut(Tcp)) -> Result<(), Error> {
        for family in filter.families() {
            wire::list_subflows(&mut self.request, *family, filter);
            self.dump(format_args!("list the TCP connections"), |payload| {
                if let Some(tcp) = Tcp::parse_if(payload, filter)? {
                    each(tcp);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// All MPTCP connections; not those that fell back to TCP.
    ///
    /// # Errors
    /// As [`Self::for_each_connection`].
    pub fn connections(&mut self) -> Result<Vec<Connection>, Error> {
        let mut all = Vec::new();
        self.for_each_connection(|connection| all.push(connection))?;
        Ok(all)
    }

    /// Hands every MPTCP connection to `each`, as [`Self::for_each_subflow`].
    ///
    /// # Errors
    /// [`Error::Lacks`] where the kernel cannot list them (Linux 5.9, CONFIG_INET_MPTCP_DIAG); where it
    /// refuses, or its answer cannot be read.
    pub fn for_each_connection(&mut self, mut each: impl FnMut(Connection)) -> Result<(), Error> {
        for family in Filter::default().families() {
            wire::list_connections(&mut self.request, *family);
            self.dump(format_args!("list the MPTCP connections"), |payload| {
                if let Some(connection) = Connection::parse(payload)? {
                    each(connection);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The connection of that local token, or `None`. The kernel finds it without going through all.
    ///
    /// # Errors
    /// As [`Self::for_each_connection`].
    pub fn connection(&mut self, token: u32) -> Result<Option<Connection>, Error> {
        wire::one_connection(&mut self.request, token);
        let mut connection = None;
        let doing = format_args!("find MPTCP connection {token:08x}");
        let answer = self.socket.ask(&mut self.request, doing, |message| {
            connection = Connection::parse(message.payload)?;
            Ok(())
        });
        match answer {
            Err(error) if error.errno() == Some(libc::ENOENT) => {
                // No such token, or no such list: only the latter is refused again.
                wire::list_nothing(&mut self.request);
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
            // Sockets come and go while they are listed; the kernel does not say so, and need not.
            Ok(Dump::Whole | Dump::Interrupted) => Ok(()),
            Err(error) => Err(lacks(error)),
        }
    }
}

/// A kernel without the part that lists sockets says that there is no such thing.
fn lacks(error: Error) -> Error {
    match error {
        Error::Refused { doing, source, .. } if source.raw_os_error() == Some(libc::ENOENT) => Error::Lacks {
            what: format!("cannot {doing}: the kernel has no sock_diag for it"),
            hint: "it needs CONFIG_INET_TCP_DIAG and CONFIG_INET_MPTCP_DIAG, or: modprobe -a tcp_diag mptcp_diag"
                .to_owned(),
        },
        error => error,
    }
}
