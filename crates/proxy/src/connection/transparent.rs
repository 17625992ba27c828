//! A client that knows of no proxy.

use super::Client;
use crate::destination::{Destination, Host};

pub(super) async fn serve(client: &mut Client) {
    // TPROXY leaves the address that the client meant (kernel, Documentation/networking/tproxy.rst).
    let Ok(meant) = client.stream.local_addr() else { return };
    if client.listening.port() == meant.port() && client.is_for_us(meant.ip()) {
        // It was meant for the listener: whoever serves it would connect to itself, again and again.
        client.note.outcome = "not redirected";
        _ = linux::socket::abort(&client.stream);
        return;
    }
    let destination = Destination { host: Host::Address(meant.ip().to_canonical()), port: meant.port() };
    match client.connect(&destination, client.config.servers).await {
        Ok(server) => client.tunnel(server).await,
        // As if the server had refused it.
        Err(_) => _ = linux::socket::abort(&client.stream),
    }
}
