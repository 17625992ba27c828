//! Relay of UDP flows, and of name lookups over TCP, between two namespaces.

use crate::Error;
use crate::uplink::NAME_SERVER;
use linux::socket::datagrams_between;
use proxy::destination::Rules;
use proxy::own_addresses::OwnAddresses;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
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
    /// Open and rejected flows.
    flows: Mutex<HashSet<FlowKey>>,
    rules: Rules,
    /// Addresses of the host.
    own: Arc<OwnAddresses>,
    /// The host's name server.
    resolver: SocketAddr,
    /// `None` after the end.
    runtime: Option<Runtime>,
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
        let flows = Mutex::default();
        Ok(Self(Arc::new(Shared { flows, rules, own, resolver, runtime: Some(runtime) })))
    }

    /// Relays a flow, unless it is open or rejected. Call in the namespace of the destination's
    /// address. Without a socket, the kernel rejects the flow's datagrams by ICMP.
    pub(crate) fn open(&self, flow: FlowKey) {
        {
            let mut flows = self.0.lock_flows();
            if flows.len() >= MAX_FLOWS || !flows.insert(flow) {
                return;
            }
        }
        let inside = datagrams_between(flow.destination, flow.device);
        // A running flow must not keep the relay alive.
        let shared = Arc::downgrade(&self.0);
        let (rules, own, resolver) = (self.0.rules.clone(), Arc::clone(&self.0.own), self.0.resolver);
        let Some(runtime) = &self.0.runtime else { return };
        runtime.spawn(async move {
            let relayed = match inside {
                Ok(inside) if flow.destination == NAME_SERVER => relay(inside, resolver).await,
                Ok(inside) => match rules.check(flow.destination, &own) {
                    Ok(()) => relay(inside, flow.destination).await,
                    Err(refused) => Err(io::Error::other(refused.0)),
                },
                Err(error) => Err(io::Error::other(error)),
            };
            if relayed.is_err() {
                sleep(REJECT_TIME).await;
            }
            if let Some(shared) = shared.upgrade() {
                shared.lock_flows().remove(&flow);
            }
        });
    }
}

impl Shared {
    fn lock_flows(&self) -> MutexGuard<'_, HashSet<FlowKey>> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A plain drop would wait, which a task of the runtime may not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Relays datagrams in both directions until the flow is idle.
async fn relay(inside: UdpSocket, to: SocketAddr) -> io::Result<()> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let inside = tokio::net::UdpSocket::from_std(inside)?;
    let outside = tokio::net::UdpSocket::bind((any, 0)).await?;
    outside.connect(to).await?;
    let is_lookup = to.port() == NAME_SERVER.port();
    let mut idle = if is_lookup { LOOKUP_TIMEOUT } else { IDLE_TIMEOUT };
    let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
    loop {
        let (from, into, is_response) = tokio::select! {
            ready = inside.readable() => (ready.map(|()| &inside)?, &outside, false),
            ready = outside.readable() => (ready.map(|()| &outside)?, &inside, true),
            () = sleep(idle) => return Ok(()),
        };
        match from.try_recv(&mut buffer) {
            // As a router, the relay drops a datagram that the next network does not take.
            Ok(length) => {
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
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let permits = Arc::new(Semaphore::new(MAX_TCP_LOOKUPS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return Ok(()) };
        let (mut inside, _) = listener.accept().await?;
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
