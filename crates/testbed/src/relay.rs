//! Relay between Tandem's stack at the server and the programs of the server's host.
//!
//! ```text
//!  device ══ the scenario's paths, MPTCP ══ Tandem's stack ── relay ── TCP, loopback ── program
//! ```
//!
//! The program sees connections from its own host, to the port that the device connects to.

use crate::stream::wait_kernel;
use crate::topology::SERVER;
use linux::Error;
use linux::namespace::Namespace;
use linux::socket::{self, Options, Protocol};
use mptcp::Config;
use rustix::event::PollFlags;
use stack::{Host, Interest, Listener, Socket};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time;
use units::Duration;

/// Interval at which a waiting thread checks whether it must stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
const CHUNK_BYTES: usize = 64 << 10;
/// Maximum number of relayed connections. Each has two threads.
const MAX_CONNECTIONS: usize = 256;

/// Running relay. Dropping it ends all connections.
#[derive(Debug)]
pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Relay {
    /// Accepts connections to every port of `host`, and relays them to programs of `server`.
    pub(crate) fn start(host: &Host, server: &Namespace, config: Config) -> Result<Self, Error> {
        let listener = host.listen_at_every_port(config);
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let thread = server.spawn("relay", move || {
            accept_connections(&listener, &stopped);
            Ok(())
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed.
            _ = thread.join();
        }
    }
}

/// Runs in the namespace of the server, which the threads of connections inherit.
fn accept_connections(listener: &Listener, stop: &Arc<AtomicBool>) {
    let mut running: Vec<JoinHandle<()>> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        running.retain(|thread| !thread.is_finished());
        listener.wait(STOP_POLL_INTERVAL);
        while let Some(socket) = listener.accept() {
            if running.len() >= MAX_CONNECTIONS {
                socket.abort();
                continue;
            }
            let stop = Arc::clone(stop);
            let relay = move || {
                let socket = Arc::new(socket);
                if relay(&socket, &stop).is_err() {
                    socket.abort();
                }
            };
            // Without a thread the socket is dropped, which closes the connection.
            running.extend(std::thread::Builder::new().name("relay".to_owned()).spawn(relay));
        }
    }
    for thread in running {
        _ = thread.join();
    }
}

/// Relays one connection in both directions until both have ended.
fn relay(socket: &Arc<Socket>, stop: &Arc<AtomicBool>) -> io::Result<()> {
    let port = socket.local_port().ok_or(ErrorKind::NotConnected)?;
    let Some(program) = connect(SocketAddr::new(SERVER, port), socket, stop)? else { return Ok(()) };
    program.set_nonblocking(false)?;
    program.set_nodelay(true)?;
    let timeout = Some(time::Duration::from_nanos(STOP_POLL_INTERVAL.as_nanos()));
    program.set_read_timeout(timeout)?;
    program.set_write_timeout(timeout)?;
    let upstream = {
        let (socket, stop, program) = (Arc::clone(socket), Arc::clone(stop), program.try_clone()?);
        let body = move || send_to_program(&socket, &program, &stop);
        std::thread::Builder::new().name("relay".to_owned()).spawn(body)?
    };
    let result = send_to_device(&program, socket, stop);
    if result.is_err() {
        reset(&program);
    }
    let sent = upstream.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the relay panicked")));
    result.and(sent)
}

/// Connects to a program. `None` if the device or the run has ended before.
fn connect(to: SocketAddr, socket: &Socket, stop: &AtomicBool) -> io::Result<Option<TcpStream>> {
    let options = Options::default();
    let program = socket::start_connect(to, Protocol::Tcp, &options).map_err(io::Error::other)?;
    // A full accept queue can delay it for seconds.
    while !socket::is_connected(&program)? {
        if stop.load(Ordering::Relaxed) || socket.error().is_some() {
            return Ok(None);
        }
        wait_kernel(&program, PollFlags::OUT, STOP_POLL_INTERVAL);
    }
    Ok(Some(program))
}

/// Passes a reset on to the program, and wakes the other direction.
fn reset(program: &TcpStream) {
    // Linux 6.5 and 6.6 abort no connection on which a thread waits. Both fail if it is gone.
    if socket::abort(program).is_err() {
        _ = program.shutdown(Shutdown::Both);
    }
}

/// Relays the data of the device until its end. An error resets the program's connection.
fn send_to_program(socket: &Socket, program: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    let result = copy_to_program(socket, program, stop);
    if result.is_err() {
        reset(program);
    }
    result
}

fn copy_to_program(socket: &Socket, mut program: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match socket.read(&mut buffer) {
            Ok(0) => return program.shutdown(Shutdown::Write),
            Ok(length) => {
                let mut left = &buffer[..length];
                while !left.is_empty() && !stop.load(Ordering::Relaxed) {
                    match program.write(left) {
                        Ok(written) => left = &left[written..],
                        Err(error) if is_timeout(&error) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                socket.wait(Interest::Read, STOP_POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Relays the data of the program until its end.
fn send_to_device(mut program: &TcpStream, socket: &Socket, stop: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    while !stop.load(Ordering::Relaxed) {
        match program.read(&mut buffer) {
            Ok(0) => {
                socket.close_writing();
                return Ok(());
            }
            Ok(length) => {
                let mut left = &buffer[..length];
                while !left.is_empty() && !stop.load(Ordering::Relaxed) {
                    match socket.write(left) {
                        Ok(written) => left = &left[written..],
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            socket.wait(Interest::Write, STOP_POLL_INTERVAL);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
