//! Accuracy and cost of the emulator: traffic over one link between two network namespaces,
//! compared with the link model. Usage, as root: `accuracy [--plain] [--tcp] [MBPS...]`. `--plain`
//! disables offloads, `--tcp` skips the UDP measurement.
//!
//! - UDP, per rate and load: delay error against the model (median, p99, longest), rate error,
//!   packets per second, and CPU time of the process and of the emulator's thread. The process
//!   includes sender and receiver, the thread the receiving kernel's work. Under overload only the
//!   rate is known.
//! - TCP: one connection at full speed.

use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use linux::socket::{Options, Protocol, connect, listen};
use linux::sysctl;
use scenario::Scenario;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use tandem_emulator::{Driver, Network, RunningDriver, SharedNetwork};
use units::{Duration, Instant};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
/// UDP payload of an IPv4 packet of 1500 bytes.
const PAYLOAD_BYTES: usize = 1472;
/// IPv4 and UDP headers.
const HEADER_BYTES: usize = 28;
const MEASURED_SECONDS: u64 = 5;
/// Start of a TCP connection that is not measured.
const SLOW_START: Duration = Duration::from_secs(2);
/// Propagation delay of the link, in the scenario too.
const LINK_DELAY: Duration = Duration::from_millis(10);

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut rates: Vec<u64> = Vec::new();
    let (mut offload, mut datagrams) = (true, true);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--plain" => offload = false,
            "--tcp" => datagrams = false,
            rate => rates.push(rate.parse()?),
        }
    }
    if rates.is_empty() {
        rates = vec![10, 100, 500, 1000];
    }
    if datagrams {
        println!(
            " Mbit/s  load  delay error: median     p99  longest   rate error    packets/s   CPU  emulator"
        );
        for &rate in &rates {
            for load in [0.8, 1.1] {
                measure_udp(rate, load, offload)?;
            }
        }
    }
    println!("\n Mbit/s  one TCP connection  rate error   CPU  emulator");
    for &rate in &rates {
        measure_tcp(rate, offload)?;
    }
    Ok(())
}

/// A running emulator of one link between two namespaces.
struct Link {
    device: Namespace,
    server: Namespace,
    shared: SharedNetwork,
    running: RunningDriver,
}

/// Starts a link with a rate of `mbps` Mbit/s.
fn start_link(mbps: u64, offload: bool) -> Result<Link, Failure> {
    let text = format!(
        "title = 'x'\nseed = 1\nduration = '60s'\n[device]\nname = 'x'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ rate = '{mbps}Mbps', delay = '10ms', queue = '20ms' }}\nup = {{ rate = '{mbps}Mbps', delay = '10ms' }}\n\
         [[traffic]]\nkind = 'bulk'\n"
    );
    let scenario = Scenario::parse("accuracy", &text, &|_: &str| Err("no files".to_owned()))
        .map_err(|found| format!("{found:?}"))?;
    let (device, server) = (Namespace::create()?, Namespace::create()?);
    let ends = Driver::devices("wifi", &device, &server, offload)?;
    for (namespace, own, other) in [(&device, DEVICE, SERVER), (&server, SERVER, DEVICE)] {
        namespace.run(|| -> Result<(), linux::Error> {
            sysctl::write("net.ipv6.conf.all.disable_ipv6", "1")?;
            sysctl::write("net.ipv4.tcp_rmem", "4096 131072 67108864")?;
            sysctl::write("net.ipv4.tcp_wmem", "4096 131072 67108864")?;
            let mut route = Route::open()?;
            let index = route.link("wifi")?.index;
            route.set_queue_length(index, 100_000)?;
            route.add_address(index, own, 32)?;
            route.set_up(index, true)?;
            let entry =
                RouteEntry { to: other, prefix: 32, device: index, via: None, source: Some(own), metric: 0 };
            route.add_route(&entry)
        })?;
    }
    let shared = SharedNetwork::new(Network::new(&scenario.experiment), Clock::start());
    let running = Driver::new(vec![ends], shared.clone()).start(true)?;
    Ok(Link { device, server, shared, running })
}

