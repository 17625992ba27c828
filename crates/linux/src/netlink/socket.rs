//! A netlink socket: asks and waits for the answer, or waits for what the kernel tells unasked.

use super::{Ack, Malformed, Message, Messages, Request, kind};
use crate::{Error, option};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::netlink::{GENERIC, SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, recvfrom, sendto,
    socket_with,
};
use std::fmt::Arguments;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// The kernel makes the datagrams of a dump as long as the buffer, up to this.
const BUFFER: usize = 32 * 1024;
/// How often a dump is begun anew because what it lists changed meanwhile.
const TRIES: usize = 16;

/// What to talk to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Links, addresses, routes: rtnetlink(7).
    Route,
    /// Sockets: sock_diag(7).
    SockDiag,
    /// Families with names, such as `mptcp_pm`.
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

/// How a dump ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Dump {
    /// It lists what there was at one time.
    Whole,
    /// What it lists changed meanwhile: something may be missing, or there twice.
    Interrupted,
}

/// What came in [`Socket::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Received {
    /// Messages, which were handed on.
    Messages,
    /// Nothing within the time.
    Nothing,
    /// The kernel had more to tell than the socket holds, and threw some of it away: what is known
    /// from events must be asked for anew.
    Overrun,
}

/// A netlink socket of the namespace in which it was opened.
#[derive(Debug)]
pub struct Socket {
    file: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Socket {
    /// Opens one.
    ///
    /// # Errors
    /// Where the kernel has no such family.
    pub fn open(family: Family) -> Result<Self, Error> {
        let doing = || format!("open a netlink socket ({})", family.name());
        let file =
            socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, family.protocol())
                .map_err(|error| {
                    if matches!(error, Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT) {
                        return Error::Lacks {
                            what: format!("the kernel has no {}", family.name()),
                            hint: "it needs a kernel with CONFIG_NET and CONFIG_INET_DIAG".to_owned(),
                        };
                    }
                    Error::system(doing(), error)
                })?;
        bind(&file, &SocketAddrNetlink::new(0, 0)).map_err(|error| Error::system(doing(), error))?;
        // Kernels that know neither only say less, and repeat the request in its answer.
        let _ = option::set_number(&file, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1);
        let _ = option::set_number(&file, libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, 1);
        Ok(Self { file, buffer: vec![0; BUFFER], sequence: 0 })
    }

    /// Lets the kernel check what is asked for, and filter dumps by it; where it is older than that
    /// (Linux 4.20), answers are filtered by whoever asked.
    pub fn strict(&self) {
        let _ = option::set_number(&self.file, libc::SOL_NETLINK, libc::NETLINK_GET_STRICT_CHK, 1);
    }

    /// Listens to a multicast group.
    ///
    /// # Errors
    /// Where there is none of that number, or the caller may not.
    pub fn join(&self, group: u32) -> Result<(), Error> {
        option::set_number(&self.file, libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group as i32)
            .map_err(|error| Error::system(format!("listen to netlink group {group}"), error))
    }

