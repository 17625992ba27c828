//! Addresses that the kernel delivers to this host, and notifications of their changes.

use super::wire::{self, DELETE_ADDRESS, DELETE_ROUTE, NEW_ADDRESS, NEW_ROUTE};
use super::{Address, Route};
use crate::Error;
use crate::netlink::{Family, Received, Socket};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV4_ROUTE`, `RTNLGRP_IPV6_IFADDR`, `RTNLGRP_IPV6_ROUTE`.
const GROUPS: [u32; 4] = [5, 7, 9, 11];
/// Receive buffer for several thousand changes of routes.
const RECEIVE_BUFFER: usize = 1 << 20;

/// Networks whose packets the kernel delivers to this host: the addresses of its interfaces, and the
/// `local` and `anycast` routes of the table `local`.
#[derive(Debug)]
pub struct LocalNetworks {
    notifications: Socket,
    route: Route,
}

impl LocalNetworks {
    /// Opens both sockets in the namespace of the calling thread.
    ///
    /// # Errors
    /// Fails when the system provides no socket.
    pub fn open() -> Result<Self, Error> {
        // Subscribe first, so that no change between the list and the subscription is missed.
        let notifications = Socket::open(Family::Route)?;
        notifications.set_receive_buffer(RECEIVE_BUFFER);
        for group in GROUPS {
            notifications.join(group)?;
        }
        Ok(Self { notifications, route: Route::open()? })
    }

    /// Lists the networks, each with its prefix length; may contain duplicates.
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or its response cannot be parsed.
    pub fn list(&mut self) -> Result<Vec<(IpAddr, u8)>, Error> {
        let host = |one: Address| (one.address, if one.address.is_ipv4() { 32 } else { 128 });
        let mut all: Vec<_> = self.route.addresses()?.into_iter().map(host).collect();
        all.extend(self.route.local_routes()?);
        Ok(all)
    }

    /// Reads all waiting notifications. Returns whether the list may have changed.
    ///
    /// # Errors
    /// Fails when a notification cannot be parsed, or the socket fails.
    pub fn drain(&mut self) -> Result<bool, Error> {
        let doing = format_args!("read changes of addresses");
        let mut changed = false;
        loop {
            let received = self.notifications.receive(Duration::ZERO, doing, |message| {
                changed |= match message.header.kind {
                    NEW_ADDRESS | DELETE_ADDRESS => true,
                    // A malformed route counts as a change: the list is read again.
                    NEW_ROUTE | DELETE_ROUTE => !matches!(wire::parse_local_route(message.payload), Ok(None)),
                    _ => false,
                };
            })?;
            match received {
                Received::Messages => {}
                Received::TimedOut => return Ok(changed),
                Received::Overrun => changed = true,
            }
        }
    }
}

impl AsFd for LocalNetworks {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.as_fd()
    }
}

impl std::os::fd::AsRawFd for LocalNetworks {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.notifications.as_fd().as_raw_fd()
    }
}
