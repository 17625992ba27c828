//! Sockets of any program become Multipath TCP, whatever it asked for.
//!
//! A seccomp filter with a listener (seccomp_unotify(2)) tells of every `socket()` for a TCP stream, and what
//! the caller is given is an MPTCP socket that we have made. Unlike a preloaded library it holds for programs
//! that are linked statically, and for all that a program starts; no setting of the system is changed.
//! Everything else that a program does goes its way unseen.

use crate::socket::set_congestion;
use crate::{Error, process};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// How the kernel calls this machine (linux/audit.h); `None` where that was not looked up.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else {
    None
};

/// Puts the filter on the calling thread, and on every thread and process that it starts from now on. What
/// comes back is to be given to [`answer`], in a thread that began before: otherwise all of them wait.
///
/// # Errors
/// Where the caller may not (CAP_SYS_ADMIN), the kernel has no such filters, or another one with a listener
/// is there already.
pub(crate) fn listen() -> Result<OwnedFd, Error> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(Error::Lacks {
            what: "sockets cannot be made Multipath TCP on this machine's architecture".to_owned(),
            hint: "programs that ask for it themselves, and `mptcpize run`, have it".to_owned(),
        });
    };
    let mut filter = filter(architecture, u32::from(cfg!(target_endian = "big")) * 4);
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    /// Once its call has been heard of, a caller is only interrupted by what kills it (Linux 5.19): some
    /// run times send themselves signals all the time.
    const WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;
    let set = |flags: libc::c_ulong| {
        // SAFETY: the kernel reads `program` and the filter that it points to, both of which outlive the call.
        #[allow(unsafe_code)]
        let answer = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer as RawFd) }
    };
    let listener = set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV)
        .or_else(|_| set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER))
        .map_err(|error| Error::system("listen for sockets that programs open", error))?;
    // SAFETY: the call has just opened it, and nobody else knows of it.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// Lets everything pass but a TCP stream over IPv4 or IPv6. The lower half of an argument lies `low` bytes
/// into it.
fn filter(architecture: u32, low: u32) -> Vec<libc::sock_filter> {
    /// Load a word, compare, combine, return (linux/bpf_common.h).
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    /// Places in `struct seccomp_data`.
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
        // The rest are flags.
        step(AND, 0xf, 0, 0),
        step(EQUALS, libc::SOCK_STREAM as u32, 0, 3),
        step(LOAD, argument(2), 0, 0),
        step(EQUALS, 0, 2, 0),
        step(EQUALS, libc::IPPROTO_TCP as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
    ]
}

/// Gives every caller an MPTCP socket, of that congestion control where one is named, until nobody is left
/// who could call. Where there is none to be had, or the caller has gone to another network namespace than
/// this thread's, it gets what it asked for.
///
/// # Errors
/// Where the listener fails.
pub(crate) fn answer(listener: &OwnedFd, congestion: Option<&str>) -> Result<(), Error> {
    let here = process::network_namespace()?;
    let failed = |error: io::Error| Error::system("hear of the sockets that programs open", error);
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
        // SAFETY: all of it are numbers, for which zeros are valid; the kernel asks for zeros.
        #[allow(unsafe_code)]
        let mut call: libc::seccomp_notif = unsafe { core::mem::zeroed() };
        match ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut call) {
            Ok(()) => {}
            // Whoever called was killed meanwhile.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => continue,
            Err(error) => return Err(failed(error)),
        }
        if !lives_in(call.pid, here) || give(listener, &call, congestion).is_err() {
            let mut go_on = libc::seccomp_notif_resp {
                id: call.id,
                val: 0,
                error: 0,
                flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            };
            // It fails only for a caller that is no more.
            let _ = ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut go_on);
        }
    }
}

fn lives_in(process: u32, namespace: u64) -> bool {
    std::fs::metadata(format!("/proc/{process}/ns/net")).is_ok_and(|meta| meta.ino() == namespace)
}

/// The answer to a call is a socket.
fn give(listener: &OwnedFd, call: &libc::seccomp_notif, congestion: Option<&str>) -> io::Result<()> {
    let [family, kind, ..] = call.data.args.map(|argument| argument as i32);
    let family = if family == libc::AF_INET { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut flags = SocketFlags::CLOEXEC;
    flags.set(SocketFlags::NONBLOCK, kind & libc::SOCK_NONBLOCK != 0);
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::MPTCP))?;
    if let Some(name) = congestion {
        // Without it the socket is as good as those that programs open by themselves.
        let _ = set_congestion(&socket, name);
    }
    let mut given = libc::seccomp_notif_addfd {
        id: call.id,
        flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
        srcfd: socket.as_raw_fd() as u32,
        newfd: 0,
        newfd_flags: if kind & libc::SOCK_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC as u32 },
    };
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut given)
}

fn ioctl<T>(listener: &OwnedFd, request: libc::Ioctl, value: &mut T) -> io::Result<()> {
    debug_assert!(size_of::<T>() <= 80, "one of the structures of linux/seccomp.h");
    // SAFETY: the request's number says how long its structure is, callers pass the one that it is made of,
    // and it lives until the call is over.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::ioctl(listener.as_raw_fd(), request, &raw mut *value) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter says of a call: only as much of the machine as it uses.
    fn judge(data: &[u32; 16]) -> u32 {
        let filter = filter(0xC000_003E, 0);
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let step = filter[at];
            at += 1;
            match u32::from(step.code) {
                0x20 => accumulator = data[step.k as usize / 4],
                0x54 => accumulator &= step.k,
                0x15 => at += usize::from(if accumulator == step.k { step.jt } else { step.jf }),
                0x06 => return step.k,
                other => panic!("a step {other:#x}"),
            }
        }
    }

    #[test]
    fn only_tcp_streams_are_told_of() {
        let call = |machine, number, arguments: [i32; 3]| {
            let mut data = [0_u32; 16];
            (data[0], data[1]) = (number, machine);
            for (n, argument) in arguments.into_iter().enumerate() {
                data[4 + 2 * n] = argument as u32;
            }
            judge(&data) == libc::SECCOMP_RET_USER_NOTIF
        };
        let socket = libc::SYS_socket as u32;
        let here = |arguments| call(0xC000_003E, socket, arguments);
        let (v4, v6, unix) = (libc::AF_INET, libc::AF_INET6, libc::AF_UNIX);
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        for told in [[v4, 1, 0], [v6, 1, 0], [v4, 1, 6], [v6, 1 | flags, 6]] {
            assert!(here(told), "{told:?}");
        }
        for silent in [[unix, 1, 0], [v4, 2, 0], [v4, 2 | flags, 17], [v6, 3, 6], [v4, 1, 262], [v4, 1, 132]]
        {
            assert!(!here(silent), "{silent:?}");
        }
        assert!(!call(0xC000_003E, socket + 1, [v4, 1, 0]));
        assert!(!call(0x4000_0003, socket, [v4, 1, 0]), "of another architecture");
    }
}
