//! Client session for HTTP: requests in sequence, until CONNECT opens a tunnel.

use super::exchange::{ExchangeError, exchange};
use super::outcome::Outcome;
use super::{Access, Client, Fin};
use crate::access::{self, LogRecord};
use crate::connect::{ConnectError, Connected, READ_CHUNK_BYTES, read_some};
use crate::counters::Counters;
use crate::destination::Destination;
use crate::front::http::{self, Framing, PSEUDONYM, ParseError, Request, RequestKind};
use crate::outgoing::Registration;
use crate::refusal::Cause;
use crate::relay::{self, End, Linger};
use crate::server::Phase;
use crate::stream::Stream;
use core::pin::pin;
use std::io::ErrorKind;
use std::sync::atomic::Ordering::Relaxed;
use tokio::time::{Instant, timeout_at};

/// Server connection, kept for the client's next request to the same destination.
pub(super) struct ServerConnection {
    destination: Destination,
    pub(super) stream: Stream,
    /// Entry in the table of own connections.
    _registration: Registration,
    /// Bytes received and not yet forwarded.
    pub(super) buffer: Vec<u8>,
    /// Whether it has answered a request before.
    pub(super) used: bool,
}

/// Time of a request, and the bytes relayed before it.
#[derive(Debug, Clone, Copy)]
struct RequestStart {
    at: Instant,
    up: u64,
    down: u64,
}

impl RequestStart {
    fn of(client: &Client) -> Self {
        Self { at: Instant::now(), up: client.up.load(Relaxed), down: client.down.load(Relaxed) }
    }
}

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    client.log_context.front = "http";
    let mut kept = None;
    let mut is_answered = false;
    loop {
        let next = client.revocation().unless_due(pin!(next_request(client, is_answered))).await;
        let Some(request) = next else {
            client.revoke();
            return None;
        };
        client.requests += u32::from(!matches!(request, Ok(None)));
        let request = match request {
            Ok(Some(request)) => request,
            Ok(None) => {
                // The kernel may hold the end of a response.
                if is_answered && *client.phase.borrow() == Phase::Serving {
                    // The server's connection is not needed for that.
                    drop(kept);
                    let until = client.config.timeouts.total.map(|total| Instant::now() + total);
                    close_after_relay(client, until).await;
                }
                return None;
            }
            Err(bad) => {
                // A slow request is counted already.
                if client.log_context.outcome != Outcome::TooSlow {
                    client.log_context.outcome = Outcome::Failed(bad.reason);
                    Counters::count(&client.counters().bad_requests);
                }
                respond_error(client, None, bad, "").await;
                return None;
            }
        };
        client.buffer.drain(..request.length);
        let access = client.authenticate(request.credential.as_ref()).await;
        if let Access::Delayed(wait) = access {
            let bad = ParseError { status: 429, reason: "too many failed logins: try again later" };
            let seconds = wait.as_secs() + 1;
            respond_error(client, Some(&request), bad, &format!("Retry-After: {seconds}\r\n")).await;
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
                respond_error(client, Some(&request), bad, fields).await;
                return None;
            }
            let response = error_response(client, Some(&request), (bad.status, bad.reason), fields, true);
            if client.write(&response).await.is_err() {
                return None;
            }
            continue;
        }
        if request.has_passed(&client.shared.dialer.pseudonym) {
            client.log_context.outcome = Outcome::Loop;
            Counters::count(&client.counters().loops);
            let bad = ParseError { status: 502, reason: "the request has passed this proxy before (Via)" };
            let fields = format!("Proxy-Status: {PSEUDONYM}; error={}\r\n", Cause::ProxyLoopDetected.name());
            respond_error(client, Some(&request), bad, &fields).await;
            return None;
        }
        if request.kind == RequestKind::Tunnel {
            // A connection of a client has two descriptors at most.
            drop(kept);
            let (destination, fin) = (&request.destination, Fin::DisconnectWithoutData);
            match client.connect(destination, client.config.servers, fin, &request.via).await {
                Ok(server) => {
                    let written = client.write(b"HTTP/1.1 200 Connection established\r\n\r\n").await;
                    return written.is_ok().then_some(server);
                }
                Err(failure) => {
                    respond_connect_error(client, &request, &failure).await;
                    return None;
                }
            }
        }
        // Boxed, so that an idle session does not carry the state of an exchange.
        let revocation = client.revocation();
        let still_open = {
            let mut forward = Box::pin(forward_request(client, &request, &mut kept));
            revocation.unless_due(forward.as_mut()).await
        };
        match still_open {
            Some(true) => is_answered = true,
            Some(false) => return None,
            None => {
                client.revoke();
                return None;
            }
        }
    }
}

