//! The agent on a device of its own: a namespace with two interfaces, and a server in another one.

use crate::support::Place;
use linux::Error;
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::socket::{self, Options, Protocol};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const SERVER: &str = "10.9.9.9";

/// ```text
///           wlan0 10.1.0.2 ── 10.1.0.1 eth0
///  device                                    server 10.9.9.9
///           lte0  10.2.0.2 ── 10.2.0.1 eth1
/// ```
struct World {
    device: Namespace,
    server: Namespace,
    place: Place,
    listener: TcpListener,
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("it has one").port()
}

/// Runs `test` in a world of its own, or says why it cannot.
fn world(test: impl FnOnce(&World) -> Result<(), Error>) {
    match World::new().and_then(|world| test(&world)) {
        Err(Error::Lacks { what, hint }) => println!("skipped: {what}; {hint}"),
        result => result.expect("the kernel does what is asked"),
    }
}

/// Waits until it is so; a test of what others do in their own time ends here if it does not.
fn until(what: &str, mut so: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let start = Instant::now();
    while !so()? {
        assert!(start.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl World {
    fn new() -> Result<Self, Error> {
        let (device, server) = (Namespace::create()?, Namespace::create()?);
        if linux::sysctl::read("net.mptcp.enabled").is_err() {
            let (what, hint) = ("this kernel has no Multipath TCP".to_owned(), String::new());
            return Err(Error::Lacks { what, hint });
        }
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
        let world = Self { device, server, place: Place::new(), listener };
        world.come("wlan0", "eth0", 1, 2)?;
        world.come("lte0", "eth1", 2, 2)?;
        Ok(world)
    }

    /// An interface of the device appears, with its way to the server.
    fn come(&self, name: &str, there: &str, net: u8, host: u8) -> Result<(), Error> {
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

    fn manager<R: Send>(
        &self,
        ask: impl FnOnce(&mut PathManager) -> Result<R, Error> + Send,
    ) -> Result<R, Error> {
        self.device.run(|| ask(&mut PathManager::open()?))
    }

    /// Address and backup flag of every endpoint.
    fn endpoints(&self) -> Result<Vec<(String, bool)>, Error> {
        let mut all: Vec<_> = self
            .manager(PathManager::endpoints)?
            .into_iter()
            .map(|one| (one.address.to_string(), one.flags.backup))
            .collect();
        all.sort();
        Ok(all)
    }

    fn until_endpoints(&self, wanted: &[(&str, bool)]) -> Result<(), Error> {
        let mut last = Vec::new();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            last = self.endpoints()?;
            if last.iter().map(|(address, backup)| (&**address, *backup)).eq(wanted.iter().copied()) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("waited in vain for {wanted:?}; there is {last:?}");
    }

    /// Writes a configuration: `policy`, and what stands beside LTE.
    fn configure(&self, policy: &str, lte: &str) {
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

    fn socket(&self) -> std::path::PathBuf {
        self.place.path().join("run/agent.sock")
    }

    /// Starts the agent on the device.
    fn agent(&self, more: &[&str]) -> Result<Agent, Error> {
        let arguments = [&["agent", "--config", "agent.toml"], more].concat();
        self.device.run(|| {
            let mut command = self.place.command(&arguments);
            // A thread that ends does not take its children with it.
            let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn();
            Ok(Agent(child.expect("the program starts")))
        })
    }

    /// Waits until the agent listens; one that was killed leaves its socket behind.
    fn until_it_answers(&self) -> Result<(), Error> {
        until("the agent answers", || Ok(agent::status::query(&self.socket(), "/metrics").is_ok()))
    }

    fn status(&self) -> Value {
        let socket = self.socket();
        let said = self.place.run(&[
            "agent",
            "status",
            "--format",
            "json",
            "--socket",
            socket.to_str().expect("it is text"),
        ]);
        assert_eq!(said.code, 0, "{}", said.err);
        serde_json::from_str(&said.out).expect("JSON")
    }

    /// A connection of the device on which the server sends as fast as the device reads: `rate` bytes a second,
    /// until it is dropped.
    fn download(&self, rate: u64) -> Result<Download, Error> {
        self.download_from(&self.listener, rate)
    }

    /// The same from another port of the server.
    fn download_from(&self, listener: &TcpListener, rate: u64) -> Result<Download, Error> {
        let to = SocketAddr::new(ip(SERVER), port(listener));
        let mut near = self.device.run(|| socket::connect(to, Protocol::Mptcp, &Options::default()))?;
        let (mut far, _) = listener.accept().expect("somebody connects");
        let over = std::sync::Arc::new(AtomicBool::new(false));
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
        Ok(Download { over, threads: vec![sender, receiver] })
    }

    /// Interface and backup flag of each subflow of the connection to that port of the server.
    fn subflows(&self, port: u16) -> Vec<(String, bool)> {
        let status = self.status();
        let connections = status["connections"]["most"].as_array().cloned().unwrap_or_default();
        let remote = format!("{SERVER}:{port}");
        let one = connections.iter().find(|one| one["remote"] == *remote);
        let subflows = one.and_then(|one| one["subflows"].as_array()).cloned().unwrap_or_default();
        let told = |one: &Value| {
            let name = one["interface"].as_str().unwrap_or_default();
            (name.to_owned(), one["backup"] == true)
        };
        let mut subflows: Vec<_> = subflows.iter().map(told).collect();
        subflows.sort();
        subflows
    }

    fn until_subflows(&self, port: u16, wanted: &[(&str, bool)]) {
        let start = Instant::now();
        let mut last = Vec::new();
        while start.elapsed() < Duration::from_secs(20) {
            last = self.subflows(port);
            if last.iter().map(|(name, backup)| (&**name, *backup)).eq(wanted.iter().copied()) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("waited in vain for {wanted:?}; there is {last:?}");
    }

    fn carried(&self, name: &str) -> Result<u64, Error> {
        self.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link(name)?.index;
            let stats = route.stats(index)?;
            Ok(stats.rx_bytes + stats.tx_bytes)
        })
    }
}

struct Download {
    over: std::sync::Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Drop for Download {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// An agent at work; killed where a test ends before it.
struct Agent(Child);

impl Agent {
    fn signal(&self, signal: &str) {
        let kill = std::process::Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(kill.expect("there is such a program").success());
    }

    fn kill(&mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it was started");
    }

    /// Waits for its end; gives its exit code and what it logged.
    fn ended(&mut self) -> (Option<i32>, String) {
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

/// Ends the agent as a service is ended; gives what it logged.
fn end(mut agent: Agent) -> String {
    agent.signal("-TERM");
    let (code, log) = agent.ended();
    assert_eq!(code, Some(0), "{log}");
    log
}

#[test]
fn wifi_first_makes_lte_a_backup_and_the_server_hears_of_it() {
    world(|world| {
        world.configure("wifi-first", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let heard =
            || world.server.run(|| Ok::<_, Error>(Mib::read()?.counter("MPTcpExtMPPrioRx").unwrap_or(0)));
        let _download = world.download(2_000_000)?;
        until("the connection has joined over LTE", || {
            Ok(world.status()["connections"]["most"][0]["subflows"]
                .as_array()
                .is_some_and(|all| all.len() == 2))
        })?;
        let before = (heard()?, world.carried("lte0")?);
        // Wi-Fi goes: LTE is a backup no more, and carries.
        world.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.set_up(index, false)
        })?;
        until("LTE carries", || Ok(world.carried("lte0")? > before.1 + 200_000))?;
        until("the server has heard that LTE is no backup", || Ok(heard()? > before.0))?;
        world.until_endpoints(&[("10.2.0.2", false)])?;
        end(agent);
        world.until_endpoints(&[])
    });
}

#[test]
fn a_connection_that_begins_on_a_backup_is_moved_away_from_it() {
    world(|world| {
        world.configure("wifi-first", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        // The way over LTE is now the one that is taken first.
        world.device.run(|| {
            let mut route = Route::open()?;
            let device = route.link("wlan0")?.index;
            let mut way = RouteEntry {
                to: ip(SERVER),
                prefix: 32,
                device,
                via: Some(ip("10.1.0.1")),
                source: None,
                metric: 10,
            };
            route.remove_route(&way)?;
            way.metric = 30;
            route.add_route(&way)
        })?;
        let _download = world.download(2_000_000)?;
        until("the first subflow is a backup", || {
            let status = world.status();
            let subflows =
                status["connections"]["most"][0]["subflows"].as_array().cloned().unwrap_or_default();
            let lte = subflows.iter().find(|one| one["interface"] == "lte0");
            Ok(subflows.len() == 2 && lte.is_some_and(|lte| lte["backup"] == true))
        })?;
        let before = (world.carried("wlan0")?, world.carried("lte0")?);
        thread::sleep(Duration::from_millis(1500));
        let (wifi, lte) = (world.carried("wlan0")? - before.0, world.carried("lte0")? - before.1);
        assert!(wifi > 1_000_000 && lte < wifi / 4, "{wifi} over Wi-Fi, {lte} over LTE");
        end(agent);
        Ok(())
    });
}

#[test]
fn connections_with_rules_follow_them_and_the_others_the_policy() {
    world(|world| {
        let any = SocketAddr::new(ip("0.0.0.0"), 0);
        let listen = || world.server.run(|| socket::listen(any, Protocol::Mptcp, &Options::default()));
        let (first, never) = (listen()?, listen()?);
        let rules = |first_says: &str| {
            format!(
                "[[connection]]\nremote = ':{}'\n{first_says}\n[[connection]]\nremote = '{SERVER}/24:{}'\nnever = 'lte?'",
                port(&first),
                port(&never)
            )
        };
        let chosen = || world.device.run(|| Ok::<_, Error>(linux::pm::path_manager::current()));
        if world.device.run(|| linux::pm::path_manager::select("userspace")).is_err() {
            println!("skipped: this kernel has one path manager alone");
            return Ok(());
        }
        world.device.run(|| linux::pm::path_manager::select("kernel"))?;
        world.configure("none", &rules("policy = 'wifi-first'"));
        let mut agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        until("it has taken over", || Ok(chosen()?.as_deref() == Some("userspace")))?;
        world.until_it_answers()?;
        let _first = world.download_from(&first, 500_000)?;
        let _never = world.download_from(&never, 500_000)?;
        let _other = world.download(500_000)?;
        world.until_subflows(port(&first), &[("lte0", true), ("wlan0", false)]);
        world.until_subflows(port(&world.listener), &[("lte0", false), ("wlan0", false)]);
        world.until_subflows(port(&never), &[("wlan0", false)]);
        // Wi-Fi goes: what is a backup by a rule is one no more, and who never uses LTE waits.
        let wifi = |up| {
            world.device.run(|| {
                let mut route = Route::open()?;
                let index = route.link("wlan0")?.index;
                route.set_up(index, up)
            })
        };
        wifi(false)?;
        until("LTE is regular", || Ok(world.subflows(port(&first)).contains(&("lte0".to_owned(), false))))?;
        // Killed, it leaves them to the next one, whose rules they follow.
        agent.kill();
        drop(agent);
        assert_eq!(chosen()?.as_deref(), Some("userspace"));
        wifi(true)?;
        world.device.run(|| {
            let mut route = Route::open()?;
            let device = route.link("wlan0")?.index;
            let via = Some(ip("10.1.0.1"));
            route.add_route(&RouteEntry { to: ip(SERVER), prefix: 32, device, via, source: None, metric: 10 })
        })?;
        world.configure("none", &rules("policy = 'wifi-only'"));
        let agent = world.agent(&[])?;
        until("it has taken over", || Ok(agent::status::query(&world.socket(), "/metrics").is_ok()))?;
        world.until_subflows(port(&first), &[("wlan0", false)]);
        world.until_subflows(port(&world.listener), &[("lte0", false), ("wlan0", false)]);
        let log = end(agent);
        assert!(log.contains("userspace path manager"), "{log}");
        assert_eq!(chosen()?.as_deref(), Some("kernel"));
        Ok(())
    });
}

#[test]
fn what_was_there_before_is_there_again_after_a_signal_and_after_a_kill() {
    world(|world| {
        world.manager(|manager| {
            manager.add(&Endpoint::subflow(7, ip("10.2.0.2")))?;
            manager.set_limits(Limits { subflows: 1, accepted_addresses: 3 })
        })?;
        let all = || world.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)));
        let before = all()?;
        // `wifi-only` removes what was there, `wifi-first` changes it.
        for (policy, while_it_works) in [
            ("wifi-first", &[("10.1.0.2", false), ("10.2.0.2", true)][..]),
            ("wifi-only", &[("10.1.0.2", false)][..]),
        ] {
            world.configure(policy, "");
            let agent = world.agent(&[])?;
            world.until_endpoints(while_it_works)?;
            end(agent);
            assert_eq!(all()?, before, "{policy}, ended by SIGTERM");

            let mut agent = world.agent(&[])?;
            world.until_endpoints(while_it_works)?;
            agent.kill();
            world.until_endpoints(while_it_works)?;
            // The next one puts all back before it begins, and again when it ends.
            world.configure("none", "");
            let agent = world.agent(&[])?;
            world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
            let log = end(agent);
            assert!(log.contains("undoing the changes of an agent that was killed"), "{log}");
            assert_eq!(all()?, before, "{policy}, killed");
        }
        Ok(())
    });
}

#[test]
fn an_interface_that_comes_back_with_another_address_gets_its_endpoint() {
    world(|world| {
        world.configure("wifi-first", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        world.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.remove_link(index)
        })?;
        // LTE is all there is.
        world.until_endpoints(&[("10.2.0.2", false)])?;
        assert_eq!(world.status()["interfaces"][0]["link"], "absent");
        world.come("wlan0", "eth0", 1, 77)?;
        world.until_endpoints(&[("10.1.0.77", false), ("10.2.0.2", true)])?;
        // And one that nobody has seen before.
        world.come("wlan1", "eth2", 3, 2)?;
        world.until_endpoints(&[("10.1.0.77", false), ("10.2.0.2", true), ("10.3.0.2", false)])?;
        end(agent);
        world.until_endpoints(&[])
    });
}

#[test]
fn an_allowance_closes_its_interface_in_time_and_outlives_the_agent() {
    world(|world| {
        const CAP: u64 = 3_000_000;
        world.configure("none", "allowance = { data = '3MB', per = 'month' }");
        // LTE is all there is.
        world.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.set_up(index, false)
        })?;
        let mut agent = world.agent(&[])?;
        world.until_endpoints(&[("10.2.0.2", false)])?;
        world.until_it_answers()?;
        let before = world.carried("lte0")?;
        let lte = || Ok::<_, Error>(world.carried("lte0")? - before);
        let download = world.download(2_000_000)?;
        until("it has carried something over LTE", || Ok(lte()? > 400_000))?;
        drop(download);
        // Killed: the next one counts what is carried meanwhile, by the kernel's counters.
        agent.kill();
        let alone = lte()?;
        let download = world.download(2_000_000)?;
        until("LTE carries while no agent looks", || Ok(lte()? > alone + 200_000))?;
        drop(download);
        let agent = world.agent(&[])?;
        world.until_it_answers()?;
        until("the next one has counted that", || {
            let used = world.status()["interfaces"][1]["allowance"]["used_bytes"].as_u64();
            Ok(used.is_some_and(|used| used > alone + 200_000))
        })?;
        let download = world.download(2_000_000)?;
        world.until_endpoints(&[])?;
        // What was under way arrives.
        thread::sleep(Duration::from_millis(300));
        let carried = lte()?;
        assert!(carried <= CAP, "{carried} bytes of {CAP}");
        assert!(carried > CAP / 4, "it was closed long before: {carried} bytes of {CAP}");
        let status = world.status();
        let lte = &status["interfaces"][1];
        assert_eq!((&lte["link"], &lte["allowance"]["is_up"]), (&"closed".into(), &true.into()));
        // A look may have come between.
        let used = lte["allowance"]["used_bytes"].as_u64().unwrap();
        assert!(used.abs_diff(carried) < 50_000, "{used} and {carried}");
        drop(download);
        end(agent);
        // Under another rule it is open again, and what was used is known.
        world.configure("none", "allowance = { data = '3MB', per = 'month', at_cap = 'backup' }");
        let agent = world.agent(&[])?;
        world.until_it_answers()?;
        world.until_endpoints(&[("10.2.0.2", false)])?;
        let kept = world.status()["interfaces"][1]["allowance"]["used_bytes"].as_u64().unwrap();
        assert!(kept >= used, "{kept}, not {used}");
        end(agent);
        Ok(())
    });
}

#[test]
fn a_file_that_is_read_again_counts_unless_it_is_wrong() {
    world(|world| {
        world.configure("none", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        world.until_it_answers()?;
        let download = world.download(500_000)?;
        until("something is counted", || {
            Ok(world.status()["interfaces"][0]["down_bytes"].as_u64() > Some(100_000))
        })?;
        let policy = || world.status()["policy"].as_str().map(str::to_owned);
        world.configure("wifi-first", "allowance = { data = '3GB', per = 'month' }");
        agent.signal("-HUP");
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let status = world.status();
        assert_eq!(status["policy"], "wifi-first");
        assert_eq!(status["interfaces"][1]["allowance"]["data_bytes"], 3_000_000_000_u64);
        assert!(
            status["interfaces"][0]["down_bytes"].as_u64() > Some(100_000),
            "what was counted is kept: {status}"
        );
        assert_eq!(world.subflows(port(&world.listener)).len(), 2, "nothing was closed");
        drop(download);
        world.configure("wifi-frist", "");
        agent.signal("-HUP");
        thread::sleep(Duration::from_millis(500));
        assert_eq!(policy().as_deref(), Some("wifi-first"));
        // The interface over which nothing is to go is named no more: it is as it was.
        world.place.write(
            "agent.toml",
            &std::fs::read_to_string(world.place.path().join("agent.toml"))
                .expect("it was written")
                .replace("wifi-frist", "wifi-first")
                .replace("match = 'lte*'", "match = 'wwan*'"),
        );
        agent.signal("-HUP");
        world.until_endpoints(&[("10.1.0.2", false)])?;
        let log = end(agent);
        assert!(log.contains("the configuration was not reloaded") && log.contains("wifi-frist"), "{log}");
        Ok(())
    });
}

#[test]
fn a_policy_is_shown_the_round_trip_of_what_the_device_sends() {
    world(|world| {
        world.configure("when-needed", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        world.until_it_answers()?;
        let round_trip = || world.status()["interfaces"][0]["round_trip_ms"].as_f64();
        assert_eq!(round_trip(), None, "nothing is sent");
        let to = SocketAddr::new(ip(SERVER), port(&world.listener));
        let mut near = world.device.run(|| socket::connect(to, Protocol::Mptcp, &Options::default()))?;
        let (mut far, _) = world.listener.accept().expect("somebody connects");
        let mut buffer = vec![0; 20_000];
        until("the policy sees a round trip", || {
            near.write_all(&buffer).expect("it is open");
            far.read_exact(&mut buffer).expect("it is open");
            Ok(round_trip().is_some_and(|milliseconds| milliseconds > 0.0 && milliseconds < 1000.0))
        })?;
        end(agent);
        Ok(())
    });
}

/// Says the same to the agent again and again, until something else is to be said, or it is dropped.
struct Player {
    says: std::sync::Arc<Mutex<String>>,
    over: std::sync::Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Player {
    fn start(socket: std::path::PathBuf, says: &str) -> Self {
        let (says, over) = (std::sync::Arc::new(Mutex::new(says.to_owned())), std::sync::Arc::default());
        let (words, stop) = (says.clone(), std::sync::Arc::<AtomicBool>::clone(&over));
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let mut state = cmcd::State::default();
                state.read(&words.lock().expect("nobody panics with it"));
                if let Ok(mut stream) = UnixStream::connect(&socket) {
                    let _ = stream.write_all(state.message().as_bytes());
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        Self { says, over, thread: Some(thread) }
    }

    fn say(&self, words: &str) {
        words.clone_into(&mut self.says.lock().expect("nobody panics with it"));
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

#[test]
fn lte_is_a_backup_while_a_player_that_tells_has_enough() {
    world(|world| {
        world.configure("qoe", "");
        let agent = world.agent(&[])?;
        // Nobody says anything: every path is used.
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        world.until_it_answers()?;
        assert_eq!(world.status()["players"], serde_json::json!([]));
        let _download = world.download(100_000)?;
        let (regular, backup) = ([("lte0", false), ("wlan0", false)], [("lte0", true), ("wlan0", false)]);
        let at = port(&world.listener);
        world.until_subflows(at, &regular);
        let full = "sid=\"film\",ot=v,bl=20000,br=8000,d=2000,tandem-missing=0";
        let player = Player::start(world.socket(), full);
        world.until_subflows(at, &backup);
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let told = &world.status()["players"][0];
        assert_eq!(
            (&told["session"], &told["object"], &told["missing_bytes"]),
            (&"film".into(), &"v".into(), &0.into())
        );
        // In a stall every path helps.
        player.say("sid=\"film\",ot=v,bl=0,br=8000,d=2000,su,tandem-missing=2000000");
        world.until_subflows(at, &regular);
        player.say(full);
        world.until_subflows(at, &backup);
        // Its viewer goes: nothing is known of it after a while.
        drop(player);
        world.until_subflows(at, &regular);
        until("it is forgotten", || Ok(world.status()["players"] == serde_json::json!([])))?;
        end(agent);
        Ok(())
    });
}

#[test]
fn a_player_whose_requests_pass_the_proxy_is_heard_of() {
    const SIZE: usize = 1_000_000;
    const HELD: usize = 600_000;
    world(|world| {
        world.configure("qoe", "");
        let agent = world.agent(&[])?;
        world.until_it_answers()?;
        let socket = world.socket();
        world.place.write(
            "proxy.toml",
            &format!(
                "servers = 'mptcp'\nagent = '{}'\n[[listen]]\naddress = '127.0.0.1:1080'\n[destinations]\n\
                 allow = ['10.9.9.0/24']\n[status]\nsocket = '{}'\n",
                socket.display(),
                world.place.path().join("proxy.sock").display()
            ),
        );
        let _proxy = world.device.run(|| {
            let mut command = world.place.command(&["proxy", "--config", "proxy.toml"]);
            let child = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
            Ok::<_, Error>(Agent(child.expect("the program starts")))
        })?;
        let at = SocketAddr::new(ip("127.0.0.1"), 1080);
        let mut near = None;
        until("the proxy listens", || {
            near = world.device.run(|| Ok::<_, Error>(std::net::TcpStream::connect(at).ok()))?;
            Ok(near.is_some())
        })?;
        let mut near = near.expect("it listens");
        // Paused, so that its buffer does not grow less while this test waits.
        let words = "bl%3D10000%2Cbr%3D133%2Cd%3D60000%2Cot%3Dv%2Cpr%3D0%2Csid%3D%22film%22";
        let request = format!(
            "GET http://{SERVER}:{port}/a?CMCD={words} HTTP/1.1\r\nHost: {SERVER}:{port}\r\n\r\n",
            port = port(&world.listener)
        );
        near.write_all(request.as_bytes()).expect("it is open");
        let (mut far, _) = world.listener.accept().expect("the proxy connects");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            far.read_exact(&mut byte).expect("a request comes");
            head.push(byte[0]);
        }
        assert!(String::from_utf8_lossy(&head).contains(words), "it goes on as it came");
        let reader = thread::spawn(move || {
            let mut answer = vec![0; SIZE];
            near.read_exact(&mut answer).expect("the answer comes");
            near
        });
        far.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes()).expect("open");
        far.write_all(&vec![7; SIZE - HELD]).expect("it is open");
        let player = || world.status()["players"][0].clone();
        until("the agent knows how much is missing", || Ok(player()["missing_bytes"] == HELD))?;
        let told = player();
        assert_eq!((&told["session"], told["buffer_s"].as_f64()), (&"film".into(), Some(10.0)));
        // Nothing comes of it.
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        far.write_all(&vec![7; HELD]).expect("it is open");
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let told = player();
        assert_eq!((told["missing_bytes"].as_u64(), told["buffer_s"].as_f64()), (Some(0), Some(70.0)));
        drop(reader.join().expect("all came"));
        end(agent);
        Ok(())
    });
}

#[test]
fn a_dry_run_says_what_it_would_do_and_changes_nothing() {
    world(|world| {
        world.manager(|manager| manager.add(&Endpoint::subflow(3, ip("10.2.0.2"))))?;
        let all = || world.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)));
        let before = all()?;
        world.configure("wifi-first", "");
        let agent = world.agent(&["--dry-run"])?;
        thread::sleep(Duration::from_secs(1));
        assert_eq!(all()?, before);
        let log = end(agent);
        assert!(log.contains("dry run"), "{log}");
        assert!(log.contains("dry run: endpoint added") && log.contains("10.1.0.2"), "{log}");
        assert!(log.contains("dry run: backup flag changed (MP_PRIO)") && log.contains("backup=true"), "{log}");
        assert_eq!(all()?, before);
        assert_eq!(world.place.list("."), ["agent.toml", "lte.csv", "tiny.toml"], "no state, no socket");
        Ok(())
    });
}

#[test]
fn status_and_metrics_answer() {
    world(|world| {
        world.configure("emtcp:0.4", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        let _download = world.download(2_000_000)?;
        until("something is carried", || {
            let status = world.status();
            let wifi = &status["interfaces"][0];
            Ok(wifi["down_bytes"].as_u64() > Some(100_000) && wifi["joules"].as_f64() > Some(0.0))
        })?;
        let status = world.status();
        assert_eq!(status["policy"], "emtcp:mp-prio:0.4");
        assert!(status["remarks"][0].as_str().is_some_and(|remark| remark.contains("MP_PRIO")));
        let connection = &status["connections"]["most"][0];
        let sum: u64 = connection["subflows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["down_bytes"].as_u64().unwrap())
            .sum();
        assert!(connection["down_bytes"].as_u64().unwrap() >= sum && sum > 0, "{connection}");
        let metrics = agent::status::query(&world.socket(), "/metrics").expect("it answers");
        let value = |name: &str| -> f64 {
            let line = metrics.lines().find(|line| line.starts_with(name)).expect(name);
            line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect(name)
        };
        assert_eq!(value("tandem_interface_up{interface=\"wlan0\",kind=\"wifi\"}"), 1.0);
        assert!(value("tandem_interface_receive_bytes_total{interface=\"wlan0\"") > 100_000.0);
        // For people; and a second agent is told that there is one.
        let said = world.place.run(&["agent", "status", "--socket", world.socket().to_str().unwrap()]);
        assert!(said.out.contains("wlan0") && said.out.contains("lte0"), "{}", said.out);
        let (code, told) = world.agent(&[])?.ended();
        assert!(code == Some(1) && told.contains("another agent is running"), "{told}");
        end(agent);
        assert!(!world.socket().exists());
        Ok(())
    });
}

#[test]
fn a_share_is_held_on_the_kernel() {
    world(|world| {
        // Over links as fast as memory, one of two takes all.
        for device in ["eth0", "eth1"] {
            let rate = ["rate", "10mbit", "burst", "32k", "latency", "50ms"];
            let shaped = world.server.run(|| {
                let mut tc = std::process::Command::new("tc");
                Ok::<_, Error>(tc.args(["qdisc", "add", "dev", device, "root", "tbf"]).args(rate).status())
            })?;
            if !shaped.is_ok_and(|status| status.success()) {
                println!("skipped: there is no tc, or the kernel has no tbf");
                return Ok(());
            }
        }
        world.configure("emtcp:0.6", "");
        let agent = world.agent(&[])?;
        world.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        let _download = world.download(8_000_000)?;
        thread::sleep(Duration::from_secs(9));
        let status = world.status();
        // 0.6 of LTE's half moves: a fifth of all is left to it.
        let share = status["interfaces"][1]["share"].as_f64().unwrap();
        assert!((0.1..0.33).contains(&share), "{status:#}");
        assert!(status["interfaces"][1]["switches"].as_u64() > Some(2), "{status:#}");
        end(agent);
        Ok(())
    });
}

#[test]
fn who_may_not_change_the_network_is_told_what_is_lacking() {
    let place = Place::new();
    place.write("agent.toml", "policy = 'none'\n[[interface]]\nmatch = 'wlan0'\nradio = 'huang2012.wifi'\n");
    let said = if is_root() {
        // Root without any capability.
        let program = env!("CARGO_BIN_EXE_tandem");
        let mut command = std::process::Command::new("setpriv");
        command.args(["--bounding-set=-all", "--inh-caps=-all", program, "agent", "--config", "agent.toml"]);
        let Ok(output) = command.current_dir(place.path()).output() else {
            println!("skipped: there is no setpriv");
            return;
        };
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    } else {
        let said = place.run(&["agent", "--config", "agent.toml"]);
        (Some(said.code), said.err)
    };
    if !std::path::Path::new("/proc/sys/net/mptcp/enabled").exists() {
        assert!(said.0 == Some(4) && said.1.contains("this kernel has no Multipath TCP"), "{said:?}");
        return;
    }
    assert_eq!(said.0, Some(4), "{}", said.1);
    assert!(said.1.contains("CAP_NET_ADMIN") || said.1.contains("disabled"), "{}", said.1);
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

#[test]
fn what_is_printed_for_a_service_and_as_an_example_can_be_used() {
    let place = Place::new();
    let example = place.run(&["agent", "example-config"]);
    assert_eq!(example.code, 0);
    assert!(example.out.contains("[[interface]]"));
    let unit = place.run(&["agent", "unit", "--config", "/etc/x.toml"]);
    assert!(unit.out.contains("agent --config /etc/x.toml"), "{}", unit.out);
    assert!(!unit.out.contains('@') || unit.out.contains("@system-service"));
    for line in ["ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet=CAP_NET_ADMIN"] {
        assert!(unit.out.lines().any(|own| own == line), "{line}");
    }
    place.write("wrong.toml", "policy = 'wifi-frist'\n");
    let said = place.run(&["agent", "--config", "wrong.toml"]);
    assert_eq!(said.code, 3);
    assert!(said.err.contains("did you mean `wifi-first`?"), "{}", said.err);
    let nobody = place.run(&["agent", "status", "--socket", "no.sock"]);
    assert!(nobody.code == 1 && nobody.err.contains("no agent answers at no.sock"), "{}", nobody.err);
    assert_eq!(place.run(&["agent"]).code, 2, "without a configuration");
}
