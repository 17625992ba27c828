//! The agent and the gateway, on a device with Wi-Fi that comes and goes.

use super::{Daemon, log_to, splice_pipes};
use crate::agent::needs_root::gateway::{self, settings, up_command};
use crate::agent::needs_root::testnet::{Agent, SERVER, Testnet, with_testnet};
use linux::Error;
use linux::route::Route;
use std::cell::Cell;
use std::io::Read;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Traffic that no message of the kernel's own explains.
const MAX_UNCOUNTED_BYTES: u64 = 10_000;

fn set_wifi(net: &Testnet, is_up: bool) {
    let done = net.device.run(|| {
        let mut route = Route::open()?;
        let index = route.link("wlan0")?.index;
        route.set_up(index, is_up)
    });
    done.expect("it is our namespace");
    if is_up {
        // The kernel removed it with the link.
        let route = [SERVER, "via", "10.1.0.1", "dev", "wlan0", "proto", "static", "metric", "10"];
        gateway::output(&net.device, "ip", &[&["route", "replace"], &route[..]].concat());
    }
}

/// Sends datagrams over LTE to a port without a listener.
fn use_lte(net: &Testnet) {
    let sent = net.device.run(|| {
        let socket = UdpSocket::bind("10.2.0.2:0").expect("the address is there");
        (0..50).for_each(|_| drop(socket.send_to(&[7; 1000], "10.2.0.1:9")));
        Ok::<_, Error>(())
    });
    sent.expect("it is our namespace");
}

#[test]
#[ignore = "needs root"]
fn agent_survives_faults_and_loses_no_usage() {
    with_testnet(|net| {
        net.configure("wifi-first", "allowance = { data = '2GB', per = 'month' }");
        let before = net.carried("lte0")?;
        let (daemon, agent) = start(net, net.agent_command(&[]), 0)?;
        net.until_ready()?;
        let is_up = Cell::new(true);
        let status = || agent::status::query(&net.socket(), "/status").map_err(|error| error.to_string());
        let work = || {
            is_up.set(!is_up.get());
            set_wifi(net, is_up.get());
            use_lte(net);
            _ = status();
            thread::sleep(Duration::from_millis(100));
        };
        let recovered = || {
            let wanted: &[(&str, bool)] =
                if is_up.get() { &[("10.1.0.2", false), ("10.2.0.2", true)] } else { &[("10.2.0.2", false)] };
            let found = net.endpoints().map_err(|error| error.to_string())?;
            if !found.iter().map(|(address, backup)| (&**address, *backup)).eq(wanted.iter().copied()) {
                return Err(format!("endpoints {found:?} instead of {wanted:?}"));
            }
            let status: serde_json::Value =
                serde_json::from_str(&status()?).map_err(|error| error.to_string())?;
            let used = status["interfaces"][1]["allowance"]["used_bytes"].as_u64().ok_or("no usage")?;
            let carried = net.carried("lte0").map_err(|error| error.to_string())? - before;
            if used.abs_diff(carried) > MAX_UNCOUNTED_BYTES {
                return Err(format!("{used} bytes are counted of {carried}"));
            }
            Ok(())
        };
        daemon.attack(work, recovered);
        let log = stop(net, agent);
        assert!(log.contains("all changes were undone"), "{log}");
        net.until_endpoints(&[])
    });
}

#[test]
#[ignore = "needs root"]
fn gateway_survives_faults_and_the_end_of_its_helper() {
    with_testnet(|net| {
        let (_proxy, server) = gateway::serve(net)?;
        let before = settings(net);
        let (daemon, gateway) = start(net, up_command(net, &[]), splice_pipes())?;
        let is_up = Cell::new(true);
        let mut killed = 0;
        let work = || {
            is_up.set(!is_up.get());
            set_wifi(net, is_up.get());
            _ = net.device.run(|| first_bytes(server));
            killed += kill_helpers(daemon.process);
            thread::sleep(Duration::from_millis(200));
        };
        let recovered = || {
            if !is_up.replace(true) {
                set_wifi(net, true);
            }
            let status = net.device.run(|| Ok::<_, Error>(gateway::gateway(net, &["status"]).output()));
            let status = status.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
            if !String::from_utf8_lossy(&status.stdout).contains("redirect to :3129") {
                return Err(format!("status {status:?}"));
            }
            match net.device.run(|| first_bytes(server)) {
                Ok(line) if line == SERVER => Ok(()),
                seen => Err(format!("the server saw {seen:?}")),
            }
        };
        daemon.attack(work, recovered);
        let log = stop(net, gateway);
        assert!(killed > 0 && log.contains("redirected again"), "{killed} helpers were killed: {log}");
        assert_eq!(settings(net), before);
        Ok(())
    });
}

/// Starts a daemon on the device, with its log in a file.
fn start(net: &Testnet, mut command: Command, kept_descriptors: usize) -> Result<(Daemon, Agent), Error> {
    log_to(&net.place, &mut command);
    let (daemon, child) = net.device.run(|| Ok::<_, Error>(Daemon::start(command, kept_descriptors)))?;
    Ok((daemon, Agent(child)))
}

/// Stops a daemon with SIGTERM and returns its log.
fn stop(net: &Testnet, mut daemon: Agent) -> String {
    daemon.signal("-TERM");
    let code = daemon.0.wait().expect("it was started").code();
    let log = net.place.read("log");
    assert_eq!(code, Some(0), "{log}");
    log
}

/// Downloads the beginning with a plain TCP socket: the client's address as the server saw it, and
/// some bytes.
fn first_bytes(server: SocketAddr) -> Result<String, Error> {
    let failed = |error| Error::system("download", error);
    let mut stream = TcpStream::connect_timeout(&server, Duration::from_secs(5)).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).map_err(failed)?;
    let mut begin = vec![0; 100_000];
    stream.read_exact(&mut begin).map_err(failed)?;
    let line = begin.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// Kills all child processes and returns their number.
fn kill_helpers(process: u32) -> usize {
    let mut killed = 0;
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let status = Command::new("kill").args(["-KILL", child]).status();
            killed += usize::from(status.is_ok_and(|status| status.success()));
        }
    }
    killed
}