    /// Makes room for `bytes` of messages that nobody has read yet; the kernel may give less.
    pub fn set_receive_buffer(&self, bytes: usize) {
        // Both only decide how soon there is an overrun, which is told.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&self.file, bytes).is_err() {
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&self.file, bytes);
        }
    }

    /// Sends a request that changes something and waits for the acknowledgement. `doing` is a phrase
    /// for the error, such as `set the link up`.
    ///
    /// # Errors
    /// [`Error::Refused`], with the kernel's words, where it refuses.
    pub fn act(&mut self, request: &mut Request, doing: Arguments<'_>) -> Result<(), Error> {
        self.ask(request, doing, |_| Ok(()))
    }

    /// Sends a request and hands each message of the answer to `each`, up to the acknowledgement. The
    /// request needs [`kind::ACK`].
    ///
    /// # Errors
    /// Where the kernel refuses, or `each` cannot read the answer.
    pub fn ask(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Error> {
        self.send(request, doing)?;
        let _ = self.answer(doing, &mut each)?;
        Ok(())
    }

    /// Sends a request with [`kind::DUMP`] and hands each message of the answer to `each`. One datagram
    /// is in memory at a time, however many there are.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn dump(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Dump, Error> {
        self.send(request, doing)?;
        self.answer(doing, &mut each)
    }

    /// All that a dump lists, of what `parse` takes; begun anew where it changed meanwhile.
    ///
    /// # Errors
    /// As [`Self::ask`], and where it changes all the time.
    pub fn list<T>(
        &mut self,
        request: &mut Request,
        doing: Arguments<'_>,
        mut parse: impl FnMut(&Message<'_>) -> Result<Option<T>, Malformed>,
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for _ in 0..TRIES {
            all.clear();
            let dump = self.dump(request, doing, |message| {
                all.extend(parse(message)?);
                Ok(())
            })?;
            if dump == Dump::Whole {
                return Ok(all);
            }
        }
        Err(Error::System {
            doing: doing.to_string(),
            source: io::Error::new(io::ErrorKind::Interrupted, "it changed each time while it was read"),
        })
    }

    /// Waits up to `timeout` for what the kernel tells unasked, and hands each message to `each`.
    ///
    /// # Errors
    /// Where a message is malformed, or the socket fails.
    pub fn receive(
        &mut self,
        timeout: Duration,
        doing: Arguments<'_>,
        mut each: impl FnMut(&Message<'_>),
    ) -> Result<Received, Error> {
        if !self.wait(timeout).map_err(|error| Error::system(doing.to_string(), error))? {
            return Ok(Received::Nothing);
        }
        let length = match self.take(RecvFlags::DONTWAIT) {
            Ok(length) => length,
            Err(Errno::NOBUFS) => return Ok(Received::Overrun),
            Err(Errno::AGAIN) => return Ok(Received::Nothing),
            Err(error) => return Err(Error::system(doing.to_string(), error)),
        };
        for message in Messages::new(&self.buffer[..length]) {
            each(&message.map_err(|malformed| malformed.answering(doing))?);
        }
        Ok(Received::Messages)
    }

    fn wait(&self, timeout: Duration) -> Result<bool, Errno> {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut files = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut files, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            // A signal: the caller has its own idea of time and comes again.
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, request: &mut Request, doing: Arguments<'_>) -> Result<(), Error> {
        // 0 is what the kernel gives to messages that nobody asked for.
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let bytes = request
            .finish(self.sequence)
            .map_err(|malformed| Error::system(doing.to_string(), io::Error::other(malformed)))?;
        let kernel = SocketAddrNetlink::new(0, 0);
        retry_on_intr(|| sendto(&self.file, bytes, SendFlags::empty(), &kernel))
            .map_err(|error| Error::system(doing.to_string(), error))?;
        Ok(())
    }

    /// The next datagram of the kernel into the buffer, which grows where it must.
    fn take(&mut self, flags: RecvFlags) -> Result<usize, Errno> {
        loop {
            let look = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
            let (_, length) = retry_on_intr(|| recv(&self.file, &mut [0u8; 0][..], look))?;
            if length > self.buffer.len() {
                self.buffer.resize(length.next_multiple_of(BUFFER), 0);
            }
            let (_, length, from) = retry_on_intr(|| recvfrom(&self.file, &mut self.buffer[..], flags))?;
            let from = from.and_then(|from| SocketAddrNetlink::try_from(from).ok());
            if from.is_some_and(|from| from.pid() == 0) {
                return Ok(length);
            }
        }
    }

    fn answer(
        &mut self,
        doing: Arguments<'_>,
        each: &mut dyn FnMut(&Message<'_>) -> Result<(), Malformed>,
    ) -> Result<Dump, Error> {
        let mut dump = Dump::Whole;
        let mut unread = None;
        loop {
            let length =
                self.take(RecvFlags::empty()).map_err(|error| Error::system(doing.to_string(), error))?;
            for message in Messages::new(&self.buffer[..length]) {
                let message = message.map_err(|malformed| malformed.answering(doing))?;
                if message.header.sequence != self.sequence {
                    // Of a conversation that was broken off.
                    continue;
                }
                if message.header.flags & kind::DUMP_INTERRUPTED != 0 && message.header.kind != kind::ERROR {
                    dump = Dump::Interrupted;
                }
                match message.header.kind {
                    kind::ERROR | kind::DONE => {
                        let ack = Ack::parse(&message).map_err(|malformed| malformed.answering(doing))?;
                        return match (ack.errno, unread) {
                            (0, None) => Ok(dump),
                            (0, Some(malformed)) => Err(Malformed::answering(malformed, doing)),
                            _ => Err(refused(doing, &ack)),
                        };
                    }
                    kind::NOOP => {}
                    // Read to the end, so that the next request does not meet the rest of this answer.
                    _ => unread = unread.or(each(&message).err()),
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

fn refused(doing: Arguments<'_>, ack: &Ack<'_>) -> Error {
    let source = io::Error::from_raw_os_error(ack.errno);
    if matches!(ack.errno, libc::EPERM | libc::EACCES) && ack.message.is_empty() {
        return Error::system(doing.to_string(), source);
    }
    let message = match ack.missing {
        Some(missing) if ack.message.is_empty() => format!("attribute {missing} is missing"),
        _ => ack.message.to_owned(),
    };
    Error::Refused { doing: doing.to_string(), source, message }
}
