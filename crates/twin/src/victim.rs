//! The interface of the hosts under attack.

use crate::End;
use std::time::Duration;

/// A host under attack. Its application reads all, and closes when its peer has.
pub(crate) trait Victim {
    /// Why the host cannot go on.
    type Error;

    /// A client connects to each of these ports of the peer, a server waits.
    ///
    /// # Errors
    /// If the system refuses it.
    fn open(&mut self, ports: &[u16]) -> Result<(), Self::Error>;

    /// Gives the host a packet.
    ///
    /// # Errors
    /// If the system refuses it.
    fn send(&mut self, packet: &[u8]) -> Result<(), Self::Error>;

    /// Lets time pass, for the application too, and returns the packets of the host.
    ///
    /// # Errors
    /// If the system fails.
    fn wait(&mut self, time: Duration) -> Result<Vec<Vec<u8>>, Self::Error>;

    /// The bytes that the application has read from the peer at `port`, and the end that it has seen.
    fn application(&self, port: u16) -> (&[u8], End);
}
