//! Daemons with system calls that fail at random: descriptors, disk and memory run out, calls are
//! interrupted, transfers are short, netlink overruns, datagrams vanish, helper programs die.
//!
//! In each round a daemon works while faults are injected, and must then work without any. In the end
//! it holds as many descriptors as before, and rests. `TANDEM_FAULTS=1000` is the long form,
//! `TANDEM_FAULT_SEED` chooses other faults.

mod collector;
mod needs_root;
mod proxy;

use super::env_number;
use crate::support::{Place, process_stat, processor_ticks};
use linux::faults::Injector;
use std::fs::File;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

const FAULTS_PER_ROUND: u64 = 20;
const CALLS_PER_FAULT: u64 = 8;
/// Time for the faults of a round, and to recover from them.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Processor time in a second of rest, in ticks of 10 ms.
const MAX_TICKS_AT_REST: u64 = 20;

/// A daemon with faults. The owner of its process ends it.
struct Daemon {
    injector: Injector,
    process: u32,
    /// Descriptors that it may keep from its work.
    kept_descriptors: usize,
}

impl Daemon {
    fn start(command: Command, kept_descriptors: usize) -> (Self, Child) {
        let seed = env_number("TANDEM_FAULT_SEED", 1);
        let (injector, child) = Injector::start(seed, command).expect("the program starts");
        (Self { injector, process: child.id(), kept_descriptors }, child)
    }

    /// Injects the faults in rounds. `work` uses the daemon, and may fail; `recovered` is true when all
    /// works again.
    fn attack(&self, mut work: impl FnMut(), mut recovered: impl FnMut() -> Result<(), String>) {
        await_success("before any fault", &mut recovered);
        let descriptors = self.descriptors();
        let mut faults = env_number("TANDEM_FAULTS", 60);
        while faults > 0 {
            self.injector.arm(FAULTS_PER_ROUND.min(faults), CALLS_PER_FAULT);
            let begin = Instant::now();
            while self.injector.remaining() > 0 {
                work();
                assert_eq!(self.injector.failure(), None);
                assert!(!self.has_ended(), "it ended after {:?}", self.injector.injected());
                assert!(begin.elapsed() < MAX_WAIT, "too few calls: {:?}", self.injector.injected());
            }
            faults = faults.saturating_sub(FAULTS_PER_ROUND);
            await_success(&format!("after {:?}", self.injector.injected()), &mut recovered);
        }
        await_success("at the end", || {
            let now = self.descriptors();
            let fits = now.len() <= descriptors.len() + self.kept_descriptors;
            fits.then_some(()).ok_or_else(|| format!("descriptors {descriptors:?} became {now:?}"))
        });
        let ticks = processor_ticks(self.process);
        thread::sleep(Duration::from_secs(1));
        let ticks = processor_ticks(self.process) - ticks;
        assert!(ticks <= MAX_TICKS_AT_REST, "it uses {ticks} ticks in a second of rest");
        let injected = self.injector.injected();
        println!("{} faults survived: {injected:?}", injected.values().sum::<u64>());
    }

    /// Kind of each open descriptor, such as `socket:[123]`.
    fn descriptors(&self) -> Vec<String> {
        let all = std::fs::read_dir(format!("/proc/{}/fd", self.process)).expect("it runs");
        let links = all.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
        links.map(|link| link.display().to_string()).collect()
    }

    fn has_ended(&self) -> bool {
        process_stat(self.process)[0] == "Z"
    }
}

/// Descriptors of the pipes that the workers of a proxy keep from their first splice on.
fn splice_pipes() -> usize {
    2 * thread::available_parallelism().map_or(1, usize::from)
}

/// The log of a daemon. It is a file, because a pipe without a reader would fill.
fn log_to(place: &Place, command: &mut Command) {
    command.stderr(File::create(place.path().join("log")).expect("the folder is ours"));
}

/// Waits until `attempt` succeeds.
fn await_success(when: &str, mut attempt: impl FnMut() -> Result<(), String>) {
    let begin = Instant::now();
    while let Err(reason) = attempt() {
        assert!(begin.elapsed() < MAX_WAIT, "{reason}, {when}");
        thread::sleep(Duration::from_millis(50));
    }
}
