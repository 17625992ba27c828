//! The interface of both servers.

use crate::End;
use std::time::Duration;

/// A server under attack: a host with an application that reads all, and closes when its peer has.
pub(crate) trait Server {
    /// Why the server cannot go on.
    type Error;

    /// Gives the server a packet.
    ///
    /// # Errors
    /// If the system refuses it.
    fn send(&mut self, packet: &[u8]) -> Result<(), Self::Error>;

    /// Lets time pass, for the application too, and returns the packets of the server.
    ///
    /// # Errors
    /// If the system fails.
    fn wait(&mut self, time: Duration) -> Result<Vec<Vec<u8>>, Self::Error>;

    /// The bytes that the application has read from the client at `port`, and the end that it has seen.
    fn application(&self, port: u16) -> (&[u8], End);
}