/// Reads the client's next request; `None` if there is none. `is_answered` tells whether the client has
/// received a response of a server.
async fn next_request(client: &mut Client, is_answered: bool) -> Result<Option<Request>, ParseError> {
    let end = client.end_of_lifetime();
    if is_answered && end.is_some_and(|end| end <= Instant::now()) {
        return Ok(None);
    }
    let over = if is_answered { Instant::now() + client.config.timeouts.keep_alive } else { client.deadline };
    let over = end.map_or(over, |end| end.min(over));
    loop {
        // An empty line after a body begins no request (RFC 9112, section 2.2).
        if client.buffer == b"\r\n" {
            client.buffer.clear();
        }
        if !client.buffer.is_empty() {
            break;
        }
        tokio::select! {
            there = timeout_at(over, read_some(&client.stream, &mut client.buffer, READ_CHUNK_BYTES)) => match there {
                Ok(Ok(1..)) => {}
                Ok(_) => return Ok(None),
                Err(_) => {
                    if !is_answered {
                        client.log_context.outcome = Outcome::TooSlow;
                        Counters::count(&client.shared.counters.too_slow);
                    }
                    return Ok(None);
                }
            },
            _ = client.phase.wait_for(|phase| *phase != Phase::Serving) => return Ok(None),
        }
    }
    if is_answered {
        client.deadline = Instant::now() + client.config.timeouts.handshake;
    }
    loop {
        // A head usually arrives in one segment, so parsing it again from the start is rare.
        if let Some(request) =
            http::read_request_as(&client.shared.dialer.pseudonym, &client.buffer, client.config.limits.head)?
        {
            return Ok(Some(request));
        }
        match client.read_lines().await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::TimedOut && !client.buffer.is_empty() => {
                return Err(ParseError { status: 408, reason: "request timeout" });
            }
            Err(_) => return Ok(None),
        }
    }
}

/// Forwards a request and its response. Returns whether the client's connection stays open; `kept`
/// is the server's connection, if it does.
async fn forward_request(
    client: &mut Client,
    request: &Request,
    kept: &mut Option<ServerConnection>,
) -> bool {
    let start = RequestStart::of(client);
    let count_time = |client: &Client| client.shared.latencies.request.observe(start.at.elapsed());
    let usable = kept.take().filter(|one| one.destination == request.destination && is_reusable(one));
    let Some(mut server) = (match usable {
        Some(server) => Some(server),
        None => connect_to_server(client, request).await,
    }) else {
        count_time(client);
        return false;
    };
    let until = client.config.timeouts.total.map(|total| Instant::now() + total);
    loop {
        match exchange(client, request, &mut server, (start.at, until)).await {
            Ok(answer) => {
                Counters::count(&client.counters().requests);
                count_time(client);
                log_request(client, request, answer.status, start);
                if !answer.keep_client {
                    drop(server);
                    close_after_relay(client, until).await;
                    return false;
                }
                server.used = true;
                *kept = answer.keep_server.then_some(server);
                return true;
            }
            // RFC 9112, section 9.3.1: a safe request on an idle connection may be retried.
            Err(ExchangeError::Stale) => {
                drop(server);
                let Some(connected) = connect_to_server(client, request).await else {
                    count_time(client);
                    return false;
                };
                server = connected;
            }
            Err(error) => {
                count_time(client);
                fail(client, request, error).await;
                return false;
            }
        }
    }
}

/// Ends the client's connection after a failed exchange: with a response, if none has begun.
async fn fail(client: &mut Client, request: &Request, error: ExchangeError) {
    match error {
        ExchangeError::BeforeResponse(bad) => {
            client.log_context.outcome = Outcome::Failed(bad.reason);
            let counters = client.counters();
            Counters::count(if bad.status == 400 { &counters.bad_requests } else { &counters.failed });
            respond_error(client, Some(request), bad, "").await;
        }
        ExchangeError::Stale | ExchangeError::Incomplete => {
            Counters::count(&client.counters().failed);
            reset(client, Outcome::Relay(End::Reset));
        }
        ExchangeError::TimedOut(end) => {
            Counters::count(&client.counters().timed_out);
            reset(client, Outcome::Relay(end));
        }
        ExchangeError::Abandoned => {
            Counters::count(&client.counters().abandoned);
            reset(client, Outcome::Failed(ConnectError::Abandoned.name()));
        }
    }
}

