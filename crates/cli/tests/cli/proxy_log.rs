//! Access log of `tandem proxy`: at its end, and on a full disk.

use crate::proxy::{configured, running, until};
use crate::support::{Place, tandem_path};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Sends a request that the proxy answers itself.
fn ask(at: &str) {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

/// A configuration with an access log.
fn logged(path: &str) -> Place {
    let place = configured("");
    let text = place.read("proxy.toml");
    place.write("proxy.toml", &format!("access_log = '{path}'\n{text}"));
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn every_line_is_written_before_the_proxy_exits() {
    let mut proxy = running(logged("access.log"), &[]);
    let at = proxy.address();
    for _ in 0..400 {
        ask(&at);
    }
    let open: Vec<_> = (0..100).map(|_| TcpStream::connect(&at).expect("it listens")).collect();
    until("all are accepted", || proxy.totals("accepted") == 500);
    proxy.signal("TERM");
    proxy.await_end();
    assert_eq!(lines(&proxy.place.read("access.log")).len(), 500);
    drop(open);
}

#[test]
#[ignore = "needs root"]
fn needs_root_access_log_continues_after_a_full_disk() {
    // A file system of 16 pages, in a mount namespace of the proxy.
    let place = logged("disk/access.log");
    place.write("disk/placeholder", "");
    let script = "mount -t tmpfs -o size=64k none disk && exec \"$0\" proxy --config proxy.toml";
    let mut proxy = running(place, &["unshare", "-m", "sh", "-c", script, &tandem_path().to_string_lossy()]);
    let at = proxy.address();
    until("the disk is full", || {
        (0..50).for_each(|_| ask(&at));
        proxy.totals("log_lost") >= 100
    });
    assert!(proxy.totals("log_write_errors") > 0);
    let root = format!("/proc/{}/root", proxy.id());
    let log = format!("{root}{}/disk/access.log", proxy.place.path().display());
    let before = std::fs::read_to_string(&log).expect("it is there");
    let kept = lines(&before).len() as u64;
    // An operator frees space by moving the log away.
    std::fs::write(&log, "").expect("root may");
    (0..50).for_each(|_| ask(&at));
    proxy.signal("HUP");
    (0..50).for_each(|_| ask(&at));
    let (lost, accepted) = (proxy.totals("log_lost"), proxy.totals("accepted"));
    until("the log is written again", || {
        let text = std::fs::read_to_string(&log).expect("it is there");
        lines(&text).len() as u64 + kept + lost == accepted
    });
    proxy.signal("TERM");
    let message = proxy.await_end();
    assert!(message.contains("cannot write the access log: No space left on device"), "{message}");
    assert!(message.contains("the access log is written again"), "{message}");
}
