//! CPU time and memory of the agent: idle, with a busy connection, and with ten thousand
//! connections on the host. Runs in its own namespaces.
//!
//! `cargo run --release -p tandem-agent --example cost [SECONDS]`, as root.

use linux::namespace::Namespace;
use linux::pm::{Limits, PathManager};
use linux::route::Route;
use linux::socket::{Options, Protocol, connect, listen};
use linux::{Error, sysctl};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tandem_agent::config::Config;
use tandem_agent::daemon::{Options as Running, Signals, run};
use tandem_agent::status::query;

const CONNECTIONS: usize = 10_000;

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let [_, role, folder] = &arguments[..]
        && role == "agent"
    {
        agent(Path::new(folder));
        return;
    }
    let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    if let Err(error) = measure(Duration::from_secs(seconds)) {
        eprintln!("error: {error}\nhint: {}", error.hint());
        std::process::exit(1);
    }
}

/// Runs the agent like `tandem agent`.
fn agent(folder: &Path) {
    let text = "policy = 'wifi-first'\n[[interface]]\nmatch = 'wlan0'\nradio = 'huang2012.wifi'\n\
        [[interface]]\nmatch = 'wwan*'\nradio = 'huang2012.lte'\nallowance = { data = '5GB', per = 'month' }\n";
    let config =
        Config::parse("cost", text.as_bytes(), &|_| Err(String::new())).expect("valid configuration");
    let running = Running { dry_run: false, state: folder.to_owned(), socket: folder.join("agent.sock") };
    // The parent process kills this one.
    let never = AtomicBool::new(false);
    let signals = Signals { stop: &never, reload: &never, read: &|| Err(String::new()), report: &|_| () };
    run(config, &running, &signals).expect("running agent");
}

fn measure(span: Duration) -> Result<(), Error> {
    let device = Namespace::create()?;
    let peer = Namespace::create()?;
    let folder = tempfile::tempdir().expect("temporary directory");
    configure(&device, &peer)?;
    let agent = device.run(|| {
        let program = env::current_exe().expect("path of the executable");
        let child = Command::new(program).arg("agent").arg(folder.path()).spawn();
        Ok::<_, Error>(Agent(child.expect("started agent"), folder.path().join("agent.sock")))
    })?;
    thread::sleep(Duration::from_secs(4));
    println!("three interfaces, wifi-first; CPU of one core");
    agent.costs("idle", span);

    let started = Instant::now();
    let idle = device.run(|| connections(CONNECTIONS))?;
    println!("{} connections opened in {:.1} s", idle.len() / 2, started.elapsed().as_secs_f64());
    thread::sleep(Duration::from_secs(4));
    agent.costs("idle, with them", span);

    measure_busy(&device, &peer, &agent, span)?;
    let before = agent.cpu();
    let length = query(&agent.1, "/status").expect("status of the agent").len();
    println!(
        "a status, with them: {:.1} ms of CPU, {length} bytes",
        agent.cpu().saturating_sub(before).as_secs_f64() * 1e3
    );
    Ok(())
}

/// Gives the device three interfaces, connected to the peer.
fn configure(device: &Namespace, peer: &Namespace) -> Result<(), Error> {
    for namespace in [device, peer] {
        // Router solicitations would keep new interfaces busy for a minute.
        namespace.run(|| {
            sysctl::write("net.ipv6.conf.all.disable_ipv6", "1")?;
            sysctl::write("net.ipv6.conf.default.disable_ipv6", "1")?;
            sysctl::write("net.mptcp.enabled", "1")
        })?;
    }
    device.run(|| {
        // Joins of the loopback connections would keep the interfaces busy.
        sysctl::write("net.mptcp.allow_join_initial_addr_port", "0")?;
        let mut route = Route::open()?;
        let loopback = route.link("lo")?.index;
        route.set_up(loopback, true)?;
        for (net, name) in ["wlan0", "wwan0", "wwan1"].into_iter().enumerate() {
            let there = format!("eth{net}");
            route.add_veth(name, &there, peer)?;
            let index = route.link(name)?.index;
            route.add_address(index, [10, net as u8 + 1, 0, 2].into(), 24)?;
            route.set_up(index, true)?;
            peer.run(|| {
                let mut route = Route::open()?;
                let index = route.link(&there)?.index;
                route.add_address(index, [10, net as u8 + 1, 0, 1].into(), 24)?;
                route.set_up(index, true)
            })?;
        }
        Ok::<(), Error>(())
    })?;
    Ok(())
}

/// Measures while a connection carries 10 Mbit/s.
fn measure_busy(device: &Namespace, peer: &Namespace, agent: &Agent, span: Duration) -> Result<(), Error> {
    let over = AtomicBool::new(false);
    peer.run(|| PathManager::open()?.set_limits(Limits { subflows: 8, accepted_addresses: 8 }))?;
    thread::scope(|scope| -> Result<(), Error> {
        let listener = peer
            .run(|| listen(SocketAddr::from(([0, 0, 0, 0], 5000)), Protocol::Mptcp, &Options::default()))?;
        let to = SocketAddr::from(([10, 1, 0, 1], 5000));
        let mut near = device.run(|| connect(to, Protocol::Mptcp, &Options::default()))?;
        let (mut far, _) = listener.accept().expect("pending connection");
        let over = &over;
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let _ = far.write_all(&[7; 12_500]);
                thread::sleep(Duration::from_millis(10));
            }
        });
        scope.spawn(move || {
            let mut buffer = vec![0; 65_536];
            while near.read(&mut buffer).is_ok_and(|read| read > 0) {}
        });
        thread::sleep(Duration::from_secs(1));
        agent.costs("at 10 Mbit/s, with them", span);
        over.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// Opens `count` connections over loopback and returns both ends.
fn connections(count: usize) -> Result<Vec<TcpStream>, Error> {
    // Without the privilege to raise the limit, fewer connections are opened.
    let files = Some(2 * count as u64 + 200);
    if setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files }).is_err() {
        let most = getrlimit(Resource::Nofile).maximum;
        let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let count = count.min((files.saturating_sub(200) / 2) as usize);
    let at = SocketAddr::from(([127, 0, 0, 1], 6000));
    let listener = listen(at, Protocol::Mptcp, &Options::default())?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(connect(at, Protocol::Mptcp, &Options::default())?);
        all.push(listener.accept().expect("pending connection").0);
    }
    Ok(all)
}

struct Agent(Child, std::path::PathBuf);

impl Agent {
    fn file(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.0.id())).expect("running agent")
    }

    /// CPU time used so far.
    fn cpu(&self) -> Duration {
        let text = self.file("schedstat");
        Duration::from_nanos(text.split(' ').next().and_then(|text| text.parse().ok()).expect("a number"))
    }

    fn costs(&self, when: &str, span: Duration) {
        let before = self.cpu();
        let started = Instant::now();
        thread::sleep(span);
        let share = self.cpu().saturating_sub(before).as_secs_f64() / started.elapsed().as_secs_f64() * 100.0;
        let status = self.file("status");
        let kb = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok()).unwrap_or(f64::NAN)
        };
        println!(
            "{when}: {share:.3} % CPU, {:.1} MB resident ({:.1} MB of its own)",
            kb("VmRSS:") / 1e3,
            kb("RssAnon:") / 1e3
        );
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
