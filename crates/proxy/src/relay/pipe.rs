//! The pipes through which data goes from one socket to another.

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// How much a pipe holds, in bytes; what the kernel lets everybody have (`fs.pipe-max-size`).
pub(super) const LENGTH: usize = 256 << 10;

/// A pipe that is empty, unless its user says otherwise.
pub(super) struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

thread_local! {
    /// Those of this thread that nobody uses: one mostly, as a pipe is taken and given back between two awaits.
    static SPARE: RefCell<Vec<Pipe>> = const { RefCell::new(Vec::new()) };
}

impl Pipe {
    /// One that nobody uses, or a new one.
    pub(super) fn take() -> io::Result<Self> {
        if let Some(pipe) = SPARE.with_borrow_mut(Vec::pop) {
            return Ok(pipe);
        }
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        // As large as one gets it.
        _ = fcntl_setpipe_size(&into, LENGTH);
        Ok(Self { out, into })
    }

    /// Gives it back, empty.
    pub(super) fn give_back(self) {
        SPARE.with_borrow_mut(|spare| spare.push(self));
    }

    /// Moves up to `most` bytes out of a socket; 0 at its end.
    pub(super) fn fill(&mut self, from: impl AsFd, most: usize) -> io::Result<usize> {
        again(|| splice(&from, None, &self.into, None, most, SpliceFlags::MOVE | SpliceFlags::NONBLOCK))
    }

    /// Moves up to `most` bytes of those in it into a socket.
    pub(super) fn empty(&mut self, to: impl AsFd, most: usize) -> io::Result<usize> {
        again(|| splice(&self.out, None, &to, None, most, SpliceFlags::MOVE | SpliceFlags::NONBLOCK))
    }

    /// Reads the `length` bytes that are in it.
    pub(super) fn rest(&mut self, length: usize) -> io::Result<Vec<u8>> {
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

fn again(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    rustix::io::retry_on_intr(&mut call).map_err(Into::into)
}
