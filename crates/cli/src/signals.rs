//! Signals that end a command.
//!
//! A signal sets a flag, which the loops of the commands poll. A later one ends the program at once,
//! should a loop be stuck. A command that ends by itself exits with 128 + n after signal n, as shells
//! report it; a daemon exits with 0.
//!
//! `tokio::signal` would need a runtime in every command, and has no such default action.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

/// Signals within this time of the first one are the same request. `timeout` sends one to the
/// program and one to its process group; a terminal and a wrapper can both pass on a Ctrl-C.
const SAME_REQUEST: Duration = Duration::from_millis(300);

/// Number of the signal that asked a command with an end of its own to stop; 0 without one.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A flag that becomes true on SIGINT, SIGTERM or SIGHUP, for a command with an end of its own.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    stop_flag_with_exit_code(&[SIGINT, SIGTERM, SIGHUP])
}

/// A flag that becomes true on SIGINT or SIGTERM, for a command with an end of its own. A simulation
/// under `nohup` outlives its terminal.
pub(crate) fn interrupt_flag() -> Result<Arc<AtomicBool>, Failure> {
    stop_flag_with_exit_code(&[SIGINT, SIGTERM])
}

/// Exit code of a command that a signal ended before its own end.
pub(crate) fn exit_code() -> Option<u8> {
    let signal = u8::try_from(CAUGHT.load(Ordering::Relaxed)).ok()?;
    (signal > 0).then_some(128 + signal)
}

/// A flag that becomes true on SIGINT, SIGTERM or SIGHUP, for a daemon.
pub(crate) fn daemon_stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    stop_flag_on(&[SIGINT, SIGTERM, SIGHUP])
}

/// The stop flag of a daemon, and a flag that asks it to reload its configuration.
///
/// SIGHUP reloads if `is_service`; on a terminal that was closed it stops the daemon.
pub(crate) fn daemon_flags(is_service: bool) -> Result<(Arc<AtomicBool>, Arc<AtomicBool>), Failure> {
    let reload = Arc::new(AtomicBool::new(false));
    if !is_service {
        return Ok((daemon_stop_flag()?, reload));
    }
    let stop = stop_flag_on(&[SIGINT, SIGTERM])?;
    signal_hook::flag::register(SIGHUP, Arc::clone(&reload)).map_err(|error| failure(&error))?;
    Ok((stop, reload))
}

/// A stop flag whose signal is the [`exit_code`].
fn stop_flag_with_exit_code(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
    for &signal in signals {
        signal_hook::flag::register_usize(signal, Arc::clone(&CAUGHT), signal.unsigned_abs() as usize)
            .map_err(|error| failure(&error))?;
    }
    stop_flag_on(signals)
}

fn stop_flag_on(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
    let (stop, is_late) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let register = || {
        let (mut first, pipe) = UnixStream::pair()?;
        for &signal in signals {
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_late))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
            signal_hook::low_level::pipe::register(signal, pipe.try_clone()?)?;
        }
        let is_late = Arc::clone(&is_late);
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            if first.read_exact(&mut [0]).is_ok() {
                thread::sleep(SAME_REQUEST);
                is_late.store(true, Ordering::Relaxed);
            }
        })
    };
    register().map_err(|error| failure(&error))?;
    Ok(stop)
}

fn failure(error: &io::Error) -> Failure {
    Failure::Other { message: format!("cannot handle signals: {error}"), hint: String::new() }
}
