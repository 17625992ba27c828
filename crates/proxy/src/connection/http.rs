//! A client that speaks HTTP: one request after the other, until one asks for a tunnel.

use super::players::{self, Watch};
use super::{Client, PORTION, TOO_SLOW};
use crate::access::{self, Line};
use crate::connect::{Connected, Failure, read_some, write_all};
use crate::counters::{Counters, Tally};
use crate::destination::Destination;
use crate::front::http::{self, Bad, Chunks, Framing, Piece, Request, Wanted};
use crate::relay::{self, Flow, Hold, Pace};
use crate::server::Phase;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::io::{self, ErrorKind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout_at};

/// How much of a body is looked at at once.
const BODY_PORTION: usize = 16 << 10;

/// The connection to a server, kept for the client's next request to it.
struct Server {
    destination: Destination,
    stream: TcpStream,
    /// Read, and not yet passed on.
    buffer: Vec<u8>,
    /// Requests were answered over it before.
    used: bool,
}

/// Why a request was not answered.
enum Broken {
    /// Nothing of an answer has reached the client: it is told.
    Before(Bad),
    /// The server's connection had ended before it took the request; a new one may do.
    Stale,
    /// The client has a part of an answer.
    Within,
}

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    client.note.front = "http";
    let mut kept = None;
    loop {
        let request = match next(client, kept.is_some()).await {
            Ok(Some(request)) => request,
            Ok(None) => return None,
            Err(bad) => {
                client.note.outcome = bad.why;
                Counters::count(&client.counters().bad_requests);
                refuse(client, bad, "").await;
                return None;
            }
        };
        client.buffer.drain(..request.length);
        if !client.knows(request.credential.as_ref()) {
            let bad = Bad { status: 407, why: "a name and a secret are needed" };
            let goes_on = request.keep_alive
                && matches!(request.wanted, Wanted::Tunnel | Wanted::Answer { body: Framing::Empty, .. });
            let fields = "Proxy-Authenticate: Basic realm=\"tandem\", charset=\"UTF-8\"\r\n";
            if !goes_on {
                refuse(client, bad, fields).await;
                return None;
            }
            if client.write(&refusal(bad.status, bad.why, fields, true)).await.is_err() {
                return None;
            }
            continue;
        }
        if request.wanted == Wanted::Tunnel {
            match client.connect(&request.destination, client.config.servers).await {
                Ok(server) => {
                    let written = client.write(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
                    return written.is_ok().then_some(server);
                }
                Err(failure) => {
                    say(client, &failure).await;
                    return None;
                }
            }
        }
        // In a box as well: between two requests nothing is held of it.
        kept = Some(Box::pin(answer(client, &request, kept.take())).await?);
    }
}

/// The client's next request; nothing where there will be none.
async fn next(client: &mut Client, is_kept: bool) -> Result<Option<Request>, Bad> {
    if client.buffer.is_empty() {
        let timeouts = &client.config.timeouts;
        let over = if is_kept { Instant::now() + timeouts.keep_alive } else { client.deadline };
        tokio::select! {
            there = timeout_at(over, read_some(&client.stream, &mut client.buffer, PORTION)) => match there {
                Ok(Ok(1..)) => {}
                Ok(_) => return Ok(None),
                Err(_) => {
                    if !is_kept {
                        client.note.outcome = TOO_SLOW;
                        Counters::count(&client.shared.counters.too_slow);
                    }
                    return Ok(None);
                }
            },
            _ = client.phase.wait_for(|phase| *phase != Phase::Serving) => return Ok(None),
        }
    }
    if is_kept {
        client.deadline = Instant::now() + client.config.timeouts.handshake;
    }
    loop {
        // Nothing is read twice but what has not ended: a head comes in one piece mostly.
        if let Some(request) = http::read_request(&client.buffer, client.config.limits.head)? {
            return Ok(Some(request));
        }
        match client.read().await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TimedOut && !client.buffer.is_empty() => {
                return Err(Bad { status: 408, why: "the request took too long" });
            }
            Err(_) => return Ok(None),
        }
    }
}

