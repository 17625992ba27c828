//! Pool of pipes for splice(2), one pool per thread.

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Capacity of a pipe in bytes, within the default limit of unprivileged processes
/// (`fs.pipe-max-size`).
pub(super) const PIPE_BYTES: usize = 256 << 10;

/// Pipe that is empty unless a caller is using it.
pub(super) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

thread_local! {
    /// Unused pipes of this thread. Usually one, as no pipe is held across an await.
    static IDLE_PIPES: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

impl Pipe {
    /// Takes an unused pipe, or creates one.
    pub(super) fn take() -> io::Result<Self> {
        if let Some(pipe) = IDLE_PIPES.with_borrow_mut(Vec::pop) {
            return Ok(pipe);
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // A smaller pipe works as well.
        _ = fcntl_setpipe_size(&into, PIPE_BYTES);
        Ok(Self { out, into })
    }

    /// Returns an empty pipe to the pool.
    pub(super) fn give_back(self) {
        IDLE_PIPES.with_borrow_mut(|spare| spare.push(self));
    }

    /// Splices up to `max_len` bytes from a socket into the pipe; 0 at end of stream.
    pub(super) fn fill(&mut self, from: impl AsFd, max_len: usize) -> io::Result<usize> {
        retry_on_intr(|| {
            splice(&from, None, &self.into, None, max_len, SpliceFlags::MOVE | SpliceFlags::NONBLOCK)
        })
    }

    /// Splices up to `max_len` bytes from the pipe into a socket.
    pub(super) fn empty(&mut self, to: impl AsFd, max_len: usize) -> io::Result<usize> {
        retry_on_intr(|| {
            splice(&self.out, None, &to, None, max_len, SpliceFlags::MOVE | SpliceFlags::NONBLOCK)
        })
    }

    /// Reads the remaining `length` bytes.
    pub(super) fn drain(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            match rustix::io::read(&self.out, &mut bytes[read..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => read += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(bytes)
    }
}

fn retry_on_intr(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    rustix::io::retry_on_intr(&mut call).map_err(Into::into)
}
