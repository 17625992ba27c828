//! How true the emulator is, and how fast: traffic crosses one link between two namespaces, and is held against
//! the model. `accuracy [--plain] [--tcp] [MBPS...]`, as root: `--plain` reads every packet by itself, without
//! offloads, and `--tcp` leaves out the datagrams.
//!
//! First datagrams, a read and a write each. Printed for each rate: the delay beyond the model's (median, 99th
//! percentile, longest), the rate beside the link's, packets a second, and the processor time of the process, of
//! which sending and receiving the datagrams is a part, and of the emulator's thread, of which the receiving
//! kernel's work is a part. Where more is sent than the link carries, only the rate can be told.
//!
//! Then one TCP connection, as fast as it goes.

use linux::clock::Clock;
use linux::namespace::Namespace;
use linux::route::{Route, RouteEntry};
use linux::socket::{Options, Protocol, connect, listen};
use linux::sysctl;
use scenario::Scenario;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use tandem_emulator::{Driver, Network, Running, Shared};
use units::{Duration, Instant};

const DEVICE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const PAYLOAD: usize = 1472;
const SECONDS: u64 = 5;

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
            " Mbit/s  load  delay error: median     p99  longest   rate error    packets/s   CPU  emulator's"
        );
        for &rate in &rates {
            for load in [0.8, 1.1] {
                measure(rate, load, offload)?;
            }
        }
    }
    println!("\n Mbit/s  one TCP connection  rate error   CPU  emulator's, of a core");
    for &rate in &rates {
        connection(rate, offload)?;
    }
    Ok(())
}

/// A link of so many Mbit/s between two namespaces, which have an address each.
fn link(mbps: u64, offload: bool) -> Result<(Namespace, Namespace, Shared, Running), Failure> {
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
            let way =
                RouteEntry { to: other, prefix: 32, device: index, via: None, source: Some(own), metric: 0 };
            route.add_route(&way)
        })?;
    }
    let shared = Shared::new(Network::new(&scenario.experiment), Clock::start());
    let running = Driver::new(vec![ends], shared.clone()).start(true)?;
    Ok((device, server, shared, running))
}

