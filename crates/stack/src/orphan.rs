//! Connections that the application has closed: they end by themselves.

use crate::connection::Connection;
use crate::{ConnectionId, Stack};
use units::{Duration, Instant};

/// A connection without an application.
#[derive(Debug)]
pub(crate) struct Orphan {
    /// The connection is aborted at this time, unless the peer has acknowledged data since.
    deadline: Instant,
    /// Bytes acknowledged at the last check.
    acknowledged: u64,
}

impl Stack {
    /// Closes a connection and ends the application's interest in it, as `close` does on Linux.
    /// Written data is still delivered. Data that was not read, or that arrives later, aborts the
    /// connection; so does a peer that acknowledges nothing for
    /// [`Limits::orphan_timeout`](crate::Limits).
    pub fn abandon(&mut self, now: Instant, id: ConnectionId) {
        let timeout = self.limits.orphan_timeout;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if connection.endpoint.is_closed() || connection.unread() > 0 {
            return self.release(id);
        }
        connection.is_released = true;
        connection.endpoint.close();
        let acknowledged = connection.endpoint.acknowledged();
        connection.orphan = Some(Orphan { deadline: now + timeout, acknowledged });
        self.make_ready(id);
    }
}

impl Connection {
    /// Time of the next [check](Self::check_orphan).
    pub(crate) fn orphan_deadline(&self) -> Option<Instant> {
        Some(self.orphan.as_ref()?.deadline)
    }

    /// Aborts the connection without an application if its time has passed.
    pub(crate) fn check_orphan(&mut self, now: Instant, timeout: Duration) {
        let acknowledged = self.endpoint.acknowledged();
        let Some(orphan) = self.orphan.as_mut().filter(|orphan| orphan.deadline <= now) else { return };
        if acknowledged > orphan.acknowledged {
            *orphan = Orphan { deadline: now + timeout, acknowledged };
        } else {
            self.end_orphan();
        }
    }

    /// Aborts the connection without an application if the peer has sent data. Returns true if so.
    pub(crate) fn abort_orphan_with_data(&mut self) -> bool {
        let aborts = self.orphan.is_some() && self.unread() > 0;
        if aborts || self.endpoint.is_closed() {
            self.end_orphan();
        }
        aborts
    }

    fn end_orphan(&mut self) {
        if self.orphan.take().is_some() && !self.endpoint.is_closed() {
            self.endpoint.abort();
        }
    }
}
