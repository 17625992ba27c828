//! Tunnel between a client and a server, until its end.
//!
//! A future with few fields instead of an `async fn`: thousands of idle tunnels wait at once, and the
//! compiler would store arguments twice.

use super::{Client, Outcome, Revocation};
use crate::connect::Connected;
use crate::counters::{ByteCounters, Counters};
use crate::outgoing::Registration;
use crate::relay::{End, Relay};
use crate::stream::Stream;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use linux::socket;

/// Relays both directions to their end, a reset or a timeout. Closes the server's connection before
/// it releases the client's place.
pub(super) struct Tunnel {
    relay: Relay,
    server: Stream,
    /// Entry in the table of own connections.
    _registration: Registration,
    revocation: Revocation,
    client: Box<Client>,
}

impl Tunnel {
    /// Tunnel that begins with the bytes already read from both sides.
    pub(super) fn new(mut client: Box<Client>, server: Connected) -> Self {
        Counters::count(&client.counters().tunnels);
        let read = (std::mem::take(&mut client.buffer), server.early_data);
        let relay = Relay::new(read, client.config.relay_options().idle, client.end_of_lifetime());
        let revocation = client.revocation();
        Self { relay, server: server.stream, _registration: server.registration, revocation, client }
    }

    fn poll_relay(&mut self, context: &mut Context<'_>) -> Poll<End> {
        let Client { shared, config, stream, log_context, up, down, .. } = &mut *self.client;
        let counters = &shared.counters;
        let bytes = (ByteCounters([&counters.bytes_up, up]), ByteCounters([&counters.bytes_down, down]));
        let was_half_closed = self.relay.is_half_closed();
        let end = self.relay.poll((stream, &self.server), bytes, config.relay_options(), context);
        if !was_half_closed && (self.relay.is_half_closed() || end.is_ready()) {
            // Before the kernel drops the statistics.
            log_context.subflows.sample(stream.tcp());
        }
        end
    }
}

impl Future for Tunnel {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.revocation.is_due(context) {
            _ = socket::abort(&self.server);
            self.client.revoke();
            return Poll::Ready(());
        }
        let end = ready!(self.poll_relay(context));
        if end != End::Closed {
            // Reset both connections, so that both peers detect the truncation.
            _ = socket::abort(&self.client.stream);
            _ = socket::abort(&self.server);
        }
        if matches!(end, End::Idle | End::Stalled | End::TooLong) {
            Counters::count(&self.client.counters().timed_out);
        }
        self.client.log_context.outcome = Outcome::Relay(end);
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_tunnel_keeps_little_state() {
        let (tunnel, client) = (size_of::<Tunnel>(), size_of::<Client>());
        assert!(tunnel <= 480 && client <= 448, "{tunnel} and {client} bytes");
    }
}
