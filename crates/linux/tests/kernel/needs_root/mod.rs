//! Root on Linux 6.1 or later with Multipath TCP, network namespaces and `/dev/net/tun`.

mod diag;
mod pm;
mod program;
mod route;

use crate::{in_new_namespace, new_namespace};
use std::fs;
use std::sync::mpsc;
use tandem_linux::Error;
use tandem_linux::process::{network_namespace, network_namespace_cookie};
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

#[test]
#[ignore = "needs root"]
fn needs_root_each_namespace_has_its_own_cookie() {
    let inside = || new_namespace().run(|| Ok::<_, Error>(network_namespace_cookie())).expect("root");
    let cookies = [network_namespace_cookie(), inside(), inside()];
    assert!(cookies.iter().all(Option::is_some), "{cookies:?}");
    assert!(cookies[0] != cookies[1] && cookies[1] != cookies[2], "{cookies:?}");
}

#[test]
#[ignore = "needs root"]
fn thread_in_a_namespace_has_no_descriptor_of_it() {
    let namespace = new_namespace();
    let (report, inside) = mpsc::channel();
    let (end, wait) = mpsc::channel::<()>();
    let thread = namespace.spawn::<(), Error>("inside", move || {
        _ = report.send(network_namespace()?);
        _ = wait.recv();
        Ok(())
    });
    let link = format!("net:[{}]", inside.recv().expect("the thread runs"));
    let files = fs::read_dir("/proc/self/fd").expect("/proc is mounted").flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    assert_eq!(links.filter(|found| found.as_os_str() == link.as_str()).count(), 1, "that of `namespace`");
    drop(end);
    thread.expect("it started").join().expect("no panic").expect("no error");
}
