//! Real sockets: an application writes at one end of a connection, the other end reads and looks whether
//! every byte is the one that was written. Video, where both ends write, is in `video`.
//!
//! Where servers may restart, a file is fetched as a download manager would: whoever reads says first from
//! which byte on it wants the stream (eight bytes, big-endian), and where the connection ends before the
//! file does, the device opens another. What was read stays read.

use crate::content::Content;
use crate::edge;
use crate::faults::{Ending, Server};
use abr::{Session, Sight, Viewer};
use linux::clock::Clock;
use linux::socket::{self, Options, Protocol};
use linux::{Error, namespace::Namespace};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use traffic::{App, Direction, Kind, TrafficConfig};
use units::{Bytes, Duration, Instant, Seed};

/// So often a thread that waits looks whether it is to end.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(20);
/// So often a writer looks whether the send buffer has room again, which nobody tells it.
pub(crate) const ROOM: Duration = Duration::from_millis(1);
/// So long the device waits before it connects anew, and then for an answer.
const AGAIN: Duration = Duration::from_millis(50);
const ANSWER: std::time::Duration = std::time::Duration::from_secs(1);
/// Room for what is written or read at once.
pub(crate) const PIECE: usize = 128 * 1024;

/// What became of a connection so far; both ends and whoever wants to know share it.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Bytes that the reading end has read, each the right one.
    pub(crate) delivered: AtomicU64,
    /// Bytes that the socket took from the application.
    pub(crate) written: AtomicU64,
    /// When the last of them came, in nanoseconds.
    pub(crate) last_byte: AtomicU64,
    /// Connections that the device has opened for it.
    pub(crate) opened: AtomicU64,
    rest: Mutex<Rest>,
    /// Of a video, who asks for it; until the end of the run.
    pub(crate) viewer: Mutex<Option<Viewer>>,
}

/// What changes rarely.
#[derive(Debug, Default, Clone)]
pub(crate) struct Rest {
    /// Multipath TCP was agreed on; unknown before there is a connection.
    pub(crate) mptcp: Option<bool>,
    pub(crate) offered: u64,
    pub(crate) dropped: u64,
    /// Everything was written, read, and the end seen.
    pub(crate) complete: bool,
    /// Why the connection was lost.
    pub(crate) failed: Option<String>,
    /// Where in the stream something else was read than was written.
    pub(crate) differs: Option<u64>,
}

impl Rest {
    /// Nothing is to be expected of it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.complete || self.failed.is_some() || self.differs.is_some()
    }
}

impl Progress {
    pub(crate) fn rest(&self) -> Rest {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    pub(crate) fn last_byte(&self) -> Instant {
        Instant::from_nanos(self.last_byte.load(Ordering::Relaxed))
    }
    /// What the viewer of a video sees.
    pub(crate) fn sight(&self, now: Instant) -> Option<Sight> {
        self.viewer.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|viewer| viewer.sight(now))
    }
    /// The record of a video's session, once: the viewer is gone after that.
    pub(crate) fn finish(&self, now: Instant) -> Option<Session> {
        let viewer = self.viewer.lock().unwrap_or_else(PoisonError::into_inner).take();
        viewer.map(|viewer| viewer.finish(now))
    }
    pub(crate) fn change(&self, change: impl FnOnce(&mut Rest)) {
        change(&mut self.rest.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One connection of the scenario.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) config: TrafficConfig,
    pub(crate) protocol: Protocol,
    pub(crate) server: SocketAddr,
    /// The device asks there for the server, which then speaks TCP alone.
    pub(crate) proxy: Option<SocketAddr>,
    pub(crate) options: Options,
    /// The device's socket goes through this interface alone.
    pub(crate) bound_to: Option<String>,
    /// How much an application may write ahead, in bytes.
    pub(crate) send_buffer: u64,
    pub(crate) seed: Seed,
    pub(crate) clock: Clock,
    pub(crate) end: Instant,
    /// The program on the server, which may end and begin anew.
    pub(crate) program: Arc<Server>,
    /// Servers may restart, and what is carried is a file: see the top of this module.
    pub(crate) resumes: bool,
}

impl Plan {
    fn listen(&self) -> Result<TcpListener, Error> {
        let any = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), self.server.port());
        // As web servers do: what is written last is not held back until the rest is acknowledged.
        let options = Options { no_delay: true, ..self.options.clone() };
        let protocol = if self.proxy.is_some() { Protocol::Tcp } else { self.protocol };
        socket::listen(any, protocol, &options)
    }

    /// What there is to write from `offset` on; `None` where there is not so much.
    fn left(&self, offset: u64) -> Option<TrafficConfig> {
        let mut config = self.config.clone();
        if let Kind::File { size } = &mut config.kind {
            *size = Bytes::new(size.get().checked_sub(offset)?);
        }
        Some(config)
    }

    /// Whether a stream that ends there is whole.
    fn whole(&self, offset: u64) -> bool {
        !self.resumes || self.left(offset).is_some_and(|left| left.kind == Kind::File { size: Bytes::ZERO })
    }
}

