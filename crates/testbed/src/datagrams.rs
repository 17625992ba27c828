//! Relay of UDP flows, and of name lookups over TCP, between two namespaces.

use crate::Error;
use crate::uplink::NAME_SERVER;
use linux::socket::datagrams_between;
use proxy::destination::Rules;
use proxy::own_addresses::OwnAddresses;
use rustix::net::{RecvFlags, recv};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// Maximum number of concurrent UDP flows. Each has two files.
const MAX_FLOWS: usize = 128;
/// Time without a datagram after which a flow ends.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Idle timeout of a flow to a name server before its response.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle timeout of that flow after a response. Resolvers send two requests over a flow, for both
/// address families.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of concurrent name lookups over TCP.
const MAX_TCP_LOOKUPS: usize = 16;
/// Time for which the kernel rejects the datagrams of a failed flow by ICMP.
const REJECT_TIME: Duration = Duration::from_secs(5);
/// Pause after a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum size of a UDP datagram.
const MAX_DATAGRAM_BYTES: usize = 65_535;

/// Both ends of a UDP flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    /// Address of the device.
    pub(crate) device: SocketAddr,
    /// Destination of the device's datagrams.
    pub(crate) destination: SocketAddr,
}

/// Running relay. The last clone ends it when dropped.
#[derive(Debug, Clone)]
pub(crate) struct DatagramRelay(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    flows: Flows,
    rules: Rules,
    /// Addresses of the host.
    own: Arc<OwnAddresses>,
    /// The host's name server.
    resolver: SocketAddr,
    /// `None` after the end.
    runtime: Option<Runtime>,
}

/// Open and rejected flows.
#[derive(Debug, Default)]
struct Flows(Mutex<HashMap<FlowKey, Entry>>);

#[derive(Debug)]
struct Entry {
    last_used: Arc<Mutex<Instant>>,
    /// Evicts the flow when dropped. `None` once it is evicted; the entry stays until the flow's task has
    /// closed its socket.
    evict: Option<oneshot::Sender<()>>,
}

/// The task's part of a flow.
#[derive(Debug)]
struct Flow {
    key: FlowKey,
    last_used: Arc<Mutex<Instant>>,
    /// Completes when another flow takes the place of this one.
    evicted: oneshot::Receiver<()>,
}

impl DatagramRelay {
    /// Starts a relay to the destinations that `rules` allow, from the namespace of the calling
    /// thread. Lookups of `listener` and of [`NAME_SERVER`] go to `resolver`.
    pub(crate) fn start(
        rules: Rules,
        resolver: SocketAddr,
        listener: Option<TcpListener>,
    ) -> Result<Self, Error> {
        // A new thread is in the namespace of the thread that starts it.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("uplink")
            .enable_all()
            .build()
            .map_err(|source| linux::Error::System { doing: "start the uplink".to_owned(), source })?;
        if let Some(listener) = listener {
            runtime.spawn(relay_lookups(listener, resolver));
        }
        let own = Arc::new(OwnAddresses::default());
        runtime.spawn(Arc::clone(&own).watch(own.open()?));
        let flows = Flows::default();
        Ok(Self(Arc::new(Shared { flows, rules, own, resolver, runtime: Some(runtime) })))
    }

    /// Relays a flow, unless it is open or rejected. Call in the namespace of the destination's
    /// address. Without a socket, the kernel rejects the flow's datagrams by ICMP.
    pub(crate) fn open(&self, key: FlowKey) {
        let Some(mut flow) = self.0.flows.begin(key) else { return };
        let inside = datagrams_between(key.destination, key.device);
        // A running flow must not keep the relay alive.
        let shared = Arc::downgrade(&self.0);
        let (rules, own, resolver) = (self.0.rules.clone(), Arc::clone(&self.0.own), self.0.resolver);
        let Some(runtime) = &self.0.runtime else { return };
        runtime.spawn(async move {
            let destination = match key.destination {
                NAME_SERVER => Ok(resolver),
                other => rules.check(other, &own).map(|()| other).map_err(|why| io::Error::other(why.0)),
            };
            let both = inside.map_err(io::Error::other).and_then(|inside| Ok((inside, destination?)));
            let relayed = match both {
                Ok((inside, to)) => relay_and_close(inside, to, &mut flow, &shared).await,
                Err(error) => Err(error),
            };
            if relayed.is_err() {
                _ = timeout(REJECT_TIME, &mut flow.evicted).await;
                if let Some(shared) = shared.upgrade() {
                    shared.flows.lock().remove(&key);
                }
            }
        });
    }
}

