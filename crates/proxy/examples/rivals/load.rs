//! Client and server of the benchmark.

use crate::process::Ask;
use crate::world::{SERVER, World};
use linux::Error;
use linux::namespace::Namespace;
use linux::socket::{self, Options, Protocol};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Builder;

/// Idle connections.
pub(crate) const IDLE: usize = 2000;
/// Concurrent clients of the request test, and its duration.
const ASKING: usize = 32;
const SPAN: Duration = Duration::from_secs(3);

pub(crate) struct Carry {
    pub(crate) mbps: f64,
}

pub(crate) struct Requests {
    pub(crate) per_second: f64,
    pub(crate) count: f64,
}

/// Starts a server thread for MPTCP and TCP: `GET /N` returns N bytes.
pub(crate) fn site(place: &Namespace) -> Result<SocketAddr, Error> {
    let at = SocketAddr::new(SERVER.parse().expect("an address"), 0);
    let listener = place.run(|| socket::listen(at, Protocol::Mptcp, &Options::default()))?;
    let own = |error| Error::system("serve", error);
    let at = listener.local_addr().map_err(own)?;
    listener.set_nonblocking(true).map_err(own)?;
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async { _ = serve(stream).await });
            }
        });
    });
    Ok(at)
}

async fn serve(mut stream: tokio::net::TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let chunk = vec![b'x'; 256 << 10];
    let mut buffer = Vec::new();
    loop {
        while !buffer.windows(4).any(|end| end == b"\r\n\r\n") {
            buffer.reserve(1024);
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let text = String::from_utf8_lossy(&buffer);
        let path = text.split(' ').nth(1).unwrap_or_default();
        let length: usize = path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let mut out = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        let first = length.min(4096);
        out.extend_from_slice(&chunk[..first]);
        stream.write_all(&out).await?;
        let mut left = length - first;
        while left > 0 {
            let part = left.min(chunk.len());
            stream.write_all(&chunk[..part]).await?;
            left -= part;
        }
        buffer.clear();
    }
}

fn connect(ask: Ask) -> TcpStream {
    let (Ask::Straight(at) | Ask::Proxy(at)) = ask;
    let options = Options { no_delay: true, ..Options::default() };
    socket::connect(at, Protocol::Mptcp, &options).expect("it listens")
}

/// Connects, and requests a tunnel from a proxy.
fn tunnel(world: &World, ask: Ask) -> TcpStream {
    let mut stream = connect(ask);
    if let Ask::Proxy(_) = ask {
        let site = world.site;
        write!(stream, "CONNECT {site} HTTP/1.1\r\nHost: {site}\r\n\r\n").expect("it listens");
        assert!(head(&mut stream).starts_with("HTTP/1.1 200"), "no tunnel");
    }
    stream
}

fn head(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn inside<R: Send>(world: &World, work: impl FnOnce() -> R + Send) -> R {
    world.client.run(|| Ok::<_, Error>(work())).expect("the namespace is there")
}

/// Waits until the address accepts connections.
pub(crate) fn wait_for(world: &World, ask: Ask) {
    let (Ask::Straight(at) | Ask::Proxy(at)) = ask;
    inside(world, || {
        let start = Instant::now();
        while socket::connect(at, Protocol::Mptcp, &Options::default()).is_err() {
            assert!(start.elapsed() < Duration::from_secs(20), "no listener at {at}");
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}

/// Downloads bytes over one connection.
pub(crate) fn carry(world: &World, ask: Ask, bytes: usize) -> Carry {
    inside(world, || {
        let mut stream = tunnel(world, ask);
        let start = Instant::now();
        write!(stream, "GET /{bytes} HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
        head(&mut stream);
        let mut buffer = vec![0; 256 << 10];
        let mut left = bytes;
        while left > 0 {
            match stream.read(&mut buffer).expect("data") {
                0 => panic!("{left} bytes are missing"),
                count => left -= count,
            }
        }
        Carry { mbps: bytes as f64 * 8e-6 / start.elapsed().as_secs_f64() }
    })
}

/// Sends sequential small requests over several connections.
pub(crate) fn requests(world: &World, ask: Ask) -> Requests {
    let target = match ask {
        Ask::Straight(_) => "/1024".to_owned(),
        Ask::Proxy(_) => format!("http://{}/1024", world.site),
    };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", world.site);
    inside(world, || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let start = Instant::now();
            let tasks: Vec<_> = (0..ASKING)
                .map(|_| {
                    let stream = connect(ask);
                    let request = request.clone();
                    tokio::spawn(async move {
                        stream.set_nonblocking(true).expect("a socket");
                        let mut stream = tokio::net::TcpStream::from_std(stream).expect("a socket");
                        let mut count = 0u64;
                        let mut buffer = Vec::with_capacity(4096);
                        while start.elapsed() < SPAN {
                            stream.write_all(request.as_bytes()).await.expect("it listens");
                            buffer.clear();
                            // A head and 1024 bytes of body.
                            while buffer
                                .windows(4)
                                .position(|end| end == b"\r\n\r\n")
                                .is_none_or(|end| buffer.len() < end + 4 + 1024)
                            {
                                let read = stream.read_buf(&mut buffer).await.expect("an answer");
                                assert!(
                                    read > 0,
                                    "the connection ended: {}",
                                    String::from_utf8_lossy(&buffer)
                                );
                            }
                            count += 1;
                        }
                        count
                    })
                })
                .collect();
            let mut count = 0;
            for task in tasks {
                count += task.await.expect("it ends");
            }
            let count = count as f64;
            Requests { per_second: count / start.elapsed().as_secs_f64(), count }
        })
    })
}

/// Opens many connections that become idle after one exchange.
pub(crate) fn idle(world: &World, ask: Ask) -> Vec<TcpStream> {
    inside(world, || {
        let open = |_| {
            let mut stream = tunnel(world, ask);
            write!(stream, "GET /10 HTTP/1.1\r\nHost: a\r\n\r\n").expect("it listens");
            head(&mut stream);
            stream.read_exact(&mut [0; 10]).expect("an answer");
            stream
        };
        (0..IDLE).map(open).collect()
    })
}
