//! Turns the TCP sockets of any program into MPTCP sockets.
//!
//! A seccomp filter with a user-space listener (seccomp_unotify(2)) suspends every `socket()` call
//! for a TCP stream. The supervisor opens an MPTCP socket and installs it as the result of the
//! call. Unlike an LD_PRELOAD library this also covers statically linked programs and all child
//! processes. It changes no system setting. All other system calls run unfiltered.

use crate::socket::set_congestion;
use crate::{Error, process};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// Audit architecture number of this machine (`<linux/audit.h>`); `None` when it is not supported.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else {
    None
};

/// Installs the filter on the calling thread; its future threads and processes inherit it. The
/// returned listener must be passed to [`serve_notifications`] on a thread that started before.
/// Until then all filtered calls block.
///
/// # Errors
/// Fails without CAP_SYS_ADMIN, when the kernel lacks seccomp listeners, or when one is installed
/// already.
pub(crate) fn install_filter() -> Result<OwnedFd, Error> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(Error::Lacks {
            what: "cannot make sockets Multipath TCP on this machine's architecture".to_owned(),
            hint: "use programs that open MPTCP sockets, or `mptcpize run`".to_owned(),
        });
    };
    let mut filter = build_filter(architecture, u32::from(cfg!(target_endian = "big")) * 4);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    /// Once the notification is received, only a fatal signal interrupts the caller (Linux 5.19).
    /// Some runtimes send themselves signals constantly, for preemption.
    const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
    let set = |flags: libc::c_ulong| {
        // SAFETY: the kernel reads `program` and the filter it points to; both outlive the call.
        #[allow(unsafe_code)]
        let answer = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as RawFd) }
    };
    let listener = set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV)
        .or_else(|_| set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER))
        .map_err(|error| Error::system("install the seccomp filter for sockets", error))?;
    // SAFETY: the call has just created this descriptor, and nothing else owns it.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// BPF program that notifies on TCP stream sockets over IPv4 or IPv6 and allows all other calls.
/// `low` is the offset of the lower half of a 64-bit argument.
fn build_filter(architecture: u32, low: u32) -> Vec<libc::sock_filter> {
    /// Instruction codes: load, compare, mask, return (`<linux/bpf_common.h>`).
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    /// Offsets in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const MACHINE: u32 = 4;
    let argument = |n: u32| 16 + 8 * n + low;
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
    vec![
        step(LOAD, MACHINE, 0, 0),
        step(EQUALS, architecture, 0, 11),
        step(LOAD, NUMBER, 0, 0),
        step(EQUALS, libc::SYS_socket as u32, 0, 9),
        step(LOAD, argument(0), 0, 0),
        step(EQUALS, libc::AF_INET as u32, 1, 0),
        step(EQUALS, libc::AF_INET6 as u32, 0, 6),
        step(LOAD, argument(1), 0, 0),
        // The upper bits of the type are SOCK_NONBLOCK and SOCK_CLOEXEC.
        step(AND, 0xf, 0, 0),
        step(EQUALS, libc::SOCK_STREAM as u32, 0, 3),
        step(LOAD, argument(2), 0, 0),
        step(EQUALS, 0, 2, 0),
        step(EQUALS, libc::IPPROTO_TCP as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
    ]
}

/// Replaces each notified socket by an MPTCP socket, until no filtered process is left. The
/// original call continues when no MPTCP socket can be opened, or when the caller is in another
/// network namespace than this thread.
///
/// # Errors
/// Fails when the listener fails.
pub(crate) fn serve_notifications(listener: &OwnedFd, congestion: Option<&str>) -> Result<(), Error> {
    let here = process::network_namespace()?;
    let failed = |error: io::Error| Error::system("receive seccomp notifications", error);
    loop {
        let mut polled = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut polled, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        if !polled[0].revents().contains(PollFlags::IN) {
            if polled[0].revents().is_empty() {
                continue;
            }
            return Ok(());
        }
        // SAFETY: the structure holds only integers, for which zero is valid; the kernel requires
        // zeros.
        #[allow(unsafe_code)]
        let mut call: libc::seccomp_notif = unsafe { core::mem::zeroed() };
        match ioctl(listener, &mut call) {
            Ok(()) => {}
            // The caller was killed in the meantime.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => continue,
            Err(error) => return Err(failed(error)),
        }
        if !is_in_namespace(call.pid, here) || complete_with_mptcp(listener, &call, congestion).is_err() {
            let mut proceed = libc::seccomp_notif_resp {
                id: call.id,
                val: 0,
                error: 0,
                flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            };
            // This fails only when the caller has ended.
            let _ = ioctl(listener, &mut proceed);
        }
    }
}

fn is_in_namespace(process: u32, namespace: u64) -> bool {
    std::fs::metadata(format!("/proc/{process}/ns/net")).is_ok_and(|meta| meta.ino() == namespace)
}

/// Completes the call with an MPTCP socket.
fn complete_with_mptcp(
    listener: &OwnedFd,
    call: &libc::seccomp_notif,
    congestion: Option<&str>,
) -> io::Result<()> {
    let [family, kind, ..] = call.data.args.map(|argument| argument as i32);
    let family = if family == libc::AF_INET { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut flags = SocketFlags::CLOEXEC;
    flags.set(SocketFlags::NONBLOCK, kind & libc::SOCK_NONBLOCK != 0);
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::MPTCP))?;
    if let Some(name) = congestion {
        // On failure the socket keeps the default congestion control, as a socket of the program
        // would.
        let _ = set_congestion(&socket, name);
    }
    let mut add_fd = libc::seccomp_notif_addfd {
        id: call.id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: socket.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if kind & libc::SOCK_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC as u32 },
    };
    ioctl(listener, &mut add_fd)
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