/// Both ends at work.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) progress: Arc<Progress>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Flow {
    /// Listens in the server's namespace, then lets the device connect when the time comes.
    pub(crate) fn start(
        plan: &Plan,
        device: &Namespace,
        server: &Namespace,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let config = &plan.config;
        let viewer = match &config.kind {
            Kind::Video(video) => Some(Viewer::new(video, config.start, config.stop)),
            _ => None,
        };
        let progress = Arc::new(Progress { viewer: Mutex::new(viewer), ..Progress::default() });
        let listener = server.run(|| plan.listen())?;
        let (p, b, s) = (plan.clone(), Arc::clone(&progress), Arc::clone(stop));
        let serving = server.spawn("server", move || {
            End { plan: &p, progress: &b, stop: &s, life: Some(0) }.serve(listener);
            Ok(())
        })?;
        let (p, b, s) = (plan.clone(), Arc::clone(&progress), Arc::clone(stop));
        let connecting = device.spawn("device", move || {
            End { plan: &p, progress: &b, stop: &s, life: None }.connect();
            Ok(())
        })?;
        Ok(Self { progress, threads: vec![serving, connecting] })
    }

    /// Waits for both ends, which have been told to stop, or have seen the end.
    pub(crate) fn join(self) -> Result<Arc<Progress>, Error> {
        for thread in self.threads {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(self.progress)
    }
}

/// One end of a connection.
pub(crate) struct End<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) progress: &'a Progress,
    stop: &'a AtomicBool,
    /// Of the server, which of its program's lives this is.
    life: Option<u64>,
}

