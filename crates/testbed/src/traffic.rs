//! Connections over real sockets. One end writes seeded bytes, and the other end verifies each
//! byte. `video` contains the exchange of a video, in which both ends write.
//!
//! If the server may restart, file transfers can resume. The receiver first requests a stream
//! offset (eight bytes, big-endian). When a connection ends before the file does, the device opens
//! another one from the first missing byte on.

use crate::connection_plan::ConnectionPlan;
use crate::faults::Teardown;
use crate::proxied_server;
use crate::seeded_bytes::SeededBytes;
use crate::stream::{Listener, Place, Stream};
use abr::{Session, Sight, Viewer};
use linux::Error;
use sim::{DelayRecorder, Distribution};
use stack::Interest;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use traffic::{App, Direction, Kind, Message};
use units::{Duration, Instant};

/// Interval at which a waiting thread checks whether it must stop.
pub(crate) const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Interval at which a writer checks for space in the scenario's send buffer. The kernel does not
/// report it, since its own buffer may be larger.
pub(crate) const SEND_BUFFER_POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Delay of the device before it opens another connection.
const RECONNECT_DELAY: Duration = Duration::from_millis(50);
/// Timeout of a connection attempt that may be repeated.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of a read or write.
pub(crate) const CHUNK_BYTES: usize = 128 * 1024;

/// Progress of a connection, shared by both ends and the run controller.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Verified bytes that the receiver has read.
    pub(crate) delivered: AtomicU64,
    /// Bytes that the sender has written and the receiver has not acknowledged.
    pub(crate) unacknowledged: AtomicU64,
    /// Time of the last delivered byte, in nanoseconds.
    pub(crate) last_byte: AtomicU64,
    /// Number of connections that the device has opened.
    pub(crate) opened: AtomicU64,
    status: Mutex<Status>,
    delays: Mutex<Delays>,
    /// Bytes held beyond a gap, and their peak; only of a receiver with Tandem's stack.
    out_of_order: Mutex<Option<(u64, u64)>>,
    /// Viewer of a video, until the end of the run.
    pub(crate) viewer: Mutex<Option<Viewer>>,
}

/// Delay of the application. Both ends run on the clock of one host.
#[derive(Debug, Default)]
struct Delays {
    /// Messages that were written and not yet read completely.
    unread: VecDeque<Message>,
    recorder: DelayRecorder,
}

/// Rarely changing part of the progress.
#[derive(Debug, Default, Clone)]
pub(crate) struct Status {
    /// Protocol that the peers negotiated; `None` before the first connection.
    pub(crate) protocol: Option<&'static str>,
    /// Bytes that the application has offered.
    pub(crate) offered: u64,
    /// Bytes that the application has dropped.
    pub(crate) dropped: u64,
    /// All bytes of the stream were delivered, with its end. A stop may have cut off a file.
    pub(crate) complete: bool,
    /// Error that ended the connection.
    pub(crate) failed: Option<String>,
    /// Stream offset of the first wrong byte.
    pub(crate) mismatch: Option<u64>,
}

impl Status {
    /// True once the connection has completed or failed.
    pub(crate) fn is_final(&self) -> bool {
        self.complete || self.failed.is_some() || self.mismatch.is_some()
    }
}

