//! Client session for connections redirected by TPROXY or NAT.

use super::outcome::Outcome;
use super::{Client, Fin};
use crate::connect::Connected;
use crate::destination::{Destination, Host};
use std::net::SocketAddr;

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    // TPROXY keeps the original destination as the local address (kernel,
    // Documentation/networking/tproxy.rst).
    let meant = local_address(client)?;
    if client.listening.port() == meant.port() && client.is_listener_address(meant.ip()) {
        return refuse_direct(client);
    }
    forward(client, meant).await
}

pub(super) async fn serve_redirected(client: &mut Client) -> Option<Connected> {
    let local = local_address(client)?;
    match linux::socket::original_destination(&client.stream, local.is_ipv6()) {
        // For a connection without NAT, the kernel reports the listener or an error.
        Ok(meant) if meant != local => forward(client, meant).await,
        _ => refuse_direct(client),
    }
}

/// Local address of the connection. A listener at `[::]` reports IPv4 in IPv6-mapped form, while the
/// kernel keeps the original destination by the family of the packets.
fn local_address(client: &Client) -> Option<SocketAddr> {
    let local = client.stream.local_addr().ok()?;
    Some(SocketAddr::new(local.ip().to_canonical(), local.port()))
}

/// Resets a connection that was not redirected: one to its destination would loop back to the
/// listener.
fn refuse_direct(client: &mut Client) -> Option<Connected> {
    client.log_context.outcome = Outcome::Failed("not redirected");
    _ = linux::socket::abort(&client.stream);
    None
}

async fn forward(client: &mut Client, meant: SocketAddr) -> Option<Connected> {
    let destination = Destination { host: Host::Address(meant.ip().to_canonical()), port: meant.port() };
    let server = client.connect(&destination, client.config.servers, Fin::EndOfData, "").await.ok();
    if server.is_none() {
        // Reset, as a refusing server would.
        _ = linux::socket::abort(&client.stream);
    }
    server
}