impl Flows {
    /// Adds a flow; `None` if it is open or rejected, or as many evicted flows as [`MAX_FLOWS`] still have
    /// their sockets. Beyond [`MAX_FLOWS`] it evicts the flow that has been idle for longest.
    fn begin(&self, key: FlowKey) -> Option<Flow> {
        let mut flows = self.lock();
        // Evicted flows close their sockets on another thread.
        if flows.contains_key(&key) || flows.len() >= 2 * MAX_FLOWS {
            return None;
        }
        let mut kept: Vec<_> = flows.values_mut().filter(|entry| entry.evict.is_some()).collect();
        if kept.len() >= MAX_FLOWS
            && let Some(idle) = kept.iter_mut().min_by_key(|entry| *lock(&entry.last_used))
        {
            idle.evict = None;
        }
        let last_used = Arc::new(Mutex::new(Instant::now()));
        let (evict, evicted) = oneshot::channel();
        flows.insert(key, Entry { last_used: Arc::clone(&last_used), evict: Some(evict) });
        Some(Flow { key, last_used, evicted })
    }

    /// Closes the socket of an idle or evicted flow and removes the flow, in one step: a datagram that
    /// arrives in between would find neither. Returns the socket if a datagram of an idle flow has
    /// arrived.
    fn end(&self, flow: FlowKey, inside: tokio::net::UdpSocket) -> Option<tokio::net::UdpSocket> {
        let mut flows = self.lock();
        let is_kept = flows.get(&flow).is_some_and(|entry| entry.evict.is_some());
        let peek = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        if is_kept && recv(&inside, &mut [0_u8; 1], peek).is_ok() {
            return Some(inside);
        }
        drop(inside);
        flows.remove(&flow);
        None
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FlowKey, Entry>> {
        lock(&self.0)
    }
}

impl Flow {
    fn note_use(&self) {
        *lock(&self.last_used) = Instant::now();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A plain drop would wait, which a task of the runtime may not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Relays a flow until it is idle or evicted, then closes its socket and removes it.
async fn relay_and_close(
    inside: UdpSocket,
    to: SocketAddr,
    flow: &mut Flow,
    shared: &Weak<Shared>,
) -> io::Result<()> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let mut inside = tokio::net::UdpSocket::from_std(inside)?;
    let outside = tokio::net::UdpSocket::bind((any, 0)).await?;
    outside.connect(to).await?;
    loop {
        relay(&inside, &outside, to, flow).await?;
        let Some(shared) = shared.upgrade() else { return Ok(()) };
        match shared.flows.end(flow.key, inside) {
            Some(open) => inside = open,
            None => return Ok(()),
        }
    }
}

/// Relays datagrams in both directions until the flow is idle or evicted.
async fn relay(
    inside: &tokio::net::UdpSocket,
    outside: &tokio::net::UdpSocket,
    to: SocketAddr,
    flow: &mut Flow,
) -> io::Result<()> {
    let is_lookup = to.port() == NAME_SERVER.port();
    let mut idle = if is_lookup { LOOKUP_TIMEOUT } else { IDLE_TIMEOUT };
    let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        let (from, into, is_response) = tokio::select! {
            ready = inside.readable() => (ready.map(|()| inside)?, outside, false),
            ready = outside.readable() => (ready.map(|()| outside)?, inside, true),
            () = sleep(idle) => return Ok(()),
            _ = &mut flow.evicted => return Ok(()),
        };
        match from.try_recv(&mut buffer) {
            // As a router, the relay drops a datagram that the next network does not take.
            Ok(length) => {
                flow.note_use();
                _ = into.send(&buffer[..length]).await;
                if is_lookup {
                    idle = if is_response { RESPONSE_TIMEOUT } else { LOOKUP_TIMEOUT };
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Relays name lookups over TCP.
async fn relay_lookups(listener: TcpListener, resolver: SocketAddr) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = Arc::new(tokio::net::TcpListener::from_std(listener)?);
    let accept = || {
        let listener = Arc::clone(&listener);
        async move { Ok(listener.accept().await?.0) }
    };
    accept_lookups(accept, resolver).await;
    Ok(())
}

/// Relays each connection of `accept`. A lack of descriptors passes: accepting goes on after a pause.
async fn accept_lookups<F>(mut accept: impl FnMut() -> F, resolver: SocketAddr)
where
    F: Future<Output = io::Result<TcpStream>>,
{
    let permits = Arc::new(Semaphore::new(MAX_TCP_LOOKUPS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok(mut inside) = accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        tokio::spawn(async move {
            let exchange = async {
                let mut outside = TcpStream::connect(resolver).await?;
                copy_bidirectional(&mut inside, &mut outside).await
            };
            // The client sees an error as the end of the connection.
            let _ = timeout(LOOKUP_TIMEOUT, exchange).await;
            drop(permit);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads start")
    }

    #[test]
    fn lookups_over_tcp_go_on_after_a_lack_of_descriptors() {
        let (clients, server) = (TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0"));
        let (clients, server) = (clients.expect("loopback"), server.expect("loopback"));
        let (address, resolver) = (clients.local_addr().expect("bound"), server.local_addr().expect("bound"));
        clients.set_nonblocking(true).expect("a socket");
        let runtime = runtime();
        runtime.spawn(async move {
            let clients = Arc::new(tokio::net::TcpListener::from_std(clients).expect("a listener"));
            let mut failures = 3;
            let accept = || {
                let (clients, fails) = (Arc::clone(&clients), failures > 0);
                failures -= i32::from(fails);
                async move {
                    if fails {
                        return Err(io::Error::from(rustix::io::Errno::MFILE));
                    }
                    Ok(clients.accept().await?.0)
                }
            };
            accept_lookups(accept, resolver).await;
        });
        let mut client = std::net::TcpStream::connect(address).expect("it listens");
        client.write_all(b"query").expect("connected");
        let (mut asked, _) = server.accept().expect("the relay connects");
        let mut query = [0; 5];
        asked.read_exact(&mut query).expect("the relay sends");
        assert_eq!(&query, b"query");
        runtime.shutdown_background();
    }

    #[test]
    fn flow_ends_together_with_its_socket_and_not_before_its_datagrams() {
        let runtime = runtime();
        let _inside_runtime = runtime.enter();
        let device = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let destination = socket.local_addr().expect("bound");
        let flow = FlowKey { device: device.local_addr().expect("bound"), destination };
        socket.connect(flow.device).expect("loopback");
        socket.set_nonblocking(true).expect("a socket");
        device.connect(destination).expect("loopback");
        let flows = Flows::default();
        let _task = flows.begin(flow).expect("a new flow");
        assert!(flows.begin(flow).is_none());

        device.send(b"late").expect("the socket is open");
        let socket = tokio::net::UdpSocket::from_std(socket).expect("a socket");
        let socket = flows.end(flow, socket).expect("a datagram has arrived");
        assert!(flows.begin(flow).is_none(), "the flow stays open");
        assert_eq!(runtime.block_on(socket.recv(&mut [0; 9])).expect("it is open"), 4);
        assert!(flows.end(flow, socket).is_none());
        assert!(flows.begin(flow).is_some(), "the flow can open again");
        UdpSocket::bind(destination).expect("the socket is closed");
    }

    #[test]
    fn longest_idle_flow_gives_way_to_a_new_one() {
        let runtime = runtime();
        let _inside_runtime = runtime.enter();
        let flows = Flows::default();
        let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        socket.set_nonblocking(true).expect("a socket");
        let destination = socket.local_addr().expect("bound");
        let key = |port| FlowKey { device: (Ipv4Addr::LOCALHOST, port).into(), destination };
        let mut open: Vec<_> =
            (0..MAX_FLOWS as u16).map(|port| flows.begin(key(port)).expect("a new flow")).collect();
        open[0].note_use();
        let _new = flows.begin(key(MAX_FLOWS as u16)).expect("another flow gives way");
        let evicted: Vec<_> = open.iter_mut().map(|flow| flow.evicted.try_recv()).collect();
        assert_eq!(
            evicted.iter().filter(|one| **one == Err(oneshot::error::TryRecvError::Closed)).count(),
            1
        );
        assert_eq!(evicted[1], Err(oneshot::error::TryRecvError::Closed));

        assert!(flows.begin(key(1)).is_none(), "its socket is still open");
        let sender = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        sender.send_to(b"late", destination).expect("the socket is open");
        let socket = tokio::net::UdpSocket::from_std(socket).expect("a socket");
        assert!(flows.end(key(1), socket).is_none());
        assert!(flows.begin(key(1)).is_some(), "the flow can open again");
        (1000..2000).for_each(|port| drop(flows.begin(key(port))));
        assert_eq!(flows.lock().len(), 2 * MAX_FLOWS, "the sockets of evicted flows are limited too");
    }
}
