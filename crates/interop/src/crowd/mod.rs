//! Many connections at once between two hosts.

mod exchange;
mod kernel;
mod stack;

use crate::case::{COMBINATIONS, Kind};
use crate::checks::check;
use crate::host::Setup;
use crate::network::{self, Mode};
use crate::oracle;
use crate::plan::Plan;
use core::fmt;
use exchange::Exchange;
use kernel::KernelCrowd;
use linux::tun::Tun;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections of a crowd.
pub const CROWD: u32 = 1000;
/// Longest time of a crowd.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
const LINK: &str = "rate = '200Mbps', delay = '2ms', queue = '500ms'";

/// A crowd: [`CROWD`] connections, all open at the same moment, each with a request and an answer of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crowd {
    /// Client.
    pub client: Kind,
    /// Server.
    pub server: Kind,
    /// IPv6 instead of IPv4.
    pub v6: bool,
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = if self.v6 { "ipv6" } else { "ipv4" };
        write!(f, "crowd/{}-{}/{version}", self.client, self.server)
    }
}

/// The crowds of every combination.
pub fn crowds() -> Vec<Crowd> {
    let versions = |(client, server)| [false, true].map(|v6| Crowd { client, server, v6 });
    COMBINATIONS.into_iter().flat_map(versions).collect()
}

#[derive(Debug, Clone, Copy)]
struct CrowdSetup<'a> {
    host: Setup<'a>,
    connections: u32,
}

/// Counts of one host. `opened` belongs to both.
#[derive(Debug, Clone, Default)]
struct Shared {
    connections: u32,
    opened: Arc<AtomicU32>,
    finished: Arc<AtomicU32>,
    stop: Arc<AtomicBool>,
    failure: Arc<Mutex<Option<String>>>,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// The server has accepted a connection.
    fn count_open(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }
    /// The server has accepted all connections.
    fn all_open(&self) -> bool {
        self.opened.load(Ordering::Relaxed) >= self.connections
    }
    /// Counts an exchange that has finished. Returns false for another.
    fn count_finished(&self, exchange: &Exchange) -> bool {
        if let Some(problem) = exchange.problem() {
            self.fail(problem);
        }
        if exchange.is_finished() {
            self.finished.fetch_add(1, Ordering::Relaxed);
        }
        exchange.is_finished()
    }
    fn fail(&self, problem: String) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
    }
    fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

enum Host {
    Kernel(Box<KernelCrowd>),
    Stack(Option<Box<::stack::Driver>>),
}

impl Host {
    fn start(kind: Kind, setup: CrowdSetup<'_>) -> Result<(Self, Vec<Tun>), linux::Error> {
        Ok(match kind {
            Kind::Linux => {
                let (host, devices) = KernelCrowd::start(setup)?;
                (Self::Kernel(Box::new(host)), devices)
            }
            Kind::Tandem => {
                let (driver, devices) = stack::start(setup)?;
                (Self::Stack(Some(Box::new(driver))), devices)
            }
        })
    }

    fn run(
        &mut self,
        setup: CrowdSetup<'_>,
        shared: &Shared,
    ) -> Result<Option<JoinHandle<()>>, linux::Error> {
        match self {
            Self::Kernel(host) => host.run(setup, shared).map(Some),
            Self::Stack(driver) => driver.take().map(|driver| stack::run(*driver, setup, shared)).transpose(),
        }
    }

    /// Checks the counters of a kernel. A stack fails itself at the first connection of plain TCP.
    fn check(&self, plan: &Plan, is_client: bool) -> Result<(), String> {
        let Self::Kernel(host) = self else { return Ok(()) };
        let mib = host.mib().map_err(|error| error.to_string())?;
        if let Some(violated) = oracle::violated(plan, &mib) {
            return Err(format!("counter {violated}"));
        }
        let name = if is_client { "MPTcpExtMPCapableSYNACKRX" } else { "MPTcpExtMPCapableACKRX" };
        let count = mib.counter(name).unwrap_or(0);
        check(&format!("{name} {count}"), count >= u64::from(CROWD))
    }
}

/// Plays a crowd.
///
/// # Errors
/// The problem of one connection, or a requirement of the system.
pub fn play_crowd(crowd: &Crowd) -> Result<(), String> {
    let plan = Plan { name: "crowd", paths: 1, ..Plan::default() };
    // Sockets of both hosts, their devices, and files of the program.
    linux::process::raise_open_file_limit(u64::from(4 * CROWD));
    let setup =
        |is_client| CrowdSetup { host: Setup { plan: &plan, v6: crowd.v6, is_client }, connections: CROWD };
    let text = |error: linux::Error| error.to_string();
    let (mut client, near) = Host::start(crowd.client, setup(true)).map_err(text)?;
    let (mut server, far) = Host::start(crowd.server, setup(false)).map_err(text)?;
    let devices = near.into_iter().zip(far).map(|(near, far)| [near, far]).collect();
    let link = format!("down = {{ {LINK} }}\nup = {{ {LINK} }}\n");
    let (_network, running) = network::start(&[link], devices, Mode { seed: 1, ..Mode::default() })?;
    let of_client = Shared { connections: CROWD, ..Shared::default() };
    let of_server = Shared { finished: Arc::default(), ..of_client.clone() };
    let mut threads = Vec::new();
    let mut run = || -> Result<(), String> {
        threads.extend(server.run(setup(false), &of_server).map_err(text)?);
        threads.extend(client.run(setup(true), &of_client).map_err(text)?);
        wait(&of_client, &of_server)?;
        client.check(&plan, true)?;
        server.check(&plan, false)
    };
    let result = run();
    running.stop().map_err(text)?;
    of_client.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        _ = thread.join();
    }
    result
}

fn wait(client: &Shared, server: &Shared) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let finished = [client, server].map(|host| host.finished.load(Ordering::Relaxed));
        if let Some(failure) = client.failure() {
            return Err(failure);
        }
        if finished == [CROWD; 2] {
            return Ok(());
        }
        if Instant::now() > end {
            let opened = client.opened.load(Ordering::Relaxed);
            return Err(format!("{opened} accepted, finished {} and {}", finished[0], finished[1]));
        }
        std::thread::sleep(POLL);
    }
}
