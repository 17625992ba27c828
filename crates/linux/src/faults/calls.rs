//! The system calls that can fail, and how each fails for which kind of descriptor.

use rustix::io::Errno;

/// What a call does, which decides how it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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

/// What the descriptor of a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
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
    /// The call returns an error, whose name is given.
    Fails(&'static str, Errno),
    /// The call transfers a part of the bytes.
    Short,
    /// The call succeeds, and the datagram is lost.
    Vanishes,
}

impl Fault {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fails(name, _) => name,
            Self::Short => "short",
            Self::Vanishes => "lost",
        }
    }
}

/// A system call that can fail.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: libc::c_long,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

const fn call(number: libc::c_long, name: &'static str, kind: Kind) -> Call {
    Call { number, name, kind }
}

/// All calls that can fail.
pub(super) const CALLS: &[Call] = &[
    call(libc::SYS_socket, "socket", Kind::Opens),
    call(libc::SYS_socketpair, "socketpair", Kind::Opens),
    call(libc::SYS_pipe2, "pipe2", Kind::Opens),
    call(libc::SYS_openat, "openat", Kind::OpensFile),
    call(libc::SYS_accept4, "accept4", Kind::Accepts),
    call(libc::SYS_connect, "connect", Kind::Connects),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_epoll_wait, "epoll_wait", Kind::Waits),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_poll, "poll", Kind::Waits),
    call(libc::SYS_epoll_pwait, "epoll_pwait", Kind::Waits),
    call(libc::SYS_ppoll, "ppoll", Kind::Waits),
    call(libc::SYS_read, "read", Kind::Reads(Buffer::Plain)),
    call(libc::SYS_pread64, "pread64", Kind::Reads(Buffer::AtOffset)),
    call(libc::SYS_readv, "readv", Kind::Reads(Buffer::Vector)),
    call(libc::SYS_recvfrom, "recvfrom", Kind::Reads(Buffer::Plain)),
    call(libc::SYS_recvmsg, "recvmsg", Kind::Reads(Buffer::Message)),
    call(libc::SYS_write, "write", Kind::Writes(Buffer::Plain)),
    call(libc::SYS_pwrite64, "pwrite64", Kind::Writes(Buffer::AtOffset)),
    call(libc::SYS_writev, "writev", Kind::Writes(Buffer::Vector)),
    call(libc::SYS_sendto, "sendto", Kind::Writes(Buffer::Plain)),
    call(libc::SYS_sendmsg, "sendmsg", Kind::Writes(Buffer::Message)),
    call(libc::SYS_fsync, "fsync", Kind::TakesRoom),
    call(libc::SYS_fdatasync, "fdatasync", Kind::TakesRoom),
    call(libc::SYS_ftruncate, "ftruncate", Kind::TakesRoom),
    call(libc::SYS_fallocate, "fallocate", Kind::TakesRoom),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, "rename", Kind::TakesRoom),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, "mkdir", Kind::TakesRoom),
    call(libc::SYS_renameat2, "renameat2", Kind::TakesRoom),
    call(libc::SYS_mkdirat, "mkdirat", Kind::TakesRoom),
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
    /// The faults of this call on such a descriptor, as manual pages of section 2 list them.
    pub(super) const fn faults(&self, target: Target) -> &'static [Fault] {
        match (self.kind, target) {
            (Kind::Opens, _) => &[EMFILE, ENFILE, ENOMEM],
            (Kind::OpensFile, Target::NewFile) => &[EMFILE, ENFILE, ENOSPC, EINTR],
            (Kind::OpensFile, _) => &[EMFILE, ENFILE, EINTR],
            (Kind::Accepts, _) => &[EMFILE, ENFILE, ENOBUFS, ECONNABORTED, EINTR],
            // An interrupted connect(2) goes on, which cannot be shown without the kernel.
            (Kind::Connects, Target::Stream | Target::Datagram) => &[ENOBUFS, EADDRNOTAVAIL],
            (Kind::Waits, _) => &[EINTR],
            (Kind::Reads(Buffer::Message), Target::Stream) => &[EINTR, ENOMEM],
            (Kind::Reads(_), Target::Stream) => &[EINTR, ENOMEM, Fault::Short, Fault::Short],
            (Kind::Reads(_), Target::File) => &[Fault::Short],
            (Kind::Reads(_), Target::Netlink | Target::Datagram) => &[EINTR, ENOMEM, ENOBUFS],
            (Kind::Writes(Buffer::Message), Target::Stream) => &[EINTR, ENOBUFS],
            (Kind::Writes(_), Target::Stream) => &[EINTR, ENOBUFS, Fault::Short, Fault::Short],
            (Kind::Writes(_), Target::File) => &[ENOSPC, EINTR, Fault::Short],
            (Kind::Writes(Buffer::Message), Target::Datagram) | (Kind::Writes(_), Target::Netlink) => {
                &[EINTR, ENOBUFS]
            }
            (Kind::Writes(_), Target::Datagram) => &[EINTR, ENOBUFS, Fault::Vanishes, Fault::Vanishes],
            (Kind::TakesRoom, _) => &[ENOSPC],
            _ => &[],
        }
    }
}
