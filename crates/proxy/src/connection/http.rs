//! Client session for HTTP: requests in sequence, until CONNECT opens a tunnel.

use super::players::{self, PlayerWatch};
use super::{Access, Client, READ_CHUNK_BYTES, TOO_SLOW, unless_revoked};
use crate::access::{self, LogRecord};
use crate::connect::{ConnectError, Connected, read_some, write_all};
use crate::counters::{ByteCounters, Counters};
use crate::destination::Destination;
use crate::front::http::{
    self, ChunkDecoder, ChunkEvent, Framing, PSEUDONYM, ParseError, Request, RequestKind,
};
use crate::refusal::Cause;
use crate::relay::{self, Flow, RelayOptions, WriteGate};
use crate::server::Phase;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::io::{self, ErrorKind};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Bytes of a chunked body read at once.
const BODY_CHUNK_BYTES: usize = 16 << 10;

/// Server connection, kept for the client's next request to the same destination.
struct ServerConnection {
    destination: Destination,
    stream: TcpStream,
    /// Bytes received and not yet forwarded.
    buffer: Vec<u8>,
    /// Whether it has answered a request before.
    used: bool,
}

/// Failed exchange with a server.
enum ExchangeError {
    /// The client has received nothing: an error response is possible.
    BeforeResponse(ParseError),
    /// The server closed the idle connection before it took the request: retry on a new one.
    Stale,
    /// The client has received part of a response.
    MidResponse,
}

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    client.log_context.front = "http";
    let mut kept = None;
    loop {
        let revocation = client.revocation();
        let Some(request) = unless_revoked(revocation, next_request(client, kept.is_some())).await else {
            client.revoke();
            return None;
        };
        let request = match request {
            Ok(Some(request)) => request,
            Ok(None) => return None,
            Err(bad) => {
                client.log_context.outcome = bad.reason;
                Counters::count(&client.counters().bad_requests);
                respond_error(client, bad, "").await;
                return None;
            }
        };
        client.buffer.drain(..request.length);
        let access = client.authenticate(request.credential.as_ref()).await;
        if let Access::Delayed(wait) = access {
            let bad = ParseError { status: 429, reason: "too many failed logins: try again later" };
            let seconds = wait.as_secs() + 1;
            respond_error(client, bad, &format!("Retry-After: {seconds}\r\n")).await;
            return None;
        }
        if access == Access::Denied {
            let bad = ParseError { status: 407, reason: "authentication required" };
            let keep_open = request.keep_alive
                && matches!(
                    request.kind,
                    RequestKind::Tunnel | RequestKind::Forward { body: Framing::Empty, .. }
                );
            let fields = "Proxy-Authenticate: Basic realm=\"tandem\", charset=\"UTF-8\"\r\n";
            if !keep_open {
                respond_error(client, bad, fields).await;
                return None;
            }
            if client.write(&error_response(bad.status, bad.reason, fields, true)).await.is_err() {
                return None;
            }
            continue;
        }
        if request.kind == RequestKind::Tunnel {
            match client.connect(&request.destination, client.config.servers).await {
                Ok(server) => {
                    let written = client.write(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
                    return written.is_ok().then_some(server);
                }
                Err(failure) => {
                    respond_connect_error(client, &failure).await;
                    return None;
                }
            }
        }
        // Boxed, so that an idle session does not carry the state of an exchange.
        let revocation = client.revocation();
        let forward = Box::pin(forward_request(client, &request, kept.take()));
        let Some(still_open) = unless_revoked(revocation, forward).await else {
            client.revoke();
            return None;
        };
        kept = Some(still_open?);
    }
}