impl End<'_> {
    /// Nothing is to be done any more, or not by this life of the program.
    pub(crate) fn over(&self) -> bool {
        self.run_over() || self.dead()
    }

    fn run_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.plan.clock.now() >= self.plan.end
    }

    /// There was a viewer, and the time is over at which there is one.
    fn viewer_gone(&self) -> bool {
        let config = &self.plan.config;
        matches!(config.kind, Kind::Video(_)) && config.stop.is_some_and(|stop| self.plan.clock.now() >= stop)
    }

    fn dead(&self) -> bool {
        self.life.is_some_and(|life| life != self.plan.program.deaths())
    }

    /// Sleeps until then, or until it is to look up; says whether it is over.
    pub(crate) fn sleep(&self, until: Instant) -> bool {
        while !self.over() {
            let left = until.since(self.plan.clock.now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_nanos(left.min(LOOK_UP).as_nanos()));
        }
        true
    }

    /// Waits until something can be read or written; says whether it is over.
    pub(crate) fn wait(&self, socket: &impl std::os::fd::AsFd, flags: PollFlags, longest: Duration) -> bool {
        let wait = Timespec { tv_sec: 0, tv_nsec: longest.min(LOOK_UP).as_nanos() as _ };
        // An interrupted wait is only a shorter one.
        let _ = poll(&mut [PollFd::new(socket, flags)], Some(&wait));
        self.over()
    }

    fn fail(&self, doing: &str, error: &io::Error) {
        let text = format!("cannot {doing}: {error}");
        self.progress.change(|rest| {
            rest.failed.get_or_insert(text);
        });
    }

    /// One life of the program after the other.
    fn serve(&mut self, mut listener: TcpListener) {
        loop {
            self.accept(&listener);
            if self.run_over() || !self.dead() {
                return;
            }
            drop(listener);
            while !self.plan.program.runs() {
                if self.run_over() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_nanos(LOOK_UP.as_nanos()));
            }
            self.life = Some(self.plan.program.deaths());
            listener = match self.plan.listen() {
                Ok(listener) => listener,
                Err(error) => return self.fail("listen", &io::Error::other(error)),
            };
        }
    }

    fn accept(&self, listener: &TcpListener) {
        if let Err(error) = listener.set_nonblocking(true) {
            return self.fail("listen", &error);
        }
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    self.carry(stream);
                    // Another comes only from a device that wants the rest.
                    if !self.plan.resumes {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(listener, PollFlags::IN, LOOK_UP) {
                        return;
                    }
                }
                Err(error) => return self.fail("accept a connection", &error),
            }
        }
    }

    fn connect(&self) {
        if self.sleep(self.plan.config.start) {
            return;
        }
        let mut options = self.plan.options.clone();
        options.bind_device.clone_from(&self.plan.bound_to);
        options.timeout = self.plan.resumes.then_some(ANSWER);
        loop {
            let to = self.plan.proxy.unwrap_or(self.plan.server);
            let connected = socket::connect(to, self.plan.protocol, &options).and_then(|mut stream| {
                if self.plan.proxy.is_some() {
                    edge::ask(&mut stream, self.plan.server.port())
                        .map_err(|error| Error::system("ask the proxy", error))?;
                }
                Ok(stream)
            });
            match connected {
                Ok(stream) => {
                    self.progress.opened.fetch_add(1, Ordering::Relaxed);
                    if self.carry(stream) {
                        return;
                    }
                }
                Err(_) if self.plan.resumes => {}
                Err(error) => {
                    return self.progress.change(|rest| {
                        rest.failed.get_or_insert(error.to_string());
                    });
                }
            }
            if self.sleep(self.plan.clock.now() + AGAIN) {
                return;
            }
        }
    }

    /// One connection from beginning to end; says whether there is no more to do.
    fn carry(&self, mut stream: TcpStream) -> bool {
        let device = self.life.is_none();
        if device {
            let mptcp = socket::mptcp_info(&stream).is_ok_and(|info| info.is_some());
            self.progress.change(|rest| rest.mptcp = Some(mptcp));
        }
        let writes = (self.plan.config.direction == Direction::Up) == device;
        let done = stream.set_nonblocking(true).and_then(|()| match &self.plan.config.kind {
            Kind::Video(video) if device => self.view(&mut stream, video),
            Kind::Video(video) => self.answer(&mut stream, video),
            _ if writes => self.write(&mut stream),
            _ => self.read(&mut stream),
        });
        if self.dead() && self.plan.program.ending() == Ending::Reset {
            // Where the device has reset it already, there is nothing to end.
            let _ = socket::abort(&stream);
        }
        if self.dead() && !self.plan.resumes {
            self.fail("carry on", &ErrorKind::ConnectionAborted.into());
        }
        match done {
            Ok(whole) => whole || !self.plan.resumes,
            // At the end of a run connections are cut wherever they are, and by a viewer who goes in the middle of an answer.
            Err(_) if self.over() || self.viewer_gone() => true,
            Err(_) if self.plan.resumes && self.progress.rest().differs.is_none() => false,
            Err(error) => {
                self.fail(if writes { "write" } else { "read" }, &error);
                true
            }
        }
    }

    /// From where on the other end wants the stream; `None` where it is over before that is known.
    fn asked(&self, stream: &mut TcpStream) -> io::Result<Option<u64>> {
        let (mut bytes, mut read) = ([0; 8], 0);
        while self.plan.resumes && read < bytes.len() {
            match stream.read(&mut bytes[read..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => read += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(stream, PollFlags::IN, LOOK_UP) {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(u64::from_be_bytes(bytes)))
    }

    /// Says whether everything was written, and the other end has it.
    fn write(&self, stream: &mut TcpStream) -> io::Result<bool> {
        let content = Content::new(self.plan.seed.derive("content"));
        let Some(from) = self.asked(stream)? else { return Ok(false) };
        let left = self.plan.left(from).ok_or_else(|| io::Error::other("there is not so much to ask for"))?;
        let mut app = App::new(&left, self.plan.seed.derive("app"));
        let mut piece = vec![0; PIECE];
        let (mut offset, mut pending) = (from, 0_u64);
        while !self.over() {
            if pending == 0 {
                let now = self.plan.clock.now();
                let waits = socket::unacknowledged(&*stream).map_err(io::Error::other)?;
                pending = app.write(now, self.plan.send_buffer.saturating_sub(waits));
                self.progress
                    .change(|rest| (rest.offered, rest.dropped) = (from + app.offered(), app.dropped()));
                if app.done(now) && pending == 0 {
                    stream.shutdown(Shutdown::Write)?;
                    return self.see_end(stream);
                }
                if pending == 0 {
                    // A connection that is lost never has room again, and nothing is written that could fail.
                    if let Some(error) = stream.take_error()? {
                        return Err(error);
                    }
                    let until = if app.waiting() { now + ROOM } else { app.next().unwrap_or(Instant::MAX) };
                    self.sleep(until.min(now + LOOK_UP));
                    continue;
                }
            }
            let length = pending.min(PIECE as u64) as usize;
            content.fill(offset, &mut piece[..length]);
            match stream.write(&piece[..length]) {
                Ok(taken) => {
                    offset += taken as u64;
                    pending -= taken as u64;
                    self.progress.written.store(offset, Ordering::Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(stream, PollFlags::OUT, LOOK_UP);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Everything is written: waits until the other end has closed too.
    pub(crate) fn see_end(&self, stream: &mut TcpStream) -> io::Result<bool> {
        let mut byte = [0];
        loop {
            match stream.read(&mut byte) {
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(stream, PollFlags::IN, LOOK_UP) {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Says whether everything was read, up to the end.
    fn read(&self, stream: &mut TcpStream) -> io::Result<bool> {
        let content = Content::new(self.plan.seed.derive("content"));
        let (mut piece, mut room) = (vec![0; PIECE], Vec::new());
        let mut offset = self.progress.delivered.load(Ordering::Relaxed);
        if self.plan.resumes {
            // So little always fits into the buffer of a new connection.
            stream.write_all(&offset.to_be_bytes())?;
        }
        loop {
            match stream.read(&mut piece) {
                Ok(0) if self.plan.whole(offset) => {
                    self.progress.change(|rest| rest.complete = true);
                    return stream.shutdown(Shutdown::Write).map(|()| true);
                }
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => {
                    let now = self.plan.clock.now();
                    if let Some(at) = content.differs(offset, &piece[..length], &mut room) {
                        self.progress.change(|rest| rest.differs = Some(at));
                        return Err(io::Error::other(format!(
                            "byte {at} of the stream is not the one that was written"
                        )));
                    }
                    offset += length as u64;
                    self.progress.delivered.store(offset, Ordering::Relaxed);
                    self.progress.last_byte.store(now.as_nanos(), Ordering::Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.wait(stream, PollFlags::IN, LOOK_UP) {
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
}
