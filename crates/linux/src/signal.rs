//! Signals, read like a file instead of interrupting anything.

use crate::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Asked to end, or told something, by another process or by the terminal.
pub const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Which.
    pub number: i32,
    /// The terminal sent it, to all programs in its foreground (signal(7)).
    pub from_terminal: bool,
}

/// Signals that wait to be read.
#[derive(Debug)]
pub struct Signals {
    file: OwnedFd,
}

impl Signals {
    /// Takes those of [`FORWARDED`], which from now on do nothing by themselves: to be called by the first
    /// thread before it starts another. Those that this process ignores are ignored as before.
    ///
    /// # Errors
    /// Where the kernel gives no descriptor.
    pub fn open() -> Result<Self, Error> {
        let set = set(&FORWARDED);
        // SAFETY: the set is whole, and outlives both calls.
        #[allow(unsafe_code)]
        let answer = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if answer < 0 {
            return Err(Error::system("listen for signals", io::Error::last_os_error()));
        }
        // SAFETY: it has just been opened, and nobody else knows of it.
        #[allow(unsafe_code)]
        Ok(Self { file: unsafe { OwnedFd::from_raw_fd(answer) } })
    }

    /// The next one, if it comes within so many milliseconds.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn next(&self, milliseconds: u32) -> io::Result<Option<Signal>> {
        let wait = Timespec {
            tv_sec: i64::from(milliseconds / 1000),
            tv_nsec: i64::from(milliseconds % 1000) * 1_000_000,
        };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut heard = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let length = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most as many bytes as the structure has.
        #[allow(unsafe_code)]
        let read = unsafe { libc::read(self.file.as_raw_fd(), heard.as_mut_ptr().cast(), length) };
        if read != length as isize {
            return Ok(None);
        }
        // SAFETY: numbers, all of them written.
        #[allow(unsafe_code)]
        let heard = unsafe { heard.assume_init() };
        let from_terminal = heard.ssi_code == libc::SI_KERNEL;
        Ok(Some(Signal { number: heard.ssi_signo as i32, from_terminal }))
    }
}

pub(crate) fn set(numbers: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` makes a whole set, to which the others add.
    #[allow(unsafe_code)]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &number in numbers {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        set.assume_init()
    }
}
