//! Relay between two sockets with splice(2), at the pace of the slower one.
//!
//! A [`Flow`] borrows a pipe only during a pair of system calls. Bytes that the receiver does not
//! accept move from the pipe to memory, so a thread needs one pipe for all flows. The splice length
//! adapts to the receiver, so slow receivers leave few bytes.

mod close;
mod pipe;
mod write_gate;

use crate::counters::ByteCounters;
use crate::stream::{RECORD_BYTES, Stream};
pub(crate) use close::{Linger, close_after_response, lingering_close};
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use linux::socket;
use pipe::Pipe;
use std::io::ErrorKind;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::io::{Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};
pub(crate) use write_gate::WriteGate;

/// Bounds and initial value of the splice length, in bytes.
const MIN_SPLICE_BYTES: usize = 4 << 10;
const INITIAL_SPLICE_BYTES: usize = 16 << 10;
/// The capacity of a pipe.
const MAX_SPLICE_BYTES: usize = pipe::PIPE_BYTES;

/// One direction between two sockets.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Bytes to write first: rejected by the receiver, or read before the relay began.
    pending: Vec<u8>,
    /// Bytes of `pending` already written.
    written: usize,
    /// Bytes left to relay; `None` relays to the sender's end of stream.
    limit: Option<u64>,
    /// Length of the next splice, in bytes.
    splice_len: usize,
    /// Bytes that the receiver's socket accepted.
    pub(crate) moved: u64,
    /// The sender has reached end of stream.
    ended: bool,
    /// The end of stream was propagated to the receiver.
    done: bool,
    /// Delays writes to multipath connections.
    gate: WriteGate,
    /// Bytes wait for a receiver that does not take them.
    blocked: bool,
    write_timer: WriteTimer,
}

/// Options of a relay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RelayOptions {
    /// Time without progress after which the relay ends.
    pub(crate) idle: Duration,
    /// Time after which the relay ends if a receiver accepts none of the bytes that wait for it.
    pub(crate) write: Duration,
    /// Write-ahead beyond one round trip; see [`WriteGate`].
    pub(crate) ahead: Duration,
}

/// Failed relay of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelayError {
    /// The sender was reset or ended too early.
    Sender,
    /// The sender's data is malformed.
    Malformed,
    /// The receiver was reset.
    Receiver,
    /// The write timeout expired: the receiver does not read.
    Stalled,
    /// The proxy could not create or read a pipe.
    NoPipe,
}

/// Reason for the end of a relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Both directions reached end of stream.
    Closed,
    /// A connection was reset.
    Reset,
    /// The idle timeout expired.
    Idle,
    /// The write timeout expired: a peer does not read.
    Stalled,
    /// The lifetime limit expired.
    TooLong,
}

impl End {
    /// Name in the access log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Idle => "idle",
            Self::Stalled => "stalled",
            Self::TooLong => "too-long",
        }
    }
}

impl Flow {
    /// Creates a flow that begins with `first` and continues to the end of stream.
    pub(crate) fn new(first: Vec<u8>) -> Self {
        // Drop the allocation of an empty buffer: it would live as long as the flow.
        let pending = if first.is_empty() { Vec::new() } else { first };
        Self {
            pending,
            written: 0,
            limit: None,
            splice_len: INITIAL_SPLICE_BYTES,
            moved: 0,
            ended: false,
            done: false,
            gate: WriteGate::default(),
            blocked: false,
            write_timer: WriteTimer::default(),
        }
    }

    /// Creates a flow of `first` and `length` further bytes that does not propagate the end of stream.
    pub(crate) fn of_length(first: Vec<u8>, length: u64) -> Self {
        Self { limit: Some(length), ..Self::new(first) }
    }

    /// Sends `first` before the bytes of the limit. Valid when all earlier bytes are sent.
    pub(crate) fn prepend(&mut self, first: Vec<u8>) {
        self.pending = first;
    }

