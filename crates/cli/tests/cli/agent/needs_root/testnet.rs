//! A device and a server in network namespaces, with two links between them.

use crate::support::Place;
use linux::Error;
use linux::namespace::Namespace;
use linux::pm::{Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::socket::{self, Options, Protocol};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const SERVER: &str = "10.9.9.9";

/// ```text
///           wlan0 10.1.0.2 ── 10.1.0.1 eth0
///  device                                    server 10.9.9.9
///           lte0  10.2.0.2 ── 10.2.0.1 eth1
/// ```
pub(crate) struct Testnet {
    pub(crate) device: Namespace,
    pub(crate) server: Namespace,
    pub(crate) place: Place,
    pub(crate) listener: TcpListener,
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it has one").port()
}

/// Runs `test` on a new testnet.
pub(crate) fn with_testnet(test: impl FnOnce(&Testnet) -> Result<(), Error>) {
    Testnet::new().and_then(|net| test(&net)).expect("the kernel supports the test");
}

/// Waits until `condition` holds; panics after 20 s.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let start = Instant::now();
    while !condition()? {
        assert!(start.elapsed() < Duration::from_secs(20), "timeout: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl Testnet {
    fn new() -> Result<Self, Error> {
        let (device, server) = (Namespace::create()?, Namespace::create()?);
        for namespace in [&device, &server] {
            namespace.run(|| {
                linux::sysctl::write("net.mptcp.enabled", "1")?;
                let mut route = Route::open()?;
                let loopback = route.link("lo")?.index;
                route.set_up(loopback, true)
            })?;
        }
        server.run(|| {
            let mut route = Route::open()?;
            let loopback = route.link("lo")?.index;
            route.add_address(loopback, ip(SERVER), 32)?;
            PathManager::open()?.set_limits(Limits { subflows: 8, accepted_addresses: 8 })
        })?;
        let any = SocketAddr::new(ip("0.0.0.0"), 0);
        let listener = server.run(|| socket::listen(any, Protocol::Mptcp, &Options::default()))?;
        let net = Self { device, server, place: Place::new(), listener };
        net.add_interface("wlan0", "eth0", 1, 2)?;
        net.add_interface("lte0", "eth1", 2, 2)?;
        Ok(net)
    }

    /// Adds an interface to the device, with a route to the server.
    pub(crate) fn add_interface(&self, name: &str, there: &str, net: u8, host: u8) -> Result<(), Error> {
        self.device.run(|| {
            let mut route = Route::open()?;
            route.add_veth(name, there, &self.server)?;
            let up = |at: &str, host: u8| {
                let mut route = Route::open()?;
                let index = route.link(at)?.index;
                route.add_address(index, ip(&format!("10.{net}.0.{host}")), 24)?;
                route.set_up(index, true)
            };
            self.server.run(|| up(there, 1))?;
            up(name, host)?;
            until("the link is running", || Ok(route.link(name)?.running))?;
            let entry = RouteEntry {
                to: ip(SERVER),
                prefix: 32,
                device: route.link(name)?.index,
                via: Some(ip(&format!("10.{net}.0.1"))),
                source: None,
                metric: u32::from(net) * 10,
            };
            route.add_route(&entry)
        })
    }

    pub(crate) fn manager<R: Send>(
        &self,
        query: impl FnOnce(&mut PathManager) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        self.device.run(|| query(&mut PathManager::open()?))
    }

    /// Address and backup flag of every endpoint.
    pub(crate) fn endpoints(&self) -> Result<Vec<(String, bool)>, Error> {
        let mut all: Vec<_> = self
            .manager(PathManager::endpoints)?
            .into_iter()
            .map(|one| (one.address.to_string(), one.flags.backup))
            .collect();
        all.sort();
        Ok(all)
    }

    pub(crate) fn until_endpoints(&self, wanted: &[(&str, bool)]) -> Result<(), Error> {
        let mut last = Vec::new();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            last = self.endpoints()?;
            if last.iter().map(|(address, backup)| (&**address, *backup)).eq(wanted.iter().copied()) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("timeout: expected {wanted:?}, found {last:?}");
    }

    /// Writes a configuration with this policy and extra keys for the LTE interface.
    pub(crate) fn configure(&self, policy: &str, lte: &str) {
        let (socket, state) = (self.socket(), self.place.path().join("state"));
        self.place.write(
            "agent.toml",
            &format!(
                "policy = '{policy}'\nstate = '{}'\nlog = 'debug'\n[[interface]]\nmatch = 'wlan?'\n\
                 radio = 'huang2012.wifi'\n[[interface]]\nmatch = 'lte*'\nradio = 'huang2012.lte'\n{lte}\n\
                 [status]\nsocket = '{}'\n[detector]\nbusy = '20ms'\nrest = '100ms'\n",
                state.display(),
                socket.display(),
            ),
        );
    }

    pub(crate) fn socket(&self) -> std::path::PathBuf {
        self.place.path().join("run/agent.sock")
    }

    /// Starts the agent on the device.
    pub(crate) fn agent(&self, more: &[&str]) -> Result<Agent, Error> {
        let mut command = self.agent_command(more);
        self.device.run(|| Ok(Agent(command.spawn().expect("the program starts"))))
    }

    pub(crate) fn agent_command(&self, more: &[&str]) -> Command {
        let mut command = self.place.command(&[&["agent", "--config", "agent.toml"], more].concat());
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::null());
        command
    }

    /// Waits until the agent answers on its socket. A killed agent leaves the socket file behind.
    pub(crate) fn until_ready(&self) -> Result<(), Error> {
        until("the agent answers", || Ok(agent::status::query(&self.socket(), "/metrics").is_ok()))
    }

    pub(crate) fn status(&self) -> Value {
        let socket = self.socket();
        let output = self.place.run(&[
            "agent",
            "status",
            "--format",
            "json",
            "--socket",
            socket.to_str().expect("it is text"),
        ]);
        assert_eq!(output.code, 0, "{}", output.err);
        serde_json::from_str(&output.out).expect("JSON")
    }

    /// Opens a connection on which the device downloads `rate` bytes per second until the result is
    /// dropped.
    pub(crate) fn download(&self, rate: u64) -> Result<Download, Error> {
        self.download_from(&self.listener, rate)
    }

    /// Like `download`, from another port of the server.
    pub(crate) fn download_from(&self, listener: &TcpListener, rate: u64) -> Result<Download, Error> {
        let to = SocketAddr::new(ip(SERVER), port(listener));
        let mut near = self.device.run(|| socket::connect(to, Protocol::Mptcp, &Options::default()))?;
        let (mut far, _) = listener.accept().expect("somebody connects");
        let over = Arc::new(AtomicBool::new(false));
        let (stop, stopped) = (over.clone(), over.clone());
        let _ = far.set_write_timeout(Some(Duration::from_millis(200)));
        let sender = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let _ = far.write(&[7; 16_384]);
            }
        });
        let _ = near.set_read_timeout(Some(Duration::from_millis(200)));
        let receiver = thread::spawn(move || {
            let mut buffer = vec![0; (rate / 100) as usize];
            while !stop.load(Ordering::Relaxed) {
                let _ = near.read(&mut buffer);
                thread::sleep(Duration::from_millis(10));
            }
        });
        Ok(Download { is_over: over, threads: vec![sender, receiver] })
    }

    /// Interface and backup flag of each subflow of the connection to that port of the server.
    pub(crate) fn subflows(&self, port: u16) -> Vec<(String, bool)> {
        let status = self.status();
        let connections = status["connections"]["most"].as_array().cloned().unwrap_or_default();
        let remote = format!("{SERVER}:{port}");
        let one = connections.iter().find(|one| one["remote"] == *remote);
        let subflows = one.and_then(|one| one["subflows"].as_array()).cloned().unwrap_or_default();
        let name_and_backup = |one: &Value| {
            let name = one["interface"].as_str().unwrap_or_default();
            (name.to_owned(), one["backup"] == true)
        };
        let mut subflows: Vec<_> = subflows.iter().map(name_and_backup).collect();
        subflows.sort();
        subflows
    }

    pub(crate) fn until_subflows(&self, port: u16, wanted: &[(&str, bool)]) {
        let start = Instant::now();
        let mut last = Vec::new();
        while start.elapsed() < Duration::from_secs(20) {
            last = self.subflows(port);
            if last.iter().map(|(name, backup)| (&**name, *backup)).eq(wanted.iter().copied()) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("timeout: expected {wanted:?}, found {last:?}");
    }

    /// Bytes sent and received on an interface.
    pub(crate) fn carried(&self, name: &str) -> Result<u64, Error> {
        self.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link(name)?.index;
            let stats = route.stats(index)?;
            Ok(stats.rx_bytes + stats.tx_bytes)
        })
    }
}

pub(crate) struct Download {
    is_over: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Drop for Download {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A running agent or proxy, killed when dropped.
pub(crate) struct Agent(pub(crate) Child);

impl Agent {
    pub(crate) fn signal(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(kill.expect("there is such a program").success());
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it was started");
    }

    /// Waits for the end of the process; returns its exit code and log.
    pub(crate) fn wait(&mut self) -> (Option<i32>, String) {
        let mut log = String::new();
        let _ = self.0.stderr.take().expect("it was asked for").read_to_string(&mut log);
        (self.0.wait().expect("it was started").code(), log)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops the agent with SIGTERM and returns its log.
pub(crate) fn stop(mut agent: Agent) -> String {
    agent.signal("-TERM");
    let (code, log) = agent.wait();
    assert_eq!(code, Some(0), "{log}");
    log
}
