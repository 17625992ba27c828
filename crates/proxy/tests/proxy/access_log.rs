//! Access log: no line is lost without being counted.

use crate::support::{echo, local, request, start, tunnel, wait_until};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tandem_proxy::Config;

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Ends the clients of a test, also when it fails: it would wait for them for ever.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn connections_that_the_end_of_the_proxy_cuts_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let mut config = Config { access_log: Some(path.clone()), ..local() };
    config.timeouts.drain = Duration::from_millis(100);
    let to = echo();
    for drains in [true, false] {
        let (proxy, at) = start(config.clone());
        let open: Vec<_> = (0..100).map(|_| tunnel(at, to)).collect();
        for _ in 0..100 {
            request(at, "GET / HTTP/1.1\r\n\r\n");
        }
        if drains {
            assert!(!proxy.drain());
        } else {
            drop(proxy);
        }
        // Without waiting: the log is complete when the proxy has ended.
        let lines = lines(&path);
        let cut = lines.iter().filter(|line| line["outcome"] == "shutdown").count();
        assert_eq!((cut, lines.len()), (100, 200));
        assert!(
            lines.iter().all(|line| line["outcome"] != "shutdown" || line["destination"] == to.to_string())
        );
        std::fs::remove_file(&path).unwrap();
        drop(open);
    }
}

#[test]
fn rotation_loses_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    let config = Config { access_log: Some(path.clone()), ..local() };
    let (proxy, at) = start(config.clone());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    request(at, "GET / HTTP/1.1\r\n\r\n");
                }
            });
        }
        let _stops_clients = StopOnDrop(&stop);
        for nth in 0..30 {
            // The last line may be half written.
            wait_until("a line is written", || path.metadata().is_ok_and(|file| file.len() > 0));
            std::fs::rename(&path, folder.path().join(nth.to_string())).unwrap();
            proxy.reload(config.clone()).unwrap();
        }
    });
    wait_until("the connections end", || proxy.totals().open == 0);
    let totals = proxy.totals();
    drop(proxy);
    let files = std::fs::read_dir(folder.path()).unwrap();
    let written: usize = files.map(|file| lines(&file.unwrap().path()).len()).sum();
    assert_eq!((written as u64, totals.log_lost), (totals.accepted, 0));
}

#[test]
fn full_disk_is_counted_and_stops_nothing() {
    let config = Config { access_log: Some("/dev/full".into()), ..local() };
    let (proxy, at) = start(config);
    for _ in 0..50 {
        let answer = request(at, "GET / HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    wait_until("every line is counted", || proxy.totals().log_lost == 50);
    assert!((1..=50).contains(&proxy.totals().log_write_errors));
}