    /// Relays as far as both sockets allow; `Ready` at the limit, at the end of stream, or with an error.
    fn poll(
        &mut self,
        (from, to): (&Stream, &Stream),
        bytes: ByteCounters<'_>,
        options: RelayOptions,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RelayError>> {
        let before = self.moved;
        self.blocked = false;
        let result = self.poll_transfer((from, to), bytes, options.ahead, context);
        if result.is_ready() {
            self.write_timer.stop();
            return result;
        }
        let progress = self.moved != before;
        let queued = || socket::unacknowledged(to.tcp()).ok();
        ready!(self.write_timer.poll(self.blocked, progress, queued, (options.write, context)));
        Poll::Ready(Err(RelayError::Stalled))
    }

    fn poll_transfer(
        &mut self,
        (from, to): (&Stream, &Stream),
        bytes: ByteCounters<'_>,
        ahead: Duration,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RelayError>> {
        loop {
            while self.written < self.pending.len() {
                let written = to.poll_write(context, &self.pending[self.written..]);
                match ready!(self.unless_blocked(written)) {
                    Ok(0) | Err(_) => return Poll::Ready(Err(RelayError::Receiver)),
                    Ok(count) => {
                        self.written += count;
                        self.count(count, bytes);
                    }
                }
            }
            let flushed = to.poll_flush(context);
            ready!(self.unless_blocked(flushed)).map_err(|_| RelayError::Receiver)?;
            if self.written > 0 {
                (self.pending, self.written) = (Vec::new(), 0);
            }
            if self.limit == Some(0) || self.done {
                return Poll::Ready(Ok(()));
            }
            if self.ended {
                if self.limit.is_none() {
                    // An error means that the peer has already closed: no FIN to send.
                    let shut = to.poll_shutdown(context);
                    _ = ready!(self.unless_blocked(shut));
                }
                self.done = true;
                return Poll::Ready(Ok(()));
            }
            let (Some(from), Some(to)) = (from.as_plain(), to.as_plain()) else {
                ready!(self.poll_copy((from, to), ahead, context))?;
                continue;
            };
            ready!(from.poll_read_ready(context)).map_err(|_| RelayError::Sender)?;
            ready!(self.poll_writable(to, context))?;
            let allowance = ready!(self.gate.poll(to, self.moved, ahead, context));
            self.splice_once(from, to, bytes, allowance)?;
        }
    }

    fn poll_writable(&mut self, to: &TcpStream, context: &mut Context<'_>) -> Poll<Result<(), RelayError>> {
        self.unless_blocked(to.poll_write_ready(context)).map_err(|_| RelayError::Receiver)
    }

    /// Notes whether the receiver takes no more.
    fn unless_blocked<T>(&mut self, written: Poll<T>) -> Poll<T> {
        self.blocked = written.is_pending();
        written
    }

    /// Reads once into `pending`, where a side is encrypted.
    fn poll_copy(
        &mut self,
        (from, to): (&Stream, &Stream),
        ahead: Duration,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), RelayError>> {
        ready!(self.poll_writable(to.tcp(), context))?;
        let allowance = ready!(self.gate.poll(to.tcp(), self.moved, ahead, context));
        let max_len = allowance.unwrap_or(RECORD_BYTES).min(RECORD_BYTES);
        let max_len = self.limit.map_or(max_len, |limit| limit.min(max_len as u64) as usize);
        let mut record = [0; RECORD_BYTES];
        let mut record = ReadBuf::new(&mut record[..max_len]);
        ready!(from.poll_read(context, &mut record)).map_err(|_| RelayError::Sender)?;
        let got = record.filled();
        self.ended = got.is_empty();
        if let Some(limit) = &mut self.limit {
            *limit -= got.len() as u64;
        }
        self.pending = got.to_vec();
        Poll::Ready(Ok(()))
    }

    /// Splices once, limited to `allowance` bytes. Nothing moves if a side is not ready.
    fn splice_once(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        bytes: ByteCounters<'_>,
        allowance: Option<usize>,
    ) -> Result<(), RelayError> {
        let no_pipe = |_| RelayError::NoPipe;
        let mut pipe = Pipe::take().map_err(no_pipe)?;
        let splice_len =
            self.limit.map_or(self.splice_len, |limit| limit.min(self.splice_len as u64) as usize);
        let splice_len = allowance.map_or(splice_len, |allowance| splice_len.min(allowance));
        let got = match from.try_io(Interest::READABLE, || pipe.fill(from, splice_len)) {
            Ok(got) => got,
            Err(error) => {
                pipe.give_back();
                return if error.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(RelayError::Sender) };
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
                Ok(count @ 1..) => gone += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.pending = pipe.drain(got - gone).map_err(no_pipe)?;
                    break;
                }
                // Drop the pipe with its content: no other flow may receive these bytes.
                Ok(0) | Err(_) => return Err(RelayError::Receiver),
            }
        }
        self.count(gone, bytes);
        self.splice_len = if gone < got {
            (self.splice_len / 2).max(MIN_SPLICE_BYTES)
        } else if got == splice_len {
            (self.splice_len * 2).min(MAX_SPLICE_BYTES)
        } else {
            self.splice_len
        };
        pipe.give_back();
        Ok(())
    }

