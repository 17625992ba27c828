//! Hosts with sockets. Their peers are drivers at the far ends of their wires.

use bytes::Bytes;
use linux::clock::Clock;
use linux::tun::Tun;
use mptcp::{Config, Event};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time;
use tandem_stack::{
    ConnectionId, Driver, HostConfig, Interest, Interface, Limits, Observer, PreparedHost, RunningHost,
    Socket, Stack, StackEvent,
};
use units::{Duration, Seed};

const PORT: u16 = 5201;
/// Connections of a listener that may wait.
const BACKLOG: usize = 128;
const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 9, 1));
const LONG: Duration = Duration::from_secs(10);

fn address(path: u8) -> IpAddr {
    [10, 0, path, 1].into()
}

/// A host with usable interfaces, and the far ends of their wires.
fn host(interfaces: u8, limits: Limits, observer: Option<Observer>) -> (RunningHost, Vec<Tun>) {
    let interface = |path| Interface { addresses: vec![address(path)], mtu: 1500 };
    let (prepared, far) = PreparedHost::new(HostConfig {
        name: "host".to_owned(),
        interfaces: (0..interfaces).map(interface).collect(),
        limits,
        entropy: Seed::new(1).into(),
        realtime: false,
        observer,
    })
    .expect("a wire");
    let running = prepared.start(Clock::start()).expect("a thread");
    (0..interfaces.into()).for_each(|path| running.host().attach(path));
    (running, far)
}

/// A peer behind one wire, with a listener.
fn peer(far: Tun) -> Driver {
    let interface = Interface { addresses: vec![PEER], mtu: 1500 };
    let mut stack = Stack::new(vec![interface], Limits::default(), Seed::new(2));
    stack.listen(PORT, Config::default());
    Driver::new(stack, vec![far], Clock::start()).expect("epoll")
}

/// Runs peers until `is_done`; fails after ten seconds.
fn run(peers: &mut [Driver], mut is_done: impl FnMut(&mut [Driver]) -> bool) {
    let end = time::Instant::now() + time::Duration::from_secs(10);
    while !is_done(peers) {
        assert!(time::Instant::now() < end, "it takes too long");
        for peer in &mut *peers {
            peer.step(Duration::from_millis(2)).expect("epoll works");
        }
    }
}

fn connect(running: &RunningHost, peers: &mut [Driver], config: Config) -> Socket {
    let remote = SocketAddr::new(PEER, PORT);
    let socket = running.host().connect(None, remote, config).expect("a usable interface");
    run(peers, |_| socket.is_connected().expect("no failure"));
    socket
}

/// The connection that a peer has accepted.
fn accepted(peer: &mut Driver) -> ConnectionId {
    core::iter::from_fn(|| peer.stack().poll_event())
        .find_map(|(id, event)| matches!(event, StackEvent::Accepted(_)).then_some(id))
        .expect("an accepted connection")
}

#[test]
fn socket_waits_for_memory_to_write_and_not_after_its_end() {
    let (running, mut far) = host(1, Limits { memory: 10_000, ..Limits::default() }, None);
    let mut peers = [peer(far.remove(0))];
    let config = Config { send_buffer: 1 << 20, ..Config::default() };
    let socket = connect(&running, &mut peers, config);
    // The peer does not answer any more.
    assert_eq!(socket.write(&vec![0; 20_000]).expect("space"), 20_000);
    let refused = socket.write(&vec![0; 20_000]).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::WouldBlock));
    let begun = time::Instant::now();
    socket.wait(Interest::Write, Duration::from_millis(300));
    assert!(begun.elapsed() >= time::Duration::from_millis(300), "there is no memory");
    socket.close_writing();
    assert_eq!(socket.write(&[0]).map_err(|error| error.kind()), Err(ErrorKind::BrokenPipe));
    socket.wait(Interest::Write, LONG);
    assert!(begun.elapsed() < time::Duration::from_secs(5), "nothing more can be written");
}

