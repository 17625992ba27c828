//! Socket that receives path manager events.

use super::{Event, FAMILY, resolve_family};
use crate::Error;
use crate::netlink::{Family, Received, Socket};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

const GROUP: &str = "mptcp_pm_events";
/// Size of the receive buffer in bytes: room for several thousand unread events.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Receives MPTCP events of the namespace in which it was opened.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    pending: VecDeque<Event>,
}

impl Events {
    /// Opens the socket and joins the event group.
    ///
    /// # Errors
    /// Fails with [`Error::Lacks`] when the kernel has no MPTCP or sends no events (before Linux
    /// 5.12), or when the kernel refuses the event group for lack of CAP_NET_ADMIN.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(Family::Generic)?;
        let family = resolve_family(&mut socket)?;
        let group = family.group(GROUP).ok_or_else(|| Error::Lacks {
            what: format!("the kernel sends no MPTCP events ({FAMILY} has no group {GROUP})"),
            hint: "use Linux 5.12 or later".to_owned(),
        })?;
        socket.set_receive_buffer(RECEIVE_BUFFER);
        socket.join(group)?;
        Ok(Self { socket, family: family.id, pending: VecDeque::new() })
    }

    /// Next event; `None` after `timeout`, when a signal interrupted the wait, or when only other
    /// messages arrived. With a zero timeout `None` means that no event is queued. Returns
    /// [`Event::Overrun`] if the receive buffer overflowed.
    ///
    /// A caller that polls the descriptor calls this with a zero timeout until it returns `None`:
    /// events already read from the socket do not make the descriptor readable.
    ///
    /// # Errors
    /// Fails when an event cannot be parsed, or the socket fails.
    pub fn next(&mut self, mut timeout: Duration) -> Result<Option<Event>, Error> {
        while self.pending.is_empty() {
            let doing = format_args!("read events of MPTCP connections");
            let mut parse_error = None;
            let received = self.socket.receive(timeout, doing, |message| {
                if message.header.kind == self.family {
                    match Event::parse(message.payload) {
                        Ok(event) => self.pending.push_back(event),
                        Err(malformed) => parse_error = Some(malformed),
                    }
                }
            })?;
            if let Some(malformed) = parse_error {
                return Err(malformed.in_reply_to(doing));
            }
            match received {
                // Events may follow a datagram that has none.
                Received::Messages => timeout = Duration::ZERO,
                Received::Overrun => return Ok(Some(Event::Overrun)),
                Received::TimedOut => return Ok(None),
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
