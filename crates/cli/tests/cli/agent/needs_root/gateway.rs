//! `tandem gateway` on a device with two links.

use super::testnet::{Agent, SERVER, Testnet, ip, until, with_testnet};
use linux::Error;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Bytes that the server sends to each client.
const DOWNLOAD_BYTES: usize = 30_000_000;

/// Runs a program in a namespace and returns its standard output.
pub(crate) fn output(place: &Namespace, program: &str, arguments: &[&str]) -> String {
    let done = place.run(|| Ok::<_, Error>(Command::new(program).args(arguments).output().expect("it runs")));
    String::from_utf8_lossy(&done.expect("a namespace").stdout).into_owned()
}

/// Rules, routes, MPTCP settings and sysctls of the device.
pub(crate) fn settings(net: &Testnet) -> Vec<String> {
    let commands: [(&str, &[&str]); 7] = [
        ("nft", &["list", "ruleset"]),
        ("ip", &["rule"]),
        ("ip", &["-6", "rule"]),
        // Without IPv6: link-local addresses appear after duplicate address detection.
        ("ip", &["-4", "route", "show", "table", "all"]),
        ("ip", &["mptcp", "endpoint"]),
        ("ip", &["mptcp", "limits"]),
        ("sysctl", &["-a", "--pattern", r"^net\.(mptcp|.*(forward|localnet|rp_filter|accept_local))"]),
    ];
    commands.iter().map(|(program, arguments)| output(&net.device, program, arguments)).collect()
}

/// Server that tells each client its address, then calls `serve`; returns its address.
fn listen(net: &Testnet, serve: fn(TcpStream)) -> Result<SocketAddr, Error> {
    let listener = net
        .server
        .run(|| Ok::<_, Error>(TcpListener::bind((ip(SERVER), 0)).expect("the address is there")))?;
    let at = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // It fails for a client that has left.
                let Ok(from) = stream.peer_addr() else { return };
                _ = writeln!(stream, "{}", from.ip());
                serve(stream);
            });
        }
    });
    Ok(at)
}

/// Server-side proxy and a server that speaks TCP only; returns the server's address.
pub(crate) fn serve(net: &Testnet) -> Result<(Agent, SocketAddr), Error> {
    let at = listen(net, |mut stream| _ = stream.write_all(&vec![7; DOWNLOAD_BYTES]))?;
    let listen = format!("{SERVER}:1080");
    let arguments =
        ["proxy", "--listen", &listen, "--allow", "10.0.0.0/8", "--allow-destination", "10.9.9.0/24"];
    let proxy = net.server.run(|| {
        let mut command = net.place.command(&arguments);
        command.env("RUNTIME_DIRECTORY", net.place.path().join("far"));
        Ok::<_, Error>(command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts"))
    })?;
    until("the server-side proxy listens", || {
        net.server.run(|| Ok(TcpStream::connect((ip(SERVER), 1080)).is_ok()))
    })?;
    Ok((Agent(proxy), at))
}

/// `tandem gateway` on the device.
pub(crate) fn gateway(net: &Testnet, arguments: &[&str]) -> Command {
    let mut command = net.place.command(&[&["gateway"], arguments].concat());
    command.env("RUNTIME_DIRECTORY", net.place.path().join("run"));
    command.env("STATE_DIRECTORY", net.place.path().join("state"));
    command
}

pub(crate) fn up_command(net: &Testnet, more: &[&str]) -> Command {
    let upstream = format!("{SERVER}:1080");
    let arguments = [
        &["up", "--upstream", &upstream, "--interface", "wlan0=wifi", "--interface", "lte0=5g"],
        &["--include", "10.9.9.0/24"][..],
        more,
    ]
    .concat();
    let mut command = gateway(net, &arguments);
    command.stdout(Stdio::null());
    command
}

fn up(net: &Testnet, more: &[&str]) -> Result<Agent, Error> {
    let mut command = up_command(net, more);
    let mut gateway =
        net.device.run(|| Ok::<_, Error>(Agent(command.spawn().expect("the program starts"))))?;
    until("the redirection works", || {
        let has_ended = gateway.0.try_wait().expect("it was started").is_some();
        assert!(!has_ended, "{}", gateway.wait().1);
        Ok(output(&net.device, "nft", &["list", "ruleset"]).contains("redirect to :3129"))
    })?;
    Ok(gateway)
}

/// Downloads with a plain TCP socket in `place`; returns the address that the server saw.
fn download(place: &Namespace, at: SocketAddr) -> Result<String, Error> {
    place.run(|| {
        let mut stream = TcpStream::connect(at).expect("the server answers");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).expect("the whole download");
        let line = all.iter().position(|byte| *byte == b'\n').expect("a line with the address");
        assert_eq!(all.len() - line - 1, DOWNLOAD_BYTES);
        Ok(String::from_utf8_lossy(&all[..line]).into_owned())
    })
}

