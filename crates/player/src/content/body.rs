//! Response bodies.

use super::Generated;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes handed to the connection at once.
const CHUNK_BYTES: u64 = 64 << 10;

/// Response body, of the length in its header.
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
    /// Body of these bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { at: 0, end: bytes.len() as u64, source: Source::Full(bytes) }
    }

    /// Empty body.
    pub fn empty() -> Self {
        Self::full(Bytes::new())
    }

    /// Generated content from `from` to `to`, exclusive.
    pub(super) fn generated(content: Generated, from: u64, to: u64) -> Self {
        Self { source: Source::Generated(content), at: from, end: to.max(from) }
    }

    /// Range of a file, `to` exclusive. Reads block on the disk.
    pub(super) fn file(file: File, from: u64, to: u64) -> Self {
        Self { source: Source::File(Arc::new(file)), at: from, end: to.max(from) }
    }

    /// True if no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.left() == 0
    }

    /// Remaining bytes.
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
        let count = self.left().min(CHUNK_BYTES);
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
