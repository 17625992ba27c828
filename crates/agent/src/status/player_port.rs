//! The port at which web pages and other players report their buffers.
//!
//! It has connections of its own, so its clients never displace those of the UNIX socket.

use super::gate::{Judgement, MAX_REPORT_BYTES, PlayerGate, Refusal, Token, Verdict, parse_report};
use super::listeners::next_client;
use super::server::{Handler, MISSING_BUFFER_STATE, Query, http, rejection};
use super::slots::{ConnectionSlots, Peer};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};

/// Reports taken at once, and per second in the long run. The page sends four per second.
const REPORT_BURST: f64 = 40.0;
const REPORTS_PER_SECOND: f64 = 20.0;
/// Wait before a wrong token is answered. With the bound on connections it limits guesses.
const WRONG_TOKEN_PAUSE: Duration = Duration::from_millis(250);
/// Time for which a browser remembers the answer to a preflight, in seconds.
const PREFLIGHT_AGE_S: &str = "600";

/// Settings of the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerPort {
    /// Loopback address.
    pub listen: SocketAddr,
    /// Origins of the web pages that may report.
    pub origins: Vec<String>,
    /// Secret of the players.
    pub token: Token,
}

/// The open port.
pub(super) struct PlayerListener {
    listener: TcpListener,
    gate: Arc<PlayerGate>,
}

impl PlayerListener {
    pub(super) fn new(listener: TcpListener, port: PlayerPort) -> Self {
        let address = listener.local_addr().unwrap_or(port.listen);
        Self { listener, gate: Arc::new(PlayerGate::new(address, port.origins, port.token)) }
    }

    pub(super) async fn accept_loop(&self, handler: &Handler, timeout: Duration) {
        let mut slots = ConnectionSlots::default();
        let budget = Arc::new(Mutex::new(Budget::full(Instant::now())));
        loop {
            let (stream, from) = next_client(async || self.listener.accept().await).await;
            let service = Service {
                handler: handler.clone(),
                gate: Arc::clone(&self.gate),
                budget: Arc::clone(&budget),
            };
            let task = tokio::spawn(service.serve(stream, timeout));
            slots.add(Peer::Address(from.ip()), task.abort_handle());
            // A flood of connections must not displace this one before its request is read.
            tokio::task::yield_now().await;
        }
    }
}

struct Service {
    handler: Handler,
    gate: Arc<PlayerGate>,
    budget: Arc<Mutex<Budget>>,
}

impl Service {
    async fn serve(self, stream: TcpStream, timeout: Duration) {
        let service = service_fn(|request| async { Ok::<_, Infallible>(self.respond(request).await) });
        let connection = http().serve_connection(TokioIo::new(stream), service);
        // A timeout or a protocol error only ends this connection.
        let _ = tokio::time::timeout(timeout, connection).await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let fields: Vec<(&str, &[u8])> =
            request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let Judgement { origin, verdict } =
            self.gate.judge(request.method().as_str(), request.uri().path(), &fields);
        let asks_for_private_network =
            request.headers().contains_key("access-control-request-private-network");
        let mut response = match verdict {
            Verdict::Preflight => preflight(asks_for_private_network),
            Verdict::Report => self.report(request.into_body()).await,
            Verdict::Refused(refusal) => {
                if refusal == Refusal::Token {
                    tokio::time::sleep(WRONG_TOKEN_PAUSE).await;
                }
                rejection(explanation(refusal))
            }
        };
        if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(origin).ok()) {
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("Origin"));
        response
    }

    async fn report(&self, body: Incoming) -> Response<Full<Bytes>> {
        let Ok(body) = Limited::new(body, MAX_REPORT_BYTES).collect().await else {
            return rejection((StatusCode::PAYLOAD_TOO_LARGE, "expected at most 1024 bytes\n"));
        };
        let Some(state) = parse_report(&body.to_bytes()) else { return rejection(MISSING_BUFFER_STATE) };
        let has_budget = self.budget.lock().is_ok_and(|mut budget| budget.take(Instant::now()));
        if !has_budget {
            let mut response = rejection((StatusCode::TOO_MANY_REQUESTS, "too many reports\n"));
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            return response;
        }
        self.handler.ask(Query::Player(state)).await
    }
}

fn explanation(refusal: Refusal) -> (StatusCode, &'static str) {
    match refusal {
        Refusal::Host => (StatusCode::MISDIRECTED_REQUEST, "expected `Host` with the address of this port\n"),
        Refusal::Origin => {
            (StatusCode::FORBIDDEN, "origin not allowed; `origins` in `[players]` allows it\n")
        }
        Refusal::Path => (StatusCode::NOT_FOUND, "available: /player\n"),
        Refusal::Method => (StatusCode::METHOD_NOT_ALLOWED, "supported: POST\n"),
        Refusal::Token => (StatusCode::UNAUTHORIZED, "missing or wrong token\n"),
    }
}

fn preflight(asks_for_private_network: bool) -> Response<Full<Bytes>> {
    let mut response = rejection((StatusCode::NO_CONTENT, ""));
    let mut fields = vec![
        (header::ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_AGE_S),
    ];
    if asks_for_private_network {
        fields.push((HeaderName::from_static("access-control-allow-private-network"), "true"));
    }
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Token bucket of the reports.
#[derive(Debug)]
struct Budget {
    reports: f64,
    at: Instant,
}

impl Budget {
    fn full(now: Instant) -> Self {
        Self { reports: REPORT_BURST, at: now }
    }

    fn take(&mut self, now: Instant) -> bool {
        let earned = now.saturating_duration_since(self.at).as_secs_f64() * REPORTS_PER_SECOND;
        self.reports = (self.reports + earned).min(REPORT_BURST);
        self.at = now;
        let has_one = self.reports >= 1.0;
        if has_one {
            self.reports -= 1.0;
        }
        has_one
    }
}

#[cfg(test)]
#[path = "player_port_tests.rs"]
mod tests;
