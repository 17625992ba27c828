//! I/O of the emulator: TUN devices, the clock and a thread.

use crate::Network;
use crate::packet::{FlowPacket, flow_packet};
use linux::clock::{Clock, use_precise_timers};
use linux::tun::{MAX_PACKET_BYTES, Tun};
use linux::{Error, namespace::Namespace};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use units::{Duration, Instant};

/// Maximum packets read from one device before the next device is polled.
const READ_BATCH_PACKETS: usize = 64;
/// Packets per [`LOAD_WINDOW`] from which the driver polls at [`POLL_INTERVAL`].
const HIGH_LOAD_PACKETS: u32 = 64;
/// Interval over which packets are counted.
const LOAD_WINDOW: Duration = Duration::from_millis(1);
/// Sleep between polls under high load, as in interrupt moderation: a wake-up costs as much as
/// moving a packet.
const POLL_INTERVAL: Duration = Duration::from_micros(50);
/// Longest sleep of an idle driver.
const MAX_POLL_DELAY: Duration = Duration::from_millis(200);

/// A network shared between a driver and other threads.
#[derive(Debug, Clone)]
pub struct SharedNetwork {
    network: Arc<Mutex<Network>>,
    /// Time base of the network.
    clock: Clock,
}

impl SharedNetwork {
    /// Shares a network that runs on the time of `clock`.
    pub fn new(network: Network, clock: Clock) -> Self {
        Self { network: Arc::new(Mutex::new(network)), clock }
    }

    /// Locks the network and returns the current time, which its methods accept. No packet moves
    /// while the lock is held.
    pub fn lock(&self) -> (MutexGuard<'_, Network>, Instant) {
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        // Read the clock under the lock, so that time never decreases for the network.
        let now = self.clock.now();
        (network, now)
    }

    /// Clock of the network.
    pub const fn clock(&self) -> Clock {
        self.clock
    }
}

/// Function that a driver calls on its thread, just before it writes the packet to the server.
pub type FlowHook = Box<dyn FnMut(FlowPacket) + Send>;

/// Moves packets between devices through a network.
pub struct Driver {
    /// For each path, the devices in the namespaces of the client device and of the server.
    devices: Vec<[Tun; 2]>,
    shared: SharedNetwork,
    on_flow: Option<FlowHook>,
    /// Packets that a full wire did not take.
    lost: Arc<AtomicU64>,
}

/// A driver running in its own thread. Stopped on drop.
#[derive(Debug)]
pub struct RunningDriver {
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
    lost: Arc<AtomicU64>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Driver {
    /// Creates a driver. `devices` holds, for each path of the network, the TUN devices in the
    /// namespaces of the client device and of the server.
    pub fn new(devices: Vec<[Tun; 2]>, shared: SharedNetwork) -> Self {
        Self { devices, shared, on_flow: None, lost: Arc::default() }
    }

    /// Calls `hook` with the addresses of packets that may begin a flow, when they arrive at the
    /// server. No packet moves during the call.
    #[must_use]
    pub fn on_flow(self, hook: Option<FlowHook>) -> Self {
        Self { on_flow: hook, ..self }
    }

    /// Creates the TUN devices of a path, both named `name`, in the namespaces of the client
    /// device and of the server.
    ///
    /// With `offload`, the kernels leave checksums and segmentation to the emulator. The emulator
    /// segments packets before the link, so the link carries the same packets with fewer system
    /// calls.
    ///
    /// # Errors
    /// As [`Tun::create`] and [`Namespace::run`].
    pub fn devices(
        name: &str,
        device: &Namespace,
        server: &Namespace,
        offload: bool,
    ) -> Result<[Tun; 2], Error> {
        Ok([Self::device(name, device, offload)?, Self::device(name, server, offload)?])
    }

    /// Creates one of the two TUN devices of a path, as [`devices`](Self::devices) does.
    ///
    /// # Errors
    /// As [`Tun::create`] and [`Namespace::run`].
    pub fn device(name: &str, host: &Namespace, offload: bool) -> Result<Tun, Error> {
        host.run(|| if offload { Tun::create_offloading(name) } else { Tun::create(name) })
    }

    /// Starts the driver's thread. With `realtime`, it requests a real-time scheduling priority
    /// and continues without it if the system refuses.
    ///
    /// # Errors
    /// Fails when the system can start no thread or create no event descriptor.
    pub fn start(mut self, realtime: bool) -> Result<RunningDriver, Error> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::system("make an event descriptor", error))?;
        let (stop, paused, wake) = (Arc::default(), Arc::<AtomicBool>::default(), Arc::new(wake));
        let (thread_stop, thread_paused, thread_wake) =
            (Arc::clone(&stop), Arc::clone(&paused), Arc::clone(&wake));
        let lost = Arc::clone(&self.lost);
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || {
                use_precise_timers();
                if realtime {
                    linux::clock::request_realtime_priority();
                }
                self.run(&thread_stop, &thread_paused, &thread_wake)
            })
            .map_err(|error| Error::system("start the emulator's thread", error))?;
        Ok(RunningDriver { stop, paused, wake, lost, thread: Some(thread) })
    }

    fn run(&mut self, stop: &AtomicBool, paused: &AtomicBool, wake: &OwnedFd) -> io::Result<()> {
        let mut buffer = vec![0; MAX_PACKET_BYTES];
        let mut on_flow = self.on_flow.take();
        let mut polled: Vec<PollFd<'_>> =
            self.devices.iter().flatten().map(|tun| PollFd::new(tun, PollFlags::IN)).collect();
        polled.push(PollFd::new(wake, PollFlags::IN));
        let mut load = LoadMeter::default();
        while !stop.load(Ordering::Relaxed) {
            if paused.load(Ordering::Relaxed) {
                wait_for_wake(wake)?;
                continue;
            }
            let begun = self.shared.clock.now();
            let Step { next_due, packets, more_to_read } = self.step(&mut buffer, &mut on_flow)?;
            load.record(begun, packets);
            if more_to_read {
                continue;
            }
            let now = self.shared.clock.now();
            if load.is_high(now) {
                self.shared.clock.sleep_until(begun + POLL_INTERVAL);
                continue;
            }
            let wait = next_due.map_or(MAX_POLL_DELAY, |at| at.since(now).min(MAX_POLL_DELAY));
            if !wait.is_zero() {
                match poll(&mut polled, Some(&timespec(wait))) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                // Clearing the event descriptor is a system call: avoid it without an event.
                if polled.last().is_some_and(|wake| !wake.revents().is_empty()) {
                    clear_wake(wake)?;
                }
            }
        }
        Ok(())
    }

    /// Reads pending packets from all devices and writes the packets that have arrived.
    fn step(&self, buffer: &mut [u8], on_flow: &mut Option<FlowHook>) -> io::Result<Step> {
        let (mut more_to_read, mut packets) = (false, 0);
        let (mut network, mut now) = self.shared.lock();
        for (path, ends) in self.devices.iter().enumerate() {
            for (down, tun) in [false, true].into_iter().zip(ends) {
                let mut read = 0;
                while read < READ_BATCH_PACKETS {
                    let Some(received) = tun.receive(buffer)? else { break };
                    now = self.shared.clock.now();
                    read += network.send_offloaded(now, path, down, received);
                }
                packets += read;
                more_to_read |= read >= READ_BATCH_PACKETS;
            }
        }
        while let Some(delivery) = network.poll(now) {
            if let Some(hook) = on_flow
                && !delivery.down
                && let Some(packet) = flow_packet(&delivery.packet)
            {
                hook(packet);
            }
            let end = usize::from(!delivery.down);
            let tun = &self.devices[delivery.path][end];
            // A device of the kernel takes no packets while it is down; a wire always should.
            if !tun.send(&delivery.packet)? && tun.is_wire() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            network.recycle(delivery.packet);
            now = self.shared.clock.now();
            packets += 1;
        }
        Ok(Step { next_due: network.next(), packets: packets as u32, more_to_read })
    }
}