/// Has a request answered; gives the server's connection where both may go on.
async fn answer(client: &mut Client, request: &Request, kept: Option<Server>) -> Option<Server> {
    let mut server = match kept.filter(|one| one.destination == request.destination && is_alive(one)) {
        Some(server) => server,
        None => reach(client, request).await?,
    };
    let before = (Instant::now(), client.up.load(Relaxed), client.down.load(Relaxed));
    loop {
        match exchange(client, request, &mut server).await {
            Ok((status, goes_on)) => {
                Counters::count(&client.counters().requests);
                log(client, request, status, before);
                server.used = true;
                if goes_on {
                    return Some(server);
                }
                client.note.paths.look(&client.stream);
                relay::close_gently(&client.stream, Duration::from_secs(1)).await;
                return None;
            }
            // RFC 9112, section 9.3.1: it was the end of an idle connection, and nothing was done.
            Err(Broken::Stale) => server = reach(client, request).await?,
            Err(Broken::Before(bad)) => {
                client.note.outcome = bad.why;
                Counters::count(&client.counters().failed);
                refuse(client, bad, "").await;
                return None;
            }
            Err(Broken::Within) => {
                client.note.outcome = "reset";
                Counters::count(&client.counters().failed);
                _ = linux::socket::abort(&client.stream);
                return None;
            }
        }
    }
}

async fn reach(client: &mut Client, request: &Request) -> Option<Server> {
    match client.connect(&request.destination, client.config.servers).await {
        Ok(connected) => Some(Server {
            destination: request.destination.clone(),
            stream: connected.stream,
            buffer: connected.early,
            used: false,
        }),
        Err(failure) => {
            say(client, &failure).await;
            None
        }
    }
}

/// Whether a server has neither ended its connection nor said what nobody asked for.
fn is_alive(server: &Server) -> bool {
    // The kernel is asked itself: what has come a moment ago the runtime need not know yet.
    let there = recv(&server.stream, &mut [0u8], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    server.buffer.is_empty() && there == Err(Errno::AGAIN)
}

/// Writes what is to be said of an answered request.
fn log(client: &Client, request: &Request, status: u16, (began, up, down): (Instant, u64, u64)) {
    let (Some(log), Wanted::Answer { method, .. }) = (client.shared.log(), &request.wanted) else { return };
    let line = Line {
        event: "request",
        time: access::now(),
        client: client.address.to_string(),
        front: client.note.front,
        user: client.note.user.as_deref(),
        destination: Some(request.destination.to_string()),
        server: client.note.server.map(|server| server.to_string()),
        method: Some(method),
        status: Some(status),
        outcome: "answered",
        seconds: access::seconds(began.elapsed()),
        bytes_up: client.up.load(Relaxed) - up,
        bytes_down: client.down.load(Relaxed) - down,
        ..Line::default()
    };
    log.line(&line, client.counters());
}

/// A request to a server, its body beside the answer; the answer's status, and whether both connections may go on.
async fn exchange(
    client: &mut Client,
    request: &Request,
    server: &mut Server,
) -> Result<(u16, bool), Broken> {
    let Wanted::Answer { method, head, body } = &request.wanted else { return Ok((0, false)) };
    let pace = client.config.pace();
    let watch = Watch::of(client, head);
    let counters = &client.shared.counters;
    let up = Tally([&counters.bytes_up, &client.up]);
    let down = Tally([&counters.bytes_down, &client.down]);
    let stale = server.used && *body == Framing::Empty && matches!(&**method, "GET" | "HEAD" | "OPTIONS");
    let went = timeout_at(Instant::now() + pace.idle, write_all(&server.stream, head)).await;
    match went {
        Ok(Ok(())) => up.add(head.len() as u64),
        Ok(Err(_)) if stale => return Err(Broken::Stale),
        Ok(Err(_)) => return Err(Broken::Before(Bad { status: 502, why: "the server broke off" })),
        Err(_) => return Err(Broken::Before(Bad { status: 504, why: "the server takes no request" })),
    }
    let answering = Answering {
        client: &client.stream,
        server: &server.stream,
        most: client.config.limits.head,
        pace,
        tally: down,
        size: AtomicU64::new(u64::MAX),
        stale,
    };
    let download = answering.run(&mut server.buffer, method, request);
    let download = players::watched(watch, &answering.size, &client.down, download);
    let (status, keep_client, keep_server) = if *body == Framing::Empty {
        download.await?
    } else {
        let upload = pass_body(&client.stream, &server.stream, &mut client.buffer, *body, false, up, pace);
        tokio::pin!(upload, download);
        let mut sent: Option<io::Result<()>> = None;
        let mut until = None;
        let (status, keep_client, keep_server) = loop {
            let waited = until.unwrap_or_else(Instant::now);
            tokio::select! {
                result = &mut upload, if sent.is_none() => {
                    match result.as_ref().err().map(io::Error::kind) {
                        None => {}
                        // The client's body is none, or is not to end: nobody may wait for what follows.
                        Some(ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::TimedOut) => {
                            _ = linux::socket::abort(&server.stream);
                            return Err(Broken::Within);
                        }
                        // A server that hears no more may still say why.
                        Some(_) => until = Some(Instant::now() + client.config.timeouts.handshake),
                    }
                    sent = Some(result);
                }
                result = &mut download => break result?,
                () = sleep_until(waited), if until.is_some() => return Err(Broken::Within),
            }
        };
        // Who answers before it has heard all, or while the rest cannot be sent, is not asked again.
        let whole = matches!(sent, Some(Ok(())));
        (status, keep_client && whole, keep_server && whole)
    };
    Ok((status, keep_client && keep_server && server.buffer.is_empty()))
}

/// What a server's answer passes through.
struct Answering<'a> {
    client: &'a TcpStream,
    server: &'a TcpStream,
    most: usize,
    pace: Pace,
    tally: Tally<'a>,
    /// How many bytes the client gets, its head counted, once that is known.
    size: AtomicU64,
    /// The connection is an old one, and the request can be made again.
    stale: bool,
}

