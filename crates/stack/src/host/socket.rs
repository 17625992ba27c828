//! Connections of a host for the threads of applications. No method blocks but the waits.

use super::Shared;
use super::state::{Backlog, EVERY_PORT, SocketState, State};
use crate::ConnectionId;
use bytes::Bytes;
use mptcp::{Config, Endpoint, Mode, PathId};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Condvar};
use units::Duration;

/// Event that a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Data, the end of the stream, or a failure.
    Read,
    /// Space in the send buffer of an established connection, or an error of a write.
    Write,
}

/// A connection. Closed on drop.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<Shared>,
    id: ConnectionId,
    changed: Arc<Condvar>,
}

impl Socket {
    /// The socket of a connection that the state knows.
    pub(super) fn new(shared: Arc<Shared>, id: ConnectionId) -> Self {
        let changed = shared.lock().sockets.get(&id).map(|socket| Arc::clone(&socket.changed));
        Self { shared, id, changed: changed.unwrap_or_default() }
    }

    /// Port of this host, while the stack has the connection.
    pub fn local_port(&self) -> Option<u16> {
        let mut state = self.shared.lock();
        state.driver.stack().tuple(self.id, PathId(0)).map(|tuple| tuple.local.port())
    }

    /// Identifier of the connection in the stack.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// True once the handshake is complete.
    ///
    /// # Errors
    /// Fails when the connection has failed.
    pub fn is_connected(&self) -> io::Result<bool> {
        self.with_socket(|socket| match socket.error() {
            Some(error) => Err(error),
            None => Ok(socket.mode.is_some()),
        })
    }

    /// The connection uses Multipath TCP now.
    pub fn is_mptcp(&self) -> bool {
        let mut state = self.shared.lock();
        state.driver.stack().endpoint(self.id).is_some_and(|endpoint| endpoint.mode() == Mode::Mptcp)
    }

    /// The connection uses MPTCP-rec.
    pub fn uses_rec(&self) -> bool {
        self.shared.lock().driver.stack().endpoint(self.id).is_some_and(Endpoint::uses_rec)
    }

