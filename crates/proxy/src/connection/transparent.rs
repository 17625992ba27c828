//! Client session for connections redirected by TPROXY.

use super::Client;
use crate::connect::Connected;
use crate::destination::{Destination, Host};

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    // TPROXY keeps the original destination as the local address (kernel,
    // Documentation/networking/tproxy.rst).
    let meant = client.stream.local_addr().ok()?;
    if client.listening.port() == meant.port() && client.is_listener_address(meant.ip()) {
        // Not redirected: a connection to this destination would loop back to the listener.
        client.log_context.outcome = "not redirected";
        _ = linux::socket::abort(&client.stream);
        return None;
    }
    let destination = Destination { host: Host::Address(meant.ip().to_canonical()), port: meant.port() };
    let server = client.connect(&destination, client.config.servers).await.ok();
    if server.is_none() {
        // Reset, as a refusing server would.
        _ = linux::socket::abort(&client.stream);
    }
    server
}