// SAFETY: SECCOMP_IOCTL_NOTIF_ADDFD reads a `struct seccomp_notif_addfd`. Its descriptors are
// numbers; a wrong one is an error of the call.
#[allow(unsafe_code)]
unsafe impl ListenerRequest for libc::seccomp_notif_addfd {
    const REQUEST: libc::Ioctl = libc::SECCOMP_IOCTL_NOTIF_ADDFD;
}

fn ioctl<T: ListenerRequest>(listener: &OwnedFd, value: &mut T) -> io::Result<()> {
    // SAFETY: the trait ties the request to the structure that it takes, which outlives the call.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), T::REQUEST, &raw mut *value) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets the filter for one call; supports only the instructions it uses.
    fn evaluate(data: &[u32; 16]) -> u32 {
        let filter = build_filter(0xC000_003E, 0);
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            match u32::from(step.code) {
                0x20 => accumulator = data[step.k as usize / 4],
                0x54 => accumulator &= step.k,
                0x15 => at += usize::from(if accumulator == step.k { step.jt } else { step.jf }),
                0x06 => return step.k,
                other => panic!("unsupported instruction {other:#x}"),
            }
        }
    }

    #[test]
    fn filter_notifies_only_on_tcp_streams() {
        let call = |machine, number, arguments: [i32; 3]| {
            let mut data = [0_u32; 16];
            (data[0], data[1]) = (number, machine);
            for (n, argument) in arguments.into_iter().enumerate() {
                data[4 + 2 * n] = argument as u32;
            }
            evaluate(&data) == libc::SECCOMP_RET_USER_NOTIF
        };
        let socket = libc::SYS_socket as u32;
        let here = |arguments| call(0xC000_003E, socket, arguments);
        let (v4, v6, unix) = (libc::AF_INET, libc::AF_INET6, libc::AF_UNIX);
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        for notified in [[v4, 1, 0], [v6, 1, 0], [v4, 1, 6], [v6, 1 | flags, 6]] {
            assert!(here(notified), "{notified:?}");
        }
        for allowed in [[unix, 1, 0], [v4, 2, 0], [v4, 2 | flags, 17], [v6, 3, 6], [v4, 1, 262], [v4, 1, 132]]
        {
            assert!(!here(allowed), "{allowed:?}");
        }
        assert!(!call(0xC000_003E, socket + 1, [v4, 1, 0]));
        assert!(!call(0x4000_0003, socket, [v4, 1, 0]), "another architecture");
    }
}
