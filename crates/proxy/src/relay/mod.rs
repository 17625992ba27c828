//! Bytes from one socket to another, as fast as the slower of the two takes them, without a copy through this
//! process.
//!
//! A direction is a [`Flow`]. It moves data by splice(2) through a pipe that it holds for the time of one
//! system call after the other only: what the receiver does not take at once is read out of the pipe, and the
//! pipe serves the next flow. So there are as many pipes as threads, and a flow that waits holds nothing but
//! what its receiver left over. How much it asks for follows what the receiver took before: the slow leave little.

mod hold;
mod pipe;

use crate::counters::Tally;
use core::future::poll_fn;
use core::task::{Context, Poll, ready};
pub(crate) use hold::Hold;
use linux::socket;
use pipe::Pipe;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// What a flow asks for at least, and at first.
const LEAST: usize = 4 << 10;
const FIRST: usize = 16 << 10;
/// And at most: a pipe's length.
const MOST: usize = pipe::LENGTH;

/// One direction between two sockets.
#[derive(Debug)]
pub(crate) struct Flow {
    /// What is to be written before anything else: left over by the receiver, or read before the flow began.
    left: Vec<u8>,
    /// How much of it is written.
    written: usize,
    /// How much more is to be moved; all until the sender's end where it is `None`.
    limit: Option<u64>,
    /// How much the next call asks for.
    ask: usize,
    /// Bytes that the receiver's socket took.
    pub(crate) moved: u64,
    /// The sender has sent all.
    ended: bool,
    /// And the receiver knows.
    done: bool,
    /// When more may be written.
    hold: Hold,
}

/// How a connection is relayed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// It is over when nothing was moved for so long.
    pub(crate) idle: Duration,
    /// How far ahead of its subflows it is written to; see [`Hold`].
    pub(crate) ahead: Duration,
}

/// Why a relay is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Both sides have said all.
    Closed,
    /// One broke the connection off.
    Reset,
    /// Nothing was moved for too long.
    Idle,
    /// It lasted too long.
    TooLong,
}

impl End {
    /// For the access log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Idle => "idle",
            Self::TooLong => "too-long",
        }
    }
}

impl Flow {
    /// One that begins with `first`, and goes on until the sender's end.
    pub(crate) fn new(first: Vec<u8>) -> Self {
        // Who has nothing holds nothing: its room would stay as long as the flow.
        let left = if first.is_empty() { Vec::new() } else { first };
        Self {
            left,
            written: 0,
            limit: None,
            ask: FIRST,
            moved: 0,
            ended: false,
            done: false,
            hold: Hold::default(),
        }
    }

    /// One that moves so many bytes, and does not tell of the sender's end.
    pub(crate) fn of_length(length: u64) -> Self {
        Self { limit: Some(length), ..Self::new(Vec::new()) }
    }

    /// Moves `first` before anything else, beside what it moves up to its limit.
    pub(crate) fn begin_with(&mut self, first: Vec<u8>) {
        self.left = first;
    }

