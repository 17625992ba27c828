//! Streams and listeners of the applications, over sockets of the kernel or of Tandem's stack.

use linux::namespace::Namespace;
use linux::socket::{self, Options, Protocol};
use linux::{Error, clock};
use mptcp::Config;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use stack::{Host, Interest};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use units::Duration;

/// Where the applications of one host run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// In a namespace of the kernel.
    Kernel(&'a Namespace),
    /// At Tandem's stack, in the namespace of the program.
    Stack,
}

impl Place<'_> {
    /// Starts a thread at this place.
    pub(crate) fn spawn(
        self,
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<JoinHandle<Result<(), Error>>, Error> {
        match self {
            Self::Kernel(namespace) => namespace.spawn(name, move || {
                body();
                Ok(())
            }),
            Self::Stack => std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    // The thread shares locks with that of the stack, which has this priority.
                    clock::request_realtime_priority();
                    body();
                    Ok(())
                })
                .map_err(|error| Error::system("start a thread", error)),
        }
    }
}

/// Options of the sockets of one end.
#[derive(Debug, Clone)]
pub(crate) enum SocketSettings {
    /// Of the kernel.
    Kernel { protocol: Protocol, options: Options },
    /// Of Tandem's stack, with the only path of a connection over plain TCP.
    Stack { host: Host, config: Arc<Config>, path: Option<usize> },
}

impl SocketSettings {
    /// Listens at all addresses. A kernel's listener is in the namespace of the calling thread.
    pub(crate) fn listen(&self, port: u16) -> Result<Listener, Error> {
        Ok(match self {
            Self::Kernel { protocol, options } => {
                let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
                Listener::Kernel(socket::listen(any, *protocol, options)?)
            }
            Self::Stack { host, config, .. } => Listener::Stack(host.listen(port, Arc::clone(config))),
        })
    }

    /// Starts to connect. A kernel's stream is in the namespace of the calling thread.
    pub(crate) fn start_connect(&self, to: SocketAddr) -> Result<Stream, Error> {
        match self {
            Self::Kernel { protocol, options } => {
                socket::start_connect(to, *protocol, options).map(Stream::Kernel)
            }
            Self::Stack { host, config, path } => {
                let socket = host.connect(*path, to, Arc::clone(config));
                socket.map(Stream::Stack).map_err(|error| Error::system(format!("connect to {to}"), error))
            }
        }
    }
}

/// Accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Kernel(TcpListener),
    Stack(stack::Listener),
}

impl Listener {
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Kernel(listener) => listener.set_nonblocking(true),
            Self::Stack(_) => Ok(()),
        }
    }

    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Kernel(listener) => listener.accept().map(|(stream, _)| Stream::Kernel(stream)),
            Self::Stack(listener) => {
                listener.accept().map(Stream::Stack).ok_or_else(|| ErrorKind::WouldBlock.into())
            }
        }
    }

    /// Waits for a connection, at most for `timeout`.
    pub(crate) fn wait(&self, timeout: Duration) {
        match self {
            Self::Kernel(listener) => wait_kernel(listener, PollFlags::IN, timeout),
            Self::Stack(listener) => listener.wait(timeout),
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Stream {
    Kernel(TcpStream),
    Stack(stack::Socket),
}

impl Stream {
    /// True once the connection is open.
    pub(crate) fn is_connected(&self) -> io::Result<bool> {
        match self {
            Self::Kernel(stream) => socket::is_connected(stream),
            Self::Stack(socket) => socket.is_connected(),
        }
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.set_nonblocking(true),
            Self::Stack(_) => Ok(()),
        }
    }

    /// Name of the negotiated protocol, as in the results of a simulation.
    pub(crate) fn protocol(&self) -> &'static str {
        let (is_mptcp, uses_rec) = match self {
            Self::Kernel(stream) => (socket::mptcp_info(stream).is_ok_and(|info| info.is_some()), false),
            Self::Stack(socket) => (socket.is_mptcp(), socket.uses_rec()),
        };
        match (is_mptcp, uses_rec) {
            (true, true) => "mptcp-rec",
            (true, false) => "mptcp",
            (false, _) => "tcp",
        }
    }

    /// Written bytes that the peer has not acknowledged.
    pub(crate) fn unacknowledged(&self) -> io::Result<u64> {
        match self {
            Self::Kernel(stream) => socket::unacknowledged(stream).map_err(io::Error::other),
            Self::Stack(socket) => Ok(socket.unacknowledged()),
        }
    }

    /// Sends no more data.
    pub(crate) fn close_writing(&self) -> io::Result<()> {
        match self {
            Self::Kernel(stream) => stream.shutdown(Shutdown::Write),
            Self::Stack(socket) => {
                socket.close_writing();
                Ok(())
            }
        }
    }

    /// The error that has ended the connection.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Kernel(stream) => stream.take_error(),
            Self::Stack(socket) => Ok(socket.error()),
        }
    }

    pub(crate) fn abort(&self) {
        match self {
            // Fails if the peer has already reset the connection.
            Self::Kernel(stream) => _ = socket::abort(stream),
            Self::Stack(socket) => socket.abort(),
        }
    }

    /// Bytes held beyond a gap, and their peak, which a kernel does not tell.
    pub(crate) fn out_of_order(&self) -> Option<(u64, u64)> {
        match self {
            Self::Kernel(_) => None,
            Self::Stack(socket) => Some(socket.out_of_order()),
        }
    }

    /// Waits for `interest`, at most for `timeout`.
    pub(crate) fn wait(&self, interest: Interest, timeout: Duration) {
        match self {
            Self::Kernel(stream) => {
                let flags = match interest {
                    Interest::Read => PollFlags::IN,
                    Interest::Write => PollFlags::OUT,
                };
                wait_kernel(stream, flags, timeout);
            }
            Self::Stack(socket) => socket.wait(interest, timeout),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(stream) => stream.read(buffer),
            Self::Stack(socket) => socket.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Self::Kernel(stream) => stream.write(data),
            Self::Stack(socket) => socket.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for an event of a kernel's socket, at most for `timeout`.
pub(crate) fn wait_kernel(socket: &impl std::os::fd::AsFd, flags: PollFlags, timeout: Duration) {
    let wait = Timespec {
        tv_sec: (timeout.as_nanos() / 1_000_000_000) as i64,
        tv_nsec: (timeout.as_nanos() % 1_000_000_000) as _,
    };
    // An interrupted wait is only shorter.
    _ = poll(&mut [PollFd::new(socket, flags)], Some(&wait));
}