/// Closes the client's connection after a response of a server.
async fn close_after_relay(client: &mut Client, until: Option<Instant>) {
    // Before the kernel drops the statistics.
    client.log_context.subflows.sample(client.stream.tcp());
    let limits = Linger { write: client.config.relay_options().write, until };
    if let Err(end) = relay::lingering_close(&client.stream, limits).await {
        Counters::count(&client.counters().timed_out);
        reset(client, Outcome::Relay(end));
    }
}

/// Resets the client's connection, so that it does not take a part of a response for the whole.
fn reset(client: &mut Client, outcome: Outcome) {
    client.log_context.outcome = outcome;
    _ = linux::socket::abort(&client.stream);
}

async fn connect_to_server(client: &mut Client, request: &Request) -> Option<ServerConnection> {
    match client.connect(&request.destination, client.config.servers, Fin::Disconnect, &request.via).await {
        Ok(connected) => Some(ServerConnection {
            destination: request.destination.clone(),
            stream: connected.stream,
            _registration: connected.registration,
            buffer: connected.early_data,
            used: false,
        }),
        Err(failure) => {
            respond_connect_error(client, request, &failure).await;
            None
        }
    }
}

/// Whether an idle server connection is open and has sent nothing unsolicited.
fn is_reusable(server: &ServerConnection) -> bool {
    server.buffer.is_empty() && server.stream.is_quiet()
}

/// Logs an answered request.
fn log_request(client: &Client, request: &Request, status: u16, start: RequestStart) {
    let (Some(log), RequestKind::Forward { method, .. }) = (client.shared.log(), &request.kind) else {
        return;
    };
    let line = LogRecord {
        event: "request",
        id: client.request_id(),
        time: access::now(),
        client: client.address.to_string(),
        front: client.log_context.front,
        user: client.user.as_ref().map(|user| user.name()),
        destination: Some(request.destination.to_string()),
        server: client.log_context.server.map(|server| server.to_string()),
        method: Some(method),
        status: Some(status),
        outcome: "answered",
        seconds: access::seconds(start.at.elapsed()),
        bytes_up: client.up.load(Relaxed) - start.up,
        bytes_down: client.down.load(Relaxed) - start.down,
        ..LogRecord::default()
    };
    log.line(&line);
}

/// Responds with a connection error.
async fn respond_connect_error(client: &Client, request: &Request, failure: &ConnectError) {
    let status = match failure.cause() {
        Cause::DestinationIpProhibited => 403,
        Cause::ConnectionTimeout | Cause::DnsTimeout => 504,
        _ => 502,
    };
    let fields = format!("Proxy-Status: {PSEUDONYM}; error={}\r\n", failure.cause().name());
    let text = error_response(client, Some(request), (status, &failure.to_text()), &fields, false);
    respond_and_close(client, text).await;
}

/// Responds with a request error and closes.
async fn respond_error(client: &Client, request: Option<&Request>, bad: ParseError, fields: &str) {
    respond_and_close(client, error_response(client, request, (bad.status, bad.reason), fields, false)).await;
}

async fn respond_and_close(client: &Client, text: Vec<u8>) {
    if client.write(&text).await.is_ok() {
        client.close_after_response().await;
    }
}

/// Response of the proxy itself, with the request's id for a user's report. `request` is `None` if
/// it could not be parsed.
fn error_response(
    client: &Client,
    request: Option<&Request>,
    (status, reason): (u16, &str),
    fields: &str,
    keep_open: bool,
) -> Vec<u8> {
    let id = client.request_id();
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
    let body = format!("{reason}\nrequest id: {id}\n");
    let length = body.len();
    // RFC 9110, section 9.3.2.
    let body = if request.is_some_and(Request::is_head) { "" } else { &body };
    format!(
        "HTTP/1.1 {status} {phrase}\r\n{fields}X-Request-Id: {id}\r\n\
        Content-Type: text/plain; charset=utf-8\r\n\
        Content-Length: {length}\r\nConnection: {connection}\r\n\r\n{body}"
    )
    .into_bytes()
}