impl Answering<'_> {
    /// Passes on the answer, with those that come before it; its status, and whether the client's connection and the server's may
    /// go on.
    async fn run(
        &self,
        buffer: &mut Vec<u8>,
        method: &str,
        request: &Request,
    ) -> Result<(u16, bool, bool), Broken> {
        let bad = |status, why| Broken::Before(Bad { status, why });
        let mut nothing_yet = true;
        let response = loop {
            let read = http::read_response(buffer, self.most, method, request.is_old, request.keep_alive);
            match read.map_err(|why| bad(502, why))? {
                Some(response) if response.is_interim() => {
                    buffer.drain(..response.length);
                    if !request.is_old {
                        write_all(self.client, &response.head).await.map_err(|_| Broken::Within)?;
                    }
                }
                Some(response) => break response,
                None => {
                    match timeout_at(Instant::now() + self.pace.idle, read_some(self.server, buffer, PORTION))
                        .await
                    {
                        Ok(Ok(count)) if count > 0 => nothing_yet = false,
                        Ok(_) if self.stale && nothing_yet => return Err(Broken::Stale),
                        Ok(_) => return Err(bad(502, "the server broke off")),
                        Err(_) => return Err(bad(504, "the server does not answer")),
                    }
                }
            }
        };
        buffer.drain(..response.length);
        let (mut out, mut body) = (response.head, response.body);
        if let Framing::Length(length) = body {
            self.size.store(out.len() as u64 + length, Relaxed);
        }
        if let Framing::Length(length) = body
            && length >= buffer.len() as u64
        {
            // What is there goes in one piece with the head.
            body = Framing::Length(length - buffer.len() as u64);
            out.append(buffer);
        }
        write_all(self.client, &out).await.map_err(|_| Broken::Within)?;
        self.tally.add(out.len() as u64);
        pass_body(self.server, self.client, buffer, body, request.is_old, self.tally, self.pace)
            .await
            .map_err(|_| Broken::Within)?;
        if buffer.is_empty() {
            *buffer = Vec::new();
        }
        Ok((response.status, response.client_keep_alive, response.keep_alive))
    }
}

