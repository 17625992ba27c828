//! What an answer carries.

use super::Generated;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// How much is handed to the connection at once.
const PIECE: u64 = 64 << 10;

/// The body of an answer, as long as its header says or the connection ends.
#[derive(Debug)]
pub struct Body {
    source: Source,
    at: u64,
    end: u64,
}

#[derive(Debug)]
enum Source {
    Full(Bytes),
    Generated(Generated),
    File(Arc<File>),
}

impl Body {
    /// These bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { at: 0, end: bytes.len() as u64, source: Source::Full(bytes) }
    }

    /// Nothing.
    pub fn empty() -> Self {
        Self::full(Bytes::new())
    }

    /// Of generated content, from a byte up to another, that one not included.
    pub(super) fn generated(content: Generated, from: u64, to: u64) -> Self {
        Self { source: Source::Generated(content), at: from, end: to.max(from) }
    }

    /// Of a file, likewise. It is read where the connection takes it, which waits for the disk.
    pub(super) fn file(file: File, from: u64, to: u64) -> Self {
        Self { source: Source::File(Arc::new(file)), at: from, end: to.max(from) }
    }

    /// Whether there is nothing to come.
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// How many bytes there are still to come.
    pub fn left(&self) -> u64 {
        self.end - self.at
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let count = self.left().min(PIECE);
        let at = self.at;
        let bytes = match &self.source {
            Source::Full(bytes) => bytes.slice(at as usize..self.end as usize),
            Source::Generated(content) => {
                let mut bytes = vec![0; count as usize];
                content.fill(at, &mut bytes);
                bytes.into()
            }
            Source::File(file) => {
                let mut bytes = vec![0; count as usize];
                match file.read_exact_at(&mut bytes, at) {
                    Ok(()) => bytes.into(),
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
        };
        self.at += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
