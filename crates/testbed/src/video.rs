//! Video over real sockets: the device's player sends HTTP/1.1 requests to a small server.
//!
//! Requests and responses have the sizes that the simulation counts. The bodies are seeded bytes,
//! which the device verifies.

use crate::seeded_bytes::SeededBytes;
use crate::stream::Stream;
use crate::traffic::{CHUNK_BYTES, ConnectionEnd, SEND_BUFFER_POLL_INTERVAL, STOP_POLL_INTERVAL};
use abr::{Request, Server, Video, Viewer};
use stack::Interest;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use units::Duration;

/// Pending response.
struct Response {
    header: Vec<u8>,
    /// Received bytes, header included.
    received: u64,
    /// Size in bytes, header included.
    size: u64,
}

impl Response {
    fn new(request: &Request) -> Self {
        let header = request.response_header();
        let size = header.len() as u64 + request.size.get();
        Self { header, received: 0, size }
    }

    /// Number of header bytes among the next `length` bytes.
    fn header_bytes_in(&self, length: usize) -> usize {
        self.header.len().saturating_sub(self.received as usize).min(length)
    }
}

/// Receiving state of the device.
struct Download {
    content: SeededBytes,
    /// Received bytes of all bodies.
    body_bytes: u64,
    response: Option<Response>,
    /// Buffer for verification.
    expected: Vec<u8>,
}

impl ConnectionEnd {
    /// Calls the viewer. Returns `None` after the end of the session.
    fn with_viewer<T>(&self, call: impl FnOnce(&mut Viewer) -> T) -> Option<T> {
        self.progress.viewer.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(call)
    }

    /// Plays a video at the device. Returns true once all responses and the end of the stream have
    /// arrived.
    pub(crate) fn play_video(&self, stream: &mut Stream, video: &Video) -> io::Result<bool> {
        let content = SeededBytes::new(self.plan.seed.derive("content"));
        let mut download = Download { content, body_bytes: 0, response: None, expected: Vec::new() };
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let now = self.plan.context.clock.now();
            let polled = self.with_viewer(|viewer| (viewer.poll(now), viewer.done(now), viewer.next()));
            let Some((request, done, next)) = polled else { return Ok(false) };
            if let Some(request) = request {
                self.write_all(stream, &request.to_http(video.request))?;
                let size = (Video::RESPONSE_HEADER + request.size).get();
                self.progress.update(|status| status.offered += size);
                download.response = Some(Response::new(&request));
            }
            if done {
                stream.close_writing()?;
                let complete = download.response.is_none() && self.wait_for_close(stream)?;
                self.progress.update(|status| status.complete = complete);
                return Ok(complete);
            }
            match stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    self.receive_video(&mut download, &chunk[..length])?;
                    self.progress.record_out_of_order(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let timeout =
                        next.map_or(STOP_POLL_INTERVAL, |next| next.since(now).max(Duration::from_nanos(1)));
                    if self.wait_ready(stream, Interest::Read, timeout) {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.must_stop() {
                return Ok(false);
            }
        }
    }

    /// Verifies received bytes and passes them on to the viewer.
    fn receive_video(&self, download: &mut Download, bytes: &[u8]) -> io::Result<()> {
        let now = self.plan.context.clock.now();
        let Some(response) = &mut download.response else {
            return Err(io::Error::other("a response without a request"));
        };
        let (header, body) = bytes.split_at(response.header_bytes_in(bytes.len()));
        let from = response.received as usize;
        if !header.is_empty() && header != &response.header[from..from + header.len()] {
            return Err(io::Error::other("the header section of a response differs from the expected one"));
        }
        let mismatch = download.content.first_mismatch(download.body_bytes, body, &mut download.expected);
        if let Some(at) = mismatch {
            self.progress.update(|status| status.mismatch = Some(at));
            return Err(io::Error::other(format!("byte {at} of the video differs from the byte written")));
        }
        download.body_bytes += body.len() as u64;
        response.received += bytes.len() as u64;
        if response.received >= response.size {
            download.response = None;
        }
        self.progress.delivered.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.progress.last_byte.store(now.as_nanos(), Ordering::Relaxed);
        self.with_viewer(|viewer| viewer.receive(now, bytes.len() as u64));
        Ok(())
    }

    /// Responds to the requests of the device. Returns true once the device has closed.
    pub(crate) fn serve_video(&self, stream: &mut Stream, video: &Video) -> io::Result<bool> {
        let content = SeededBytes::new(self.plan.seed.derive("content"));
        let mut server = Server::default();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut offset = 0;
        while !self.must_stop() {
            while let Some((header, size)) = server.poll().map_err(io::Error::other)? {
                if self.sleep_until(self.plan.context.clock.now() + video.wait) {
                    return Ok(false);
                }
                self.write_all(stream, &header)?;
                let end = offset + size.get();
                self.write_body(stream, content, offset..end, &mut chunk)?;
                offset = end;
            }
            match stream.read(&mut chunk) {
                Ok(0) => return stream.close_writing().map(|()| true),
                Ok(length) => server.receive(&chunk[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_ready(stream, Interest::Read, STOP_POLL_INTERVAL);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Writes the bytes `range` of the content. The scenario's send buffer limits the bytes that
    /// are not yet acknowledged.
    fn write_body(
        &self,
        stream: &mut Stream,
        content: SeededBytes,
        mut range: Range<u64>,
        chunk: &mut [u8],
    ) -> io::Result<()> {
        while !range.is_empty() && !self.must_stop() {
            let buffered = stream.unacknowledged()?;
            self.progress.unacknowledged.store(buffered, Ordering::Relaxed);
            let space = self.plan.send_buffer.saturating_sub(buffered);
            let length = (range.end - range.start).min(space).min(CHUNK_BYTES as u64) as usize;
            if length == 0 {
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                self.sleep_until(self.plan.context.clock.now() + SEND_BUFFER_POLL_INTERVAL);
                continue;
            }
            let chunk = &mut chunk[..length];
            content.fill(range.start, chunk);
            let written = self.write_some(stream, chunk)? as u64;
            range.start += written;
        }
        Ok(())
    }

    /// Writes all of `bytes`, unless this end must stop.
    fn write_all(&self, stream: &mut Stream, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.must_stop() {
            bytes = &bytes[self.write_some(stream, bytes)?..];
        }
        Ok(())
    }
}
