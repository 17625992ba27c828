//! Throughput of the endpoint over a TUN device, with the Linux kernel at the other end. Usage, as
//! root: `wire [SECONDS]`.
//!
//! For one connection and for many, in both directions: goodput, and the share of one core that the
//! thread of the stack used, which includes the kernel's work behind its system calls.

use bytes::Bytes;
use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::route::Route;
use linux::socket::{Options, Protocol, connect};
use linux::tun::Tun;
use mptcp::{Config, Event};
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tandem_stack::{ConnectionId, Driver, Interface, Limits, Stack, StackEvent};
use units::{Duration, Seed};

const KERNEL: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1));
const STACK: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2));
const PORT: u16 = 5201;
/// Time before the measurement, for handshakes and slow start.
const WARM_UP: Duration = Duration::from_millis(1500);
const WRITE_BYTES: usize = 256 << 10;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    println!("endpoint over TUN, Linux {}", linux::clock::kernel_release());
    println!("connections  direction   Mbit/s  core");
    for connections in [1, 1000] {
        for sends in [true, false] {
            let (mbps, core) = measure(connections, sends, Duration::from_secs(seconds))?;
            let direction = if sends { "to Linux" } else { "from Linux" };
            println!("{connections:>11}  {direction:<10} {mbps:>7.0} {:>4.0} %", core * 100.0);
        }
    }
    Ok(())
}

/// Goodput in Mbit/s, and the share of a core.
fn measure(connections: usize, sends: bool, time: Duration) -> Result<(f64, f64), Failure> {
    let namespace = Namespace::create()?;
    let tun = namespace.run(|| {
        let tun = Tun::create_offloading("t0")?;
        let mut route = Route::open()?;
        let device = route.link("t0")?.index;
        route.set_queue_length(device, 10_000)?;
        route.set_up(device, true)?;
        route.add_address(device, KERNEL, 24)?;
        Ok::<_, linux::Error>(tun)
    })?;
    let interface = Interface { addresses: vec![STACK], mtu: 1500 };
    let stack = Stack::new(vec![interface], Limits::default(), Seed::new(1));
    let mut driver = Driver::new(stack, vec![tun], Clock::start())?;
    driver.stack().listen(PORT, Config::linux());
    let (stop, read) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let kernel = {
        let (stop, read) = (Arc::clone(&stop), Arc::clone(&read));
        namespace.spawn("kernel", move || run_kernel(connections, sends, &stop, &read))?
    };
    let data = Bytes::from(vec![7; WRITE_BYTES]);
    let (mut received, mut start) = (0, None);
    let core_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let count = |received: u64| if sends { read.load(Ordering::Relaxed) } else { received };
    loop {
        driver.step(Duration::from_millis(10))?;
        while let Some((id, event)) = driver.stack().poll_event() {
            received += serve(driver.stack(), id, &event, sends.then_some(&data));
        }
        let now = driver.now();
        match start {
            None if now.as_nanos() >= WARM_UP.as_nanos() => start = Some((now, core_time(), count(received))),
            Some((at, core, bytes)) if now.since(at) >= time => {
                let seconds = now.since(at).as_secs_f64();
                let goodput = (count(received) - bytes) as f64 * 8e-6 / seconds;
                let share = (core_time() - core) / seconds;
                stop.store(true, Ordering::Relaxed);
                drop(driver);
                drop(kernel);
                return Ok((goodput, share));
            }
            _ => {}
        }
    }
}

/// Reads all data of a connection, and writes as much as it takes. Returns the bytes read.
fn serve(stack: &mut Stack, id: ConnectionId, event: &StackEvent, data: Option<&Bytes>) -> u64 {
    let mut received = 0;
    while let Some(piece) = stack.read(id, usize::MAX) {
        received += piece.len() as u64;
    }
    let starts = matches!(event, StackEvent::Writable | StackEvent::Endpoint(Event::Connected(_)));
    if let Some(data) = data.filter(|_| starts) {
        while stack.write(id, data) == data.len() {}
    }
    received
}

/// The kernel's applications: threads that read or write all connections.
fn run_kernel(
    connections: usize,
    sends: bool,
    stop: &AtomicBool,
    read: &AtomicU64,
) -> Result<(), linux::Error> {
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(connect(SocketAddr::new(STACK, PORT), Protocol::Mptcp, &Options::default())?);
    }
    for stream in &streams {
        stream.set_nonblocking(true).map_err(|error| linux::Error::system("prepare a socket", error))?;
    }
    let mut buffer = vec![0; WRITE_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let mut idle = true;
        for mut stream in &streams {
            let moved = if sends { stream.read(&mut buffer) } else { write_some(stream, &buffer) };
            if let Ok(bytes @ 1..) = moved {
                idle = false;
                read.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        }
        if idle {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
    }
    Ok(())
}

fn write_some(mut stream: &TcpStream, buffer: &[u8]) -> std::io::Result<usize> {
    stream.write(buffer)
}
