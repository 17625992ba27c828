//! Netlink sockets: request and response, dumps, multicast events.

use super::{Ack, Malformed, Message, Messages, Request, kind};
use crate::{Error, option};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::netlink::{GENERIC, SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, recvfrom, sendto,
    socket_with,
};
use std::fmt::Arguments;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Initial buffer length. The kernel fills the datagrams of a dump up to this length.
const BUFFER_BYTES: usize = 32 * 1024;
/// Maximum number of attempts to list objects that change during the dump.
const MAX_DUMP_ATTEMPTS: usize = 16;
/// Maximum wait for a response. The kernel queues it before the request returns, so only a response
/// that was dropped for lack of memory takes longer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Netlink protocol family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// NETLINK_ROUTE: links, addresses and routes (rtnetlink(7)).
    Route,
    /// NETLINK_SOCK_DIAG: sockets (sock_diag(7)).
    SockDiag,
    /// NETLINK_GENERIC: families found by name, such as `mptcp_pm`.
    Generic,
}

impl Family {
    fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Route => None,
            Self::SockDiag => Some(SOCK_DIAG),
            Self::Generic => Some(GENERIC),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Route => "NETLINK_ROUTE",
            Self::SockDiag => "NETLINK_SOCK_DIAG",
            Self::Generic => "NETLINK_GENERIC",
        }
    }
}

/// Consistency of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Dump {
    /// The dump is a consistent snapshot.
    Consistent,
    /// Objects changed during the dump: some may be missing or duplicated.
    Interrupted,
}

/// Result of [`Socket::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Received {
    /// Messages arrived and were passed to the callback.
    Messages,
    /// The timeout expired.
    TimedOut,
    /// The socket buffer overflowed and the kernel dropped events. State derived from events must
    /// be read again.
    Overrun,
}

/// A netlink socket in the namespace where it was opened.
#[derive(Debug)]
pub struct Socket {
    file: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Socket {
    /// Opens and binds a socket.
    ///
    /// # Errors
    /// Fails when the kernel lacks the family.
    pub fn open(family: Family) -> Result<Self, Error> {
        let doing = || format!("open a netlink socket ({})", family.name());
        let file =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, family.protocol())
                .map_err(|error| {
                    if matches!(error, Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT) {
                        return Error::Lacks {
                            what: format!("the kernel has no {}", family.name()),
                            hint: "use a kernel built with CONFIG_NET and CONFIG_INET_DIAG".to_owned(),
                        };
                    }
                    Error::system(doing(), error)
                })?;
        bind(&file, &SocketAddrNetlink::new(0, 0)).map_err(|error| Error::system(doing(), error))?;
        // Kernels without these options send less detail and echo the request.
        let _ = option::set_number(&file, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1);
        let _ = option::set_number(&file, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1);
        set_socket_timeout(&file, Timeout::Recv, Some(RESPONSE_TIMEOUT))
            .map_err(|error| Error::system(doing(), error))?;
        Ok(Self { file, buffer: vec![0; BUFFER_BYTES], sequence: 0 })
    }

    /// Enables strict checking: the kernel validates requests and filters dumps (Linux 4.20).
    /// Without it callers filter the responses.
    pub fn enable_strict_checking(&self) {
        let _ = option::set_number(&self.file, libc::SOL_NETLINK, libc::NETLINK_GET_STRICT_CHK, 1);
    }

    /// Joins a multicast group.
    ///
    /// # Errors
    /// Fails when there is no such group, or without the privilege.
    pub fn join(&self, group: u32) -> Result<(), Error> {
        option::set_number(&self.file, libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group as i32)
            .map_err(|error| Error::system(format!("listen to netlink group {group}"), error))
    }

