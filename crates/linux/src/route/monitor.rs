//! What changes about links and addresses, as it changes.

use super::wire::{DELETE_ADDRESS, DELETE_LINK, NEW_ADDRESS, NEW_LINK};
use super::{Address, Link};
use crate::Error;
use crate::netlink::{Family, Message, Received, Socket};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV6_IFADDR`.
const GROUPS: [u32; 3] = [1, 5, 9];
/// Room for some hundred changes that nobody has read yet.
const RECEIVE_BUFFER: usize = 1 << 20;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A link is new or has changed; its counters are of that time.
    Link(Link),
    /// A link is gone.
    LinkGone(Link),
    /// An address is new or has changed.
    Address(Address),
    /// An address is gone.
    AddressGone(Address),
    /// More changed than could be told: ask for all anew.
    Overrun,
}

/// Listens to changes of the namespace in which it was opened.
#[derive(Debug)]
pub struct Monitor {
    socket: Socket,
    pending: VecDeque<Change>,
}

impl Monitor {
    /// Opens it: what changes from now on is told.
    ///
    /// # Errors
    /// Where the system gives no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(Family::Route)?;
        socket.set_receive_buffer(RECEIVE_BUFFER);
        for group in GROUPS {
            socket.join(group)?;
        }
        Ok(Self { socket, pending: VecDeque::new() })
    }

    /// The next change, or `None` where there is none within `timeout`, or a signal came.
    ///
    /// Where the file descriptor is polled instead, call this with no time until it answers `None`.
    ///
    /// # Errors
    /// Where what the kernel tells cannot be read, or the socket fails.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Change>, Error> {
        if self.pending.is_empty() {
            let doing = format_args!("read changes of links and addresses");
            let mut unread = None;
            let received = self.socket.receive(timeout, doing, |message| match change(message) {
                Ok(change) => self.pending.extend(change),
                Err(malformed) => unread = Some(malformed),
            })?;
            if let Some(malformed) = unread {
                return Err(malformed.answering(doing));
            }
            if received == Received::Overrun {
                return Ok(Some(Change::Overrun));
            }
        }
        Ok(self.pending.pop_front())
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn change(message: &Message<'_>) -> Result<Option<Change>, crate::netlink::Malformed> {
    Ok(match message.header.kind {
        // A bridge tells of its ports in messages of its own family, which are no new state of the link.
        NEW_LINK | DELETE_LINK if message.payload.first() != Some(&0) => None,
        NEW_LINK => Some(Change::Link(Link::parse(message.payload)?)),
        DELETE_LINK => Some(Change::LinkGone(Link::parse(message.payload)?)),
        NEW_ADDRESS => Address::parse(message.payload)?.map(Change::Address),
        DELETE_ADDRESS => Address::parse(message.payload)?.map(Change::AddressGone),
        _ => None,
    })
}
