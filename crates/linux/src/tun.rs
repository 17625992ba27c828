//! TUN devices: what the kernel routes to one is read as IP packets, and what is written arrives there.

use crate::Error;
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A TUN device of the namespace in which it was made. It goes when this is dropped.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
    name: String,
}

/// The longest name of an interface, in bytes.
pub const LONGEST_NAME: usize = libc::IFNAMSIZ - 1;

impl Tun {
    /// Makes a device called `name` (at most [`LONGEST_NAME`] bytes), which is down at first. Reading
    /// never waits; each read and write is one IP packet without any header before it.
    ///
    /// # Errors
    /// Where there is no `/dev/net/tun`, the name is taken or too long, or the caller may not.
    pub fn create(name: &str) -> Result<Self, Error> {
        if name.is_empty() || name.len() > LONGEST_NAME || name.contains(['/', '\0']) {
            return Err(Error::System {
                doing: format!("make a TUN device called `{name}`"),
                source: io::Error::other(format!("a name has 1 to {LONGEST_NAME} bytes and no slash")),
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
        request.flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq`, which `Request` is, and which lives until
        // the call is over.
        #[allow(unsafe_code)]
        let answer = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) };
        if answer < 0 {
            return Err(Error::system(format!("make the TUN device {name}"), io::Error::last_os_error()));
        }
        Ok(Self { file, name: name.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next packet that the kernel sends there into `buffer`; `None` where there is none now.
    /// What is longer than the buffer is cut.
    ///
    /// # Errors
    /// Where the device is gone.
    #[inline]
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(rustix::io::Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets a packet arrive at the device. False where the kernel dropped it: the device is down, or
    /// there is no memory.
    ///
    /// # Errors
    /// Where the device is gone.
    #[inline]
    pub fn send(&self, packet: &[u8]) -> io::Result<bool> {
        match rustix::io::write(&self.file, packet) {
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