    /// Sets the receive buffer to `bytes`; the kernel may grant less.
    pub fn set_receive_buffer(&self, bytes: usize) {
        // A smaller buffer only overflows sooner, and an overflow is reported.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&self.file, bytes).is_err() {
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&self.file, bytes);
        }
    }

    /// Sends a request and waits for its acknowledgement. `doing` is a verb phrase for the error
    /// message, such as `set the link up`.
    ///
    /// # Errors
    /// Fails with [`Error::Refused`] and the kernel's message when it rejects the request.
    pub fn execute(&mut self, request: &mut Request, doing: Arguments<'_>) -> Result<(), Error> {
        self.transact(request, doing, |_| Ok(()))
    }

    /// Sends a request and passes every message of the response to `each`, up to the
    /// acknowledgement. The request must carry [`kind::ACK`].
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or `each` cannot parse the response.
    pub fn transact(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        self.send(request, doing)?;
        let _ = self.read_response(doing, &mut each)?;
        Ok(())
    }

    /// Sends a request with [`kind::DUMP`] and passes every message of the response to `each`.
    /// Keeps one datagram in memory at a time.
    ///
    /// # Errors
    /// As [`Self::transact`].
    pub fn dump(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Dump, Error> {
        self.send(request, doing)?;
        self.read_response(doing, &mut each)
    }

    /// Collects the objects of a dump that `parse` accepts. Repeats an interrupted dump.
    ///
    /// # Errors
    /// As [`Self::transact`]; also when every attempt was interrupted.
    pub fn list<T>(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut parse: impl FnMut(&Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for _ in 0..MAX_DUMP_ATTEMPTS {
            all.clear();
            let dump = self.dump(request, doing, |message| {
                all.extend(parse(message)?);
                Ok(())
            })?;
            if dump == Dump::Consistent {
                return Ok(all);
            }
        }
        Err(Error::System {
            doing: doing.to_string(),
            source: io::Error::new(io::ErrorKind::Interrupted, "the list changed during every attempt"),
        })
    }

    /// Waits up to `timeout` for unsolicited messages and passes each to `each`.
    ///
    /// # Errors
    /// Fails when a message is malformed, or the socket fails.
    pub fn receive(
        &mut self,
        timeout: Duration,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>),
    ) -> Result<Received, Error> {
        // Without a wait a signal cannot hide queued messages.
        if !timeout.is_zero()
            && !self.wait_readable(timeout).map_err(|error| Error::system(doing.to_string(), error))?
        {
            return Ok(Received::TimedOut);
        }
        let length = match self.receive_datagram(RecvFlags::DONTWAIT) {
            Ok(length) => length,
            // Events may have been dropped in both cases.
            Err(Errno::NOBUFS | Errno::NOMEM) => return Ok(Received::Overrun),
            Err(Errno::AGAIN) => return Ok(Received::TimedOut),
            Err(error) => return Err(Error::system(doing.to_string(), error)),
        };
        for message in Messages::new(&self.buffer[..length]) {
            each(&message.map_err(|malformed| malformed.in_reply_to(doing))?);
        }
        Ok(Received::Messages)
    }

    fn wait_readable(&self, timeout: Duration) -> Result<bool, Errno> {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut files = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut files, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            // Interrupted by a signal; the caller decides whether to wait again.
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, request: &mut Request, doing: Arguments<'_>) -> Result<(), Error> {
        // Sequence number 0 is reserved for unsolicited messages.
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let bytes = request
            .finish(self.sequence)
            .map_err(|malformed| Error::system(doing.to_string(), io::Error::other(malformed)))?;
        let kernel = SocketAddrNetlink::new(0, 0);
        retry_on_intr(|| sendto(&self.file, bytes, SendFlags::empty(), &kernel))
            .map_err(|error| Error::system(doing.to_string(), error))?;
        Ok(())
    }

    /// Reads the next datagram sent by the kernel; grows the buffer as needed.
    fn receive_datagram(&mut self, flags: RecvFlags) -> Result<usize, Errno> {
        loop {
            let peek = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
            let (_, length) = retry_on_intr(|| recv(&self.file, &mut [0u8; 0][..], peek))?;
            if length > self.buffer.len() {
                self.buffer.resize(length.next_multiple_of(BUFFER_BYTES), 0);
            }
            let (_, length, from) = retry_on_intr(|| recvfrom(&self.file, &mut self.buffer[..], flags))?;
            let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
            if from.is_some_and(|from| from.pid() == 0) {
                return Ok(length);
            }
        }
    }

    fn read_response(
        &mut self,
        doing: Arguments<'_>,
        each: &mut dyn FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Dump, Error> {
        let mut dump = Dump::Consistent;
        let mut parse_error = None;
        loop {
            let length = self
                .receive_datagram(RecvFlags::empty())
                .map_err(|error| Error::system(doing.to_string(), error))?;
            for message in Messages::new(&self.buffer[..length]) {
                let message = message.map_err(|malformed| malformed.in_reply_to(doing))?;
                if message.header.sequence != self.sequence {
                    // Response to an earlier request that was abandoned.
                    continue;
                }
                if message.header.flags & kind::DUMP_INTERRUPTED != 0 && message.header.kind != kind::ERROR {
                    dump = Dump::Interrupted;
                }
                match message.header.kind {
                    kind::ERROR | kind::DONE => {
                        let ack = Ack::parse(&message).map_err(|malformed| malformed.in_reply_to(doing))?;
                        return match (ack.errno, parse_error) {
                            (0, None) => Ok(dump),
                            (0, Some(malformed)) => Err(Malformed::in_reply_to(malformed, doing)),
                            _ => Err(rejection(doing, &ack)),
                        };
                    }
                    kind::NOOP => {}
                    // Keeps reading after an error: the rest must not be taken for the next
                    // response.
                    _ => parse_error = parse_error.or(each(&message).err()),
                }
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn rejection(doing: Arguments<'_>, ack: &Ack<'_>) -> Error {
    let source = io::Error::from_raw_os_error(ack.errno);
    if matches!(ack.errno, libc::EPERM | libc::EACCES) && ack.message.is_empty() {
        return Error::system(doing.to_string(), source);
    }
    let message = match ack.missing_attribute {
        Some(missing) if ack.message.is_empty() => format!("missing attribute {missing}"),
        _ => ack.message.to_owned(),
    };
    Error::Refused { doing: doing.to_string(), source, message }
}
