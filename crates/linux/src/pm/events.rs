//! The socket on which the kernel tells of connections.

use super::{Event, FAMILY, find};
use crate::Error;
use crate::netlink::{Family, Received, Socket};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

const GROUP: &str = "mptcp_pm_events";
/// Room for some thousand events that nobody has read yet.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Listens to the MPTCP connections of the namespace in which it was opened.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    pending: VecDeque<Event>,
}

impl Events {
    /// Opens it: what happens from now on is told.
    ///
    /// # Errors
    /// [`Error::Lacks`] where the kernel has no MPTCP or none that tells (Linux 5.12), or the caller may
    /// not (CAP_NET_ADMIN).
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(Family::Generic)?;
        let family = find(&mut socket)?;
        let group = family.group(GROUP).ok_or_else(|| Error::Lacks {
            what: format!("the kernel tells nothing of MPTCP connections ({FAMILY} has no group {GROUP})"),
            hint: "it needs Linux 5.12 or later".to_owned(),
        })?;
        socket.set_receive_buffer(RECEIVE_BUFFER);
        socket.join(group)?;
        Ok(Self { socket, family: family.id, pending: VecDeque::new() })
    }

    /// The next event, or `None` where there is none within `timeout`, or a signal came.
    ///
    /// Where the file descriptor is polled instead, call this with no time until it answers `None`.
    ///
    /// # Errors
    /// Where what the kernel tells cannot be read, or the socket fails.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Event>, Error> {
        if self.pending.is_empty() {
            let doing = format_args!("read events of MPTCP connections");
            let mut unread = None;
            let received = self.socket.receive(timeout, doing, |message| {
                if message.header.kind == self.family {
                    match Event::parse(message.payload) {
                        Ok(event) => self.pending.push_back(event),
                        Err(malformed) => unread = Some(malformed),
                    }
                }
            })?;
            if let Some(malformed) = unread {
                return Err(malformed.answering(doing));
            }
            if received == Received::Overrun {
                return Ok(Some(Event::Overrun));
            }
        }
        Ok(self.pending.pop_front())
    }
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