impl Progress {
    pub(crate) fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub(crate) fn last_byte(&self) -> Instant {
        Instant::from_nanos(self.last_byte.load(Ordering::Relaxed))
    }
    /// State of the video's player.
    pub(crate) fn sight(&self, now: Instant) -> Option<Sight> {
        self.viewer.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|viewer| viewer.sight(now))
    }
    /// Ends the video's session and returns its record. Returns `None` on a second call.
    pub(crate) fn finish_session(&self, now: Instant) -> Option<Session> {
        let viewer = self.viewer.lock().unwrap_or_else(PoisonError::into_inner).take();
        viewer.map(|viewer| viewer.finish(now))
    }
    fn delays(&self) -> MutexGuard<'_, Delays> {
        self.delays.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Forgets unread messages before a connection continues a stream.
    fn clear_messages(&self) {
        self.delays().unread.clear();
    }
    /// Adds the messages that `app`, which began at stream offset `from`, has written.
    fn add_messages(&self, app: &mut App, from: u64) {
        let written = std::iter::from_fn(|| app.take_message());
        let shifted = written.map(|message| Message { end: from + message.end, ..message });
        self.delays().unread.extend(shifted);
    }
    /// Records the delays of the messages before stream offset `delivered`, which were read at
    /// `now`.
    fn record_delays(&self, now: Instant, delivered: u64) {
        let Delays { unread, recorder } = &mut *self.delays();
        while let Some(&message) = unread.front().filter(|message| message.end <= delivered) {
            unread.pop_front();
            recorder.on_read(now, message);
        }
    }
    /// Number of messages read, and the sum of their delays in nanoseconds.
    pub(crate) fn delay_totals(&self) -> (u64, u128) {
        self.delays().recorder.totals()
    }
    /// Distributions of delay and jitter.
    pub(crate) fn delay_outcome(&self) -> [Distribution; 2] {
        self.delays().recorder.outcome()
    }
    /// Records how much data `stream` holds beyond a gap.
    pub(crate) fn record_out_of_order(&self, stream: &Stream) {
        if let Some(held) = stream.out_of_order() {
            *self.out_of_order.lock().unwrap_or_else(PoisonError::into_inner) = Some(held);
        }
    }
    /// Bytes held beyond a gap at the last read.
    pub(crate) fn out_of_order(&self) -> Option<u64> {
        self.out_of_order.lock().unwrap_or_else(PoisonError::into_inner).map(|(now, _)| now)
    }
    pub(crate) fn peak_out_of_order(&self) -> Option<u64> {
        self.out_of_order.lock().unwrap_or_else(PoisonError::into_inner).map(|(_, peak)| peak)
    }
    pub(crate) fn update(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A connection. Each end runs in a thread of its own.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) progress: Arc<Progress>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Flow {
    /// Listens at the server; the device connects at the start time of the traffic.
    pub(crate) fn start(
        plan: &ConnectionPlan,
        device: Place<'_>,
        server: Place<'_>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let traffic = &plan.traffic;
        let viewer = match &traffic.kind {
            Kind::Video(video) => Some(Viewer::new(video, traffic.start, traffic.stop)),
            _ => None,
        };
        let progress = Arc::new(Progress { viewer: Mutex::new(viewer), ..Progress::default() });
        let listener = match server {
            Place::Kernel(namespace) => namespace.run(|| plan.listen())?,
            Place::Stack => plan.listen()?,
        };
        let end = |generation| ConnectionEnd {
            plan: plan.clone(),
            progress: Arc::clone(&progress),
            stop: Arc::clone(stop),
            generation,
        };
        let (mut server_end, device_end) = (end(Some(0)), end(None));
        let serving = server.spawn("server", move || server_end.serve(listener))?;
        let connecting = device.spawn("device", move || device_end.connect())?;
        Ok(Self { progress, threads: vec![serving, connecting] })
    }

    /// Waits until both ends have completed or were told to stop.
    pub(crate) fn join(self) -> Result<Arc<Progress>, Error> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(self.progress)
    }
}

/// Number of the first failed connection, from 1, and its error.
pub(crate) fn first_failure(flows: &[Flow]) -> Option<(usize, String)> {
    let failures = flows.iter().map(|flow| flow.progress.status().failed);
    failures.zip(1..).find_map(|(failure, number)| Some((number, failure?)))
}

/// One end of a connection.
pub(crate) struct ConnectionEnd {
    pub(crate) plan: ConnectionPlan,
    pub(crate) progress: Arc<Progress>,
    stop: Arc<AtomicBool>,
    /// Generation of the server's program; `None` for the device.
    generation: Option<u64>,
}