    fn count(&mut self, count: usize, bytes: ByteCounters<'_>) {
        self.moved += count as u64;
        bytes.add(count as u64);
    }
}

/// Relays one flow to its end, without an idle timeout.
pub(crate) async fn relay_one_way(
    from: &Stream,
    to: &Stream,
    flow: &mut Flow,
    bytes: ByteCounters<'_>,
    options: RelayOptions,
) -> Result<(), RelayError> {
    poll_fn(|context| flow.poll((from, to), bytes, options, context)).await?;
    match flow.limit {
        Some(1..) => Err(RelayError::Sender),
        _ => Ok(()),
    }
}

/// Writes a message of the proxy itself, which no counter contains.
pub(crate) async fn write_message(
    to: &Stream,
    message: Vec<u8>,
    options: RelayOptions,
) -> Result<(), RelayError> {
    let uncounted = AtomicU64::new(0);
    let mut flow = Flow::of_length(message, 0);
    relay_one_way(to, to, &mut flow, ByteCounters([&uncounted; 2]), options).await
}

/// Runs `work` with an idle timeout and until a time limit. `moved` counts its bytes. `work` is
/// borrowed, since a large future is slow to move.
///
/// # Errors
/// [`End::Idle`] or [`End::TooLong`].
pub(crate) async fn with_time_limits<T>(
    mut work: Pin<&mut impl Future<Output = T>>,
    moved: impl Fn() -> u64,
    (idle, until): (Duration, Option<Instant>),
) -> Result<T, End> {
    let mut idle_timer = IdleTimer::new(idle, until);
    poll_fn(|context| {
        let before = moved();
        match work.as_mut().poll(context) {
            Poll::Ready(result) => Poll::Ready(Ok(result)),
            Poll::Pending => idle_timer.poll(moved() != before, context).map(Err),
        }
    })
    .await
}

/// Both directions between a client and a server.
#[derive(Debug)]
pub(crate) struct Relay {
    up: Flow,
    down: Flow,
    idle_timer: IdleTimer,
}

impl Relay {
    /// Creates a relay. Its directions begin with bytes that were read before.
    pub(crate) fn new((up, down): (Vec<u8>, Vec<u8>), idle: Duration, until: Option<Instant>) -> Self {
        Self { up: Flow::new(up), down: Flow::new(down), idle_timer: IdleTimer::new(idle, until) }
    }

    /// Whether one direction has ended.
    pub(crate) fn is_half_closed(&self) -> bool {
        self.up.done || self.down.done
    }

