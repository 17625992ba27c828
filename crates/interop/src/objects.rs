//! Completion times of small objects: a client of Linux downloads them over two lossy paths.

use crate::host::{PORT, Setup};
use crate::kernel_host::configure;
use crate::network::{self, Mode, server_address, stack_interfaces};
use crate::plan::{Join, Plan};
use bytes::Bytes;
use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::socket::{self, Options, Protocol};
use linux::tun::Tun;
use mptcp::Config;
use stack::{Driver, Limits, Stack};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Seed;

/// Size of an object.
pub const OBJECT_BYTES: usize = 64 << 10;
/// The two paths, as in a scenario.
pub const PATHS: [&str; 2] = [
    "rate = '20Mbps', delay = '15ms', queue = '100ms', loss = 0.02",
    "rate = '20Mbps', delay = '25ms', queue = '100ms', loss = 0.02",
];
/// Time after which a download counts as stuck.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the end of the connection to reach the server.
const CLOSE_TIME: Duration = Duration::from_millis(300);
/// Time for the join.
const JOIN_TIME: Duration = Duration::from_millis(500);

/// Server of the objects.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectServer {
    /// Linux, with this congestion control.
    Linux(&'static str),
    /// Tandem, with this configuration.
    Tandem(Box<Config>),
}

/// Downloads `count` objects one after the other over one connection, and returns their completion
/// times. `seed` determines the losses.
///
/// # Errors
/// If a requirement of the system is missing, or a download is stuck.
pub fn measure_objects(server: ObjectServer, count: usize, seed: u64) -> Result<Vec<Duration>, String> {
    let text = |error: linux::Error| error.to_string();
    let plan = Plan { name: "objects", paths: 2, join: Join::Client, ..Plan::default() };
    let client = Namespace::create().map_err(text)?;
    let (near, _manager) =
        client.run(|| configure(Setup { plan: &plan, v6: false, is_client: true })).map_err(text)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (far, thread) = match server {
        ObjectServer::Tandem(config) => serve_from_stack(*config, Arc::clone(&stop)).map_err(text)?,
        ObjectServer::Linux(congestion) => serve_from_kernel(&plan, congestion).map_err(text)?,
    };
    let devices = near.into_iter().zip(far).map(|(near, far)| [near, far]).collect();
    let links = PATHS.map(|link| format!("down = {{ {link} }}\nup = {{ {link} }}\n"));
    let (_network, running) = network::start(&links, devices, Mode { realtime: true, capture: false, seed })?;
    let address = SocketAddr::new(server_address(false), PORT);
    let stream = client
        .run(|| socket::connect(address, Protocol::Mptcp, &Options { no_delay: true, ..Options::default() }))
        .map_err(text)?;
    let times = download(&stream, count).map_err(|error| error.to_string());
    drop(stream);
    std::thread::sleep(CLOSE_TIME);
    // The emulator stops before the far ends of its devices are closed.
    running.stop().map_err(text)?;
    stop.store(true, Ordering::Relaxed);
    _ = thread.join();
    times
}

fn download(mut stream: &TcpStream, count: usize) -> io::Result<Vec<Duration>> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    std::thread::sleep(JOIN_TIME);
    let (mut times, mut buffer) = (Vec::with_capacity(count), vec![0; OBJECT_BYTES]);
    for _ in 0..count {
        let start = Instant::now();
        stream.write_all(b"?")?;
        stream.read_exact(&mut buffer)?;
        times.push(start.elapsed());
    }
    Ok(times)
}

type Server = (Vec<Tun>, std::thread::JoinHandle<()>);

fn serve_from_kernel(plan: &Plan, congestion: &str) -> Result<Server, linux::Error> {
    let namespace = Namespace::create()?;
    let (devices, _) = namespace.run(|| configure(Setup { plan, v6: false, is_client: false }))?;
    let address = SocketAddr::new(server_address(false), PORT);
    let congestion = Some(congestion.to_owned());
    let options = Options { no_delay: true, congestion, ..Options::default() };
    let listener = namespace.run(|| socket::listen(address, Protocol::Mptcp, &options))?;
    let serve = move || -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let object = vec![7; OBJECT_BYTES];
        while stream.read(&mut [0])? > 0 {
            stream.write_all(&object)?;
        }
        drop(namespace);
        Ok(())
    };
    // The client closes the connection, which ends the thread.
    Ok((devices, std::thread::spawn(move || _ = serve())))
}

fn serve_from_stack(config: Config, stop: Arc<AtomicBool>) -> Result<Server, linux::Error> {
    let interfaces = stack_interfaces(false, PATHS.len() as u8, false);
    let mut stack = Stack::new(interfaces, Limits::default(), Seed::new(3));
    stack.listen(PORT, config);
    let (mut driver, far) = Driver::wired("objects", stack, Clock::start())?;
    let thread = std::thread::spawn(move || {
        // As quick to answer as a kernel, which needs no scheduler of threads.
        linux::clock::use_precise_timers();
        linux::clock::request_realtime_priority();
        let object = Bytes::from(vec![7; OBJECT_BYTES]);
        let mut left = 0;
        while !stop.load(Ordering::Relaxed) {
            if driver.step(units::Duration::from_millis(20)).is_err() {
                return;
            }
            while let Some((id, _)) = driver.stack().poll_event() {
                while let Some(requests) = driver.stack().read(id, usize::MAX) {
                    left += requests.len() * OBJECT_BYTES;
                }
                while left > 0 {
                    let taken = driver.stack().write(id, &object.slice(..left.min(OBJECT_BYTES)));
                    left -= taken;
                    if taken == 0 {
                        break;
                    }
                }
            }
        }
    });
    Ok((far, thread))
}
