//! Lets system calls of a program under test fail at random, as an exhausted system would.
//!
//! Descriptors, disk and memory run out, calls are interrupted, reads and writes are short, netlink
//! sockets overrun, and datagrams vanish, which is how the DNS times out. A seccomp listener suspends
//! each call that can fail so; a seeded generator lets it run or answers in place of the kernel.
//! A program gets its faults by [`Injector::start`], in turns of [`Injector::arm`].

mod caller;
mod calls;

use crate::Error;
use crate::seccomp::{ARCHITECTURE, Interruptible, Listener, step};
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
    remaining: u64,
    /// One of so many calls fails.
    calls_per_fault: u64,
    /// Number of injected faults by call and fault.
    injected: BTreeMap<String, u64>,
    /// Why no call is decided any more.
    failure: Option<String>,
}

impl Injector {
    /// Starts `command` without faults. The generator begins with `seed`.
    ///
    /// # Errors
    /// Fails when the program cannot be started, on an unsupported architecture, or before Linux 5.19.
    pub fn start(seed: u64, mut command: Command) -> Result<(Self, Child), Error> {
        let Some(architecture) = ARCHITECTURE else {
            return Err(Error::Lacks {
                what: "cannot inject faults on this machine's architecture".to_owned(),
                hint: "use x86-64, AArch64 or RISC-V of 64 bits".to_owned(),
            });
        };
        let injector = Self { schedule: Arc::new(Mutex::new(Schedule::new(seed))) };
        let (send, listeners) = mpsc::channel::<Listener>();
        let supervisor = injector.clone();
        // Starts before the filter is installed, or its own calls would wait for itself.
        spawn("faults", move || {
            // Without a listener, the program was never started.
            let Ok(listener) = listeners.recv() else { return };
            if let Err(error) = supervisor.serve(&listener) {
                supervisor.lock().failure = Some(error.to_string());
            }
        })?;
        let (report, started) = mpsc::channel();
        spawn("start", move || {
            let mut start = || {
                // Only a thread without new privileges may install a filter without CAP_SYS_ADMIN.
                rustix::thread::set_no_new_privs(true)
                    .map_err(|error| Error::system("give up new privileges", error))?;
                let mut filter = build_filter(architecture);
                let _ = send.send(Listener::install(&mut filter, Interruptible::ByFatalSignals)?);
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

    /// Injects the next `count` faults, at one of `calls_per_fault` calls on average.
    pub fn arm(&self, count: u64, calls_per_fault: u64) {
        let mut schedule = self.lock();
        (schedule.remaining, schedule.calls_per_fault) = (count, calls_per_fault.max(1));
    }

    /// Ends the faults.
    pub fn disarm(&self) {
        self.lock().remaining = 0;
    }

    /// Number of faults that are still to be injected.
    pub fn remaining(&self) -> u64 {
        self.lock().remaining
    }

    /// Why no call is decided any more; `None` while all is well.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
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
            match self.fault(listener, &notification) {
                Some(result) => listener.answer(&notification, result),
                None => listener.proceed(&notification),
            }
        }
        Ok(())
    }

    /// Result of the call if it fails; `None` if it runs.
    fn fault(
        &self,
        listener: &Listener,
        notification: &libc::seccomp_notif,
    ) -> Option<Result<i64, rustix::io::Errno>> {
        let random = self.lock().draw()?;
        let call = CALLS.iter().find(|call| call.number == libc::c_long::from(notification.data.nr))?;
        let caller = Caller::new(listener, notification);
        let possible = call.faults(caller.descriptor_kind(call));
        let fault = *possible.get(random as usize % possible.len().max(1))?;
        let result = match fault {
            Fault::Fails(_, error) => Err(error),
            Fault::Short => caller.transfer_part(call, random >> 8)?,
            Fault::Vanishes => Ok(notification.data.args[2] as i64),
            Fault::Overrun => Err(caller.overrun()?),
        };
        let mut schedule = self.lock();
        schedule.remaining = schedule.remaining.saturating_sub(1);
        *schedule.injected.entry(format!("{} {}", call.name, fault.name())).or_default() += 1;
        Some(result)
    }
}

impl Schedule {
    fn new(seed: u64) -> Self {
        Self { random: seed, remaining: 0, calls_per_fault: 1, injected: BTreeMap::new(), failure: None }
    }

    /// A random number if the present call shall fail.
    fn draw(&mut self) -> Option<u64> {
        if self.remaining == 0 {
            return None;
        }
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        mixed.is_multiple_of(self.calls_per_fault).then_some(mixed / self.calls_per_fault)
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
            let mut schedule = Schedule { remaining: 1, calls_per_fault: 3, ..Schedule::new(seed) };
            (0..100).map(|_| schedule.draw()).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        let count = draws(1).iter().flatten().count();
        assert!((20..50).contains(&count), "{count} of 100");
    }

    #[test]
    fn filter_notifies_on_each_call_and_no_other() {
        let filter = build_filter(7);
        let notifies = |architecture, number: u32| {
            let (mut at, mut loaded) = (0, 0);
            loop {
                let step = filter[at];
                at += 1;
                match u32::from(step.code) {
                    0x20 => loaded = if step.k == 0 { number } else { architecture },
                    0x15 => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
                    0x06 => return step.k == libc::SECCOMP_RET_USER_NOTIF,
                    other => panic!("unexpected instruction {other:#x}"),
                }
            }
        };
        for number in 0..1000 {
            let is_listed = CALLS.iter().any(|call| call.number == number);
            assert_eq!(notifies(7, number as u32), is_listed, "call {number}");
            assert!(!notifies(8, number as u32), "call {number} of another architecture");
        }
    }

    /// Copies a stream by a program with faults, until its end or the program's: received bytes and
    /// number of short transfers.
    fn copy_with_faults(seed: u64, sent: &[u8]) -> (Vec<u8>, u64) {
        let [(mut to, input), (output, mut from)] = [(); 2].map(|()| UnixStream::pair().unwrap());
        let mut command = Command::new("dd");
        command.args(["bs=64", "status=none"]);
        command.stdin(OwnedFd::from(input)).stdout(OwnedFd::from(output)).stderr(Stdio::null());
        let (injector, mut child) = Injector::start(seed, command).unwrap();
        // The program has started once it copies a line.
        let mut copied = [0; 3];
        to.write_all(b"go\n").unwrap();
        from.read_exact(&mut copied).unwrap();
        injector.arm(u64::MAX, 4);
        let mut received = Vec::new();
        thread::scope(|scope| {
            // The program may end early, by a lack of memory.
            scope.spawn(move || _ = to.write_all(sent));
            from.read_to_end(&mut received).unwrap();
        });
        child.wait().unwrap();
        assert_eq!(injector.failure(), None);
        let injected = injector.injected();
        assert!(sent.starts_with(&received), "{} bytes after {injected:?}", received.len());
        let short = injected.iter().filter(|(name, _)| name.ends_with("short"));
        (received, short.map(|(_, count)| count).sum())
    }

    #[test]
    fn faults_change_no_byte_of_a_stream() {
        let sent: Vec<u8> = (0..10_000_u32).flat_map(u32::to_be_bytes).collect();
        let copies: Vec<_> = (0..20).map(|seed| copy_with_faults(seed, &sent)).collect();
        let received: usize = copies.iter().map(|(received, _)| received.len()).sum();
        let short: u64 = copies.iter().map(|(_, short)| short).sum();
        assert!(received > 1000 && short > 5, "{received} bytes, {short} short transfers");
    }
}
