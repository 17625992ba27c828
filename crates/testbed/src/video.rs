//! Video over real sockets: the device's player asks by HTTP/1.1, a small server answers.
//!
//! The bytes are those that the simulation counts: requests and heads of [`abr::Request`], and bodies whose
//! every byte is looked at.

use crate::content::Content;
use crate::traffic::{End, LOOK_UP, PIECE, ROOM};
use abr::{Request, Server, Video, Viewer};
use linux::socket;
use rustix::event::PollFlags;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use units::{Bytes, Duration};

/// An answer that is on its way to the device.
struct Answer {
    head: Vec<u8>,
    /// Of head and body, what has come and what there is.
    got: u64,
    size: u64,
}

impl Answer {
    fn new(request: &Request) -> Self {
        let head = request.response_header();
        let size = head.len() as u64 + request.size.get();
        Self { head, got: 0, size }
    }

    /// How many of the bytes that are at hand are the head's.
    fn of_head(&self, length: usize) -> usize {
        self.head.len().saturating_sub(self.got as usize).min(length)
    }
}

impl End<'_> {
    /// What the viewer says; `None` once the run has taken the record.
    fn viewer<T>(&self, then: impl FnOnce(&mut Viewer) -> T) -> Option<T> {
        self.progress.viewer.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(then)
    }

    /// The device's end: asks for what the player wants, and reads. Says whether everything came, up to the end.
    pub(crate) fn view(&self, stream: &mut TcpStream, video: &Video) -> io::Result<bool> {
        let content = Content::new(self.plan.seed.derive("content"));
        let (mut piece, mut room) = (vec![0; PIECE], Vec::new());
        let mut answer: Option<Answer> = None;
        let mut body = 0;
        loop {
            let now = self.plan.clock.now();
            let said = self.viewer(|viewer| (viewer.poll(now), viewer.done(now), viewer.next()));
            let Some((request, done, next)) = said else { return Ok(false) };
            if let Some(request) = request {
                self.write_all(stream, &request.to_http(video.request))?;
                self.progress.change(|rest| rest.offered += (Video::RESPONSE_HEADER + request.size).get());
                answer = Some(Answer::new(&request));
            }
            if done {
                stream.shutdown(Shutdown::Write)?;
                let whole = answer.is_none() && self.see_end(stream)?;
                self.progress.change(|rest| rest.complete = whole);
                return Ok(whole);
            }
            match stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let now = self.plan.clock.now();
                    let coming =
                        answer.as_mut().ok_or_else(|| io::Error::other("an answer without a request"))?;
                    let (head, rest) = piece[..length].split_at(coming.of_head(length));
                    let from = coming.got as usize;
                    if !head.is_empty() && head != &coming.head[from..from + head.len()] {
                        return Err(io::Error::other(
                            "the head of an answer is not the one that was asked for",
                        ));
                    }
                    if let Some(at) = content.differs(body, rest, &mut room) {
                        self.progress.change(|rest| rest.differs = Some(at));
                        return Err(io::Error::other(format!("byte {at} of the video is not the right one")));
                    }
                    body += rest.len() as u64;
                    coming.got += length as u64;
                    if coming.got >= coming.size {
                        answer = None;
                    }
                    self.progress.delivered.fetch_add(length as u64, Ordering::Relaxed);
                    self.progress.last_byte.store(now.as_nanos(), Ordering::Relaxed);
                    self.viewer(|viewer| viewer.receive(now, length as u64));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let longest = next.map_or(LOOK_UP, |next| next.since(now).max(Duration::from_nanos(1)));
                    if self.wait(stream, PollFlags::IN, longest) {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if self.over() {
                return Ok(false);
            }
        }
    }

    /// The server's end: answers what it is asked for. Says whether the device has closed after that.
    pub(crate) fn answer(&self, stream: &mut TcpStream, video: &Video) -> io::Result<bool> {
        let content = Content::new(self.plan.seed.derive("content"));
        let mut server = Server::default();
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        while !self.over() {
            while let Some((head, size)) = server.poll().map_err(io::Error::other)? {
                if self.sleep(self.plan.clock.now() + video.wait) {
                    return Ok(false);
                }
                self.write_all(stream, &head)?;
                self.progress.written.fetch_add(head.len() as u64, Ordering::Relaxed);
                self.write_body(stream, content, offset, size, &mut piece)?;
                offset += size.get();
            }
            match stream.read(&mut piece) {
                Ok(0) => return stream.shutdown(Shutdown::Write).map(|()| true),
                Ok(length) => server.receive(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(stream, PollFlags::IN, LOOK_UP);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Writes a body whose bytes are those of the content from `from` on, no further ahead than the send buffer
    /// of the scenario.
    fn write_body(
        &self,
        stream: &mut TcpStream,
        content: Content,
        from: u64,
        size: Bytes,
        piece: &mut [u8],
    ) -> io::Result<()> {
        let mut left = size.get();
        while left > 0 && !self.over() {
            let waits = socket::unacknowledged(&*stream).map_err(io::Error::other)?;
            let length = left.min(self.plan.send_buffer.saturating_sub(waits)).min(PIECE as u64) as usize;
            if length == 0 {
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                self.sleep(self.plan.clock.now() + ROOM);
                continue;
            }
            let piece = &mut piece[..length];
            content.fill(from + (size.get() - left), piece);
            let taken = self.write_some(stream, piece)? as u64;
            self.progress.written.fetch_add(taken, Ordering::Relaxed);
            left -= taken;
        }
        Ok(())
    }

    /// Writes all of something short.
    fn write_all(&self, stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !self.over() {
            bytes = &bytes[self.write_some(stream, bytes)?..];
        }
        Ok(())
    }

    /// Writes what there is room for, or waits a while for some.
    fn write_some(&self, stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
        match stream.write(bytes) {
            Ok(taken) => Ok(taken),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait(stream, PollFlags::OUT, LOOK_UP);
                Ok(0)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}