/// Outcome of one pass over all devices.
struct Step {
    /// Time of the next poll of the network.
    next_due: Option<Instant>,
    /// Packets read and written.
    packets: u32,
    /// A device may hold further packets.
    more_to_read: bool,
}

/// Detects high load from the recent packet rate.
#[derive(Debug, Default)]
struct LoadMeter {
    window_start: Instant,
    packets: u32,
    high_until: Instant,
}

impl LoadMeter {
    fn record(&mut self, now: Instant, packets: u32) {
        if now.since(self.window_start) >= LOAD_WINDOW {
            (self.window_start, self.packets) = (now, 0);
        }
        self.packets += packets;
        if self.packets >= HIGH_LOAD_PACKETS {
            self.high_until = self.window_start + LOAD_WINDOW + LOAD_WINDOW;
        }
    }

    fn is_high(&self, now: Instant) -> bool {
        now < self.high_until
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: (duration.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (duration.as_nanos() % 1_000_000_000) as _,
    }
}

/// Waits for a wake-up, at most [`MAX_POLL_DELAY`].
fn wait_for_wake(wake: &OwnedFd) -> io::Result<()> {
    match poll(&mut [PollFd::new(wake, PollFlags::IN)], Some(&timespec(MAX_POLL_DELAY))) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) => clear_wake(wake),
        Err(error) => Err(error.into()),
    }
}

/// Resets the event descriptor, so that the next wake-up is noticed.
fn clear_wake(wake: &OwnedFd) -> io::Result<()> {
    match rustix::io::read(wake, &mut [0; 8]) {
        Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl RunningDriver {
    /// Stops moving packets until [`resume`](Self::resume), as if the thread had stalled. The
    /// devices still queue packets from the kernels. Time goes on, and the network can be locked.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Moves packets again. Packets due during the pause arrive at once.
    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// The thread runs. [`stop`](Self::stop) returns the error that has ended it.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Packets that wires to stacks of this process did not take: no link has lost them.
    pub fn lost_packets(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Stops the thread.
    ///
    /// # Errors
    /// Fails when a device could not be read or written. The thread ended at that time.
    pub fn stop(mut self) -> Result<(), Error> {
        self.join()
    }

    fn wake(&self) {
        // The write fails when the counter is full; the thread is then awake.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    fn join(&mut self) -> Result<(), Error> {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join() {
            Ok(ended) => ended.map_err(|error| Error::system("move packets", error)),
            Err(_) => Err(Error::System {
                doing: "move packets".to_owned(),
                source: io::Error::other("the emulator's thread panicked"),
            }),
        }
    }
}

impl Drop for RunningDriver {
    fn drop(&mut self) {
        // `stop` returns the error.
        let _ = self.join();
    }
}
