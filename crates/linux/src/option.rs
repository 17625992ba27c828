//! Socket options without a safe wrapper.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an `int` option. Options that take a structure with pointers reject a value of this length.
pub(crate) fn set_number(socket: impl AsFd, level: c_int, name: c_int, value: i32) -> io::Result<()> {
    // SAFETY: four bytes hold no pointer of a 64-bit kernel ABI. On 32-bit systems the smallest
    // structure with a pointer (`struct sock_fprog`) has eight.
    #[allow(unsafe_code)]
    unsafe {
        set(socket, level, name, &value.to_ne_bytes())
    }
}

/// Sets an option given as bytes.
///
/// # Safety
/// Pointers inside `value` must refer to memory that the kernel may read as this option specifies.
#[allow(unsafe_code)]
pub(crate) unsafe fn set(socket: impl AsFd, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads at most `value.len()` bytes of `value`, which outlives the call. The
    // caller guarantees the pointers inside `value`.
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

/// Reads an option into `value` and returns its length. Some options also read `value` as input.
///
/// # Safety
/// Pointers inside `value` must refer to memory that the kernel may write as this option specifies.
#[allow(unsafe_code)]
pub(crate) unsafe fn get(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel reads and writes at most `length` bytes of `value`, and `length` itself;
    // both outlive the call. Every byte pattern is valid in a byte slice. The caller guarantees the
    // pointers inside `value`.
    let answer = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok((length as usize).min(value.len())) }
}
