//! Turns the TCP sockets of any program into MPTCP sockets.
//!
//! The filter suspends every `socket()` call for a TCP stream. The supervisor opens an MPTCP socket
//! and installs it as the result of the call. Unlike an LD_PRELOAD library this also covers
//! statically linked programs and all child processes.

use super::{ARCHITECTURE, Interruptible, Listener, step};
use crate::socket::set_congestion;
use crate::{Error, process};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io;
use std::os::unix::fs::MetadataExt;

/// Installs the filter on the calling thread. The returned listener must be passed to
/// [`serve_notifications`] on a thread that started before.
///
/// # Errors
/// As [`Listener::install`]; also on an unsupported architecture.
pub(crate) fn install_filter() -> Result<Listener, Error> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(Error::Lacks {
            what: "cannot make sockets Multipath TCP on this machine's architecture".to_owned(),
            hint: "use programs that open MPTCP sockets, or `mptcpize run`".to_owned(),
        });
    };
    let mut filter = build_filter(architecture);
    Listener::install(&mut filter, Interruptible::ByFatalSignals)
        .or_else(|_| Listener::install(&mut filter, Interruptible::ByAllSignals))
}

/// Program that notifies on TCP stream sockets over IPv4 or IPv6 and allows all other calls.
fn build_filter(architecture: u32) -> Vec<libc::sock_filter> {
    vec![
        step::load_architecture(),
        step::if_equal(architecture, 0, 11),
        step::load_number(),
        step::if_equal(libc::SYS_socket as u32, 0, 9),
        step::load_argument(0),
        step::if_equal(libc::AF_INET as u32, 1, 0),
        step::if_equal(libc::AF_INET6 as u32, 0, 6),
        step::load_argument(1),
        // The upper bits of the type are SOCK_NONBLOCK and SOCK_CLOEXEC.
        step::and(0xf),
        step::if_equal(libc::SOCK_STREAM as u32, 0, 3),
        step::load_argument(2),
        step::if_equal(0, 2, 0),
        step::if_equal(libc::IPPROTO_TCP as u32, 1, 0),
        step::allow(),
        step::notify(),
    ]
}

/// Replaces each notified socket by an MPTCP socket, until no filtered process is left. The
/// original call continues when no MPTCP socket can be opened, or when the caller is in another
/// network namespace than this thread.
///
/// # Errors
/// Fails when the listener fails.
pub(crate) fn serve_notifications(listener: &Listener, congestion: Option<&str>) -> Result<(), Error> {
    let here = process::network_namespace()?;
    while let Some(call) = listener.next()? {
        if !is_in_namespace(call.pid, here) || complete_with_mptcp(listener, &call, congestion).is_err() {
            listener.proceed(&call);
        }
    }
    Ok(())
}

fn is_in_namespace(process: u32, namespace: u64) -> bool {
    std::fs::metadata(format!("/proc/{process}/ns/net")).is_ok_and(|meta| meta.ino() == namespace)
}

/// Completes the call with an MPTCP socket.
fn complete_with_mptcp(
    listener: &Listener,
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
    let on_exec = if kind & libc::SOCK_CLOEXEC == 0 { 0 } else { libc::O_CLOEXEC as u32 };
    listener.answer_with(call, &socket, on_exec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Interprets the filter for one call; supports only the instructions it uses.
    fn evaluate(data: &[u32; 16]) -> u32 {
        let filter = build_filter(0xC000_003E);
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
