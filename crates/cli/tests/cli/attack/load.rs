//! A proxy with thousands of connections, half of them slow: a quarter never reads, a quarter sends
//! its request byte by byte. The other half must be served as without them, and memory grows by a fifth
//! at most.
//!
//! `TANDEM_LOAD_CONNECTIONS=10000 TANDEM_LOAD_SECONDS=600` is the long form; it needs 21,000
//! descriptors (`ulimit -Hn`). Only that one compares response times, as a ratio: a short one says
//! nothing about them.

use super::env_number;
use crate::proxy::{Running, configured, running};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Seconds from which the response times are compared.
const LONG_SECONDS: u64 = 60;
/// Time between two requests of a client that is served.
const PAUSE: Duration = Duration::from_millis(500);
/// Time after which a request counts as unanswered.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// Observations of the clients.
#[derive(Default)]
struct Seen {
    /// Response times in microseconds.
    times: Mutex<Vec<u64>>,
    /// How many requests failed, by reason.
    failed: Mutex<BTreeMap<String, u64>>,
    slow: AtomicU64,
    stop: AtomicBool,
}

impl Seen {
    /// Takes the response times so far: their 99th percentile in milliseconds, and their number.
    fn p99_ms(&self) -> (f64, usize) {
        let mut times = std::mem::take(&mut *self.times.lock().unwrap());
        assert!(!times.is_empty(), "no request was answered");
        times.sort_unstable();
        (times[times.len() * 99 / 100] as f64 / 1e3, times.len())
    }
}

/// Server: echoes each byte, and after an `S` sends without end.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut buffer = [0; 1];
            while matches!(stream.read(&mut buffer).await, Ok(1)) {
                let much = vec![7; 16 << 10];
                while buffer == *b"S" && stream.write_all(&much).await.is_ok() {}
                if stream.write_all(&buffer).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn tunnel(proxy: SocketAddr, server: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(proxy).await?;
    let request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = [0; 39];
    stream.read_exact(&mut answer).await?;
    if answer.starts_with(b"HTTP/1.1 200") { Ok(stream) } else { Err(std::io::ErrorKind::InvalidData.into()) }
}

/// A client that is served: it opens a tunnel, sends a byte now and then and waits for it. Every tenth
/// time it closes the tunnel, waits until the proxy has, and opens a new one.
async fn normal(seen: Arc<Seen>, proxy: SocketAddr, server: SocketAddr, nth: u64) {
    sleep(PAUSE * (nth % 100) as u32 / 100).await;
    while !seen.stop.load(Relaxed) {
        let work = async {
            let mut stream = tunnel(proxy, server).await?;
            for _ in 0..10 {
                let begin = Instant::now();
                stream.write_all(b"E").await?;
                stream.read_exact(&mut [0; 1]).await?;
                seen.times.lock().unwrap().push(begin.elapsed().as_micros() as u64);
                sleep(PAUSE).await;
                if seen.stop.load(Relaxed) {
                    break;
                }
            }
            stream.shutdown().await?;
            match timeout(MAX_WAIT / 2, stream.read(&mut [0; 1])).await {
                Ok(Ok(0)) => Ok(()),
                Ok(Ok(_)) => Err(std::io::Error::other("data after the last answer")),
                Ok(Err(error)) => Err(error),
                Err(_) => Err(std::io::Error::other("not closed")),
            }
        };
        let reason = match timeout(MAX_WAIT, work).await {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        *seen.failed.lock().unwrap().entry(reason).or_default() += 1;
    }
}

/// A client that asks for much and never reads.
async fn never_reads(seen: Arc<Seen>, proxy: SocketAddr, server: SocketAddr) {
    while !seen.stop.load(Relaxed) {
        if let Ok(mut stream) = tunnel(proxy, server).await {
            seen.slow.fetch_add(1, Relaxed);
            _ = stream.write_all(b"S").await;
            // Until the proxy resets the connection, which a write shows.
            while !seen.stop.load(Relaxed) && stream.write_all(b"x").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// A client that sends a request of many bytes, one each second.
async fn never_ends(seen: Arc<Seen>, proxy: SocketAddr) {
    while !seen.stop.load(Relaxed) {
        if let Ok(mut stream) = TcpStream::connect(proxy).await {
            seen.slow.fetch_add(1, Relaxed);
            for byte in b"GET http://a.example/".iter().cycle() {
                if seen.stop.load(Relaxed) || stream.write_all(&[*byte]).await.is_err() {
                    break;
                }
                sleep(Duration::from_secs(1)).await;
            }
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Runs all clients; the 99th percentiles without and with the slow half, and the memory before and
/// after the time with them.
async fn load(running: &Running, count: u64, seconds: u64) -> ([f64; 2], [u64; 2]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = running.address().parse().unwrap();
    let server = listener.local_addr().unwrap();
    let seen = Arc::new(Seen::default());
    let mut tasks = vec![tokio::spawn(serve(listener))];
    for nth in 0..count / 2 {
        tasks.push(tokio::spawn(normal(Arc::clone(&seen), proxy, server, nth)));
    }
    sleep(Duration::from_secs(2)).await;
    _ = seen.p99_ms();
    sleep(Duration::from_secs(seconds / 4)).await;
    let (alone, answers) = seen.p99_ms();
    for _ in 0..count / 4 {
        tasks.push(tokio::spawn(never_reads(Arc::clone(&seen), proxy, server)));
        tasks.push(tokio::spawn(never_ends(Arc::clone(&seen), proxy)));
    }
    sleep(Duration::from_secs(2 + seconds / 4)).await;
    _ = seen.p99_ms();
    let before = running.resident_bytes();
    sleep(Duration::from_secs(seconds)).await;
    let (beside, more) = seen.p99_ms();
    let after = running.resident_bytes();
    let slow = seen.slow.load(Relaxed);
    println!(
        "{count} connections for {seconds} s: p99 {alone:.2} ms alone ({answers} answers), {beside:.2} ms \
         beside slow ones ({more} answers); {slow} slow connections; resident {before} and {after} bytes"
    );
    let failed = std::mem::take(&mut *seen.failed.lock().unwrap());
    assert!(
        failed.is_empty(),
        "requests of the others: {failed:?}; the proxy says {:#}",
        running.status().unwrap()
    );
    assert!(slow >= count / 2, "only {slow} slow connections were opened");
    seen.stop.store(true, Relaxed);
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    ([alone, beside], [before, after])
}

#[test]
#[ignore = "needs root"]
fn needs_root_slow_half_of_the_clients_harms_nobody() {
    let count = env_number("TANDEM_LOAD_CONNECTIONS", 800);
    let seconds = env_number("TANDEM_LOAD_SECONDS", 4);
    linux::process::raise_open_file_limit(2 * count + 1000);
    // No client has a name looked up. The proxy counts a connection for a moment longer than its client
    // does.
    let most = count + count / 100 + 10;
    let limits = format!("[limits]\nconnections = {most}\nper_client = {most}\nlookups = 1\n");
    let running = running(configured(&limits), &[]);
    let served = running.status().unwrap()["most_connections"].as_u64().unwrap();
    assert!(served >= most, "the proxy has files for {served} connections and needs {most} (`ulimit -Hn`)");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ([alone, beside], [before, after]) = runtime.block_on(load(&running, count, seconds));
    assert!(after < before + before / 5 + (4 << 20), "memory grows from {before} to {after} bytes");
    if seconds >= LONG_SECONDS {
        assert!(beside < 2.0 * alone, "p99 {alone} ms alone, {beside} ms beside slow clients");
    }
}
