//! The process that made a suspended call: its descriptors and its memory.
//!
//! Its number may pass to another process once it is killed. So memory and descriptors are opened by
//! that number first, and used only if the caller still waits then.

use super::calls::{Buffer, Call, DescriptorKind, Operation};
use crate::option;
use crate::seccomp::Listener;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Most bytes of a part of a transfer.
const MAX_PART: u64 = 100;

/// The caller of a suspended call.
pub(super) struct Caller<'a> {
    listener: &'a Listener,
    notification: &'a libc::seccomp_notif,
    arguments: &'a [u64; 6],
}

impl<'a> Caller<'a> {
    pub(super) fn new(listener: &'a Listener, notification: &'a libc::seccomp_notif) -> Self {
        Self { listener, notification, arguments: &notification.data.args }
    }

    /// The object on which the call works.
    pub(super) fn descriptor_kind(&self, call: &Call) -> DescriptorKind {
        match call.operation {
            Operation::OpensFile if self.arguments[2] as i32 & libc::O_CREAT != 0 => DescriptorKind::NewFile,
            Operation::OpensFile => DescriptorKind::File,
            Operation::Connects | Operation::Reads(_) | Operation::Writes(_) => {
                self.descriptor().map_or(DescriptorKind::Other, |descriptor| kind_of(&descriptor))
            }
            _ => DescriptorKind::Other,
        }
    }

    /// A duplicate of the descriptor in argument 0.
    fn descriptor(&self) -> Option<OwnedFd> {
        // pidfd_open(2) takes the number of a process, that is, of its first thread.
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.notification.pid)).ok()?;
        let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
        let process = Pid::from_raw(process.trim().parse().ok()?)?;
        let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
        let descriptor = pidfd_getfd(process, self.arguments[0] as i32, PidfdGetfdFlags::empty()).ok()?;
        self.listener.is_waiting(self.notification).then_some(descriptor)
    }

    fn memory(&self) -> Option<File> {
        let path = format!("/proc/{}/mem", self.notification.pid);
        let memory = OpenOptions::new().read(true).write(true).open(path).ok()?;
        self.listener.is_waiting(self.notification).then_some(memory)
    }

    /// Makes the call for a part of its bytes; `random` decides how many. `None` if the call
    /// has less than two bytes, would block, or must not be short.
    pub(super) fn transfer_part(&self, call: &Call, random: u64) -> Option<Result<i64, Errno>> {
        let memory = self.memory()?;
        let (Operation::Reads(buffer) | Operation::Writes(buffer)) = call.operation else { return None };
        let (address, length) = self.first_buffer(buffer, &memory)?;
        let part = 1 + random % length.checked_sub(1).filter(|most| *most > 0)?.min(MAX_PART);
        let descriptor = self.descriptor()?;
        if waits_for_edges(&descriptor) {
            return None;
        }
        let mut bytes = vec![0; part as usize];
        let offset = (buffer == Buffer::AtOffset).then_some(self.arguments[3]);
        let result = if matches!(call.operation, Operation::Reads(_)) {
            self.read(call, &descriptor, &mut bytes, offset).and_then(|count| {
                // The page was mapped when the call began; its thread is suspended.
                memory.write_all_at(&bytes[..count], address).map_err(|_| Errno::FAULT)?;
                Ok(count)
            })
        } else {
            memory.read_exact_at(&mut bytes, address).ok()?;
            self.write(call, &descriptor, &bytes, offset)
        };
        (result != Err(Errno::AGAIN)).then_some(result.map(|count| count as i64))
    }

    fn read(
        &self,
        call: &Call,
        from: &OwnedFd,
        bytes: &mut [u8],
        offset: Option<u64>,
    ) -> Result<usize, Errno> {
        if let Some(offset) = offset {
            return rustix::io::pread(from, bytes, offset);
        }
        if sockopt::socket_type(from).is_err() {
            return rustix::io::read(from, bytes);
        }
        let flags = RecvFlags::from_bits_retain(self.socket_flags(call)) | RecvFlags::DONTWAIT;
        rustix::net::recv(from, bytes, flags).map(|(count, _)| count)
    }

    fn write(&self, call: &Call, to: &OwnedFd, bytes: &[u8], offset: Option<u64>) -> Result<usize, Errno> {
        if let Some(offset) = offset {
            return rustix::io::pwrite(to, bytes, offset);
        }
        if sockopt::socket_type(to).is_err() {
            return rustix::io::write(to, bytes);
        }
        // A signal would end this process.
        let safe = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        rustix::net::send(to, bytes, SendFlags::from_bits_retain(self.socket_flags(call)) | safe)
    }

    /// Discards the received messages of a netlink socket that listens to multicast groups: the kernel
    /// loses messages of others only by a lack of memory.
    pub(super) fn overrun(&self) -> Option<Errno> {
        let descriptor = self.descriptor()?;
        if !listens_to_groups(&descriptor) {
            return None;
        }
        let mut discarded = [0];
        while rustix::net::recv(&descriptor, &mut discarded[..], RecvFlags::DONTWAIT).is_ok() {}
        Some(Errno::NOBUFS)
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

    fn socket_flags(&self, call: &Call) -> u32 {
        if matches!(call.name, "recvfrom" | "sendto") { self.arguments[3] as u32 } else { 0 }
    }
}

fn kind_of(descriptor: &OwnedFd) -> DescriptorKind {
    let is_file = rustix::fs::fstat(descriptor)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file());
    if is_file {
        return DescriptorKind::File;
    }
    let Ok(family) = sockopt::socket_domain(descriptor) else { return DescriptorKind::Other };
    match (family, sockopt::socket_type(descriptor)) {
        (AddressFamily::NETLINK, _) => DescriptorKind::Netlink,
        (_, Ok(SocketType::STREAM)) => DescriptorKind::Stream,
        (AddressFamily::INET | AddressFamily::INET6, Ok(SocketType::DGRAM)) => DescriptorKind::Datagram,
        _ => DescriptorKind::Other,
    }
}

/// True for a socket that does not block. A program that waits for edges may conclude from a short
/// transfer that a stream is empty or full (epoll(7)), and would wait for ever.
fn waits_for_edges(descriptor: &OwnedFd) -> bool {
    let is_socket = sockopt::socket_type(descriptor).is_ok();
    is_socket && fcntl_getfl(descriptor).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK))
}

fn listens_to_groups(netlink: &OwnedFd) -> bool {
    let mut groups = [0; 64];
    // SAFETY: the kernel writes a bit for each group, no pointer.
    #[allow(unsafe_code)]
    let length =
        unsafe { option::get(netlink, libc::SOL_NETLINK, libc::NETLINK_LIST_MEMBERSHIPS, &mut groups) };
    length.is_ok() && groups.iter().any(|bits| *bits != 0)
}
