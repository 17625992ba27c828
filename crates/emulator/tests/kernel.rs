//! TCP and MPTCP connections of the kernel over the emulator, with and without offloads, in
//! network namespaces.

#![allow(clippy::unwrap_used, reason = "a missing feature fails the test")]

use linux::clock::Clock;
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use linux::socket::{Options, Protocol, connect, listen, mptcp_info, split_datagrams};
use linux::sysctl;
use scenario::Scenario;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;
use tandem_emulator::{Driver, Network, SharedNetwork};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const SIZE: usize = 3_000_000;
/// MTU of the devices, in bytes.
const MTU: usize = 1500;

struct Link {
    device: Namespace,
    server: Namespace,
    shared: SharedNetwork,
    running: tandem_emulator::RunningDriver,
}

impl Link {
    fn new(offload: bool) -> Self {
        let text = "title = 'x'\nseed = 1\nduration = '60s'\n[device]\nname = 'x'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
            down = { rate = '200Mbps', delay = '2ms', queue = '500 packets' }\nup = { rate = '200Mbps', delay = '2ms' }\n\
            [[traffic]]\nkind = 'bulk'\n";
        let scenario = Scenario::parse("kernel", text, &|_: &str| Err("no files".to_owned())).unwrap();
        let mut experiment = scenario.experiment;
        experiment.capture = true;
        let (device, server) = (Namespace::create().unwrap(), Namespace::create().unwrap());
        let ends = Driver::devices("wifi", &device, &server, offload).unwrap();
        for (namespace, own, other) in [(&device, DEVICE, SERVER), (&server, SERVER, DEVICE)] {
            let set = || -> Result<(), linux::Error> {
                sysctl::write("net.ipv6.conf.all.disable_ipv6", "1")?;
                let mut route = Route::open()?;
                let index = route.link("wifi")?.index;
                route.set_queue_length(index, 10_000)?;
                route.add_address(index, own, 32)?;
                route.set_up(index, true)?;
                let (to, source) = (other, Some(own));
                route.add_route(&RouteEntry { to, prefix: 32, device: index, via: None, source, metric: 0 })
            };
            namespace.run(set).unwrap();
        }
        let shared = SharedNetwork::new(Network::new(&experiment), Clock::start());
        let running = Driver::new(vec![ends], shared.clone()).start(false).unwrap();
        Self { device, server, shared, running }
    }
}

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

#[test]
#[ignore = "needs root"]
fn needs_root_every_byte_arrives_in_segments_with_valid_checksums() {
    for (offload, protocol) in
        [(false, Protocol::Tcp), (true, Protocol::Tcp), (false, Protocol::Mptcp), (true, Protocol::Mptcp)]
    {
        let link = Link::new(offload);
        let options = Options::default();
        let listener = link.server.run(|| listen((SERVER, 5000).into(), protocol, &options)).unwrap();
        let writing = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let bytes: Vec<u8> = (0..SIZE).map(byte).collect();
            stream.write_all(&bytes).unwrap();
        });
        let mut stream = link.device.run(|| connect((SERVER, 5000).into(), protocol, &options)).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let multipath = mptcp_info(&stream).unwrap().is_some();
        assert_eq!(multipath, protocol == Protocol::Mptcp);
        writing.join().unwrap();
        assert!(bytes.len() == SIZE && bytes.iter().enumerate().all(|(at, &found)| found == byte(at)));
        for host in [&link.device, &link.server] {
            let counters = host.run(Mib::read).unwrap();
            assert_eq!(counters.counter("TcpInCsumErrors"), Some(0), "{offload}, {protocol:?}");
        }
        let segments = link.shared.lock().0.segments() as usize;
        assert!(segments > SIZE / (MTU - 40), "{segments} segments, {offload}, {protocol:?}");
        link.running.stop().unwrap();
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_contains_segments_after_segmentation_offload() {
    let link = Link::new(true);
    let options = Options::default();
    let listener = link.server.run(|| listen((SERVER, 5000).into(), Protocol::Tcp, &options)).unwrap();
    let writing = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&vec![7; SIZE]).unwrap();
    });
    let mut stream = link.device.run(|| connect((SERVER, 5000).into(), Protocol::Tcp, &options)).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    writing.join().unwrap();
    let capture = link.shared.lock().0.take_capture().unwrap();
    let (mut at, mut packets, mut sequences) = (0, 0, Vec::new());
    while at < capture.len() {
        let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap()) as usize;
        let (kind, length) = (word(at), word(at + 4));
        // Enhanced packet block: interface, timestamp (two words), captured and original length,
        // packet.
        if kind == 6 {
            let (kept, original) = (word(at + 20), word(at + 24));
            assert!(original <= MTU, "a packet of {original} bytes");
            let packet = &capture[at + 28..at + 28 + kept];
            let datagram_length = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
            assert_eq!(datagram_length, original);
            if packet[12..16] == [10, 77, 0, 1] {
                sequences.push(u32::from_be_bytes(packet[24..28].try_into().unwrap()));
            }
            packets += 1;
        }
        at += length;
    }
    assert!(packets > SIZE / MTU, "{packets} packets");
    sequences.dedup();
    assert!(sequences.len() > SIZE / MTU, "{} packets repeat a sequence number", packets - sequences.len());
    link.running.stop().unwrap();
}

#[test]
#[ignore = "needs root"]
fn needs_root_segmented_datagrams_arrive_separately() {
    let link = Link::new(true);
    let bind =
        |address| UdpSocket::bind((address, 7000)).map_err(|error| linux::Error::system("bind", error));
    let (sender, receiver) =
        (link.server.run(|| bind(SERVER)).unwrap(), link.device.run(|| bind(DEVICE)).unwrap());
    split_datagrams(&sender, 1000).expect("the kernel segments UDP datagrams");
    let bytes: Vec<u8> = (0..20_500).map(byte).collect();
    sender.send_to(&bytes, (DEVICE, 7000)).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut buffer = [0; 2000];
    for wanted in bytes.chunks(1000) {
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], *wanted);
    }
    let counters = link.device.run(Mib::read).unwrap();
    assert_eq!(counters.counter("UdpInCsumErrors"), Some(0));
    link.running.stop().unwrap();
}