#[test]
#[ignore = "needs root"]
fn unaware_program_uses_both_links_and_everything_is_undone() {
    with_testnet(|net| {
        let (_proxy, at) = serve(net)?;
        output(
            &net.device,
            "nft",
            &["add table inet mine; add chain inet mine c; add rule inet mine c accept"],
        );
        let before = settings(net);
        assert!(before[0].contains("table inet mine"), "{before:?}");
        let carried = || Ok::<_, Error>([net.carried("wlan0")?, net.carried("lte0")?]);

        // Neither link carries the download alone in time.
        for name in ["eth0", "eth1"] {
            let limit = ["tbf", "rate", "100mbit", "burst", "64kb", "latency", "50ms"];
            output(&net.server, "tc", &[&["qdisc", "add", "dev", name, "root"][..], &limit].concat());
        }

        // Ended by SIGTERM.
        let running = up(net, &[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        let start = carried()?;
        assert_eq!(download(&net.device, at)?, SERVER, "the proxy connects to the server");
        let links: Vec<u64> = carried()?.iter().zip(start).map(|(now, start)| now - start).collect();
        assert!(links.iter().all(|bytes| *bytes > 5_000_000), "both links carry data: {links:?}");
        assert!(links.iter().sum::<u64>() > DOWNLOAD_BYTES as u64, "{links:?}");
        let status =
            net.device.run(|| Ok::<_, Error>(gateway(net, &["status"]).output().expect("it runs")))?;
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        for part in ["wlan0", "5g", "upstream 10.9.9.9:1080", "tunnels", "redirect to :3129"] {
            assert!(status.contains(part), "{part} in {status}");
        }
        let log = super::testnet::stop(running);
        assert!(log.contains("connections are direct again"), "{log}");
        assert_eq!(settings(net), before, "ended by SIGTERM");
        assert_eq!(download(&net.device, at)?, "10.1.0.2", "direct again");

        // Killed.
        let mut running = up(net, &[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        running.kill();
        until("the kernel removes the rules", || Ok(settings(net)[0] == before[0]))?;
        assert_eq!(download(&net.device, at)?, "10.1.0.2", "direct before any command");
        let down = net.device.run(|| Ok::<_, Error>(gateway(net, &["down"]).output().expect("it runs")))?;
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(settings(net), before, "killed");

        // Ended by `down`.
        let mut running = up(net, &[])?;
        let down = net.device.run(|| Ok::<_, Error>(gateway(net, &["down"]).output().expect("it runs")))?;
        assert!(String::from_utf8_lossy(&down.stderr).contains("the gateway was stopped"), "{down:?}");
        assert_eq!(running.wait().0, Some(0));
        assert_eq!(settings(net), before, "ended by down");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn down_signals_only_the_holder_of_the_lock_and_a_unit_leaves_it_running() {
    with_testnet(|net| {
        let run = |arguments: &[&str]| {
            let done =
                net.device.run(|| Ok::<_, Error>(gateway(net, arguments).output().expect("it runs")))?;
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Ok::<_, Error>(String::from_utf8_lossy(&done.stderr).into_owned())
        };
        // The number of another process in the file, which that process locks for reading.
        let file = net.place.path().join("run/gateway.pid");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is ours");
        let mut lock = Command::new("flock");
        lock.args(["-s", "--no-fork"]).arg(&file).args(["sleep", "60"]);
        let mut victim = Agent(lock.spawn().expect("flock is installed"));
        until("the file is locked", || Ok(file.exists()))?;
        std::fs::write(&file, victim.0.id().to_string()).expect("the file is ours");
        assert!(run(&["down"])?.contains("no gateway is running"));
        assert!(victim.0.try_wait().expect("it was started").is_none(), "the other process runs on");
        drop(victim);

        let (_proxy, _) = serve(net)?;
        let mut running = up(net, &[])?;
        assert!(run(&["down", "--only-undo"])?.contains("nothing was undone"));
        assert!(running.0.try_wait().expect("it was started").is_none(), "the gateway runs on");
        assert!(run(&["down"])?.contains("the gateway was stopped"));
        assert_eq!(running.wait().0, Some(0));
        assert!(!file.exists());
        run(&["down", "--only-undo"]).map(|_| ())
    });
}

/// Server that echoes what its clients send; returns its address.
fn serve_echo(net: &Testnet) -> Result<SocketAddr, Error> {
    listen(net, |mut stream| {
        _ = std::io::copy(&mut stream.try_clone().expect("a descriptor"), &mut stream);
    })
}

/// Connects from the device; returns the connection and the address that the server saw.
fn connect(net: &Testnet, at: SocketAddr) -> Result<(BufReader<TcpStream>, String), Error> {
    let stream = net.device.run(|| Ok::<_, Error>(TcpStream::connect(at).expect("the server answers")))?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).expect("the address");
    Ok((stream, line.trim().to_owned()))
}

/// Sends a line, and expects it back.
fn exchange(stream: &mut BufReader<TcpStream>, when: &str) {
    let mut line = String::new();
    let sent = writeln!(stream.get_mut(), "{when}").and_then(|()| stream.read_line(&mut line));
    assert!(sent.is_ok() && line.trim() == when, "{when}: {sent:?}");
}

#[test]
#[ignore = "needs root"]
fn connections_outlast_the_start_of_the_gateway_and_finish_at_its_end() {
    with_testnet(|net| {
        let (_proxy, _) = serve(net)?;
        let at = serve_echo(net)?;
        let (mut earlier, from) = connect(net, at)?;
        assert_eq!(from, "10.1.0.2", "direct");
        let running = up(net, &[])?;
        exchange(&mut earlier, "open before the start");
        let (mut redirected, from) = connect(net, at)?;
        assert_eq!(from, SERVER, "the proxy connects");
        running.signal("-TERM");
        until("new connections are direct", || Ok(connect(net, at)?.1 == "10.1.0.2"))?;
        exchange(&mut redirected, "open at the end");
        exchange(&mut earlier, "open before the start");
        drop(redirected);
        let log = super::testnet::stop(running);
        assert!(!log.contains("cut"), "{log}");
        exchange(&mut earlier, "after the end");
        assert!(!settings(net)[0].contains("redirect"));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn clients_behind_the_gateway_are_redirected_only_with_forward() {
    with_testnet(|net| {
        let (_proxy, at) = serve(net)?;
        let client = Namespace::create()?;
        net.device.run(|| {
            let mut route = Route::open()?;
            route.add_veth("lan0", "eth0", &client)?;
            let index = route.link("lan0")?.index;
            route.add_address(index, ip("10.5.0.1"), 24)?;
            route.set_up(index, true)
        })?;
        client.run(|| {
            let mut route = Route::open()?;
            let device = route.link("eth0")?.index;
            route.add_address(device, ip("10.5.0.2"), 24)?;
            route.set_up(device, true)?;
            let to = ip("0.0.0.0");
            until("the link is running", || Ok(route.link("eth0")?.running))?;
            route.add_route(&RouteEntry {
                to,
                prefix: 0,
                device,
                via: Some(ip("10.5.0.1")),
                source: None,
                metric: 0,
            })
        })?;
        let running = up(net, &["--forward", "lan0"])?;
        assert_eq!(download(&client, at)?, SERVER);
        // The listener itself accepts redirected connections only.
        let answer = client.run(|| {
            let mut stream = TcpStream::connect("10.5.0.1:3129").expect("it listens");
            _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
            let mut all = Vec::new();
            _ = stream.read_to_end(&mut all);
            Ok::<_, Error>(all)
        })?;
        assert_eq!(answer, b"");
        // A client behind a further router: its connection stays direct, and nothing forwards it here.
        output(&net.device, "ip", &["route", "add", "10.77.0.0/24", "via", "10.5.0.2"]);
        output(&client, "ip", &["addr", "add", "10.77.0.5/32", "dev", "eth0"]);
        let to = ["route", "add", SERVER, "via", "10.5.0.1", "src", "10.77.0.5"];
        output(&client, "ip", &to);
        let connected =
            client.run(|| Ok::<_, Error>(TcpStream::connect_timeout(&at, Duration::from_secs(2))))?;
        let failure = connected.err().map(|error| error.kind());
        assert_eq!(failure, Some(std::io::ErrorKind::TimedOut), "the gateway does not answer");
        super::testnet::stop(running);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn gateway_without_reachable_upstream_changes_nothing() {
    with_testnet(|net| {
        let before = settings(net);
        let upstream = format!("{SERVER}:1080");
        let run = |arguments: &[&str]| {
            net.device.run(|| Ok::<_, Error>(gateway(net, arguments).output().expect("it runs")))
        };
        let done = run(&["up", "--upstream", &upstream, "--interface", "wlan0=wifi"])?;
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{text}");
        assert!(text.contains("nothing was redirected") && text.contains("hint:"), "{text}");
        let done = run(&["status"])?;
        assert!(String::from_utf8_lossy(&done.stderr).contains("no gateway is running"));
        let done = run(&["down"])?;
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(settings(net), before);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn signal_during_the_start_ends_the_gateway_at_once() {
    with_testnet(|net| {
        // The server-side proxy does not answer: the attempt to connect takes ten seconds.
        output(&net.server, "nft", &["add table inet silent"]);
        output(&net.server, "nft", &["add chain inet silent c { type filter hook input priority 0; }"]);
        output(&net.server, "nft", &["add rule inet silent c tcp dport 1080 drop"]);
        let before = settings(net);
        let upstream = format!("{SERVER}:1080");
        let started = std::time::Instant::now();
        let running = net.device.run(|| {
            let mut command = gateway(net, &["up", "--upstream", &upstream, "--interface", "wlan0=wifi"]);
            Ok::<_, Error>(Agent(command.stdout(Stdio::null()).spawn().expect("the program starts")))
        })?;
        thread::sleep(Duration::from_secs(1));
        let log = super::testnet::stop(running);
        assert!(log.contains("stopped during the start; nothing was redirected"), "{log}");
        assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        assert_eq!(settings(net), before);
        Ok(())
    });
}
