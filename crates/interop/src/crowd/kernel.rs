//! Many connections of the kernel, served by one thread.

use super::{CrowdSetup, Shared};
use crate::crowd::exchange::Exchange;
use crate::host::PORT;
use crate::kernel_host::configure;
use crate::network::server_address;
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::pm::PathManager;
use linux::socket::{self, Options, Protocol};
use linux::tun::Tun;
use linux::{Error, sysctl};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

const POLL: Duration = Duration::from_micros(500);

pub(super) struct KernelCrowd {
    namespace: Namespace,
    _manager: PathManager,
    listener: Option<TcpListener>,
}

struct Connection {
    stream: TcpStream,
    exchange: Exchange,
    is_connected: bool,
    is_counted: bool,
}

impl KernelCrowd {
    pub(super) fn start(setup: CrowdSetup<'_>) -> Result<(Self, Vec<Tun>), Error> {
        let namespace = Namespace::create()?;
        let (devices, manager) = namespace.run(|| configure(setup.host))?;
        let listen = || {
            for (name, value) in [("tcp_syncookies", "0"), ("tcp_max_syn_backlog", "65535")] {
                sysctl::write(&format!("net.ipv4.{name}"), value)?;
            }
            let any = if setup.host.v6 {
                IpAddr::from(Ipv6Addr::UNSPECIFIED)
            } else {
                Ipv4Addr::UNSPECIFIED.into()
            };
            let options = Options { backlog: Some(4096), ..Options::default() };
            socket::listen(SocketAddr::new(any, PORT), Protocol::Mptcp, &options)
        };
        let listener = if setup.host.is_client { None } else { Some(namespace.run(listen)?) };
        Ok((Self { namespace, _manager: manager, listener }, devices))
    }

    pub(super) fn mib(&self) -> Result<Mib, Error> {
        self.namespace.run(Mib::read)
    }

    /// Opens or accepts the connections in a thread of their own.
    pub(super) fn run(&mut self, setup: CrowdSetup<'_>, shared: &Shared) -> Result<JoinHandle<()>, Error> {
        let (shared, listener) = (shared.clone(), self.listener.take());
        let address = SocketAddr::new(server_address(setup.host.v6), PORT);
        let open = |number| {
            let stream = socket::start_connect(address, Protocol::Mptcp, &Options::default())?;
            Ok(Connection::new(stream, Exchange::client(number), false))
        };
        let count = if listener.is_none() { setup.connections } else { 0 };
        let mut all: Vec<Connection> =
            self.namespace.run(|| (0..count).map(open).collect::<Result<_, Error>>())?;
        Ok(std::thread::spawn(move || {
            while !shared.is_stopped() {
                if let Err(error) = step(&mut all, listener.as_ref(), &shared) {
                    shared.fail(error.to_string());
                    return;
                }
                std::thread::sleep(POLL);
            }
        }))
    }
}

fn step(all: &mut Vec<Connection>, listener: Option<&TcpListener>, shared: &Shared) -> io::Result<()> {
    if let Some(listener) = listener {
        listener.set_nonblocking(true)?;
        while let Some((stream, _)) = unless_blocked(listener.accept())? {
            stream.set_nonblocking(true)?;
            all.push(Connection::new(stream, Exchange::server(), true));
            shared.count_open();
        }
    }
    for connection in all {
        connection.step(shared)?;
    }
    Ok(())
}

impl Connection {
    fn new(stream: TcpStream, exchange: Exchange, is_connected: bool) -> Self {
        Self { stream, exchange, is_connected, is_counted: false }
    }

    fn step(&mut self, shared: &Shared) -> io::Result<()> {
        if self.is_counted {
            return Ok(());
        }
        if !self.is_connected {
            self.is_connected = socket::is_connected(&self.stream)?;
            if !self.is_connected {
                return Ok(());
            }
        }
        let pending = self.exchange.pending(shared.all_open());
        if !pending.is_empty()
            && let Some(len) = unless_blocked(self.stream.write(&pending))?
        {
            self.exchange.on_sent(len);
        }
        if self.exchange.closes() {
            self.stream.shutdown(Shutdown::Write)?;
        }
        let mut buffer = [0; 4096];
        while let Some(len) = unless_blocked(self.stream.read(&mut buffer))? {
            if len == 0 {
                self.exchange.on_end();
                break;
            }
            self.exchange.receive(&buffer[..len]);
        }
        self.is_counted = shared.count_finished(&self.exchange);
        Ok(())
    }
}

/// `None` for an operation that would block.
fn unless_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}
