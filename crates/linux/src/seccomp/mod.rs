//! Seccomp filters with a listener (seccomp_unotify(2)): a supervisor decides each filtered call.
//!
//! [`mptcp`] turns TCP sockets into MPTCP sockets; [`crate::faults`] lets calls fail. A filter is
//! inherited by all future threads and processes of the thread that installs it, statically linked
//! programs too. It changes no system setting. All other calls run unfiltered.

pub(crate) mod mptcp;

use crate::Error;
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Audit architecture number of this machine (`<linux/audit.h>`); `None` when it is not supported.
pub(crate) const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else {
    None
};

/// Instructions of a filter (`<linux/bpf_common.h>`).
pub(crate) mod step {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

    const fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt, jf, k }
    }

    /// Loads the number of the call (offset in `struct seccomp_data`).
    pub(crate) const fn load_number() -> libc::sock_filter {
        step(LOAD, 0, 0, 0)
    }

    /// Loads the architecture.
    pub(crate) const fn load_architecture() -> libc::sock_filter {
        step(LOAD, 4, 0, 0)
    }

    /// Loads the lower half of argument `n`.
    pub(crate) const fn load_argument(n: u32) -> libc::sock_filter {
        let low = if cfg!(target_endian = "big") { 4 } else { 0 };
        step(LOAD, 16 + 8 * n + low, 0, 0)
    }

    /// Clears all bits of the loaded value that are not in `mask`.
    pub(crate) const fn and(mask: u32) -> libc::sock_filter {
        step(AND, mask, 0, 0)
    }

    /// Skips `then` instructions if the loaded value is `value`, else `or`.
    pub(crate) const fn if_equal(value: u32, then: u8, or: u8) -> libc::sock_filter {
        step(EQUALS, value, then, or)
    }

    /// Lets the call run.
    pub(crate) const fn allow() -> libc::sock_filter {
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0)
    }

    /// Suspends the call and notifies the listener.
    pub(crate) const fn notify() -> libc::sock_filter {
        step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0)
    }
}

/// Which signals interrupt a call whose notification was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruptible {
    /// Linux 5.19. Some runtimes send themselves signals constantly, for preemption.
    ByFatalSignals,
    ByAllSignals,
}

/// Receives the filtered calls.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl Listener {
    /// Installs the filter on the calling thread. Filtered calls block until a thread that started
    /// before answers them.
    ///
    /// # Errors
    /// Fails without CAP_SYS_ADMIN (unless the thread gave up new privileges), when the kernel lacks
    /// what is asked for, or when a listener is installed already.
    pub(crate) fn install(
        filter: &mut [libc::sock_filter],
        interruptible: Interruptible,
    ) -> Result<Self, Error> {
        const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
            | if interruptible == Interruptible::ByFatalSignals { WAIT_KILLABLE_RECV } else { 0 };
        // SAFETY: the kernel reads `program` and the filter it points to; both outlive the call.
        #[allow(unsafe_code)]
        let listener = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        if listener < 0 {
            return Err(Error::system("install a seccomp filter", io::Error::last_os_error()));
        }
        // SAFETY: the call has just created this descriptor, and nothing else owns it.
        #[allow(unsafe_code)]
        Ok(Self(unsafe { OwnedFd::from_raw_fd(listener as RawFd) }))
    }

    /// True while the caller still waits for the answer: its number has not passed to another process.
    pub(crate) fn is_waiting(&self, call: &libc::seccomp_notif) -> bool {
        self.ioctl(&mut NotificationId(call.id)).is_ok()
    }

    /// Waits for a filtered call; `None` once no filtered process is left.
    ///
    /// # Errors
    /// Fails when the listener fails.
    pub(crate) fn next(&self) -> Result<Option<libc::seccomp_notif>, Error> {
        let failed = |error: io::Error| Error::system("receive seccomp notifications", error);
        loop {
            let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            if !polled[0].revents().contains(PollFlags::IN) {
                if polled[0].revents().is_empty() {
                    continue;
                }
                return Ok(None);
            }
            // SAFETY: the structure holds only integers, for which zero is valid; the kernel
            // requires zeros.
            #[allow(unsafe_code)]
            let mut call: libc::seccomp_notif = unsafe { core::mem::zeroed() };
            match self.ioctl(&mut call) {
                Ok(()) => return Ok(Some(call)),
                // The caller was killed in the meantime.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Lets the call run. Has no effect when the caller has ended.
    pub(crate) fn proceed(&self, call: &libc::seccomp_notif) {
        self.send(call, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32);
    }

    /// Answers in place of the kernel. Has no effect when the caller has ended.
    pub(crate) fn answer(&self, call: &libc::seccomp_notif, result: Result<i64, rustix::io::Errno>) {
        match result {
            Ok(value) => self.send(call, value, 0, 0),
            Err(error) => self.send(call, 0, -error.raw_os_error(), 0),
        }
    }

    /// Installs a duplicate of `socket` in the caller as the result of the call (Linux 5.14).
    pub(crate) fn answer_with(
        &self,
        call: &libc::seccomp_notif,
        socket: &OwnedFd,
        on_exec: u32,
    ) -> io::Result<()> {
        self.ioctl(&mut libc::seccomp_notif_addfd {
            id: call.id,
            flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
            srcfd: socket.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: on_exec,
        })
    }

    fn send(&self, call: &libc::seccomp_notif, val: i64, error: i32, flags: u32) {
        // This fails only when the caller has ended.
        let _ = self.ioctl(&mut libc::seccomp_notif_resp { id: call.id, val, error, flags });
    }

    fn ioctl<T: ListenerRequest>(&self, value: &mut T) -> io::Result<()> {
        // SAFETY: the trait ties the request to the structure that it takes, which outlives the call.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), T::REQUEST, &raw mut *value) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A structure of `<linux/seccomp.h>` that one request of a listener reads and writes.
///
/// # Safety
/// `REQUEST` must be the request that takes a pointer to this structure. Any bytes that the kernel
/// writes must be a valid value of it.
#[allow(unsafe_code)]
unsafe trait ListenerRequest {
    const REQUEST: libc::Ioctl;
}

// SAFETY: SECCOMP_IOCTL_NOTIF_RECV writes a `struct seccomp_notif`, which holds only integers.
#[allow(unsafe_code)]
unsafe impl ListenerRequest for libc::seccomp_notif {
    const REQUEST: libc::Ioctl = libc::SECCOMP_IOCTL_NOTIF_RECV;
}

// SAFETY: SECCOMP_IOCTL_NOTIF_SEND reads a `struct seccomp_notif_resp`.
#[allow(unsafe_code)]
unsafe impl ListenerRequest for libc::seccomp_notif_resp {
    const REQUEST: libc::Ioctl = libc::SECCOMP_IOCTL_NOTIF_SEND;
}

/// The number of a notification.
#[repr(transparent)]
struct NotificationId(u64);

// SAFETY: SECCOMP_IOCTL_NOTIF_ID_VALID reads a `__u64`.
#[allow(unsafe_code)]
unsafe impl ListenerRequest for NotificationId {
    const REQUEST: libc::Ioctl = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
}

// SAFETY: SECCOMP_IOCTL_NOTIF_ADDFD reads a `struct seccomp_notif_addfd`. Its descriptors are
// numbers; a wrong one is an error of the call.
#[allow(unsafe_code)]
unsafe impl ListenerRequest for libc::seccomp_notif_addfd {
    const REQUEST: libc::Ioctl = libc::SECCOMP_IOCTL_NOTIF_ADDFD;
}