    /// Goes on as far as both sockets let it; `Ready` where all is moved, or the sender ended before the limit.
    fn poll(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        tally: Tally<'_>,
        ahead: Duration,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            while self.written < self.left.len() {
                ready!(to.poll_write_ready(context))?;
                match to.try_write(&self.left[self.written..]) {
                    Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                    Ok(count) => {
                        self.written += count;
                        self.count(count, tally);
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            if self.written > 0 {
                (self.left, self.written) = (Vec::new(), 0);
            }
            if self.limit == Some(0) || self.done {
                return Poll::Ready(Ok(()));
            }
            if self.ended {
                if self.limit.is_none() {
                    // Whoever is gone needs no end.
                    _ = rustix::net::shutdown(to, rustix::net::Shutdown::Write);
                }
                self.done = true;
                return Poll::Ready(Ok(()));
            }
            ready!(from.poll_read_ready(context))?;
            ready!(to.poll_write_ready(context))?;
            let room = ready!(self.hold.poll(to, self.moved, ahead, context));
            match self.step(from, to, tally, room) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// One portion through a pipe, no longer than there is `room` for.
    fn step(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        tally: Tally<'_>,
        room: Option<usize>,
    ) -> io::Result<()> {
        let mut pipe = Pipe::take()?;
        let ask = self.limit.map_or(self.ask, |limit| limit.min(self.ask as u64) as usize);
        let ask = room.map_or(ask, |room| ask.min(room));
        let got = match from.try_io(Interest::READABLE, || pipe.fill(from, ask)) {
            Ok(got) => got,
            Err(error) => {
                pipe.give_back();
                return Err(error);
            }
        };
        if got == 0 {
            pipe.give_back();
            self.ended = true;
            return Ok(());
        }
        if let Some(limit) = &mut self.limit {
            *limit -= got as u64;
        }
        let mut gone = 0;
        while gone < got {
            match to.try_io(Interest::WRITABLE, || pipe.empty(to, got - gone)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => gone += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.left = pipe.rest(got - gone)?;
                    break;
                }
                // The pipe goes with what is in it: nobody else may ever see that.
                Err(error) => return Err(error),
            }
        }
        self.count(gone, tally);
        self.ask = if gone < got {
            (self.ask / 2).max(LEAST)
        } else if got == ask {
            (self.ask * 2).min(MOST)
        } else {
            self.ask
        };
        pipe.give_back();
        Ok(())
    }

    fn count(&mut self, bytes: usize, tally: Tally<'_>) {
        self.moved += bytes as u64;
        tally.add(bytes as u64);
    }
}

/// Moves what `flow` is to move.
///
/// # Errors
/// Where either socket fails, the sender ends before the flow's limit, or nothing is moved for too long.
pub(crate) async fn run(
    from: &TcpStream,
    to: &TcpStream,
    flow: &mut Flow,
    tally: Tally<'_>,
    pace: Pace,
) -> io::Result<()> {
    let mut watch = Watch::new(pace.idle, None);
    poll_fn(|context| {
        let before = flow.moved;
        match flow.poll(from, to, tally, pace.ahead, context) {
            Poll::Ready(Ok(())) if flow.limit.is_some_and(|limit| limit > 0) => {
                Poll::Ready(Err(ErrorKind::UnexpectedEof.into()))
            }
            Poll::Ready(result) => Poll::Ready(result),
            Poll::Pending => {
                watch.poll(flow.moved != before, context).map(|_| Err(ErrorKind::TimedOut.into()))
            }
        }
    })
    .await
}

/// Moves bytes both ways until both sides have said all, one breaks off, or time is up. `half` is called when
/// the first of the two has said all: what the kernel knows of a connection's subflows it forgets soon after.
pub(crate) async fn both(
    client: &TcpStream,
    server: &TcpStream,
    (up, down): (&mut Flow, &mut Flow),
    (tally_up, tally_down): (Tally<'_>, Tally<'_>),
    (pace, until): (Pace, Option<Instant>),
    mut half: impl FnMut(),
) -> End {
    let mut watch = Watch::new(pace.idle, until);
    let mut told = false;
    let end = poll_fn(|context| {
        let before = up.moved + down.moved;
        let there = up.poll(client, server, tally_up, pace.ahead, context);
        let back = down.poll(server, client, tally_down, pace.ahead, context);
        if (up.done || down.done) && !told {
            told = true;
            half();
        }
        match (there, back) {
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => Poll::Ready(End::Closed),
            (Poll::Ready(Err(_)), _) | (_, Poll::Ready(Err(_))) => Poll::Ready(End::Reset),
            _ => watch.poll(up.moved + down.moved != before, context),
        }
    })
    .await;
    if !told {
        half();
    }
    if end != End::Closed {
        // Both are to know that it did not end well.
        _ = socket::abort(client);
        _ = socket::abort(server);
    }
    end
}

/// Tells when nothing has been moved for too long, with one timer that is set anew only when it rings.
struct Watch {
    idle: Duration,
    until: Option<Instant>,
    last: Instant,
    sleep: core::pin::Pin<Box<Sleep>>,
}

impl Watch {
    fn new(idle: Duration, until: Option<Instant>) -> Self {
        let last = Instant::now();
        let first = last + idle;
        let first = until.map_or(first, |until| until.min(first));
        Self { idle, until, last, sleep: Box::pin(sleep_until(first)) }
    }

    fn poll(&mut self, progress: bool, context: &mut Context<'_>) -> Poll<End> {
        if progress {
            self.last = Instant::now();
        }
        while self.sleep.as_mut().poll(context).is_ready() {
            let now = Instant::now();
            let idle = self.last + self.idle;
            if self.until.is_some_and(|until| until <= now) {
                return Poll::Ready(End::TooLong);
            }
            if idle <= now {
                return Poll::Ready(End::Idle);
            }
            self.sleep.as_mut().reset(self.until.map_or(idle, |until| until.min(idle)));
        }
        Poll::Pending
    }
}

/// Says all to a peer that is to hear it before the connection is closed: ends our half, and waits for its end
/// or a while. Closing at once with something unread would take back what was written (RFC 9112, section 9.6).
pub(crate) async fn close_gently(stream: &TcpStream, wait: Duration) {
    _ = rustix::net::shutdown(stream, rustix::net::Shutdown::Write);
    let mut buffer = [0; 1024];
    // A bound beside the time: nobody is listened to for long.
    let drain = async {
        for _ in 0..64 {
            if stream.readable().await.is_err() {
                return true;
            }
            match stream.try_read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return true,
            }
        }
        false
    };
    if !tokio::time::timeout(wait, drain).await.unwrap_or(false) {
        // Who goes on all the same is not the kernel's to wait for either.
        _ = socket::abort(stream);
    }
}
