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
use tokio::sync::mpsc;

/// Bytes handed to the connection at once.
const CHUNK_BYTES: u64 = 64 << 10;

/// Pieces of a streamed body that wait for the connection.
const STREAM_PIECES: usize = 1;

/// Response body. Its length is known, except that of a streamed one.
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
    Stream(mpsc::Receiver<io::Result<Bytes>>),
}

/// Bytes together with a value that is dropped with them.
struct Held<T>(Bytes, T);

impl<T> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
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

    /// Body of the pieces that the sender gets: it ends with the sender, or breaks off with an error.
    pub fn stream() -> (mpsc::Sender<io::Result<Bytes>>, Self) {
        let (sender, pieces) = mpsc::channel(STREAM_PIECES);
        (sender, Self { source: Source::Stream(pieces), at: 0, end: u64::MAX })
    }

    /// Keeps `owner` until the connection has written the bytes in memory. Other bodies, which hold
    /// one piece at a time, drop it.
    #[must_use]
    pub fn with_owner(self, owner: impl Send + 'static) -> Self {
        let Self { source, at, end } = self;
        let source = match source {
            Source::Full(bytes) => Source::Full(Bytes::from_owner(Held(bytes, owner))),
            other => other,
        };
        Self { source, at, end }
    }

    /// Bytes held in memory for the whole response.
    pub fn bytes_in_memory(&self) -> u64 {
        if matches!(self.source, Source::Full(_)) { self.left() } else { 0 }
    }

    /// Remaining bytes; `None` for a stream that has not ended.
    pub fn length(&self) -> Option<u64> {
        let is_open = matches!(self.source, Source::Stream(_)) && self.at != self.end;
        (!is_open).then(|| self.left())
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

    /// Remaining bytes; the maximum for a stream.
    pub fn left(&self) -> u64 {
        self.end - self.at
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let count = self.left().min(CHUNK_BYTES);
        let at = self.at;
        let bytes = match &mut self.source {
            Source::Stream(pieces) => {
                return pieces.poll_recv(context).map(|piece| {
                    if piece.is_none() {
                        self.at = self.end;
                    }
                    piece.map(|piece| piece.map(Frame::data))
                });
            }
            Source::Full(bytes) => bytes.slice(at as usize..),
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
        self.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