    /// Relays both directions as far as the connections allow; `Ready` at their end, a reset or a
    /// timeout.
    pub(crate) fn poll(
        &mut self,
        (client, server): (&Stream, &Stream),
        (bytes_up, bytes_down): (ByteCounters<'_>, ByteCounters<'_>),
        options: RelayOptions,
        context: &mut Context<'_>,
    ) -> Poll<End> {
        let Self { up, down, idle_timer } = self;
        let before = up.moved + down.moved;
        let there = up.poll((client, server), bytes_up, options, context);
        let back = down.poll((server, client), bytes_down, options, context);
        match (there, back) {
            (Poll::Ready(Ok(())), Poll::Ready(Ok(()))) => Poll::Ready(End::Closed),
            (Poll::Ready(Err(RelayError::Stalled)), _) | (_, Poll::Ready(Err(RelayError::Stalled))) => {
                Poll::Ready(End::Stalled)
            }
            (Poll::Ready(Err(_)), _) | (_, Poll::Ready(Err(_))) => Poll::Ready(End::Reset),
            _ => idle_timer.poll(up.moved + down.moved != before, context),
        }
    }
}

/// Idle and lifetime timeouts with a single timer, rearmed only when it expires.
#[derive(Debug)]
struct IdleTimer {
    idle: Duration,
    until: Option<Instant>,
    last: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl IdleTimer {
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

/// Write timeout: the time since the receiver last accepted a byte while others wait. The socket of a
/// slow reader may accept none for long while its queue shrinks, which counts as progress.
#[derive(Debug, Default)]
struct WriteTimer {
    /// `None` while no byte waits.
    since: Option<Instant>,
    /// Bytes in the socket's queue at that time.
    queued: Option<u64>,
    /// Allocated on first use, as most flows never wait; rearmed only when it expires.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl WriteTimer {
    /// No byte waits.
    fn stop(&mut self) {
        self.since = None;
    }

    fn poll(
        &mut self,
        blocked: bool,
        progress: bool,
        queued: impl Fn() -> Option<u64>,
        (limit, context): (Duration, &mut Context<'_>),
    ) -> Poll<()> {
        if !blocked {
            self.stop();
            return Poll::Pending;
        }
        let mut since = match self.since {
            Some(since) if !progress => since,
            _ => {
                self.queued = queued();
                *self.since.insert(Instant::now())
            }
        };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(since + limit)));
        while sleep.as_mut().poll(context).is_ready() {
            if since + limit <= Instant::now() {
                let left = queued();
                if left >= self.queued {
                    return Poll::Ready(());
                }
                self.queued = left;
                since = *self.since.insert(Instant::now());
            }
            sleep.as_mut().reset(since + limit);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;
    use tokio::time::{sleep, timeout};

    #[tokio::test]
    async fn time_between_two_messages_of_a_flow_does_not_count_as_stalled() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let to = Stream::Tcp(listener.accept().await.unwrap().0);
        let uncounted = AtomicU64::new(0);
        let bytes = ByteCounters([&uncounted; 2]);
        let write = Duration::from_millis(300);
        let options = RelayOptions { idle: write, write, ahead: Duration::ZERO };
        // The first message waits for the peer to read.
        let mut flow = Flow::of_length(vec![0; 16 << 20], 0);
        let mut part = vec![0; 16 << 20];
        let (sent, read) =
            tokio::join!(relay_one_way(&to, &to, &mut flow, bytes, options), peer.read_exact(&mut part));
        assert_eq!((sent, read.is_ok()), (Ok(()), true));
        sleep(2 * write).await;
        // The second finds more in the queue, and full buffers at the peer.
        flow.write_timer.queued = Some(1);
        while timeout(write, to.tcp().writable()).await.is_ok() {
            _ = to.tcp().try_write(&part);
        }
        flow.prepend(vec![0]);
        let second = timeout(write / 2, relay_one_way(&to, &to, &mut flow, bytes, options)).await;
        assert!(second.is_err(), "it waits: {second:?}");
    }
}
