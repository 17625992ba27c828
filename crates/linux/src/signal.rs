//! Signals read from a file descriptor (signalfd(2)).
//!
//! A signalfd leaves ignored signals ignored and reports whether the terminal sent a signal.
//! Handler-based libraries do neither.

use crate::Error;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Signals that ask this process to end, or that a program expects to receive.
pub const FORWARDED: [i32; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal {
    /// Signal number.
    pub number: i32,
    /// True when the kernel sent it, as the terminal does to its foreground process group
    /// (signal(7)).
    pub from_terminal: bool,
}

/// Descriptor for pending signals.
#[derive(Debug)]
pub struct Signals {
    file: OwnedFd,
}

impl Signals {
    /// Blocks the signals of [`FORWARDED`] and opens a descriptor for them. Must be called before
    /// other threads start. Signals that this process ignores stay ignored.
    ///
    /// # Errors
    /// Fails when the kernel provides no descriptor.
    pub fn open() -> Result<Self, Error> {
        let set = signal_set(&FORWARDED);
        // SAFETY: `set` is initialised and outlives both calls.
        #[allow(unsafe_code)]
        let answer = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
            libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if answer < 0 {
            return Err(Error::system("open a signalfd", io::Error::last_os_error()));
        }
        // SAFETY: the call has just created this descriptor, and nothing else owns it.
        #[allow(unsafe_code)]
        Ok(Self { file: unsafe { OwnedFd::from_raw_fd(answer) } })
    }

    /// Next signal, or `None` after `milliseconds`.
    ///
    /// # Errors
    /// Fails when the descriptor cannot be read.
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
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let length = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the kernel writes at most `length` bytes, the size of the structure.
        #[allow(unsafe_code)]
        let read = unsafe { libc::read(self.file.as_raw_fd(), info.as_mut_ptr().cast(), length) };
        if read != length as isize {
            return Ok(None);
        }
        // SAFETY: the structure holds only integers, and all bytes have been written.
        #[allow(unsafe_code)]
        let info = unsafe { info.assume_init() };
        let from_terminal = info.ssi_code == libc::SI_KERNEL;
        Ok(Some(Signal { number: info.ssi_signo as i32, from_terminal }))
    }
}

/// Blocks the signals of [`FORWARDED`] in the calling thread, so that another thread receives them.
pub fn block_in_this_thread() {
    let set = signal_set(&FORWARDED);
    // SAFETY: `set` is initialised and outlives the call.
    #[allow(unsafe_code)]
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut());
    }
}

pub(crate) fn signal_set(numbers: &[i32]) -> libc::sigset_t {
    // `sigemptyset` may write only the words that the kernel reads.
    let mut set = MaybeUninit::zeroed();
    // SAFETY: all bytes are initialised, and the set consists of integers.
    #[allow(unsafe_code)]
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &number in numbers {
            libc::sigaddset(set.as_mut_ptr(), number);
        }
        set.assume_init()
    }
}
