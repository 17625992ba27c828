//! The kernel under attack, in a network namespace behind a TUN device.

use crate::End;
use crate::exchange::Peers;
use crate::packet::{PEER, PORT, VICTIM};
use crate::victim::Victim;
use linux::namespace::Namespace;
use linux::pm::{Limits, PathManager};
use linux::route::Route;
use linux::socket::{Options, Protocol, is_connected, listen, start_connect};
use linux::tun::{MAX_PACKET_BYTES, Tun};
use linux::{Error, sysctl};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Time between looks at the device and the sockets.
const STEP: Duration = Duration::from_micros(500);
/// Joins of a client to announced addresses.
pub(crate) const MAX_JOINS: u8 = 4;
/// Packets that the kernel may queue for the device.
const QUEUE: u32 = 10_000;

pub(crate) struct LinuxHost {
    tun: Tun,
    listener: TcpListener,
    connections: BTreeMap<u16, Connection>,
    buffer: Vec<u8>,
    namespace: Namespace,
    _manager: PathManager,
}

struct Connection {
    /// `None` once the application has closed it.
    stream: Option<TcpStream>,
    read: Vec<u8>,
    end: End,
}

impl LinuxHost {
    /// The host that `peers` attack.
    pub(crate) fn new(peers: Peers, checksum: bool) -> Result<Self, Error> {
        let namespace = Namespace::create()?;
        let (tun, listener, manager) = namespace.run(|| {
            let tun = Tun::create("t0")?;
            sysctl::write("net.mptcp.checksum_enabled", if checksum { "1" } else { "0" })?;
            sysctl::write("net.ipv4.tcp_syncookies", "0")?;
            sysctl::write("net.core.somaxconn", "65535")?;
            sysctl::write("net.ipv4.tcp_max_syn_backlog", "65535")?;
            let mut route = Route::open()?;
            for name in ["lo", "t0"] {
                let device = route.link(name)?.index;
                route.set_up(device, true)?;
            }
            let device = route.link("t0")?.index;
            route.set_queue_length(device, QUEUE)?;
            route.add_address(device, VICTIM.into(), 16)?;
            let listener = listen((VICTIM, PORT).into(), Protocol::Mptcp, &Options::default())?;
            let mut manager = PathManager::open()?;
            if peers == Peers::Servers {
                sysctl::write("net.mptcp.blackhole_timeout", "0")?;
                manager.set_limits(Limits {
                    subflows: MAX_JOINS.into(),
                    accepted_addresses: MAX_JOINS.into(),
                })?;
            }
            Ok::<_, Error>((tun, listener, manager))
        })?;
        listener.set_nonblocking(true).map_err(|error| Error::system("listen", error))?;
        let buffer = vec![0; MAX_PACKET_BYTES];
        let connections = BTreeMap::new();
        Ok(Self { tun, listener, connections, buffer, namespace, _manager: manager })
    }

    fn run_application(&mut self) {
        while let Ok((stream, client)) = self.listener.accept() {
            // A socket that blocks would only delay the others: its end is seen all the same.
            _ = stream.set_nonblocking(true);
            let connection = Connection { stream: Some(stream), read: Vec::new(), end: End::Open };
            self.connections.insert(client.port(), connection);
        }
        for connection in self.connections.values_mut() {
            connection.read_all();
        }
    }
}

impl Connection {
    fn read_all(&mut self) {
        if let (End::NotAccepted, Some(stream)) = (self.end, &self.stream) {
            match is_connected(stream) {
                Ok(true) => self.end = End::Open,
                Ok(false) => return,
                Err(_) => (self.end, self.stream) = (End::Failed, None),
            }
        }
        let mut buffer = [0; 4096];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut buffer) {
                Ok(0) => (self.end, self.stream) = (End::Eof, None),
                Ok(count) => self.read.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => (self.end, self.stream) = (End::Failed, None),
            }
        }
    }
}

impl Victim for LinuxHost {
    type Error = Error;

    fn open(&mut self, ports: &[u16]) -> Result<(), Error> {
        let connect = |port: &u16| {
            let stream = start_connect((PEER, *port).into(), Protocol::Mptcp, &Options::default())?;
            Ok((*port, Connection { stream: Some(stream), read: Vec::new(), end: End::NotAccepted }))
        };
        self.connections = self.namespace.run(|| ports.iter().map(connect).collect::<Result<_, Error>>())?;
        Ok(())
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Error> {
        self.tun.send(packet).map(drop).map_err(|error| Error::system("write a packet", error))
    }

    fn wait(&mut self, time: Duration) -> Result<Vec<Vec<u8>>, Error> {
        let (start, mut sent) = (Instant::now(), Vec::new());
        loop {
            self.run_application();
            loop {
                match self.tun.receive(&mut self.buffer) {
                    Ok(Some((_, packet))) => sent.push(packet.to_vec()),
                    Ok(None) => break,
                    Err(error) => return Err(Error::system("read a packet", error)),
                }
            }
            if start.elapsed() >= time {
                return Ok(sent);
            }
            thread::sleep(STEP);
        }
    }

    fn application(&self, port: u16) -> (&[u8], End) {
        self.connections.get(&port).map_or((&[], End::NotAccepted), |one| (&one.read, one.end))
    }
}
