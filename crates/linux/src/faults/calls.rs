//! The system calls that can fail, and how each fails for which kind of descriptor.

use rustix::io::Errno;

/// The kind of a call, which decides how it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Opens a descriptor that is no file.
    Opens,
    /// Opens a file; the flags are argument 2.
    OpensFile,
    Accepts,
    Connects,
    /// Waits for descriptors.
    Waits,
    /// Receives into the buffer.
    Reads(Buffer),
    /// Sends from the buffer.
    Writes(Buffer),
    /// Takes room on a disk, without a buffer.
    TakesRoom,
}

/// Where a call finds its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffer {
    /// Address and length are arguments 1 and 2.
    Plain,
    /// As `Plain`, with an offset in the file as argument 3.
    AtOffset,
    /// Argument 1 is the address of an array of addresses and lengths.
    Vector,
    /// Argument 1 is the address of a message header.
    Message,
}

/// The object behind a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DescriptorKind {
    /// A regular file.
    File,
    /// A file that the call would create.
    NewFile,
    /// A connected byte stream.
    Stream,
    /// A datagram socket over IP.
    Datagram,
    Netlink,
    /// A pipe, a terminal, an event descriptor, or none.
    Other,
}

/// One way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The call returns an error: its name and number.
    Fails(&'static str, Errno),
    /// The call transfers a part of the bytes.
    Short,
    /// The call succeeds, and the datagram is lost.
    Vanishes,
    /// The kernel reports lost messages of multicast groups, and those not yet received are lost.
    Overrun,
}

impl Fault {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fails(name, _) => name,
            Self::Short => "short",
            Self::Vanishes => "lost",
            Self::Overrun => "ENOBUFS",
        }
    }
}

/// A system call that can fail.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: libc::c_long,
    pub(super) name: &'static str,
    pub(super) operation: Operation,
}

const fn call(number: libc::c_long, name: &'static str, operation: Operation) -> Call {
    Call { number, name, operation }
}

/// All calls that can fail.
pub(super) const CALLS: &[Call] = &[
    call(libc::SYS_socket, "socket", Operation::Opens),
    call(libc::SYS_socketpair, "socketpair", Operation::Opens),
    call(libc::SYS_pipe2, "pipe2", Operation::Opens),
    call(libc::SYS_openat, "openat", Operation::OpensFile),
    call(libc::SYS_accept4, "accept4", Operation::Accepts),
    call(libc::SYS_connect, "connect", Operation::Connects),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_epoll_wait, "epoll_wait", Operation::Waits),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_poll, "poll", Operation::Waits),
    call(libc::SYS_epoll_pwait, "epoll_pwait", Operation::Waits),
    call(libc::SYS_ppoll, "ppoll", Operation::Waits),
    call(libc::SYS_read, "read", Operation::Reads(Buffer::Plain)),
    call(libc::SYS_pread64, "pread64", Operation::Reads(Buffer::AtOffset)),
    call(libc::SYS_readv, "readv", Operation::Reads(Buffer::Vector)),
    call(libc::SYS_recvfrom, "recvfrom", Operation::Reads(Buffer::Plain)),
    call(libc::SYS_recvmsg, "recvmsg", Operation::Reads(Buffer::Message)),
    call(libc::SYS_write, "write", Operation::Writes(Buffer::Plain)),
    call(libc::SYS_pwrite64, "pwrite64", Operation::Writes(Buffer::AtOffset)),
    call(libc::SYS_writev, "writev", Operation::Writes(Buffer::Vector)),
    call(libc::SYS_sendto, "sendto", Operation::Writes(Buffer::Plain)),
    call(libc::SYS_sendmsg, "sendmsg", Operation::Writes(Buffer::Message)),
    call(libc::SYS_fsync, "fsync", Operation::TakesRoom),
    call(libc::SYS_fdatasync, "fdatasync", Operation::TakesRoom),
    call(libc::SYS_ftruncate, "ftruncate", Operation::TakesRoom),
    call(libc::SYS_fallocate, "fallocate", Operation::TakesRoom),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Operation::TakesRoom),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", Operation::TakesRoom),
    #[cfg(not(target_arch = "riscv64"))]
    call(libc::SYS_renameat, "renameat", Operation::TakesRoom),
    call(libc::SYS_renameat2, "renameat2", Operation::TakesRoom),
    call(libc::SYS_mkdirat, "mkdirat", Operation::TakesRoom),
];

const EMFILE: Fault = Fault::Fails("EMFILE", Errno::MFILE);
const ENFILE: Fault = Fault::Fails("ENFILE", Errno::NFILE);
const ENOMEM: Fault = Fault::Fails("ENOMEM", Errno::NOMEM);
const ENOBUFS: Fault = Fault::Fails("ENOBUFS", Errno::NOBUFS);
const ENOSPC: Fault = Fault::Fails("ENOSPC", Errno::NOSPC);
const EINTR: Fault = Fault::Fails("EINTR", Errno::INTR);
const ECONNABORTED: Fault = Fault::Fails("ECONNABORTED", Errno::CONNABORTED);
const EADDRNOTAVAIL: Fault = Fault::Fails("EADDRNOTAVAIL", Errno::ADDRNOTAVAIL);

impl Call {
    /// The faults that Linux has for this call on such a descriptor.
    pub(super) const fn faults(&self, descriptor: DescriptorKind) -> &'static [Fault] {
        match (self.operation, descriptor) {
            (Operation::Opens, _) => &[EMFILE, ENFILE, ENOMEM],
            (Operation::OpensFile, DescriptorKind::NewFile) => &[EMFILE, ENFILE, ENOSPC, EINTR],
            (Operation::OpensFile, _) => &[EMFILE, ENFILE, EINTR],
            (Operation::Accepts, _) => &[EMFILE, ENFILE, ENOBUFS, ECONNABORTED, EINTR],
            // An interrupted connect(2) goes on, which cannot be shown without the kernel.
            (Operation::Connects, DescriptorKind::Stream | DescriptorKind::Datagram) => {
                &[ENOBUFS, EADDRNOTAVAIL]
            }
            (Operation::Waits, _) => &[EINTR],
            (Operation::Reads(Buffer::Message), DescriptorKind::Stream) => &[EINTR, ENOMEM],
            (Operation::Reads(_), DescriptorKind::Stream) => &[EINTR, ENOMEM, Fault::Short, Fault::Short],
            (Operation::Reads(_), DescriptorKind::File) => &[Fault::Short],
            (Operation::Reads(_), DescriptorKind::Netlink) => &[EINTR, ENOMEM, Fault::Overrun],
            (Operation::Reads(_), DescriptorKind::Datagram) => &[EINTR, ENOMEM],
            (Operation::Writes(Buffer::Message), DescriptorKind::Stream) => &[EINTR, ENOBUFS],
            (Operation::Writes(_), DescriptorKind::Stream) => &[EINTR, ENOBUFS, Fault::Short, Fault::Short],
            (Operation::Writes(_), DescriptorKind::File) => &[ENOSPC, EINTR, Fault::Short],
            (Operation::Writes(Buffer::Plain), DescriptorKind::Datagram) => {
                &[EINTR, ENOBUFS, Fault::Vanishes, Fault::Vanishes]
            }
            (Operation::Writes(_), DescriptorKind::Datagram | DescriptorKind::Netlink) => &[EINTR, ENOBUFS],
            (Operation::TakesRoom, _) => &[ENOSPC],
            _ => &[],
        }
    }
}

// The filter jumps over this many instructions, in one byte.
const _: () = assert!(CALLS.len() < u8::MAX as usize);
