//! Transfers with the Linux kernel over a TUN device.

use bytes::Bytes;
use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::route::Route;
use linux::socket::{Options, Protocol, connect, listen};
use linux::tun::Tun;
use linux::{Error, sysctl};
use mptcp::{Config, Endpoint, Event};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration as StdDuration;
use tandem_stack::{ConnectionId, Driver, Interface, Limits, Stack, StackEvent};
use units::{Duration, Instant, Seed};

const PORT: u16 = 5201;
const BYTES: usize = 3_000_000;

fn address(v6: bool, host: u8) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, u16::from(host)).into()
    } else {
        Ipv4Addr::new(10, 9, 0, host).into()
    }
}

fn pattern() -> Vec<u8> {
    (0..BYTES as u64).map(crate::network::byte_at).collect()
}

/// A namespace with the kernel at address 1, and a driver at address 2 behind its TUN device.
fn setup(offload: bool) -> Result<(Namespace, Driver), Error> {
    let namespace = Namespace::create()?;
    let tun = namespace.run(|| {
        let tun = if offload { Tun::create_offloading("t0")? } else { Tun::create("t0")? };
        sysctl::write("net.ipv6.conf.t0.accept_dad", "0")?;
        let mut route = Route::open()?;
        let device = route.link("t0")?.index;
        route.set_queue_length(device, 10_000)?;
        route.set_up(device, true)?;
        route.add_address(device, address(false, 1), 24)?;
        route.add_address(device, address(true, 1), 64)?;
        Ok::<_, Error>(tun)
    })?;
    let interface = Interface { addresses: vec![address(false, 2), address(true, 2)], mtu: 1500 };
    let stack = Stack::new(vec![interface], Limits::default(), Seed::new(5));
    Ok((namespace, Driver::new(stack, vec![tun], Clock::start())?))
}

/// Sends and receives the pattern over one connection, and closes it.
fn exchange(driver: &mut Driver, client: Option<ConnectionId>) {
    let (data, mut id) = (Bytes::from(pattern()), client);
    let (mut written, mut received) = (0, Vec::new());
    let end = driver.now() + Duration::from_secs(20);
    loop {
        driver.step(Duration::from_millis(100)).expect("epoll works");
        assert!(driver.now() < end, "{written} written, {} received", received.len());
        while let Some((of, event)) = driver.stack().poll_event() {
            let id = *id.get_or_insert(of);
            while let Some(piece) = driver.stack().read(id, usize::MAX) {
                received.extend_from_slice(&piece);
            }
            if matches!(event, StackEvent::Endpoint(Event::Closed)) {
                assert!(received == data, "{} bytes received", received.len());
                return;
            }
            assert!(!matches!(event, StackEvent::Endpoint(Event::Failed(_))), "{event:?}");
        }
        if let Some(id) = id {
            written += driver.stack().write(id, &data.slice(written..));
            if written == data.len() {
                driver.stack().update(id, Endpoint::close);
            }
        }
    }
}

/// The kernel's side of [`exchange`].
fn exchange_socket(stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(StdDuration::from_secs(20)))?;
    let mut writer = stream.try_clone()?;
    let thread = std::thread::spawn(move || {
        writer.write_all(&pattern())?;
        writer.shutdown(std::net::Shutdown::Write)
    });
    let mut received = Vec::new();
    let mut reader = stream;
    reader.read_to_end(&mut received)?;
    thread.join().map_err(|_| std::io::Error::other("the writer panicked"))??;
    Ok(received)
}

#[test]
#[ignore = "needs root"]
fn needs_root_kernel_and_stack_exchange_data_as_client_and_server() {
    for (offload, v6) in [(false, false), (false, true), (true, false), (true, true)] {
        let (namespace, mut driver) = setup(offload).expect("namespaces and TUN devices");
        // The kernel as client.
        driver.stack().listen(PORT, Config::linux());
        let remote = SocketAddr::new(address(v6, 2), PORT);
        let client = namespace
            .spawn("client", move || {
                let stream = connect(remote, Protocol::Mptcp, &Options::default())?;
                assert!(linux::socket::mptcp_info(&stream)?.is_some(), "fell back");
                exchange_socket(&stream).map_err(|error| Error::system("exchange", error))
            })
            .expect("a thread");
        exchange(&mut driver, None);
        assert!(client.join().expect("no panic").expect("no error") == pattern());
        // The kernel as server.
        let local = SocketAddr::new(address(v6, 1), PORT);
        let listener =
            namespace.run(|| listen(local, Protocol::Mptcp, &Options::default())).expect("a free port");
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept()?;
            exchange_socket(&stream)
        });
        let now = driver.now();
        let id = driver.stack().connect(now, address(v6, 2), local, Config::linux()).expect("a free port");
        exchange(&mut driver, Some(id));
        assert!(server.join().expect("no panic").expect("no error") == pattern());
    }
}

#[test]
fn closed_device_does_not_stop_the_others() {
    let wires = [0, 1].map(|_| Tun::pair("wire").expect("a pair"));
    let [[near0, far0], [near1, far1]] = wires;
    let interface = |v| Interface { addresses: vec![IpAddr::from([10, 0, v, 1])], mtu: 1500 };
    let peer = Interface { addresses: vec![IpAddr::from([10, 0, 1, 2])], mtu: 1500 };
    let clock = Clock::start();
    let stack = Stack::new(vec![interface(0), interface(1)], Limits::default(), Seed::new(1));
    let mut driver = Driver::new(stack, vec![near0, near1], clock).expect("epoll");
    let mut server = Driver::new(Stack::new(vec![peer], Limits::default(), Seed::new(2)), vec![far1], clock)
        .expect("epoll");
    server.stack().listen(PORT, Config::default());
    drop(far0);
    let now = driver.now();
    let remote = SocketAddr::from(([10, 0, 1, 2], PORT));
    let id =
        driver.stack().connect(now, [10, 0, 1, 1].into(), remote, Config::default()).expect("a free port");
    let dead = driver.stack().connect(now, [10, 0, 0, 1].into(), remote, Config::default());
    assert!(dead.is_ok());
    let mut is_connected = false;
    let end = Instant::from_secs(5);
    while !is_connected && driver.now() < end {
        driver.step(Duration::from_millis(1)).expect("a broken device is no error of the step");
        server.step(Duration::from_millis(1)).expect("epoll works");
        while let Some((of, event)) = driver.stack().poll_event() {
            is_connected |= of == id && matches!(event, StackEvent::Endpoint(Event::Connected(_)));
        }
    }
    assert!(is_connected);
    assert!(driver.devices()[0].errors() > 0 && driver.devices()[0].errors() < 100);
    assert_eq!(driver.devices()[1].errors(), 0);
}