#[test]
fn wait_ends_with_data_after_a_read_that_filled_its_buffer() {
    let (running, mut far) = host(1, Limits::default(), None);
    let mut peers = [peer(far.remove(0))];
    let socket = connect(&running, &mut peers, Config::default());
    run(&mut peers, |peers| peers[0].stack().has_event());
    let id = accepted(&mut peers[0]);
    let four = Bytes::from_static(b"four");
    peers[0].stack().write(id, &four);
    let mut buffer = [0; 4];
    run(&mut peers, |_| socket.read(&mut buffer).is_ok_and(|len| len == 4));
    let begun = time::Instant::now();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            socket.wait(Interest::Read, LONG);
            is_done.store(true, Ordering::Relaxed);
        });
        std::thread::sleep(time::Duration::from_millis(50));
        peers[0].stack().write(id, &four);
        run(&mut peers, |_| is_done.load(Ordering::Relaxed) || begun.elapsed().as_secs() > 5);
        assert!(is_done.load(Ordering::Relaxed), "data has arrived");
    });
}

#[test]
fn refused_join_is_not_tried_again() {
    let (running, mut far) = host(2, Limits::default(), None);
    // The second path leads to another host, which does not know the connection.
    let (second, first) = (peer(far.remove(1)), peer(far.remove(0)));
    let mut peers = [first, second];
    let _socket = connect(&running, &mut peers, Config::default());
    let begun = time::Instant::now();
    run(&mut peers, |_| begun.elapsed() > time::Duration::from_millis(2300));
    assert_eq!(peers[1].stack().statistics().refused, 1);
}

#[test]
fn interface_that_returns_keeps_its_next_subflow() {
    let (running, mut far) = host(1, Limits::default(), None);
    let mut peers = [peer(far.remove(0))];
    let _socket = connect(&running, &mut peers, Config::default());
    let begun = time::Instant::now();
    run(&mut peers, |_| begun.elapsed() > time::Duration::from_millis(50));
    running.host().detach(0, false);
    running.host().attach(0);
    let open = || running.host().subflows().into_iter().find(|one| one.info.up).map(|one| one.tuple);
    run(&mut peers, |_| open().is_some());
    let (joined, begun) = (open(), time::Instant::now());
    run(&mut peers, |_| begun.elapsed() > time::Duration::from_millis(500));
    assert_eq!(open(), joined, "the peer was told that the address is gone");
}

#[test]
fn panic_of_the_thread_fails_all_sockets_and_the_host() {
    let observer: Observer = Box::new(|_, event| {
        assert!(!matches!(event, Event::Connected(_)), "a panic of the test");
    });
    let (mut running, mut far) = host(1, Limits::default(), Some(observer));
    let mut peers = [peer(far.remove(0))];
    let remote = SocketAddr::new(PEER, PORT);
    let socket = running.host().connect(None, remote, Config::default()).expect("a usable interface");
    run(&mut peers, |_| socket.error().is_some());
    run(&mut peers, |_| !running.is_running());
    assert!(running.host().connect(None, remote, Config::default()).is_err());
    drop(socket);
    let error = running.stop().expect_err("the thread has panicked");
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[test]
fn stopped_host_fails_its_sockets_without_an_error() {
    let (mut running, mut far) = host(1, Limits::default(), None);
    let mut peers = [peer(far.remove(0))];
    let socket = connect(&running, &mut peers, Config::default());
    running.stop().expect("an orderly end");
    assert!(socket.error().is_some());
}

#[test]
fn backlog_has_a_limit_and_keeps_no_failed_connection() {
    let (running, mut far) = host(1, Limits::default(), None);
    let listener = running.host().listen(PORT, Config::default());
    let mut peers = [peer(far.remove(0))];
    let open = |peers: &mut [Driver]| {
        let (now, remote) = (peers[0].now(), SocketAddr::new(address(0), PORT));
        peers[0].stack().connect(now, PEER, remote, Config::default()).expect("a free port")
    };
    let id = open(&mut peers);
    run(&mut peers, |_| running.host().update(|stack, _| stack.len() == 1 && stack.half_open() == 0));
    peers[0].stack().release(id);
    run(&mut peers, |_| running.host().update(|stack, _| stack.is_empty()));
    assert!(listener.accept().is_none(), "it was reset");
    for _ in 0..BACKLOG + 5 {
        open(&mut peers);
    }
    run(&mut peers, |_| running.host().update(|stack, _| stack.len() == BACKLOG && stack.half_open() == 0));
    assert_eq!(core::iter::from_fn(|| listener.accept()).count(), BACKLOG);
}
