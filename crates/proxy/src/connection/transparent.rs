//! A client that knows of no proxy.

use super::Client;
use crate::connect::Connected;
use crate::destination::{Destination, Host};

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    // TPROXY leaves the address that the client meant (kernel, Documentation/networking/tproxy.rst).
    let meant = client.stream.local_addr().ok()?;
    if client.listening.port() == meant.port() && client.is_for_us(meant.ip()) {
        // It was meant for the listener: whoever serves it would connect to itself, again and again.
        client.note.outcome = "not redirected";
        _ = linux::socket::abort(&client.stream);
        return None;
    }
    let destination = Destination { host: Host::Address(meant.ip().to_canonical()), port: meant.port() };
    let server = client.connect(&destination, client.config.servers).await.ok();
    if server.is_none() {
        // As if the server had refused it.
        _ = linux::socket::abort(&client.stream);
    }
    server
}