/// Passes on a body, what is in `buffer` first; what lies there behind it stays.
async fn pass_body(
    from: &TcpStream,
    to: &TcpStream,
    buffer: &mut Vec<u8>,
    body: Framing,
    without_chunks: bool,
    tally: Tally<'_>,
    pace: Pace,
) -> io::Result<()> {
    match body {
        Framing::Empty => Ok(()),
        Framing::Length(length) => {
            let first = buffer.len().min(usize::try_from(length).unwrap_or(usize::MAX));
            let mut flow = Flow::of_length(length - first as u64);
            flow.begin_with(buffer.drain(..first).collect());
            relay::run(from, to, &mut flow, tally, pace).await
        }
        Framing::UntilClose => {
            let mut flow = Flow::new(std::mem::take(buffer));
            relay::run(from, to, &mut flow, tally, pace).await
        }
        Framing::Chunked => pass_chunks(from, to, buffer, without_chunks, tally, pace).await,
    }
}

/// Passes on a body of chunks, in chunks of our own, or as mere data.
async fn pass_chunks(
    from: &TcpStream,
    to: &TcpStream,
    buffer: &mut Vec<u8>,
    without_chunks: bool,
    tally: Tally<'_>,
    pace: Pace,
) -> io::Result<()> {
    let late = |_| io::Error::from(ErrorKind::TimedOut);
    let mut chunks = Chunks::default();
    let mut out = Vec::new();
    let (mut hold, mut moved) = (Hold::default(), 0);
    loop {
        let mut at = 0;
        let ended = loop {
            let piece =
                chunks.next(buffer, &mut at).map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
            match piece {
                Piece::Data(range) if without_chunks => out.extend_from_slice(&buffer[range]),
                Piece::Data(range) => {
                    out.extend_from_slice(format!("{:x}\r\n", range.len()).as_bytes());
                    out.extend_from_slice(&buffer[range]);
                    out.extend_from_slice(b"\r\n");
                }
                Piece::More => break false,
                Piece::End(_) => break true,
            }
        };
        buffer.drain(..at);
        if ended && !without_chunks {
            out.extend_from_slice(b"0\r\n\r\n");
        }
        hold.wait(to, moved, pace.ahead).await;
        timeout_at(Instant::now() + pace.idle, write_all(to, &out)).await.map_err(late)??;
        moved += out.len() as u64;
        tally.add(out.len() as u64);
        out.clear();
        if ended {
            return Ok(());
        }
        if timeout_at(Instant::now() + pace.idle, read_some(from, buffer, BODY_PORTION))
            .await
            .map_err(late)??
            == 0
        {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Tells a client why there is no connection.
async fn say(client: &Client, failure: &Failure) {
    let status = match failure {
        Failure::Refused(_) | Failure::Upstream(Some(403)) => 403,
        Failure::TimedOut => 504,
        _ => 502,
    };
    tell(client, refusal(status, &failure.to_text(), "", false)).await;
}

/// Tells a client what is wrong with its request, and ends.
async fn refuse(client: &Client, bad: Bad, fields: &str) {
    tell(client, refusal(bad.status, bad.why, fields, false)).await;
}

async fn tell(client: &Client, text: Vec<u8>) {
    if client.write(&text).await.is_ok() {
        relay::close_gently(&client.stream, Duration::from_secs(1)).await;
    }
}

fn refusal(status: u16, why: &str, fields: &str, goes_on: bool) -> Vec<u8> {
    let reason = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    let connection = if goes_on { "keep-alive" } else { "close" };
    let length = why.len() + 1;
    format!(
        "HTTP/1.1 {status} {reason}\r\n{fields}Content-Type: text/plain; charset=utf-8\r\n\
        Content-Length: {length}\r\nConnection: {connection}\r\n\r\n{why}\n"
    )
    .into_bytes()
}