impl ConnectionEnd {
    fn is_device(&self) -> bool {
        self.generation.is_none()
    }

    /// True at the end that sends the data; of a video, the server.
    fn is_sender(&self) -> bool {
        (self.plan.traffic.direction == Direction::Up) == self.is_device()
    }

    /// True at the end of the run, and after a stop of this generation of the server's program.
    pub(crate) fn must_stop(&self) -> bool {
        self.is_run_over() || self.is_program_stopped()
    }

    fn is_run_over(&self) -> bool {
        let context = &self.plan.context;
        self.stop.load(Ordering::Relaxed) || context.clock.now() >= context.end
    }

    /// True after the viewer of a video has left.
    fn has_viewer_left(&self) -> bool {
        let traffic = &self.plan.traffic;
        let now = || self.plan.context.clock.now();
        matches!(traffic.kind, Kind::Video(_)) && traffic.stop.is_some_and(|stop| now() >= stop)
    }

    fn is_program_stopped(&self) -> bool {
        self.generation.is_some_and(|generation| generation != self.plan.context.server_state.generation())
    }

    /// Records the unacknowledged data of the sender. A failed connection keeps its last value.
    fn record_unacknowledged(&self, stream: &Stream) {
        if let Some(bytes) = self.is_sender().then(|| stream.unacknowledged().ok()).flatten() {
            self.progress.unacknowledged.store(bytes, Ordering::Relaxed);
        }
    }

