//! TUN devices: what the kernel routes to one is read as IP packets, and what is written arrives there.

use crate::Error;
use rustix::fs::{Mode, OFlags, open};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A TUN device of the namespace in which it was made. It goes when this is dropped.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
    /// A `struct virtio_net_hdr` stands before every packet.
    headed: bool,
}

/// What the kernel has left to be done to a packet, by whoever takes it from a device that offloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingOffload {
    /// From this byte on the packet is to be summed up, and the sum goes so many bytes behind it: where that of
    /// the pseudo header is now.
    pub checksum: Option<(u16, u16)>,
    /// It is more than one packet.
    pub split: Option<Split>,
}

/// What a packet is to be split into: the same headers, and each so much of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Segments of TCP, each with at most so many bytes.
    Tcp(u16),
    /// Datagrams of UDP, likewise.
    Udp(u16),
}

/// The longest packet that a device can have, with what stands before it.
pub const MAX_PACKET_BYTES: usize = 65_535 + HEADER;
/// Length of a `struct virtio_net_hdr`, of which the last field (`num_buffers`) is left out.
const HEADER: usize = 10;

impl PendingOffload {
    /// Reads a `struct virtio_net_hdr` (linux/virtio_net.h), in this machine's byte order.
    fn parse(header: [u8; HEADER]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        /// Whether it is of a flow with ECN does not matter: the kernel splits those with CWR set itself.
        const ECN: u8 = 0x80;
        let [flags, kind, _, _, s0, s1, c0, c1, o0, o1] = header;
        let size = u16::from_ne_bytes([s0, s1]);
        let split = match kind & !ECN {
            1 | 4 => Some(Split::Tcp(size)),
            5 => Some(Split::Udp(size)),
            _ => None,
        };
        let checksum = (u16::from_ne_bytes([c0, c1]), u16::from_ne_bytes([o0, o1]));
        Self {
            checksum: (flags & NEEDS_CHECKSUM != 0).then_some(checksum),
            split: split.filter(|_| size > 0),
        }
    }
}

/// The longest name of an interface, in bytes.
pub const MAX_NAME_BYTES: usize = libc::IFNAMSIZ - 1;

impl Tun {
    /// Makes a device called `name` (at most [`MAX_NAME_BYTES`] bytes), which is down at first. Reading
    /// never waits; each read and write is one IP packet without any header before it.
    ///
    /// # Errors
    /// Where there is no `/dev/net/tun`, the name is taken or too long, or the caller may not.
    pub fn create(name: &str) -> Result<Self, Error> {
        Self::make(name, false)
    }

    /// Makes one that offloads: the kernel leaves checksums, and the splitting of what is longer than a packet
    /// may be, to whoever reads it, as it does with an interface card. One read then brings up to 64 KB.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_offloading(name: &str) -> Result<Self, Error> {
        let tun = Self::make(name, true)?;
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // UDP is not split elsewhere before Linux 6.2.
        let udp = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // SAFETY: TUNSETOFFLOAD takes a number.
        #[allow(unsafe_code)]
        let set = |flags: libc::c_uint| unsafe {
            libc::ioctl(tun.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) >= 0
        };
        if !set(udp) && !set(tcp) {
            let doing = format!("let the TUN device {name} offload");
            return Err(Error::system(doing, io::Error::last_os_error()));
        }
        Ok(tun)
    }

    fn make(name: &str, headed: bool) -> Result<Self, Error> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(['/', '\0']) {
            return Err(Error::System {
                doing: format!("make a TUN device called `{name}`"),
                source: io::Error::other(format!("a name has 1 to {MAX_NAME_BYTES} bytes and no slash")),
            });
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = open("/dev/net/tun", flags, Mode::empty()).map_err(|error| {
            if error == rustix::io::Errno::NOENT {
                return Error::Lacks {
                    what: "there is no /dev/net/tun".to_owned(),
                    hint: "load the module: modprobe tun; in a container, pass the device in".to_owned(),
                };
            }
            Error::system("open /dev/net/tun", error)
        })?;
        let mut request = Request { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        let headers = if headed { libc::IFF_VNET_HDR } else { 0 };
        request.flags = (libc::IFF_TUN | libc::IFF_NO_PI | headers) as i16;
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, which `Request` is, and which lives until
        // the call is over.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        if answer < 0 {
            return Err(Error::system(format!("make the TUN device {name}"), io::Error::last_os_error()));
        }
        Ok(Self { file, name: name.to_owned(), headed })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next packet that the kernel sends there, and what is still to be done to it; `None` where there
    /// is none now. `buffer` is for [`MAX_PACKET_BYTES`] bytes; what is longer is cut.
    ///
    /// # Errors
    /// Where the device is gone.
    #[inline]
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(PendingOffload, &'a mut [u8])>> {
        let length = match rustix::io::read(&self.file, &mut *buffer) {
            Ok(length) => length,
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = &mut buffer[..length];
        if !self.headed {
            return Ok(Some((PendingOffload::default(), read)));
        }
        let Some((header, packet)) = read.split_first_chunk_mut() else {
            return Err(io::Error::other("a packet without its header"));
        };
        Ok(Some((PendingOffload::parse(*header), packet)))
    }

    /// Lets a packet arrive at the device, with nothing left to be done. False where the kernel dropped it: the
    /// device is down, or there is no memory.
    ///
    /// # Errors
    /// Where the device is gone.
    #[inline]
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        let sent = if self.headed {
            rustix::io::writev(&self.file, &[IoSlice::new(&[0; HEADER]), IoSlice::new(packet)])
        } else {
            rustix::io::write(&self.file, packet)
        };
        match sent {
            Ok(_) => Ok(true),
            Err(
                rustix::io::Errno::AGAIN
                | rustix::io::Errno::IO
                | rustix::io::Errno::INVAL
                | rustix::io::Errno::NOBUFS
                | rustix::io::Errno::NOMEM,
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// `struct ifreq` with flags in its union, 40 bytes long.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}