/// Reads the client's next request; `None` if there is none.
async fn next_request(client: &mut Client, is_kept: bool) -> Result<Option<Request>, ParseError> {
    if client.buffer.is_empty() {
        let timeouts = &client.config.timeouts;
        let over = if is_kept { Instant::now() + timeouts.keep_alive } else { client.deadline };
        tokio::select! {
            there = timeout_at(over, read_some(&client.stream, &mut client.buffer, READ_CHUNK_BYTES)) => match there {
                Ok(Ok(1..)) => {}
                Ok(_) => return Ok(None),
                Err(_) => {
                    if !is_kept {
                        client.log_context.outcome = TOO_SLOW;
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
        // A head usually arrives in one segment, so parsing it again from the start is rare.
        if let Some(request) = http::read_request(&client.buffer, client.config.limits.head)? {
            return Ok(Some(request));
        }
        match client.read().await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TimedOut && !client.buffer.is_empty() => {
                return Err(ParseError { status: 408, reason: "request timeout" });
            }
            Err(_) => return Ok(None),
        }
    }
}

/// Forwards a request and its response. Returns the server connection if both connections stay
/// open.
async fn forward_request(
    client: &mut Client,
    request: &Request,
    kept: Option<ServerConnection>,
) -> Option<ServerConnection> {
    let mut server = match kept.filter(|one| one.destination == request.destination && is_reusable(one)) {
        Some(server) => server,
        None => connect_to_server(client, request).await?,
    };
    let before = (Instant::now(), client.up.load(Relaxed), client.down.load(Relaxed));
    loop {
        match exchange(client, request, &mut server).await {
            Ok((status, keep_open)) => {
                Counters::count(&client.counters().requests);
                log_request(client, request, status, before);
                server.used = true;
                if keep_open {
                    return Some(server);
                }
                client.log_context.subflows.sample(&client.stream);
                relay::lingering_close(&client.stream, Duration::from_secs(1)).await;
                return None;
            }
            // RFC 9112, section 9.3.1: a safe request on an idle connection may be retried.
            Err(ExchangeError::Stale) => server = connect_to_server(client, request).await?,
            Err(ExchangeError::BeforeResponse(bad)) => {
                client.log_context.outcome = bad.reason;
                Counters::count(&client.counters().failed);
                respond_error(client, bad, "").await;
                return None;
            }
            Err(ExchangeError::MidResponse) => {
                client.log_context.outcome = "reset";
                Counters::count(&client.counters().failed);
                _ = linux::socket::abort(&client.stream);
                return None;
            }
        }
    }
}

async fn connect_to_server(client: &mut Client, request: &Request) -> Option<ServerConnection> {
    match client.connect(&request.destination, client.config.servers).await {
        Ok(connected) => Some(ServerConnection {
            destination: request.destination.clone(),
            stream: connected.stream,
            buffer: connected.early_data,
            used: false,
        }),
        Err(failure) => {
            respond_connect_error(client, &failure).await;
            None
        }
    }
}

/// Whether an idle server connection is open and has sent nothing unsolicited.
fn is_reusable(server: &ServerConnection) -> bool {
    // Query the kernel: the runtime may not have seen the latest readiness yet.
    let there = recv(&server.stream, &mut [0u8], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    server.buffer.is_empty() && there == Err(Errno::AGAIN)
}

/// Logs an answered request.
fn log_request(client: &Client, request: &Request, status: u16, (began, up, down): (Instant, u64, u64)) {
    let (Some(log), RequestKind::Forward { method, .. }) = (client.shared.log(), &request.kind) else {
        return;
    };
    let line = LogRecord {
        event: "request",
        time: access::now(),
        client: client.address.to_string(),
        front: client.log_context.front,
        user: client.log_context.user.as_deref(),
        destination: Some(request.destination.to_string()),
        server: client.log_context.server.map(|server| server.to_string()),
        method: Some(method),
        status: Some(status),
        outcome: "answered",
        seconds: access::seconds(began.elapsed()),
        bytes_up: client.up.load(Relaxed) - up,
        bytes_down: client.down.load(Relaxed) - down,
        ..LogRecord::default()
    };
    log.line(&line);
}

/// Sends a request to the server, with its body concurrent to the response. Returns the status and
/// whether both connections stay open.
async fn exchange(
    client: &mut Client,
    request: &Request,
    server: &mut ServerConnection,
) -> Result<(u16, bool), ExchangeError> {
    let RequestKind::Forward { method, head, body } = &request.kind else { return Ok((0, false)) };
    let options = client.config.relay_options();
    let watch = PlayerWatch::of(client, head);
    let counters = &client.shared.counters;
    let up = ByteCounters([&counters.bytes_up, &client.up]);
    let down = ByteCounters([&counters.bytes_down, &client.down]);
    let stale = server.used && *body == Framing::Empty && matches!(&**method, "GET" | "HEAD" | "OPTIONS");
    let went = timeout_at(Instant::now() + options.idle, write_all(&server.stream, head)).await;
    let failed = |status, reason| ExchangeError::BeforeResponse(ParseError { status, reason });
    match went {
        Ok(Ok(())) => up.add(head.len() as u64),
        Ok(Err(_)) if stale => return Err(ExchangeError::Stale),
        Ok(Err(_)) => return Err(failed(502, "the server closed the connection")),
        Err(_) => return Err(failed(504, "the server does not read the request")),
    }
    let relay = ResponseRelay {
        client: &client.stream,
        server: &server.stream,
        max_len: client.config.limits.head,
        options,
        bytes: down,
        size: AtomicU64::new(u64::MAX),
        stale,
    };
    let download = relay.run(&mut server.buffer, method, request);
    let download = players::report_while(watch, &relay.size, &client.down, download);
    let (status, keep_client, keep_server) = if *body == Framing::Empty {
        download.await?
    } else {
        let upload = BodyRelay { from: &client.stream, to: &server.stream, bytes: up, options };
        let upload = upload.run(&mut client.buffer, *body, false);
        relay_concurrently(upload, download, &server.stream, client.config.timeouts.handshake).await?
    };
    Ok((status, keep_client && keep_server && server.buffer.is_empty()))
}

/// Relays the request body and the response at the same time. Returns the status and whether the
/// client's and the server's connections stay open. A server that stopped reading has `grace` to
/// send a response.
async fn relay_concurrently(
    upload: impl Future<Output = io::Result<()>>,
    download: impl Future<Output = Result<(u16, bool, bool), ExchangeError>>,
    server: &TcpStream,
    grace: Duration,
) -> Result<(u16, bool, bool), ExchangeError> {
    tokio::pin!(upload, download);
    let mut sent: Option<io::Result<()>> = None;
    let mut until = None;
    let (status, keep_client, keep_server) = loop {
        let waited = until.unwrap_or_else(Instant::now);
        tokio::select! {
            result = &mut upload, if sent.is_none() => {
                match result.as_ref().err().map(io::Error::kind) {
                    None => {}
                    // The client's body is malformed or incomplete, so the server must not wait
                    // for more.
                    Some(ErrorKind::InvalidData | ErrorKind::UnexpectedEof | ErrorKind::TimedOut) => {
                        _ = linux::socket::abort(server);
                        return Err(ExchangeError::MidResponse);
                    }
                    Some(_) => until = Some(Instant::now() + grace),
                }
                sent = Some(result);
            }
            result = &mut download => break result?,
            () = sleep_until(waited), if until.is_some() => return Err(ExchangeError::MidResponse),
        }
    };
    // Close after a response that came before the whole request was sent.
    let whole = matches!(sent, Some(Ok(())));
    Ok((status, keep_client && whole, keep_server && whole))
}

/// Relay of a server's response to the client.
struct ResponseRelay<'a> {
    client: &'a TcpStream,
    server: &'a TcpStream,
    max_len: usize,
    options: RelayOptions,
    bytes: ByteCounters<'a>,
    /// Bytes of the response including its head, once known; `u64::MAX` before.
    size: AtomicU64,
    /// Whether the request can be retried because the connection was reused.
    stale: bool,
}

impl ResponseRelay<'_> {
    /// Relays interim responses and the final response. Returns the status and whether the client's
    /// and the server's connections stay open.
    async fn run(
        &self,
        buffer: &mut Vec<u8>,
        method: &str,
        request: &Request,
    ) -> Result<(u16, bool, bool), ExchangeError> {
        let bad = |status, reason| ExchangeError::BeforeResponse(ParseError { status, reason });
        let mut no_bytes_yet = true;
        let response = loop {
            let read =
                http::read_response(buffer, self.max_len, method, request.is_http10, request.keep_alive);
            match read.map_err(|reason| bad(502, reason))? {
                Some(response) if response.is_interim() => {
                    buffer.drain(..response.length);
                    if !request.is_http10 {
                        write_all(self.client, &response.head)
                            .await
                            .map_err(|_| ExchangeError::MidResponse)?;
                    }
                }
                Some(response) => break response,
                None => {
                    match timeout_at(
                        Instant::now() + self.options.idle,
                        read_some(self.server, buffer, READ_CHUNK_BYTES),
                    )
                    .await
                    {
                        Ok(Ok(count)) if count > 0 => no_bytes_yet = false,
                        Ok(_) if self.stale && no_bytes_yet => return Err(ExchangeError::Stale),
                        Ok(_) => return Err(bad(502, "the server closed the connection")),
                        Err(_) => return Err(bad(504, "no response from the server")),
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
            // Send the head and the body bytes received so far in one write.
            body = Framing::Length(length - buffer.len() as u64);
            out.append(buffer);
        }
        write_all(self.client, &out).await.map_err(|_| ExchangeError::MidResponse)?;
        self.bytes.add(out.len() as u64);
        BodyRelay { from: self.server, to: self.client, bytes: self.bytes, options: self.options }
            .run(buffer, body, request.is_http10)
            .await
            .map_err(|_| ExchangeError::MidResponse)?;
        if buffer.is_empty() {
            *buffer = Vec::new();
        }
        Ok((response.status, response.client_keep_alive, response.keep_alive))
    }
}

/// Relay of a message body.
struct BodyRelay<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    bytes: ByteCounters<'a>,
    options: RelayOptions,
}

impl BodyRelay<'_> {
    /// Relays a body, beginning with `buffer`. Bytes after the body stay in `buffer`.
    async fn run(&self, buffer: &mut Vec<u8>, body: Framing, dechunk: bool) -> io::Result<()> {
        let Self { from, to, bytes, options } = *self;
        match body {
            Framing::Empty => Ok(()),
            Framing::Length(length) => {
                let first = buffer.len().min(usize::try_from(length).unwrap_or(usize::MAX));
                let mut flow = Flow::of_length(length - first as u64);
                flow.prepend(buffer.drain(..first).collect());
                relay::relay_one_way(from, to, &mut flow, bytes, options).await
            }
            Framing::UntilClose => {
                let mut flow = Flow::new(std::mem::take(buffer));
                relay::relay_one_way(from, to, &mut flow, bytes, options).await
            }
            Framing::Chunked => self.run_chunked(buffer, dechunk).await,
        }
    }

    /// Relays a chunked body, encoded as new chunks, or as plain data if `dechunk`.
    async fn run_chunked(&self, buffer: &mut Vec<u8>, dechunk: bool) -> io::Result<()> {
        let Self { from, to, bytes, options } = *self;
        let late = |_| io::Error::from(ErrorKind::TimedOut);
        let mut chunks = ChunkDecoder::default();
        let mut out = Vec::new();
        let (mut gate, mut moved) = (WriteGate::default(), 0);
        loop {
            let mut at = 0;
            let ended = loop {
                let piece = chunks
                    .next(buffer, &mut at)
                    .map_err(|reason| io::Error::new(ErrorKind::InvalidData, reason))?;
                match piece {
                    ChunkEvent::Data(range) if dechunk => out.extend_from_slice(&buffer[range]),
                    ChunkEvent::Data(range) => {
                        out.extend_from_slice(format!("{:x}\r\n", range.len()).as_bytes());
                        out.extend_from_slice(&buffer[range]);
                        out.extend_from_slice(b"\r\n");
                    }
                    ChunkEvent::More => break false,
                    ChunkEvent::End(_) => break true,
                }
            };
            buffer.drain(..at);
            if ended && !dechunk {
                out.extend_from_slice(b"0\r\n\r\n");
            }
            gate.wait(to, moved, options.ahead).await;
            timeout_at(Instant::now() + options.idle, write_all(to, &out)).await.map_err(late)??;
            moved += out.len() as u64;
            bytes.add(out.len() as u64);
            out.clear();
            if ended {
                return Ok(());
            }
            if timeout_at(Instant::now() + options.idle, read_some(from, buffer, BODY_CHUNK_BYTES))
                .await
                .map_err(late)??
                == 0
            {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Responds with a connection error.
async fn respond_connect_error(client: &Client, failure: &ConnectError) {
    let status = match failure.cause() {
        Cause::DestinationIpProhibited => 403,
        Cause::ConnectionTimeout => 504,
        _ => 502,
    };
    let fields = format!("Proxy-Status: {PSEUDONYM}; error={}\r\n", failure.cause().name());
    respond_and_close(client, error_response(status, &failure.to_text(), &fields, false)).await;
}

/// Responds with a request error and closes.
async fn respond_error(client: &Client, bad: ParseError, fields: &str) {
    respond_and_close(client, error_response(bad.status, bad.reason, fields, false)).await;
}

async fn respond_and_close(client: &Client, text: Vec<u8>) {
    if client.write(&text).await.is_ok() {
        relay::lingering_close(&client.stream, Duration::from_secs(1)).await;
    }
}

fn error_response(status: u16, reason: &str, fields: &str, keep_open: bool) -> Vec<u8> {
    let phrase = match status {
        400 => "Bad Request",
        403 => "Forbidden",
        405 => "Method Not Allowed",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Error",
    };
    let connection = if keep_open { "keep-alive" } else { "close" };
    let length = reason.len() + 1;
    format!(
        "HTTP/1.1 {status} {phrase}\r\n{fields}Content-Type: text/plain; charset=utf-8\r\n\
        Content-Length: {length}\r\nConnection: {connection}\r\n\r\n{reason}\n"
    )
    .into_bytes()
}
