//! Root on Linux 6.1 or later with Multipath TCP, network namespaces and `/dev/net/tun`.

mod diag;
mod pm;
mod route;

use crate::in_new_namespace;
use tandem_linux::sysctl::read;

#[test]
#[ignore = "needs root"]
fn namespace_has_its_own_connection_table() {
    in_new_namespace(|| {
        // The kernel negates the size of a table shared with another namespace.
        assert_eq!(read("net.ipv4.tcp_ehash_entries")?, "8192");
        Ok(())
    });
}
