//! Lets system calls of a program under test fail at random, as an exhausted system would.
//!
//! Descriptors, disk and memory run out, calls are interrupted, reads and writes are short, netlink
//! sockets overrun, and datagrams vanish, which is how the DNS times out. A seccomp listener suspends
//! each call that can fail so; a seeded generator lets it run or answers in place of the kernel.
//! A program gets its faults by [`Injector::start`], in turns of [`Injector::arm`].

mod caller;
mod calls;

use crate::Error;
use crate::seccomp::{ARCHITECTURE, Listener, step};
use caller::Caller;
use calls::{CALLS, Call, Fault};
use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::{io, thread};

/// Injects faults into a program and into all processes that it starts.
///
/// ```no_run
/// use std::process::Command;
/// let (injector, mut child) = tandem_linux::faults::Injector::start(1, Command::new("cat"))?;
/// injector.arm(100, 20);
/// // Use the program, then let it recover.
/// injector.disarm();
/// println!("{:?}", injector.injected());
/// # child.kill().unwrap();
/// # Ok::<(), tandem_linux::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Injector {
    schedule: Arc<Mutex<Schedule>>,
}

#[derive(Debug)]
struct Schedule {
    random: u64,
    /// Faults still to inject.
    left: u64,
    /// One of so many calls fails.
    every: u64,
    /// Number of injected faults by call and fault.
    injected: BTreeMap<String, u64>,
}

impl Injector {
    /// Starts `command` without faults. The generator begins with `seed`.
    ///
    /// # Errors
    /// Fails when the program cannot be started, on an unsupported architecture, or when the kernel
    /// lacks seccomp listeners.
    pub fn start(seed: u64, mut command: Command) -> Result<(Self, Child), Error> {
        let Some(architecture) = ARCHITECTURE else {
            return Err(Error::Lacks {
                what: "cannot inject faults on this machine's architecture".to_owned(),
                hint: "use x86-64, AArch64 or RISC-V of 64 bits".to_owned(),
            });
        };
        let schedule = Schedule { random: seed, left: 0, every: 1, injected: BTreeMap::new() };
        let injector = Self { schedule: Arc::new(Mutex::new(schedule)) };
        let (send, receive) = mpsc::channel::<Listener>();
        let supervisor = injector.clone();
        // Starts before the filter is installed, or its own calls would wait for itself.
        spawn("faults", move || {
            // Either the program was never started, or the listener ends with its last process.
            let _ = receive.recv().map(|listener| supervisor.serve(&listener));
        })?;
        let (report, started) = mpsc::channel();
        spawn("start", move || {
            let mut start = || {
                // Only a thread without new privileges may install a filter without CAP_SYS_ADMIN.
                rustix::thread::set_no_new_privs(true)
                    .map_err(|error| Error::system("give up new privileges", error))?;
                let _ = send.send(Listener::install(build_filter(architecture))?);
                let name = command.get_program().to_string_lossy().into_owned();
                command.spawn().map_err(|source| Error::Program { name, source })
            };
            let _ = report.send(start());
        })?;
        let child = started.recv().unwrap_or_else(|_| {
            Err(Error::system("start a program", io::Error::other("its thread panicked")))
        })?;
        Ok((injector, child))
    }

    /// Injects the next `count` faults, at one of `every` calls on average.
    pub fn arm(&self, count: u64, every: u64) {
        let mut schedule = self.lock();
        (schedule.left, schedule.every) = (count, every.max(1));
    }

    /// Ends the faults.
    pub fn disarm(&self) {
        self.lock().left = 0;
    }

    /// Number of faults that are still to be injected.
    pub fn left(&self) -> u64 {
        self.lock().left
    }

    /// Number of injected faults by call and fault, such as `accept4 EMFILE`.
    pub fn injected(&self) -> BTreeMap<String, u64> {
        self.lock().injected.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides each call until the last process has ended.
    fn serve(&self, listener: &Listener) -> Result<(), Error> {
        while let Some(notification) = listener.next()? {
            let answer = self.fault(&notification);
            match answer {
                Some(result) => listener.answer(&notification, result),
                None => listener.proceed(&notification),
            }
        }
        Ok(())
    }

    /// Result of the call if it fails; `None` if it runs.
    fn fault(&self, notification: &libc::seccomp_notif) -> Option<Result<i64, rustix::io::Errno>> {
        let random = self.lock().draw()?;
        let call = CALLS.iter().find(|call| call.number == libc::c_long::from(notification.data.nr))?;
        let caller = Caller::new(notification);
        let possible = call.faults(caller.target(call));
        let fault = *possible.get(random as usize % possible.len().max(1))?;
        let result = match fault {
            Fault::Fails(_, error) => Err(error),
            Fault::Short => caller.transfer_part(call, random >> 8)?,
            Fault::Vanishes => Ok(notification.data.args[2] as i64),
        };
        let mut schedule = self.lock();
        schedule.left = schedule.left.saturating_sub(1);
        *schedule.injected.entry(format!("{} {}", call.name, fault.name())).or_default() += 1;
        Some(result)
    }
}

impl Schedule {
    /// A random number if the present call shall fail.
    fn draw(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        mixed.is_multiple_of(self.every).then_some(mixed / self.every)
    }
}

/// Program that notifies on the calls of [`CALLS`] and allows all others.
fn build_filter(architecture: u32) -> Vec<libc::sock_filter> {
    let count = CALLS.len() as u8;
    let mut filter =
        vec![step::load_architecture(), step::if_equal(architecture, 0, count + 1), step::load_number()];
    for (nth, Call { number, .. }) in CALLS.iter().enumerate() {
        filter.push(step::if_equal(*number as u32, count - nth as u8, 0));
    }
    filter.extend([step::allow(), step::notify()]);
    filter
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| Error::system(format!("start the thread {name}"), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Stdio;

    #[test]
    fn same_seed_draws_the_same_faults() {
        let draws = |seed| {
            let mut schedule = Schedule { random: seed, left: 1, every: 3, injected: BTreeMap::new() };
            (0..100).map(|_| schedule.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        let count = draws(1).iter().flatten().count();
        assert!((20..50).contains(&count), "{count} of 100");
    }

    #[test]
    fn faults_change_no_byte_of_a_stream() {
        let [(mut to, input), (output, mut from)] = [(); 2].map(|()| UnixStream::pair().unwrap());
        let mut command = Command::new("cat");
        command.stdin(OwnedFd::from(input)).stdout(OwnedFd::from(output)).stderr(Stdio::null());
        let (injector, mut child) = Injector::start(7, command).unwrap();
        // The program has started once it copies a line.
        let mut copied = [0; 3];
        to.write_all(b"go\n").unwrap();
        from.read_exact(&mut copied).unwrap();
        injector.arm(u64::MAX, 2);
        let sent: Vec<u8> = (0..1000_u32).flat_map(u32::to_be_bytes).collect();
        let sender = thread::spawn({
            let sent = sent.clone();
            // The program may end early, by a lack of memory.
            move || _ = to.write_all(&sent)
        });
        let mut received = Vec::new();
        from.read_to_end(&mut received).unwrap();
        sender.join().unwrap();
        child.wait().unwrap();
        let injected = injector.injected();
        assert!(sent.starts_with(&received), "{} bytes after {injected:?}", received.len());
        assert!(injected.keys().any(|name| name.ends_with("short")), "{injected:?}");
    }
}
