//! TUN devices: a read returns an IP packet routed to the device; a write injects a packet.

use crate::Error;
use rustix::fs::{Mode, OFlags, open};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A TUN device in the namespace where it was created. Removed on drop.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
    /// Every packet is preceded by a `struct virtio_net_hdr` (IFF_VNET_HDR).
    vnet_header: bool,
    is_wire: bool,
}

/// Work that the kernel left to the reader of an offloading device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingOffload {
    /// Start of the checksummed data, and offset of the checksum field from there. The field holds
    /// the sum of the pseudo header.
    pub checksum: Option<(u16, u16)>,
    /// The packet is to be segmented.
    pub split: Option<Split>,
}

/// Segmentation of a packet: every segment repeats the headers and carries at most this many
/// payload bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// TCP segments.
    Tcp(u16),
    /// UDP datagrams.
    Udp(u16),
}

/// Longest packet of a device, including the `struct virtio_net_hdr`.
pub const MAX_PACKET_BYTES: usize = 65_535 + VNET_HEADER_BYTES;
/// Length of `struct virtio_net_hdr` without its optional last field `num_buffers`.
const VNET_HEADER_BYTES: usize = 10;

impl PendingOffload {
    /// Parses a `struct virtio_net_hdr` (`<linux/virtio_net.h>`) in native byte order.
    fn parse(header: [u8; VNET_HEADER_BYTES]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        /// The ECN flag is ignored: the kernel itself segments packets with CWR set.
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

/// Longest interface name, in bytes.
pub const MAX_NAME_BYTES: usize = libc::IFNAMSIZ - 1;

impl Tun {
    /// Creates a device named `name` (at most [`MAX_NAME_BYTES`] bytes), initially down. Reads do
    /// not block; each read and write is one IP packet without a preceding header.
    ///
    /// # Errors
    /// Fails when `/dev/net/tun` is missing, the name is taken or too long, or without
    /// CAP_NET_ADMIN.
    pub fn create(name: &str) -> Result<Self, Error> {
        Self::create_with(name, false)
    }

    /// Creates a device with checksum and segmentation offload, as of a network card. One read
    /// returns up to 64 KB; see [`PendingOffload`].
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_offloading(name: &str) -> Result<Self, Error> {
        let tun = Self::create_with(name, true)?;
        let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
        // UDP segmentation offload needs Linux 6.2.
        let udp = tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6;
        // SAFETY: TUNSETOFFLOAD takes an integer.
        #[allow(unsafe_code)]
        let set = |flags: libc::c_uint| unsafe {
            libc::ioctl(tun.file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) >= 0
        };
        if !set(udp) && !set(tcp) {
            let doing = format!("enable offload on the TUN device {name}");
            return Err(Error::system(doing, io::Error::last_os_error()));
        }
        Ok(tun)
    }

    fn create_with(name: &str, vnet_header: bool) -> Result<Self, Error> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains(['/', '\0']) {
            return Err(Error::System {
                doing: format!("create a TUN device named `{name}`"),
                source: io::Error::other(format!(
                    "the name must have 1 to {MAX_NAME_BYTES} bytes and no slash"
                )),
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
        let mut request = IfReq { name: [0; libc::IFNAMSIZ], flags: 0, rest: [0; 22] };
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        let headers = if vnet_header { libc::IFF_VNET_HDR } else { 0 };
        request.flags = (libc::IFF_TUN | libc::IFF_NO_PI | headers) as i16;
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`. `IfReq` has that layout and
        // outlives the call.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        if answer < 0 {
            return Err(Error::system(format!("create the TUN device {name}"), io::Error::last_os_error()));
        }
        Ok(Self { file, name: name.to_owned(), vnet_header, is_wire: false })
    }

    /// Creates two ends of a wire within this process: a packet sent at one end is received at the
    /// other. It takes the place of a device for a network stack of this process.
    ///
    /// # Errors
    /// Fails when the process may open no more files.
    pub fn pair(name: &str) -> Result<[Self; 2], Error> {
        /// Enough for a window of packets in flight at several gigabits per second.
        const QUEUE_BYTES: usize = 8 << 20;
        let doing = || format!("create the wire {name}");
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (first, second) = net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(|error| Error::system(doing(), error))?;
        for file in [&first, &second] {
            // Exceeding `net.core.wmem_max` needs CAP_NET_ADMIN.
            sockopt::set_socket_send_buffer_size_force(file, QUEUE_BYTES)
                .or_else(|_| sockopt::set_socket_send_buffer_size(file, QUEUE_BYTES))
                .map_err(|error| Error::system(doing(), error))?;
        }
        Ok([first, second].map(|file| Self {
            file,
            name: name.to_owned(),
            vnet_header: false,
            is_wire: true,
        }))
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One end of a [`pair`](Self::pair), not a device of the kernel.
    pub const fn is_wire(&self) -> bool {
        self.is_wire
    }

    /// Reads the next packet and its pending offload; `None` when no packet is queued. `buffer`
    /// should hold [`MAX_PACKET_BYTES`]; longer packets are truncated.
    ///
    /// # Errors
    /// Fails when the device has been removed.
    #[inline]
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<(PendingOffload, &'a mut [u8])>> {
        let length = match rustix::io::read(&self.file, &mut *buffer) {
            // The other end of a pair is closed.
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let read = &mut buffer[..length];
        if !self.vnet_header {
            return Ok(Some((PendingOffload::default(), read)));
        }
        let Some((header, packet)) = read.split_first_chunk_mut() else {
            return Err(io::Error::other("packet without its virtio_net header"));
        };
        Ok(Some((PendingOffload::parse(*header), packet)))
    }

    /// Injects a packet that needs no further processing. Returns false when the kernel dropped it
    /// because the device is down or memory is short.
    ///
    /// # Errors
    /// Fails when the device has been removed.
    #[inline]
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        let sent = if self.vnet_header {
            rustix::io::writev(&self.file, &[IoSlice::new(&[0; VNET_HEADER_BYTES]), IoSlice::new(packet)])
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

/// `struct ifreq` with `ifr_flags` in its union; 40 bytes.
#[repr(C)]
struct IfReq {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}