/// Measures one TCP connection from the server to the device, after its slow start.
fn measure_tcp(mbps: u64, offload: bool) -> Result<(), Failure> {
    let Link { device, server, shared, running } = start_link(mbps, offload)?;
    let clock = shared.clock();
    let options = Options { congestion: Some("cubic".to_owned()), ..Options::default() };
    let listener = server.run(|| listen((SERVER, 7000).into(), Protocol::Tcp, &options))?;
    let begun = clock.now();
    let end = SLOW_START + Duration::from_secs(MEASURED_SECONDS);
    let sender = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let bytes = vec![0; 1 << 20];
        while clock.now().since(begun) < end {
            stream.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut stream = device.run(|| connect((SERVER, 7000).into(), Protocol::Tcp, &options))?;
    let (mut bytes, mut start) = (vec![0; 1 << 20], None);
    let (mut received, mut last) = (0, begun);
    loop {
        let length = stream.read(&mut bytes)?;
        let now = clock.now();
        let since = now.since(begun);
        if since >= end || length == 0 {
            break;
        }
        if since >= SLOW_START {
            if start.is_none() {
                start = Some((now, process_cpu(), emulator_cpu()));
            } else {
                (received, last) = (received + length as u64, now);
            }
        }
    }
    let Some((start, process, emulator)) = start else { return Err("nothing was received".into()) };
    let (process, emulator) = (process_cpu() - process, emulator_cpu() - emulator);
    drop(stream);
    sender.join().map_err(|_| "the sender panicked")?.ok();
    running.stop()?;
    // 1448 of 1500 bytes are payload: 52 are IPv4 and TCP headers with timestamps.
    let carried = received as f64 / 1448.0 * 1500.0 * 8e-6 / last.since(start).as_secs_f64();
    let seconds = clock.now().since(start).as_secs_f64().min(MEASURED_SECONDS as f64);
    println!(
        "{mbps:7} {carried:12.1} Mbit/s  {:+9.2} %  {:4.0} %  {:4.0} %",
        (carried / mbps as f64 - 1.0) * 100.0,
        process / seconds * 100.0,
        emulator / seconds * 100.0,
    );
    Ok(())
}

/// Measures UDP datagrams from the server to the device, sent at `load` times the link's rate.
fn measure_udp(mbps: u64, load: f64, offload: bool) -> Result<(), Failure> {
    let Link { device, server, shared, running } = start_link(mbps, offload)?;
    let clock = shared.clock();
    let bind =
        |address| UdpSocket::bind((address, 7000)).map_err(|error| linux::Error::system("bind", error));
    let (sender, receiver) = (server.run(|| bind(SERVER))?, device.run(|| bind(DEVICE))?);
    sender.connect((DEVICE, 7000))?;
    receiver.set_read_timeout(Some(std::time::Duration::from_millis(500)))?;
    let wire_bits = ((PAYLOAD_BYTES + HEADER_BYTES) * 8) as u64;
    let gap_nanos = wire_bits as f64 * 1e3 / mbps as f64 / load;
    let process = process_cpu();
    let sending = std::thread::spawn(move || send_datagrams(&sender, clock, gap_nanos));
    let arrivals = receive_datagrams(&receiver, clock, Duration::from_nanos(wire_bits * 1000 / mbps));
    sending.join().map_err(|_| "the sender panicked")??;
    let process = process_cpu() - process;
    let emulator = emulator_cpu();
    let lateness = shared.lock().0.lateness().clone();
    running.stop()?;
    let error_ms = |share: f64| {
        let errors = &arrivals.errors;
        let error = errors.get((errors.len().saturating_sub(1) as f64 * share) as usize);
        // Under overload the dropped packets, and so the due times of the others, are unknown.
        error.filter(|_| load < 1.0).map_or("-".to_owned(), |nanos| format!("{:.3}", *nanos as f64 / 1e6))
    };
    let count = arrivals.errors.len() as u64;
    let span = arrivals.last.since(arrivals.first).as_secs_f64();
    let carried = (count - 1) as f64 * wire_bits as f64 * 1e-6 / span;
    let expected = mbps as f64 * load.min(1.0);
    println!(
        "{mbps:7} {load:5.1} {:>17} ms {:>7} {:>7}  {:+9.2} %  {:10.0}  {:4.0} %  {:4.0} %   (lateness p99 {:.3} ms)",
        error_ms(0.5),
        error_ms(0.99),
        error_ms(1.0),
        (carried / expected - 1.0) * 100.0,
        count as f64 / span,
        process / MEASURED_SECONDS as f64 * 100.0,
        emulator / MEASURED_SECONDS as f64 * 100.0,
        lateness.quantile(0.99).as_secs_f64() * 1e3,
    );
    Ok(())
}

/// Sends datagrams with their send time as payload, on average every `gap_nanos`.
fn send_datagrams(socket: &UdpSocket, clock: Clock, gap_nanos: f64) -> std::io::Result<()> {
    let mut packet = [0; PAYLOAD_BYTES];
    let begun = clock.now();
    let mut sent = 0_u64;
    while clock.now().since(begun) < Duration::from_secs(MEASURED_SECONDS) {
        // Send all due datagrams in one burst; its size follows from the thread's wake-ups.
        let due = (clock.now().since(begun).as_nanos() as f64 / gap_nanos) as u64;
        while sent < due {
            packet[..8].copy_from_slice(&clock.now().as_nanos().to_le_bytes());
            socket.send(&packet)?;
            sent += 1;
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    Ok(())
}

/// Datagrams received by the device.
struct Arrivals {
    /// Arrival times less the model's, in nanoseconds, in ascending order.
    errors: Vec<i64>,
    first: Instant,
    last: Instant,
}

/// Receives until the socket's timeout. `service` is the serialization time of a datagram.
fn receive_datagrams(socket: &UdpSocket, clock: Clock, service: Duration) -> Arrivals {
    let mut packet = [0; 2048];
    let (mut errors, mut first, mut last) = (Vec::new(), None, Instant::ZERO);
    let mut link_free = Instant::ZERO;
    while socket.recv(&mut packet).is_ok() {
        let now = clock.now();
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&packet[..8]);
        let sent = Instant::from_nanos(u64::from_le_bytes(stamp));
        // The link model: serialization in order, then the propagation delay. Dropped packets use
        // no link time.
        link_free = link_free.max(sent) + service;
        let due = link_free + LINK_DELAY;
        errors.push(now.as_nanos() as i64 - due.as_nanos() as i64);
        first.get_or_insert(now);
        last = now;
    }
    errors.sort_unstable();
    Arrivals { errors, first: first.unwrap_or_default(), last }
}

/// CPU time of this process, in seconds.
fn process_cpu() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

/// CPU time of the emulator's thread since its start, in seconds.
fn emulator_cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let emulator = tasks.map(|task| task.path()).find(|task| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == "emulator")
    });
    let text = emulator.and_then(|task| std::fs::read_to_string(task.join("schedstat")).ok());
    let nanos = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or(f64::NAN, |nanos| nanos * 1e-9)
}
