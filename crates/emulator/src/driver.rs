//! The half that acts: devices, the clock and a thread.

use crate::Network;
use linux::clock::{Clock, use_precise_timers};
use linux::tun::{MAX_PACKET_BYTES, Tun};
use linux::{Error, namespace::Namespace};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use units::{Duration, Instant};

/// So many packets are read from one device before another, and the clock, have their turn.
const BATCH: usize = 64;
/// From so many packets in a [`SPAN`] on, they are moved by the [`PERIOD`] and no more one by one.
const MANY: u32 = 64;
/// Over which packets are counted.
const SPAN: Duration = Duration::from_millis(1);
/// So long the emulator then rests between two looks, as interface cards do that moderate their interrupts:
/// each time that it wakes up costs as much as moving a packet.
const PERIOD: Duration = Duration::from_micros(50);
/// Without anything to do, it looks up so often.
const IDLE: Duration = Duration::from_millis(200);

/// A network that a driver pushes and others look at.
#[derive(Debug, Clone)]
pub struct Shared {
    network: Arc<Mutex<Network>>,
    /// The time that the network has come to.
    clock: Clock,
}

impl Shared {
    /// A network that nobody drives yet. Its time is that of `clock`.
    pub fn new(network: Network, clock: Clock) -> Self {
        Self { network: Arc::new(Mutex::new(network)), clock }
    }

    /// Looks at the network, which stands still meanwhile: be short. The time is one that it may be
    /// asked about.
    pub fn lock(&self) -> (MutexGuard<'_, Network>, Instant) {
        let network = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        // Read after the lock is held, so that time does not go back for the network.
        let now = self.clock.now();
        (network, now)
    }

    /// Its clock.
    pub const fn clock(&self) -> Clock {
        self.clock
    }
}

/// Moves packets between devices through a network.
#[derive(Debug)]
pub struct Driver {
    /// For each path, the device's end and the server's.
    devices: Vec<[Tun; 2]>,
    shared: Shared,
}

/// A driver at work, in a thread of its own.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    paused: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Driver {
    /// For each path of the network the device that the device's kernel has, and the one that the
    /// server's has.
    pub fn new(devices: Vec<[Tun; 2]>, shared: Shared) -> Self {
        Self { devices, shared }
    }

    /// Makes the devices of a path, called `name` at both ends, in the namespaces of the device and of
    /// the server.
    ///
    /// With `offload`, the kernels leave checksums and segmentation to the emulator, which splits before the link
    /// what they send whole. No packet on a link is another for that; it only takes fewer system calls.
    ///
    /// # Errors
    /// As [`Tun::create`] and [`Namespace::run`].
    pub fn devices(
        name: &str,
        device: &Namespace,
        server: &Namespace,
        offload: bool,
    ) -> Result<[Tun; 2], Error> {
        let create = || if offload { Tun::create_offloading(name) } else { Tun::create(name) };
        Ok([device.run(create)?, server.run(create)?])
    }

    /// Starts moving packets. With `realtime` the thread comes before all others that are not, where the
    /// system allows it.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn start(self, realtime: bool) -> Result<Running, Error> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| Error::system("make an event descriptor", error))?;
        let (stop, paused, wake) = (Arc::default(), Arc::<AtomicBool>::default(), Arc::new(wake));
        let (stopped, rests, woken) = (Arc::clone(&stop), Arc::clone(&paused), Arc::clone(&wake));
        let thread = std::thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(move || {
                use_precise_timers();
                if realtime {
                    linux::clock::request_realtime_priority();
                }
                self.work(&stopped, &rests, &woken)
            })
            .map_err(|error| Error::system("start the emulator's thread", error))?;
        Ok(Running { stop, paused, wake, thread: Some(thread) })
    }

    fn work(&self, stop: &AtomicBool, paused: &AtomicBool, wake: &OwnedFd) -> io::Result<()> {
        let mut buffer = vec![0; MAX_PACKET_BYTES];
        let mut polled: Vec<PollFd<'_>> =
            self.devices.iter().flatten().map(|tun| PollFd::new(tun, PollFlags::IN)).collect();
        polled.push(PollFd::new(wake, PollFlags::IN));
        let mut busy = Busy::default();
        while !stop.load(Ordering::Relaxed) {
            if paused.load(Ordering::Relaxed) {
                rest(wake)?;
                continue;
            }
            let begun = self.shared.clock.now();
            let Step { next, moved, more } = self.step(&mut buffer)?;
            busy.moved(begun, moved);
            if more {
                continue;
            }
            let now = self.shared.clock.now();
            if busy.is(now) {
                // What comes meanwhile, and what is due, has its turn then.
                self.shared.clock.sleep_until(begun + PERIOD);
                continue;
            }
            let wait = next.map_or(IDLE, |at| at.since(now).min(IDLE));
            if !wait.is_zero() {
                let wait = Timespec {
                    tv_sec: (wait.as_nanos() / 1_000_000_000) as i64,
                    tv_nsec: (wait.as_nanos() % 1_000_000_000) as _,
                };
                match poll(&mut polled, Some(&wait)) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
                // Read only then: it is a system call, and this is the busiest place.
                if polled.last().is_some_and(|wake| !wake.revents().is_empty()) {
                    heard(wake)?;
                }
            }
        }
        Ok(())
    }

    /// Reads what devices have sent and writes what has arrived.
    fn step(&self, buffer: &mut [u8]) -> io::Result<Step> {
        let (mut more, mut moved) = (false, 0);
        let (mut network, mut now) = self.shared.lock();
        for (path, ends) in self.devices.iter().enumerate() {
            for (down, tun) in [false, true].into_iter().zip(ends) {
                let mut taken = 0;
                while taken < BATCH {
                    let Some((unfinished, packet)) = tun.receive(buffer)? else { break };
                    now = self.shared.clock.now();
                    taken += network.send_unfinished(now, path, down, packet, unfinished);
                }
                moved += taken;
                more |= taken >= BATCH;
            }
        }
        while let Some(delivery) = network.poll(now) {
            let end = usize::from(!delivery.down);
            self.devices[delivery.path][end].send(&delivery.packet)?;
            network.recycle(delivery.packet);
            now = self.shared.clock.now();
            moved += 1;
        }
        Ok(Step { next: network.next(), moved: moved as u32, more })
    }
}

