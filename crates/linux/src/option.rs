//! Socket options that no safe wrapper has.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option that is a number.
pub(crate) fn set_number(socket: impl AsFd, level: c_int, name: c_int, value: i32) -> io::Result<()> {
    set(socket, level, name, &value.to_ne_bytes())
}

/// Sets an option that is bytes.
pub(crate) fn set(socket: impl AsFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads at most as many bytes as `value` has, which outlives the call.
    #[allow(unsafe_code)]
    let answer = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option into `value`, whose bytes the kernel may also read first; gives how many there are.
///
/// # Safety
/// Where the option has pointers in `value`, they must be to memory that the kernel may write to as that
/// option does.
#[allow(unsafe_code)]
pub(crate) unsafe fn read(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads and writes at most `length` bytes of `value`, and `length` itself; both
    // outlive the call. Any bytes are valid in a slice of bytes. The caller answers for pointers in it.
    let answer = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok((length as usize).min(value.len())) }
}
