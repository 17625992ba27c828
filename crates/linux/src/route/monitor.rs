//! Notifications of link and address changes.

use super::wire::{DELETE_ADDRESS, DELETE_LINK, NEW_ADDRESS, NEW_LINK};
use super::{Address, Link};
use crate::Error;
use crate::netlink::{Family, Message, Received, Socket};
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV6_IFADDR`.
const GROUPS: [u32; 3] = [1, 5, 9];
/// Receive buffer for several hundred parse_error changes.
const RECEIVE_BUFFER: usize = 1 << 20;

/// A change of a link or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A link appeared or changed; includes its current counters.
    Link(Link),
    /// A link was removed.
    LinkGone(Link),
    /// An address appeared or changed.
    Address(Address),
    /// An address was removed.
    AddressGone(Address),
    /// Notifications were lost: links and addresses must be listed again.
    Overrun,
}

/// Receives changes in the namespace where it was opened.
#[derive(Debug)]
pub struct Monitor {
    socket: Socket,
    pending: VecDeque<Change>,
}

impl Monitor {
    /// Opens the socket and subscribes to changes.
    ///
    /// # Errors
    /// Fails when the system provides no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(Family::Route)?;
        socket.set_receive_buffer(RECEIVE_BUFFER);
        for group in GROUPS {
            socket.join(group)?;
        }
        Ok(Self { socket, pending: VecDeque::new() })
    }

    /// Next change; `None` after `timeout`, when a signal interrupted the wait, or when only other
    /// messages arrived. With a zero timeout `None` means that no change is queued.
    ///
    /// When polling the descriptor instead, call this with a zero timeout until it returns `None`.
    ///
    /// # Errors
    /// Fails when a notification cannot be parsed, or the socket fails.
    pub fn next(&mut self, mut timeout: Duration) -> Result<Option<Change>, Error> {
        while self.pending.is_empty() {
            let doing = format_args!("read changes of links and addresses");
            let mut parse_error = None;
            let received = self.socket.receive(timeout, doing, |message| match parse_change(message) {
                Ok(change) => self.pending.extend(change),
                Err(malformed) => parse_error = Some(malformed),
            })?;
            if let Some(malformed) = parse_error {
                return Err(malformed.in_reply_to(doing));
            }
            match received {
                // Changes may follow a datagram that has none.
                Received::Messages => timeout = Duration::ZERO,
                Received::Overrun => return Ok(Some(Change::Overrun)),
                Received::TimedOut => return Ok(None),
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

fn parse_change(message: &Message<'_>) -> Result<Option<Change>, crate::netlink::Malformed> {
    Ok(match message.header.kind {
        // AF_BRIDGE messages describe bridge ports, not the state of the link.
        NEW_LINK | DELETE_LINK if message.payload.first() != Some(&0) => None,
        NEW_LINK => Some(Change::Link(Link::parse(message.payload)?)),
        DELETE_LINK => Some(Change::LinkGone(Link::parse(message.payload)?)),
        NEW_ADDRESS => Address::parse(message.payload)?.map(Change::Address),
        DELETE_ADDRESS => Address::parse(message.payload)?.map(Change::AddressGone),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;
    use crate::route::Route;
    use crate::tun::Tun;

    /// `RTNLGRP_IPV4_ROUTE`: the kernel notifies of each address, then of its routes.
    const ROUTES: u32 = 7;

    fn addresses_between_other_messages() -> Result<Vec<Change>, Error> {
        let _tun = Tun::create("tun0")?;
        let mut route = Route::open()?;
        let index = route.link("tun0")?.index;
        route.set_up(index, true)?;
        let mut monitor = Monitor::open()?;
        monitor.socket.join(ROUTES)?;
        for network in 1..4 {
            route.add_address(index, [10, network, 0, 2].into(), 24)?;
        }
        let mut changes = Vec::new();
        while let Some(change) = monitor.next(Duration::ZERO)? {
            changes.push(change);
        }
        Ok(changes)
    }

    #[test]
    #[ignore = "needs root"]
    fn needs_root_message_without_change_does_not_end_the_queue() {
        let namespace = Namespace::create().expect("a network namespace");
        let changes = namespace.run(addresses_between_other_messages).expect("the changes are read");
        // The interface also gets an IPv6 address of its own, before or after the monitor opens.
        let is_added = |change: &&Change| matches!(change, Change::Address(one) if one.address.is_ipv4());
        let count = changes.iter().filter(is_added).count();
        assert_eq!(count, 3, "{changes:?}");
    }
}