/// What came of a look at all devices.
struct Step {
    /// When there is more to write.
    next: Option<Instant>,
    /// Packets read and written.
    moved: u32,
    /// There may be more to read.
    more: bool,
}

/// Whether many packets were moved lately.
#[derive(Debug, Default)]
struct Busy {
    since: Instant,
    count: u32,
    until: Instant,
}

impl Busy {
    fn moved(&mut self, now: Instant, packets: u32) {
        if now.since(self.since) >= SPAN {
            (self.since, self.count) = (now, 0);
        }
        self.count += packets;
        if self.count >= MANY {
            self.until = self.since + SPAN + SPAN;
        }
    }

    fn is(&self, now: Instant) -> bool {
        now < self.until
    }
}

/// Waits until somebody wakes the emulator, or it is to look up.
fn rest(wake: &OwnedFd) -> io::Result<()> {
    let wait = Timespec { tv_sec: 0, tv_nsec: IDLE.as_nanos() as _ };
    match poll(&mut [PollFd::new(wake, PollFlags::IN)], Some(&wait)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) => heard(wake),
        Err(error) => Err(error.into()),
    }
}

/// Takes back what woke the emulator, so that it can wait again.
fn heard(wake: &OwnedFd) -> io::Result<()> {
    match rustix::io::read(wake, &mut [0; 8]) {
        Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Running {
    /// Lets no packet move until [`resume`](Self::resume), as if the thread had stalled: the devices take
    /// what the kernels send, and what is due stays where it is. Time goes on, and so does a look at the
    /// network.
    pub fn pause(&self) {
        self.paused.store(true, Ordering::Relaxed);
        self.wake();
    }

    /// Moves packets again; what was due meanwhile arrives at once.
    pub fn resume(&self) {
        self.paused.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// Ends the emulator.
    ///
    /// # Errors
    /// Where reading or writing a device failed; then packets have not moved since.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn wake(&self) {
        // If the counter is full, it is awake already.
        let _ = rustix::io::write(&*self.wake, &1u64.to_ne_bytes());
    }

    fn end(&mut self) -> Result<(), Error> {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        match thread.join() {
            Ok(ended) => ended.map_err(|error| Error::system("move packets", error)),
            Err(_) => Err(Error::System {
                doing: "move packets".to_owned(),
                source: io::Error::other("the emulator's thread died"),
            }),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `stop`.
        let _ = self.end();
    }
}
