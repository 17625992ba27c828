//! `tandem proxy` as a service: reports to the service manager, and its log as JSON.

use crate::proxy::{configured, running, until};
use crate::support::{service_reports, tandem_path};
use serde_json::Value;
use std::time::Duration;

#[test]
fn proxy_reports_its_state_to_the_service_manager() {
    let place = configured("");
    let path = place.path().join("notify.sock");
    let receive = service_reports(&path);
    let receive_until = |wanted: &str| while !receive().contains(wanted) {};
    let socket = format!("NOTIFY_SOCKET={}", path.display());
    let program = tandem_path().to_string_lossy();
    let command = ["env", &socket, "WATCHDOG_USEC=400000", &program, "proxy", "--config", "proxy.toml"];
    let mut proxy = running(place, &command);
    assert_eq!(receive(), "READY=1");
    receive_until("WATCHDOG=1");
    receive_until("WATCHDOG=1");
    proxy.signal("HUP");
    receive_until("RELOADING=1\nMONOTONIC_USEC=");
    receive_until("READY=1");
    proxy.signal("TERM");
    receive_until("STOPPING=1\nEXTEND_TIMEOUT_USEC=20000000");
    proxy.await_end();
}

#[test]
fn json_log_has_a_document_in_each_line() {
    let program = tandem_path().to_string_lossy();
    let command = [&program, "proxy", "--config", "proxy.toml", "--log-format", "json"];
    let mut proxy = running(configured(""), &command);
    let (_stream, answer) = proxy.tunnel("10.1.2.3:80".parse().expect("an address"));
    assert_eq!(answer, "HTTP/1.1 403");
    let text = proxy.place.read("proxy.toml");
    proxy.place.write("proxy.toml", &text.replace("allow", "alow"));
    proxy.signal("HUP");
    std::thread::sleep(Duration::from_millis(300));
    proxy.place.write("proxy.toml", &text);
    until("it still answers", || proxy.totals("refused_destinations") == 1);
    proxy.signal("TERM");
    let log = proxy.await_end();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{log}"))).collect();
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{log}");
    let with = |part: &str| {
        let found =
            lines.iter().find(|line| line["message"].as_str().is_some_and(|text| text.contains(part)));
        found.unwrap_or_else(|| panic!("{part}: {log}"))
    };
    assert_eq!(with("listening at")["level"], "INFO");
    assert!(with("unknown key `alow`")["message"].as_str().is_some_and(|text| text.contains('\n')));
}