    /// Sleeps until `until`. Returns true if this end must stop.
    pub(crate) fn sleep_until(&self, until: Instant) -> bool {
        while !self.must_stop() {
            let left = until.since(self.plan.context.clock.now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(STOP_POLL_INTERVAL).as_nanos()));
        }
        true
    }

    /// Waits until the stream is ready, at most for `timeout` and [`STOP_POLL_INTERVAL`]. Returns
    /// true if this end must stop.
    pub(crate) fn wait_ready(&self, stream: &Stream, interest: Interest, timeout: Duration) -> bool {
        stream.wait(interest, timeout.min(STOP_POLL_INTERVAL));
        self.record_unacknowledged(stream);
        self.must_stop()
    }

    fn record_failure(&self, doing: &str, error: &io::Error) {
        let text = format!("cannot {doing}: {error}");
        self.progress.update(|status| {
            status.failed.get_or_insert(text);
        });
    }

    /// Runs one generation of the server's program after the other.
    fn serve(&mut self, mut listener: Listener) {
        loop {
            self.accept_connections(&listener);
            if self.is_run_over() || !self.is_program_stopped() {
                return;
            }
            drop(listener);
            let server_state = &self.plan.context.server_state;
            while !server_state.is_running() {
                if self.is_run_over() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_nanos(STOP_POLL_INTERVAL.as_nanos()));
            }
            self.generation = Some(server_state.generation());
            listener = match self.plan.listen() {
                Ok(listener) => listener,
                Err(error) => return self.record_failure("listen", &io::Error::other(error)),
            };
        }
    }

    fn accept_connections(&self, listener: &Listener) {
        if let Err(error) = listener.set_nonblocking() {
            return self.record_failure("listen", &error);
        }
        loop {
            match listener.accept() {
                Ok(stream) => {
                    self.transfer(stream);
                    // The device reconnects only to resume.
                    if !self.plan.can_resume() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    listener.wait(STOP_POLL_INTERVAL);
                    if self.must_stop() {
                        return;
                    }
                }
                Err(error) => return self.record_failure("accept a connection", &error),
            }
        }
    }

    /// Connects to the server, and reconnects until the transfer has ended.
    fn connect(&self) {
        if self.sleep_until(self.plan.traffic.start) {
            return;
        }
        loop {
            match self.open_stream() {
                // The run is over.
                Ok(None) => return,
                Ok(Some(stream)) => {
                    self.progress.opened.fetch_add(1, Ordering::Relaxed);
                    if self.transfer(stream) {
                        return;
                    }
                }
                Err(_) if self.plan.can_resume() => {}
                Err(error) => {
                    return self.progress.update(|status| {
                        status.failed.get_or_insert(error.to_string());
                    });
                }
            }
            if self.sleep_until(self.plan.context.clock.now() + RECONNECT_DELAY) {
                return;
            }
        }
    }

    /// Opens a non-blocking stream to the server, through the proxy if there is one. Returns `None`
    /// if this end must stop before.
    fn open_stream(&self) -> Result<Option<Stream>, Error> {
        let to = self.plan.context.proxy.unwrap_or(self.plan.server);
        let mut stream = self.plan.sockets[0].start_connect(to)?;
        let failed = |error| Error::system(format!("connect to {to}"), error);
        let end = self.plan.can_resume().then(|| self.plan.context.clock.now() + CONNECT_TIMEOUT);
        while !stream.is_connected().map_err(failed)? {
            if self.wait_ready(&stream, Interest::Write, STOP_POLL_INTERVAL) {
                return Ok(None);
            }
            if end.is_some_and(|end| self.plan.context.clock.now() >= end) {
                return Err(failed(ErrorKind::TimedOut.into()));
            }
        }
        if self.plan.context.proxy.is_some() {
            let wait = |stream: &Stream| self.wait_ready(stream, Interest::Read, STOP_POLL_INTERVAL);
            let opened = proxied_server::open_tunnel(&mut stream, self.plan.server.port(), &wait)
                .map_err(|error| Error::system("open a tunnel through the proxy", error))?;
            return Ok(opened.then_some(stream));
        }
        Ok(Some(stream))
    }

    /// Transfers this end's part over one connection. Returns true if no reconnection is needed.
    fn transfer(&self, mut stream: Stream) -> bool {
        if self.is_device() {
            self.progress.update(|status| status.protocol = Some(stream.protocol()));
        }
        let result = stream.set_nonblocking().and_then(|()| match &self.plan.traffic.kind {
            Kind::Video(video) if self.is_device() => self.play_video(&mut stream, video),
            Kind::Video(video) => self.serve_video(&mut stream, video),
            _ if self.is_sender() => self.send_stream(&mut stream),
            _ => self.receive_stream(&mut stream),
        });
        self.record_unacknowledged(&stream);
        if self.is_program_stopped() && self.plan.context.server_state.teardown() == Teardown::Reset {
            stream.abort();
        }
        if self.is_program_stopped() && !self.plan.can_resume() {
            self.record_failure("continue", &ErrorKind::ConnectionAborted.into());
        }
        match result {
            Ok(complete) => complete || !self.plan.can_resume(),
            // The end of the run, and a viewer's departure cut connections in the middle.
            Err(_) if self.must_stop() || self.has_viewer_left() => true,
            Err(_) if self.plan.can_resume() && self.progress.status().mismatch.is_none() => false,
            Err(error) => {
                self.record_failure(if self.is_sender() { "write" } else { "read" }, &error);
                true
            }
        }
    }

    /// Reads the offset that the receiver requests, if the plan can resume; otherwise returns 0.
    /// Returns `None` if this end must stop before.
    fn read_offset(&self, stream: &mut Stream) -> io::Result<Option<u64>> {
        let (mut bytes, mut read) = ([0; 8], 0);
        while self.plan.can_resume() && read < bytes.len() {
            match stream.read(&mut bytes[read..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => read += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait_ready(stream, Interest::Read, STOP_POLL_INTERVAL) {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(u64::from_be_bytes(bytes)))
    }

    /// Sends the stream. Returns true once all bytes are sent and the receiver has closed.
    fn send_stream(&self, stream: &mut Stream) -> io::Result<bool> {
        let content = SeededBytes::new(self.plan.seed.derive("content"));
        let Some(from) = self.read_offset(stream)? else { return Ok(false) };
        let traffic = self.plan.traffic_from(from);
        let traffic = traffic.ok_or_else(|| io::Error::other("the requested offset is beyond the end"))?;
        let mut app = App::new(&traffic, self.plan.context.drawn_until, self.plan.seed.derive("app"));
        let mut chunk = vec![0; CHUNK_BYTES];
        let (mut offset, mut pending) = (from, 0_u64);
        self.progress.clear_messages();
        while !self.must_stop() {
            if pending == 0 {
                let now = self.plan.context.clock.now();
                let buffered = stream.unacknowledged()?;
                self.progress.unacknowledged.store(buffered, Ordering::Relaxed);
                pending = app.write(now, self.plan.send_buffer.saturating_sub(buffered));
                self.progress.add_messages(&mut app, from);
                self.progress.update(|status| {
                    status.offered = from + app.offered();
                    status.dropped = app.dropped();
                });
                if app.done(now) && pending == 0 {
                    stream.close_writing()?;
                    return self.wait_for_close(stream);
                }
                if pending == 0 {
                    // The buffer of a failed connection stays full, and no write reports the
                    // error.
                    if let Some(error) = stream.take_error()? {
                        return Err(error);
                    }
                    let until = if app.waiting() {
                        now + SEND_BUFFER_POLL_INTERVAL
                    } else {
                        app.next().unwrap_or(Instant::MAX)
                    };
                    self.sleep_until(until.min(now + STOP_POLL_INTERVAL));
                    continue;
                }
            }
            let length = pending.min(CHUNK_BYTES as u64) as usize;
            content.fill(offset, &mut chunk[..length]);
            let written = self.write_some(stream, &chunk[..length])? as u64;
            offset += written;
            pending -= written;
        }
        Ok(false)
    }

    /// Writes as much as the socket accepts. If it accepts nothing, waits for a moment and returns
    /// 0.
    pub(crate) fn write_some(&self, stream: &mut Stream, bytes: &[u8]) -> io::Result<usize> {
        match stream.write(bytes) {
            Ok(written) => Ok(written),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait_ready(stream, Interest::Write, STOP_POLL_INTERVAL);
                Ok(0)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Waits until the peer has closed too. Returns false if this end must stop before.
    pub(crate) fn wait_for_close(&self, stream: &mut Stream) -> io::Result<bool> {
        let mut byte = [0];
        loop {
            match stream.read(&mut byte) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait_ready(stream, Interest::Read, STOP_POLL_INTERVAL) {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives and verifies the stream. Returns true once it is complete.
    fn receive_stream(&self, stream: &mut Stream) -> io::Result<bool> {
        let content = SeededBytes::new(self.plan.seed.derive("content"));
        let (mut chunk, mut expected) = (vec![0; CHUNK_BYTES], Vec::new());
        let mut offset = self.progress.delivered.load(Ordering::Relaxed);
        if self.plan.can_resume() {
            // Never blocks: the send buffer of a new connection is empty.
            stream.write_all(&offset.to_be_bytes())?;
        }
        loop {
            match stream.read(&mut chunk) {
                Ok(0) if self.plan.is_complete_at(offset) => {
                    self.progress.update(|status| status.complete = true);
                    return stream.close_writing().map(|()| true);
                }
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let now = self.plan.context.clock.now();
                    if let Some(at) = content.first_mismatch(offset, &chunk[..length], &mut expected) {
                        self.progress.update(|status| status.mismatch = Some(at));
                        return Err(io::Error::other(format!(
                            "byte {at} of the stream differs from the byte written"
                        )));
                    }
                    offset += length as u64;
                    self.progress.delivered.store(offset, Ordering::Relaxed);
                    self.progress.last_byte.store(now.as_nanos(), Ordering::Relaxed);
                    self.progress.record_delays(now, offset);
                    self.progress.record_out_of_order(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait_ready(stream, Interest::Read, STOP_POLL_INTERVAL) {
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
}
