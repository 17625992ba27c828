//! I/O of a stack: TUN devices and a timer, with epoll.

use crate::Stack;
use linux::Error;
use linux::clock::Clock;
use linux::tun::{MAX_PACKET_BYTES, Tun};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use units::{Duration, Instant};

/// Most packets read from a device before the next one is read.
const READ_BATCH_PACKETS: usize = 64;
/// Pause of a device after an error, before it is read again.
const DEVICE_PAUSE: Duration = Duration::from_millis(100);
/// Number of the wake-up descriptor among the descriptors of epoll.
const WAKE: u64 = u64::MAX;

/// A device, and the errors that its interface had.
#[derive(Debug)]
pub struct Device {
    tun: Tun,
    /// The device is not read before this time.
    paused_until: Option<Instant>,
    /// Errors of reads and writes.
    errors: u64,
    /// Packets that the kernel did not take.
    dropped: u64,
    last_error: Option<io::Error>,
}

impl Device {
    /// Errors of reads and writes so far.
    pub const fn errors(&self) -> u64 {
        self.errors
    }
    /// Packets that the kernel did not take, because the device was down or memory was short.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
    /// The last error.
    pub const fn last_error(&self) -> Option<&io::Error> {
        self.last_error.as_ref()
    }
}

/// Ends the wait of a driver from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Ends the wait.
    pub fn wake(&self) {
        // The write fails when the counter is full; the driver is awake then.
        _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// Moves packets between a stack and one TUN device for each of its interfaces.
///
/// The owner calls [`step`](Self::step) in a loop, and handles the events of the stack in between.
/// A device with an error pauses for 100 ms; the others go on.
#[derive(Debug)]
pub struct Driver {
    stack: Stack,
    devices: Vec<Device>,
    clock: Clock,
    sleeper: Sleeper,
    buffer: Vec<u8>,
}

/// Creates wires within this process. Returns their two ends.
pub(crate) fn wires(name: &str, count: usize) -> Result<(Vec<Tun>, Vec<Tun>), Error> {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let [own, other] = Tun::pair(name)?;
        near.push(own);
        far.push(other);
    }
    Ok((near, far))
}

/// Waits for the packets of a driver, also without access to it.
#[derive(Debug, Clone)]
pub struct Sleeper {
    epoll: Arc<OwnedFd>,
    waker: Waker,
}

impl Sleeper {
    /// Waits until a device has packets, a [`Waker`] ends the wait, or `most` has passed.
    ///
    /// # Errors
    /// Fails when epoll fails.
    pub fn wait(&self, most: Duration) -> Result<(), Error> {
        let timeout = Timespec {
            tv_sec: (most.as_nanos() / 1_000_000_000) as i64,
            tv_nsec: (most.as_nanos() % 1_000_000_000) as _,
        };
        let mut events =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }; 8];
        match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
            Ok(count) => {
                for event in &events[..count] {
                    if event.data.u64() == WAKE {
                        _ = rustix::io::read(&*self.waker.0, &mut [0; 8]);
                    }
                }
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(Error::system("wait for packets", error)),
        }
    }
}

