//! The process that made a suspended call: its descriptors and its memory.

use super::calls::{Buffer, Call, Kind, Target};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Most bytes of a part of a transfer.
const MAX_PART: u64 = 100;

/// The caller of a suspended call.
pub(super) struct Caller<'a> {
    /// Number of the calling thread.
    thread: u32,
    arguments: &'a [u64; 6],
}

impl<'a> Caller<'a> {
    pub(super) fn new(notification: &'a libc::seccomp_notif) -> Self {
        Self { thread: notification.pid, arguments: &notification.data.args }
    }

    /// What the call works on.
    pub(super) fn target(&self, call: &Call) -> Target {
        match call.kind {
            Kind::Opens | Kind::Accepts | Kind::Waits | Kind::TakesRoom => Target::Other,
            Kind::OpensFile if self.arguments[2] as i32 & libc::O_CREAT != 0 => Target::NewFile,
            Kind::OpensFile => Target::File,
            Kind::Connects | Kind::Reads(_) | Kind::Writes(_) => self.kind_of_descriptor(),
        }
    }

    fn kind_of_descriptor(&self) -> Target {
        let path = format!("/proc/{}/fd/{}", self.thread, self.arguments[0]);
        if std::fs::metadata(path).is_ok_and(|meta| meta.is_file()) {
            return Target::File;
        }
        // This also fails for descriptors that are no sockets.
        let socket = || {
            let descriptor = self.descriptor().ok()?;
            let family = sockopt::socket_domain(&descriptor).ok()?;
            Some((family, sockopt::socket_type(&descriptor).ok()?))
        };
        match socket() {
            Some((AddressFamily::NETLINK, _)) => Target::Netlink,
            Some((_, SocketType::STREAM)) => Target::Stream,
            Some((AddressFamily::INET | AddressFamily::INET6, SocketType::DGRAM)) => Target::Datagram,
            _ => Target::Other,
        }
    }

    /// A duplicate of the descriptor in argument 0.
    fn descriptor(&self) -> io::Result<OwnedFd> {
        // pidfd_open(2) takes the number of a process, that is, of its first thread.
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.thread))?;
        let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
        let process = group.and_then(|text| text.trim().parse().ok()).and_then(Pid::from_raw);
        let process = process.ok_or_else(|| io::Error::other("no process number"))?;
        let process = pidfd_open(process, PidfdFlags::empty())?;
        Ok(pidfd_getfd(process, self.arguments[0] as i32, PidfdGetfdFlags::empty())?)
    }

    /// Makes the call for a part of its bytes, whose number `random` decides. `None` if the call
    /// has less than two bytes, would block, or must not be short.
    pub(super) fn transfer_part(&self, call: &Call, random: u64) -> Option<Result<i64, Errno>> {
        let (buffer, is_read) = match call.kind {
            Kind::Reads(buffer) => (buffer, true),
            Kind::Writes(buffer) => (buffer, false),
            _ => return None,
        };
        let memory =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", self.thread)).ok()?;
        let (address, length) = self.first_buffer(buffer, &memory)?;
        let part = 1 + random % length.checked_sub(1).filter(|most| *most > 0)?.min(MAX_PART);
        let descriptor = self.descriptor().ok()?;
        if waits_for_edges(&descriptor) || !is_ready(&descriptor, is_read) {
            return None;
        }
        let mut bytes = vec![0; part as usize];
        let offset = (buffer == Buffer::AtOffset).then_some(self.arguments[3]);
        let flags = self.socket_flags(call);
        if is_read {
            let count = match (offset, flags) {
                (Some(offset), _) => rustix::io::pread(&descriptor, &mut bytes[..], offset),
                (None, Some(flags)) => {
                    let flags = RecvFlags::from_bits_retain(flags);
                    rustix::net::recv(&descriptor, &mut bytes[..], flags).map(|(count, _)| count)
                }
                (None, None) => rustix::io::read(&descriptor, &mut bytes[..]),
            };
            // The page was mapped when the call began; its thread is suspended.
            let stored = count.and_then(|count| {
                memory.write_all_at(&bytes[..count], address).map_err(|_| Errno::FAULT)?;
                Ok(count as i64)
            });
            return Some(stored);
        }
        memory.read_exact_at(&mut bytes, address).ok()?;
        let count = match (offset, flags) {
            (Some(offset), _) => rustix::io::pwrite(&descriptor, &bytes, offset),
            (None, Some(flags)) => {
                // Without a signal: that would end this process.
                let flags = SendFlags::from_bits_retain(flags) | SendFlags::NOSIGNAL;
                rustix::net::send(&descriptor, &bytes, flags)
            }
            (None, None) => rustix::io::write(&descriptor, &bytes),
        };
        Some(count.map(|count| count as i64))
    }

    /// Address and length of the call's only or first buffer.
    fn first_buffer(&self, buffer: Buffer, memory: &File) -> Option<(u64, u64)> {
        match buffer {
            Buffer::Plain | Buffer::AtOffset => Some((self.arguments[1], self.arguments[2])),
            Buffer::Vector => {
                let mut words = [0; 16];
                memory.read_exact_at(&mut words, self.arguments[1]).ok()?;
                let (address, length) = words.split_first_chunk::<8>()?;
                let length = length.first_chunk::<8>()?;
                Some((u64::from_ne_bytes(*address), u64::from_ne_bytes(*length)))
            }
            Buffer::Message => None,
        }
    }

    /// Flags of a call that takes any.
    fn socket_flags(&self, call: &Call) -> Option<u32> {
        matches!(call.name, "recvfrom" | "sendto").then_some(self.arguments[3] as u32)
    }
}

/// True for a socket that does not block. A program that waits for edges may conclude from a short
/// transfer that a stream is empty or full (epoll(7)), and would wait for ever.
fn waits_for_edges(descriptor: &OwnedFd) -> bool {
    let is_socket = sockopt::socket_type(descriptor).is_ok();
    is_socket && fcntl_getfl(descriptor).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK))
}

/// True if a transfer does not block.
fn is_ready(descriptor: &OwnedFd, is_read: bool) -> bool {
    let wanted = if is_read { PollFlags::IN } else { PollFlags::OUT };
    let mut polled = [PollFd::new(descriptor, wanted)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&at_once)).is_ok_and(|count| count > 0)
}