/// One TCP connection downwards, after its slow start.
fn connection(mbps: u64, offload: bool) -> Result<(), Failure> {
    let (device, server, shared, running) = link(mbps, offload)?;
    let clock = shared.clock();
    let options = Options { congestion: Some("cubic".to_owned()), ..Options::default() };
    let listener = server.run(|| listen((SERVER, 7000).into(), Protocol::Tcp, &options))?;
    let begun = clock.now();
    let writing = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let bytes = vec![0; 1 << 20];
        while clock.now().since(begun) < Duration::from_secs(2 + SECONDS) {
            stream.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut stream = device.run(|| connect((SERVER, 7000).into(), Protocol::Tcp, &options))?;
    let (mut bytes, mut from) = (vec![0; 1 << 20], None);
    let (mut read, mut to) = (0, begun);
    loop {
        let length = stream.read(&mut bytes)?;
        let now = clock.now();
        let since = now.since(begun);
        if since >= Duration::from_secs(2 + SECONDS) || length == 0 {
            break;
        }
        if since >= Duration::from_secs(2) {
            if from.is_none() {
                from = Some((now, cpu(), emulator_cpu()));
            } else {
                (read, to) = (read + length as u64, now);
            }
        }
    }
    let Some((start, used, own)) = from else { return Err("nothing came".into()) };
    let (used, own) = (cpu() - used, emulator_cpu() - own);
    drop(stream);
    writing.join().map_err(|_| "the sender died")?.ok();
    running.stop()?;
    // Of 1500 bytes 1448 are payload: headers of IPv4 and TCP, timestamps.
    let carried = read as f64 / 1448.0 * 1500.0 * 8e-6 / to.since(start).as_secs_f64();
    let seconds = clock.now().since(start).as_secs_f64().min(SECONDS as f64);
    println!(
        "{mbps:7} {carried:12.1} Mbit/s  {:+9.2} %  {:4.0} %  {:4.0} %",
        (carried / mbps as f64 - 1.0) * 100.0,
        used / seconds * 100.0,
        own / seconds * 100.0,
    );
    Ok(())
}

/// Sends `load` times what a link of `mbps` carries.
fn measure(mbps: u64, load: f64, offload: bool) -> Result<(), Failure> {
    let (device, server, shared, running) = link(mbps, offload)?;
    let clock = shared.clock();
    let sender = server
        .run(|| UdpSocket::bind((SERVER, 7000)).map_err(|error| linux::Error::system("bind", error)))?;
    let receiver = device
        .run(|| UdpSocket::bind((DEVICE, 7000)).map_err(|error| linux::Error::system("bind", error)))?;
    sender.connect((DEVICE, 7000))?;
    receiver.set_read_timeout(Some(std::time::Duration::from_millis(500)))?;
    let wire = (PAYLOAD + 28) as u64;
    let gap = (wire * 8) as f64 * 1e3 / mbps as f64 / load;
    let before = cpu();
    let sending = std::thread::spawn(move || -> std::io::Result<()> {
        let mut packet = [0; PAYLOAD];
        let begun = clock.now();
        let mut sent = 0_u64;
        while clock.now().since(begun) < Duration::from_secs(SECONDS) {
            // What is due by now, in one go: as bursty as the sender's wake-ups.
            let due = (clock.now().since(begun).as_nanos() as f64 / gap) as u64;
            while sent < due {
                packet[..8].copy_from_slice(&clock.now().as_nanos().to_le_bytes());
                sender.send(&packet)?;
                sent += 1;
            }
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        Ok(())
    });
    let mut packet = [0; 2048];
    let mut errors = Vec::new();
    let service = Duration::from_nanos(wire * 8 * 1000 / mbps);
    let mut busy = Instant::ZERO;
    let (mut first, mut last, mut count) = (None, Instant::ZERO, 0_u64);
    while receiver.recv(&mut packet).is_ok() {
        let now = clock.now();
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&packet[..8]);
        let sent = Instant::from_nanos(u64::from_le_bytes(stamp));
        // What the link does: one after another, then the delay. A packet that was dropped took no time.
        busy = busy.max(sent) + service;
        let due = busy + Duration::from_millis(10);
        errors.push(now.as_nanos() as i64 - due.as_nanos() as i64);
        first.get_or_insert(now);
        last = now;
        count += 1;
    }
    sending.join().map_err(|_| "the sender died")??;
    let used = cpu() - before;
    let own = emulator_cpu();
    let lateness = shared.lock().0.lateness().clone();
    running.stop()?;
    errors.sort_unstable();
    let at = |share: f64| {
        let error = errors.get((errors.len().saturating_sub(1) as f64 * share) as usize);
        // Which packets were dropped cannot be seen from outside, nor then when others were due.
        error.filter(|_| load < 1.0).map_or("-".to_owned(), |nanos| format!("{:.3}", *nanos as f64 / 1e6))
    };
    let span = last.since(first.unwrap_or_default()).as_secs_f64();
    let carried = (count - 1) as f64 * wire as f64 * 8e-6 / span;
    let expected = mbps as f64 * load.min(1.0);
    println!(
        "{mbps:7} {load:5.1} {:>17} ms {:>7} {:>7}  {:+9.2} %  {:10.0}  {:4.0} %  {:4.0} %   (written after its time: p99 {:.3} ms)",
        at(0.5),
        at(0.99),
        at(1.0),
        (carried / expected - 1.0) * 100.0,
        count as f64 / span,
        used / SECONDS as f64 * 100.0,
        own / SECONDS as f64 * 100.0,
        lateness.quantile(0.99).as_secs_f64() * 1e3,
    );
    Ok(())
}

/// Processor time of this process, in seconds.
fn cpu() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

/// Processor time of the emulator's thread, in seconds, since it began.
fn emulator_cpu() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let emulator = tasks.map(|task| task.path()).find(|task| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim_end() == "emulator")
    });
    let text = emulator.and_then(|task| std::fs::read_to_string(task.join("schedstat")).ok());
    let nanos = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or(f64::NAN, |nanos| nanos * 1e-9)
}