impl Driver {
    /// Creates a driver. `devices` holds the device of each interface.
    ///
    /// # Errors
    /// Fails when the process may open no more files.
    pub fn new(stack: Stack, devices: Vec<Tun>, clock: Clock) -> Result<Self, Error> {
        let open = || -> Result<(OwnedFd, OwnedFd), Errno> {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(&epoll, &wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
            for (i, tun) in devices.iter().enumerate() {
                epoll::add(&epoll, tun, epoll::EventData::new_u64(i as u64), epoll::EventFlags::IN)?;
            }
            Ok((epoll, wake))
        };
        let (epoll, wake) = open().map_err(|error| Error::system("watch the TUN devices", error))?;
        let device = |tun| Device { tun, paused_until: None, errors: 0, dropped: 0, last_error: None };
        let devices = devices.into_iter().map(device).collect();
        let sleeper = Sleeper { epoll: Arc::new(epoll), waker: Waker(Arc::new(wake)) };
        Ok(Self { stack, devices, clock, sleeper, buffer: vec![0; MAX_PACKET_BYTES] })
    }

    /// Creates a driver with a wire for each interface of its stack. Returns the far ends of the
    /// wires, which take the place of devices.
    ///
    /// # Errors
    /// Fails when the process may open no more files.
    pub fn wired(name: &str, stack: Stack, clock: Clock) -> Result<(Self, Vec<Tun>), Error> {
        let (near, far) = wires(name, stack.interfaces.len())?;
        Ok((Self::new(stack, near, clock)?, far))
    }

    /// The stack.
    pub fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    /// The devices, by interface.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Time of the stack.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// A handle that ends the wait of [`step`](Self::step) or of the [`Sleeper`].
    pub fn waker(&self) -> Waker {
        self.sleeper.waker.clone()
    }

    /// A handle that waits for packets.
    pub fn sleeper(&self) -> Sleeper {
        self.sleeper.clone()
    }

    /// Sends all due packets, waits up to `most` for packets or a timer, and handles them. Returns early
    /// if the stack has an event.
    ///
    /// # Errors
    /// Fails when epoll fails. Errors of devices are counted and do not end the step.
    pub fn step(&mut self, most: Duration) -> Result<(), Error> {
        if self.poll() > 0 || self.stack.has_event() {
            return Ok(());
        }
        let wait = self.next_timeout().map_or(most, |at| at.since(self.clock.now()).min(most));
        if !wait.is_zero() {
            self.sleeper.wait(wait)?;
        }
        self.poll();
        Ok(())
    }

    /// Sends all due packets, and handles waiting packets and due timers. Returns the number of
    /// packets read; a device may have more if there were any.
    pub fn poll(&mut self) -> usize {
        self.transmit();
        let read = self.read_devices();
        let now = self.clock.now();
        if self.stack.poll_timeout().is_some_and(|at| at <= now) {
            self.stack.handle_timeout(now);
        }
        self.transmit();
        read
    }

    /// Latest time of the next [`poll`](Self::poll) without new packets.
    pub fn next_timeout(&self) -> Option<Instant> {
        let paused = self.devices.iter().filter_map(|device| device.paused_until);
        paused.chain(self.stack.poll_timeout()).min()
    }

    /// Reads the devices. Returns the number of packets.
    fn read_devices(&mut self) -> usize {
        let mut total = 0;
        for i in 0..self.devices.len() {
            if self.is_paused(i) {
                continue;
            }
            for _ in 0..READ_BATCH_PACKETS {
                let device = &self.devices[i];
                match device.tun.receive(&mut self.buffer) {
                    Ok(Some((pending, packet))) => {
                        let now = self.clock.now();
                        self.stack.receive(now, i, packet, pending.checksum.is_some());
                        total += 1;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        self.pause(i, error);
                        break;
                    }
                }
                self.transmit();
            }
        }
        total
    }

    /// Sends all due packets.
    pub fn transmit(&mut self) {
        if !self.stack.has_ready() {
            return;
        }
        let now = self.clock.now();
        while let Some(transmit) = self.stack.poll_transmit(now) {
            let Some(device) = self.devices.get_mut(transmit.interface) else { continue };
            match device.tun.send(transmit.packet) {
                Ok(true) => {}
                Ok(false) => device.dropped += 1,
                Err(error) => {
                    device.dropped += 1;
                    device.errors += 1;
                    device.last_error = Some(error);
                }
            }
        }
    }

    /// Returns true while the device pauses; watches it again afterwards.
    fn is_paused(&mut self, i: usize) -> bool {
        let device = &mut self.devices[i];
        let Some(until) = device.paused_until else { return false };
        if self.clock.now() < until {
            return true;
        }
        device.paused_until = None;
        let data = epoll::EventData::new_u64(i as u64);
        // It fails only if the device is watched already.
        _ = epoll::add(&self.sleeper.epoll, &device.tun, data, epoll::EventFlags::IN);
        false
    }

    /// Stops watching a device for a while: epoll would report its error again and again.
    fn pause(&mut self, i: usize, error: io::Error) {
        let device = &mut self.devices[i];
        device.errors += 1;
        device.last_error = Some(error);
        device.paused_until = Some(self.clock.now() + DEVICE_PAUSE);
        _ = epoll::delete(&self.sleeper.epoll, &device.tun);
    }
}