    /// Reads available data; 0 at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` without data, and the failure of the connection.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.shared.change(|state, _| {
            let mut length = 0;
            while length < buffer.len()
                && let Some(piece) = state.driver.stack().read(self.id, buffer.len() - length)
            {
                buffer[length..length + piece.len()].copy_from_slice(&piece);
                length += piece.len();
            }
            let Some(socket) = state.sockets.get_mut(&self.id) else { return Ok(length) };
            socket.read += length as u64;
            match socket.error() {
                _ if length > 0 || buffer.is_empty() => Ok(length),
                Some(error) => Err(error),
                None if socket.has_end || socket.is_closed => Ok(0),
                None => Err(ErrorKind::WouldBlock.into()),
            }
        })
    }

    /// Writes as much as the send buffer takes.
    ///
    /// # Errors
    /// `WouldBlock` without space, `BrokenPipe` after [`close_writing`](Self::close_writing) and after
    /// the end, and the failure of the connection.
    pub fn write(&self, data: &[u8]) -> io::Result<usize> {
        self.shared.change(|state, _| {
            let socket = state.sockets.get(&self.id);
            if let Some(error) = socket.and_then(SocketState::error) {
                return Err(error);
            }
            let stack = state.driver.stack();
            let endpoint = stack.endpoint(self.id).filter(|endpoint| !endpoint.is_closed());
            let Some(endpoint) = endpoint.filter(|_| socket.is_some_and(|one| !one.is_write_closed)) else {
                return Err(ErrorKind::BrokenPipe.into());
            };
            let space = endpoint.write_space();
            // Only the part that fits is copied.
            let fitting = data.len().min(usize::try_from(space).unwrap_or(usize::MAX).max(1));
            match stack.write(self.id, &Bytes::copy_from_slice(&data[..fitting])) {
                0 if !data.is_empty() => Err(ErrorKind::WouldBlock.into()),
                taken => Ok(taken),
            }
        })
    }

    /// Sends no more data: the peer reads the end of the stream after all that was written.
    pub fn close_writing(&self) {
        self.shared.change(|state, _| {
            if let Some(socket) = state.sockets.get_mut(&self.id) {
                socket.is_write_closed = true;
            }
            state.driver.stack().update(self.id, Endpoint::close);
        });
    }

    /// Aborts the connection (MP_FASTCLOSE; RFC 8684, section 3.5).
    pub fn abort(&self) {
        self.shared.change(|state, _| state.driver.stack().update(self.id, Endpoint::abort));
    }

    /// Written bytes that the peer has not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let mut state = self.shared.lock();
        let endpoint = state.driver.stack().endpoint(self.id);
        endpoint.map_or(0, |endpoint| endpoint.written() - endpoint.acknowledged())
    }

    /// Bytes held beyond a gap in the received data: now, and at most so far.
    pub fn out_of_order(&self) -> (u64, u64) {
        let mut state = self.shared.lock();
        let stack = state.driver.stack();
        let now = stack.endpoint(self.id).map_or(0, Endpoint::out_of_order);
        (now, stack.peak_out_of_order(self.id).unwrap_or(now))
    }

    /// The failure of the connection.
    pub fn error(&self) -> Option<io::Error> {
        self.with_socket(SocketState::error)
    }

    /// Waits for `interest`, at most for `timeout`.
    pub fn wait(&self, interest: Interest, timeout: Duration) {
        let state = self.shared.lock();
        let timeout = std::time::Duration::from_nanos(timeout.as_nanos());
        let is_blocked = |state: &mut State| !self.is_ready(state, interest);
        // A timeout needs no answer: the caller looks again.
        _ = self.changed.wait_timeout_while(state, timeout, is_blocked);
    }

    fn is_ready(&self, state: &mut State, interest: Interest) -> bool {
        let Some(socket) = state.sockets.get(&self.id) else { return true };
        let (is_connected, has_end) = (socket.mode.is_some(), socket.has_end || socket.is_closed);
        let is_write_closed = socket.is_write_closed;
        if socket.failure.is_some() {
            return true;
        }
        let stack = state.driver.stack();
        match interest {
            Interest::Read => has_end || stack.unread(self.id).is_none_or(|bytes| bytes > 0),
            Interest::Write => {
                let is_over = stack.endpoint(self.id).is_none_or(Endpoint::is_closed);
                is_over || is_write_closed || is_connected && stack.may_write(self.id)
            }
        }
    }

    fn with_socket<R>(&self, read: impl FnOnce(&SocketState) -> R) -> R {
        read(self.shared.lock().sockets.entry(self.id).or_default())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shared.change(|state, _| state.close(self.id));
    }
}

/// Accepts connections to a port. Dropping it closes the port; its connections stay.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<Shared>,
    port: u16,
    changed: Arc<Condvar>,
}

impl Listener {
    pub(super) fn open(shared: Arc<Shared>, port: u16, config: Arc<Config>) -> Self {
        let backlog = Backlog::default();
        let changed = Arc::clone(&backlog.changed);
        shared.change(|state, _| {
            state.backlogs.insert(port, backlog);
            match port {
                EVERY_PORT => state.driver.stack().listen_at_every_port(config),
                _ => state.driver.stack().listen(port, config),
            }
        });
        Self { shared, port, changed }
    }

    /// Takes the next connection, if there is one.
    pub fn accept(&self) -> Option<Socket> {
        let id = self.shared.lock().backlogs.get_mut(&self.port)?.waiting.pop_front()?;
        Some(Socket::new(Arc::clone(&self.shared), id))
    }

    /// Waits for a connection, at most for `timeout`.
    pub fn wait(&self, timeout: Duration) {
        let state = self.shared.lock();
        let timeout = std::time::Duration::from_nanos(timeout.as_nanos());
        let is_empty = |state: &mut State| {
            state.backlogs.get(&self.port).is_some_and(|backlog| backlog.waiting.is_empty())
        };
        _ = self.changed.wait_timeout_while(state, timeout, is_empty);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.change(|state, _| {
            match self.port {
                EVERY_PORT => state.driver.stack().any_port = None,
                port => state.driver.stack().stop_listening(port),
            }
            let waiting = state.backlogs.remove(&self.port).map(|backlog| backlog.waiting);
            for id in waiting.into_iter().flatten() {
                state.close(id);
            }
        });
    }
}
