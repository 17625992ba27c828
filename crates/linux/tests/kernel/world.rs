//! Test topology: a device with two interfaces and a server, each in a namespace.

use crate::{new_namespace, run_in};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use tandem_linux::Error;
use tandem_linux::namespace::Namespace;
use tandem_linux::pm::{Limits, PathManager};
use tandem_linux::route::{Route, RouteEntry};
use tandem_linux::socket::{self, Options, Protocol};

/// ```text
///           wlan0 10.1.0.2 ── 10.1.0.1 eth0
///  device                                    server (10.1.0.1, also by lte0)
///           lte0  10.2.0.2 ── 10.2.0.1 eth1
/// ```
/// IPv6 likewise, in fd01::/64 and fd02::/64.
pub(crate) struct World {
    pub(crate) device: Namespace,
    pub(crate) server: Namespace,
}

/// Both ends of a connection and its listener, without which the kernel rejects joins.
pub(crate) struct Connection {
    pub(crate) near: TcpStream,
    pub(crate) far: TcpStream,
    _listener: TcpListener,
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn configure_links(namespace: &Namespace, links: [(&str, [&str; 2]); 2]) -> Result<(), Error> {
    namespace.run(|| {
        let mut route = Route::open()?;
        for (name, addresses) in links {
            let index = route.link(name)?.index;
            for (address, prefix) in addresses.into_iter().zip([24, 64]) {
                route.add_address(index, ip(address), prefix)?;
            }
            route.set_up(index, true)?;
        }
        Ok(())
    })
}

/// Runs `test` on the device of a new topology. The kernel path manager allows two additional
/// subflows and two addresses of the peer.
pub(crate) fn world(test: impl FnOnce(&World) -> Result<(), Error> + Send) {
    let world = World { device: new_namespace(), server: new_namespace() };
    run_in(&world.device, || {
        let mut route = Route::open()?;
        route.add_veth("wlan0", "eth0", &world.server)?;
        route.add_veth("lte0", "eth1", &world.server)?;
        configure_links(
            &world.server,
            [("eth0", ["10.1.0.1", "fd01::1"]), ("eth1", ["10.2.0.1", "fd02::1"])],
        )?;
        configure_links(
            &world.device,
            [("wlan0", ["10.1.0.2", "fd01::2"]), ("lte0", ["10.2.0.2", "fd02::2"])],
        )?;
        for (name, metric, router) in [("wlan0", 10, None), ("lte0", 20, Some(["10.2.0.1", "fd02::1"]))] {
            let device = route.link(name)?.index;
            crate::wait_until("the link is running", || Ok(route.link(name)?.running))?;
            for (nth, (to, prefix)) in [("10.1.0.1", 32), ("fd01::1", 128)].into_iter().enumerate() {
                let via = router.map(|routers| ip(routers[nth]));
                let entry = RouteEntry { to: ip(to), prefix, device, via, source: None, metric };
                route.add_route(&entry)?;
            }
        }
        for namespace in [&world.device, &world.server] {
            namespace
                .run(|| PathManager::open()?.set_limits(Limits { subflows: 2, accepted_addresses: 2 }))?;
        }
        test(&world)
    });
}

impl World {
    /// Connects the device to the server; both ends are fully established.
    pub(crate) fn connect(&self, to: &str, protocol: Protocol) -> Result<Connection, Error> {
        let listener = self.listen(to, protocol)?;
        let (near, far) = connect_to(&listener, ip(to), protocol)?;
        Ok(Connection { near, far, _listener: listener })
    }

    pub(crate) fn listen(&self, at: &str, protocol: Protocol) -> Result<TcpListener, Error> {
        let any = SocketAddr::new(ip(if at.contains(':') { "::" } else { "0.0.0.0" }), 0);
        self.server.run(|| socket::listen(any, protocol, &Options::default()))
    }
}

pub(crate) fn connect_to(
    listener: &TcpListener,
    to: IpAddr,
    protocol: Protocol,
) -> Result<(TcpStream, TcpStream), Error> {
    use std::io::{Read, Write};
    let port = listener.local_addr().expect("bound listener").port();
    let mut near = socket::connect(SocketAddr::new(to, port), protocol, &Options::default())?;
    let (mut far, _) = listener.accept().expect("pending connection");
    // Joins are possible once both ends have seen data acknowledged.
    let mut byte = [0];
    near.write_all(b"a").expect("open connection");
    far.read_exact(&mut byte).expect("open connection");
    far.write_all(b"b").expect("open connection");
    near.read_exact(&mut byte).expect("open connection");
    Ok((near, far))
}
