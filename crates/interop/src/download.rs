//! A bulk download between two stacks over the emulated paths of an experiment, with its own
//! transport settings: the simulator's experiment at real packets and a real clock.

use crate::host::PORT;
use crate::network::{client_address, path_address, server_address};
use bytes::Bytes;
use emulator::SharedNetwork;
use linux::Error;
use linux::clock::Clock;
use linux::tun::Tun;
use mptcp::{Config, Event};
use sim::Experiment;
use stack::{Driver, Interface, Limits, Stack, StackEvent};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Duration, Instant};

/// Length of a block: each delay of a block is a sample, as in the simulator.
const BLOCK_BYTES: u64 = traffic::BLOCK_BYTES;
const WRITE_BYTES: usize = 64 << 10;
const MAX_WAIT: Duration = Duration::from_millis(20);

/// Result of a download.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Download {
    /// Bytes read over the duration, in Mbit/s.
    pub goodput_mbps: f64,
    /// Mean time from the write of a block's first byte to its complete read.
    pub mean_delay: Duration,
    /// Peak of the data held out of order, in bytes.
    pub peak_out_of_order: u64,
}

/// Write times of the blocks, shared by both ends.
type Written = Arc<Mutex<Vec<Instant>>>;

/// Downloads from server to client for the experiment's duration.
///
/// # Errors
/// If a requirement of the system is missing.
pub fn measure_download(experiment: &Experiment) -> Result<Download, String> {
    let run = || -> Result<Download, Error> {
        let clock = Clock::start();
        let (mut ends, mut devices) = ([Vec::new(), Vec::new()], Vec::new());
        for _ in &experiment.paths {
            let [client, device] = Tun::pair("device")?;
            let [server, other] = Tun::pair("server")?;
            ends[0].push(client);
            ends[1].push(server);
            devices.push([device, other]);
        }
        let [client, server] = ends;
        let network = SharedNetwork::new(emulator::Network::new(experiment), clock);
        for path in 0..experiment.paths.len() {
            network.lock().0.set_present(path, true);
        }
        let running = emulator::Driver::new(devices, network).start(true)?;
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Written::default());
        let config = &experiment.transport.config;
        let server = start_server(experiment, server, config.clone(), clock, (&stop, &written))?;
        let mut client = start_client(experiment, client, clock)?;
        let result = run_client(experiment, &mut client, &written);
        // The devices of the client stay open until the emulator has stopped.
        running.stop()?;
        stop.store(true, Ordering::Relaxed);
        _ = server.join();
        result
    };
    run().map_err(|error| error.to_string())
}

fn start_server(
    experiment: &Experiment,
    devices: Vec<Tun>,
    config: Config,
    clock: Clock,
    (stop, written): (&Arc<AtomicBool>, &Written),
) -> Result<std::thread::JoinHandle<()>, Error> {
    let addresses = |path| vec![server_address(false), path_address(false, path)];
    let interfaces = (0..devices.len() as u8).map(|path| Interface { addresses: addresses(path), mtu: 1500 });
    let mut stack = Stack::new(interfaces.collect(), Limits::default(), experiment.seed.derive("server"));
    stack.listen(PORT, config);
    let mut driver = Driver::new(stack, devices, clock)?;
    let (stop, written) = (Arc::clone(stop), Arc::clone(written));
    Ok(std::thread::spawn(move || {
        prepare_thread();
        let data = Bytes::from(vec![7; WRITE_BYTES]);
        let mut total = 0;
        while !stop.load(Ordering::Relaxed) && driver.step(MAX_WAIT).is_ok() {
            while let Some((id, _)) = driver.stack().poll_event() {
                loop {
                    let taken = driver.stack().write(id, &data) as u64;
                    total += taken;
                    let now = driver.now();
                    let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                    written.resize(total.div_ceil(BLOCK_BYTES) as usize, now);
                    if taken < data.len() as u64 {
                        break;
                    }
                }
            }
        }
    }))
}

fn start_client(experiment: &Experiment, devices: Vec<Tun>, clock: Clock) -> Result<Driver, Error> {
    let interfaces = (0..devices.len() as u8)
        .map(|path| Interface { addresses: vec![client_address(false, path)], mtu: 1500 });
    let stack = Stack::new(interfaces.collect(), Limits::default(), experiment.seed.derive("client"));
    Driver::new(stack, devices, clock)
}

fn run_client(experiment: &Experiment, driver: &mut Driver, written: &Written) -> Result<Download, Error> {
    prepare_thread();
    let paths = experiment.paths.len() as u8;
    let (start, remote) = (driver.now(), SocketAddr::new(server_address(false), PORT));
    let config = experiment.transport.config.clone();
    let local = client_address(false, 0);
    let connected = driver.stack().connect(start, local, remote, config);
    let id = connected.map_err(|error| Error::system("connect", std::io::Error::other(error)))?;
    let (mut received, mut blocks, mut delays, mut peak) = (0_u64, 0_u64, 0_u64, 0_u64);
    while driver.now().since(start) < experiment.duration {
        driver.step(MAX_WAIT)?;
        let now = driver.now();
        if let Some(endpoint) = driver.stack().endpoint(id) {
            peak = peak.max(endpoint.out_of_order());
        }
        while let Some((id, event)) = driver.stack().poll_event() {
            if matches!(event, StackEvent::Endpoint(Event::Connected(_))) {
                for path in 1..paths {
                    _ = driver.stack().join(now, id, client_address(false, path), remote, false);
                }
            }
            while let Some(piece) = driver.stack().read(id, usize::MAX) {
                received += piece.len() as u64;
            }
        }
        let written = written.lock().unwrap_or_else(PoisonError::into_inner);
        while (blocks + 1) * BLOCK_BYTES <= received
            && let Some(&at) = written.get(blocks as usize)
        {
            delays += now.since(at).as_nanos();
            blocks += 1;
        }
    }
    let seconds = experiment.duration.as_secs_f64();
    Ok(Download {
        goodput_mbps: received as f64 * 8e-6 / seconds,
        mean_delay: Duration::from_nanos(delays / blocks.max(1)),
        peak_out_of_order: peak,
    })
}

/// Lets the thread react as quickly as a simulated host.
fn prepare_thread() {
    linux::clock::use_precise_timers();
    linux::clock::request_realtime_priority();
}
