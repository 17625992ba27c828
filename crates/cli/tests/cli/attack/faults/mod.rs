//! Daemons whose system calls fail at random: descriptors, disk and memory run out, calls are
//! interrupted, transfers are short, netlink overruns, datagrams vanish, helper programs die.
//!
//! In each round a daemon works while faults are injected, and must then work without any. In the end
//! it holds as many descriptors as before, and rests. `TANDEM_FAULTS=1000` is the long form,
//! `TANDEM_FAULT_SEED` chooses other faults.

mod collector;
mod needs_root;
mod proxy;

use super::env_number;
use crate::support::{process_stat, processor_ticks};
use linux::faults::Injector;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Faults of one round.
const ROUND: u64 = 20;
/// One of so many calls fails.
const EVERY: u64 = 8;
/// Time for the faults of a round, and to recover from them.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Processor time in a second of rest, in ticks of 10 ms.
const MAX_TICKS_AT_REST: u64 = 20;

/// A daemon with faults. The owner of its process ends it.
struct Daemon {
    injector: Injector,
    process: u32,
}

impl Daemon {
    fn start(command: Command) -> (Self, Child) {
        let seed = env_number("TANDEM_FAULT_SEED", 1);
        let (injector, child) = Injector::start(seed, command).expect("the program starts");
        (Self { injector, process: child.id() }, child)
    }

    /// Injects the faults in rounds. `work` uses the daemon, and may fail; `recovered` is true when all
    /// works again.
    fn attack(&self, mut work: impl FnMut(), mut recovered: impl FnMut() -> Result<(), String>) {
        await_success("before any fault", &mut recovered);
        let descriptors = self.descriptors();
        let mut faults = env_number("TANDEM_FAULTS", 60);
        while faults > 0 {
            self.injector.arm(ROUND.min(faults), EVERY);
            let begin = Instant::now();
            while self.injector.left() > 0 {
                work();
                assert!(!self.has_ended(), "it ended after {:?}", self.injector.injected());
                assert!(begin.elapsed() < MAX_WAIT, "too few calls: {:?}", self.injector.injected());
            }
            faults = faults.saturating_sub(ROUND);
            await_success(&format!("after {:?}", self.injector.injected()), &mut recovered);
        }
        await_success("at the end", || {
            let now = self.descriptors();
            // Each worker of a proxy keeps a pipe from its first splice on.
            let workers = thread::available_parallelism().map_or(1, usize::from);
            let fits = now.len() <= descriptors.len() + 2 * workers;
            fits.then_some(()).ok_or_else(|| format!("descriptors {descriptors:?} became {now:?}"))
        });
        let ticks = processor_ticks(self.process);
        thread::sleep(Duration::from_secs(1));
        let ticks = processor_ticks(self.process) - ticks;
        assert!(ticks <= MAX_TICKS_AT_REST, "it uses {ticks} ticks in a second of rest");
        let injected = self.injector.injected();
        println!("{} faults survived: {injected:?}", injected.values().sum::<u64>());
    }

    /// What each open descriptor is, such as `socket:[123]`.
    fn descriptors(&self) -> Vec<String> {
        let all = std::fs::read_dir(format!("/proc/{}/fd", self.process)).expect("it runs");
        let links = all.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.map(|link| link.display().to_string()).collect()
    }

    fn has_ended(&self) -> bool {
        process_stat(self.process)[0] == "Z"
    }
}

/// Waits until `attempt` succeeds.
fn await_success(when: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let begin = Instant::now();
    while let Err(reason) = attempt() {
        assert!(begin.elapsed() < MAX_WAIT, "{reason}, {when}");
        thread::sleep(Duration::from_millis(50));
    }
}
