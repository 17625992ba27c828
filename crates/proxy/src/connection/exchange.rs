//! One HTTP request and its response, relayed between client and server.
//!
//! The request body and the response move at the same time, under one idle timeout that counts
//! progress in either direction. A client that disconnects ends the exchange.

use super::http::ServerConnection;
use super::players::{self, PlayerWatch};
use super::{Client, Fin, until_client_is_gone};
use crate::connect::{read_lines, read_some, write_all};
use crate::counters::ByteCounters;
use crate::front::http::{self, ChunkDecoder, ChunkEvent, Framing, ParseError, Request, RequestKind};
use crate::latency::Histogram;
use crate::relay::{self, End, Flow, RelayError, RelayOptions, WriteGate};
use crate::stream::Stream;
use core::pin::{Pin, pin};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Bytes of a chunked body read at once.
const BODY_CHUNK_BYTES: usize = 16 << 10;

/// Failed exchange with a server.
pub(super) enum ExchangeError {
    /// The client has received nothing: an error response is possible.
    BeforeResponse(ParseError),
    /// The server closed the idle connection before it took the request: retry on a new one.
    Stale,
    /// A response broke off: the client must not take the part for the whole.
    Incomplete,
    /// A timeout expired after the client had received part of a response.
    TimedOut(End),
    /// The client closed its connection before the end.
    Abandoned,
}

/// The server stopped reading the request, and has sent no response.
const UNREAD: ExchangeError =
    ExchangeError::BeforeResponse(ParseError { status: 504, reason: "the server does not read the request" });

/// The body of the request is malformed, and the server has sent no response.
const MALFORMED: ExchangeError =
    ExchangeError::BeforeResponse(ParseError { status: 400, reason: "malformed chunk of the body" });

/// End of the client's side of an exchange.
enum ClientEnd {
    /// The request body could not be relayed.
    Body(RelayError),
    /// The client closed its connection.
    Gone,
}

/// Progress of an exchange, as far as its end depends on it.
#[derive(Debug, Default)]
struct Progress {
    /// The server has the whole request.
    request_sent: AtomicBool,
    /// The relay of a response, or of an interim one, has begun and has not ended.
    response_began: AtomicBool,
    /// The client has received the whole response.
    response_sent: AtomicBool,
}

/// Answered request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The client's connection stays open.
    pub(super) keep_client: bool,
    /// The server's connection stays open.
    pub(super) keep_server: bool,
}

/// Sends a request to the server, with its body concurrent to the response. The request arrived at
/// `began`; `until` limits the time of the exchange.
pub(super) async fn exchange(
    client: &mut Client,
    request: &Request,
    server: &mut ServerConnection,
    (began, until): (Instant, Option<Instant>),
) -> Result<Answer, ExchangeError> {
    let RequestKind::Forward { method, head, body } = &request.kind else {
        return Ok(Answer { status: 0, keep_client: false, keep_server: false });
    };
    let watch = PlayerWatch::of(client, head);
    let Client { shared, config, stream, buffer, up, down, .. } = client;
    let (options, stream, up, down) = (config.relay_options(), &*stream, &*up, &*down);
    let bytes_up = ByteCounters([&shared.counters.bytes_up, up]);
    let bytes_down = ByteCounters([&shared.counters.bytes_down, down]);
    let is_retryable =
        server.used && *body == Framing::Empty && matches!(&**method, "GET" | "HEAD" | "OPTIONS");
    let progress = Progress::default();
    let relay = ResponseRelay {
        to_client: MessageRelay { from: &server.stream, to: stream, bytes: bytes_down, options },
        max_len: config.limits.head,
        size: AtomicU64::new(u64::MAX),
        progress: &progress,
        began,
        first_byte: &shared.latencies.first_byte,
        is_retryable,
    };
    let moved = || up.load(Relaxed) + down.load(Relaxed);
    let result = {
        let work = pin!(async {
            if write_all(&server.stream, head).await.is_err() {
                let bad = ParseError { status: 502, reason: "the server closed the connection" };
                return Err(if is_retryable {
                    ExchangeError::Stale
                } else {
                    ExchangeError::BeforeResponse(bad)
                });
            }
            bytes_up.add(head.len() as u64);
            // The response may be here before the client's side is polled.
            progress.request_sent.store(*body == Framing::Empty, Relaxed);
            let response = pin!(relay.run(&mut server.buffer, method, request));
            let download = pin!(players::report_while(watch, &relay.size, down, response));
            let upload = MessageRelay { from: stream, to: &server.stream, bytes: bytes_up, options };
            let client_side = pin!(async {
                match upload.run(Vec::new(), buffer, *body, false).await {
                    Ok(()) => progress.request_sent.store(true, Relaxed),
                    Err(error) => return ClientEnd::Body(error),
                }
                until_client_is_gone(stream, buffer, Fin::Disconnect).await;
                ClientEnd::Gone
            });
            relay_concurrently(client_side, download, (&server.stream, &progress), config.timeouts.handshake)
                .await
        });
        relay::with_time_limits(work, moved, (options.idle, until)).await
    };
    let answer = result.unwrap_or_else(|end| Err(progress.timed_out(end, &server.stream)))?;
    Ok(Answer { keep_server: answer.keep_server && server.buffer.is_empty(), ..answer })
}

impl Progress {
    /// Error of an exchange beyond its time limits.
    fn timed_out(&self, end: End, server: &Stream) -> ExchangeError {
        if self.response_began.load(Relaxed) {
            return ExchangeError::TimedOut(end);
        }
        let bad = if self.request_sent.load(Relaxed) {
            ParseError { status: 504, reason: "no response from the server" }
        } else {
            // The server must not take the part of a request for the whole.
            _ = linux::socket::abort(server);
            ParseError { status: 408, reason: "request timeout" }
        };
        ExchangeError::BeforeResponse(bad)
    }
}

/// Relays the client's side and the response at the same time. A server that stopped reading has
/// `grace` to begin a response.
async fn relay_concurrently(
    mut client_side: Pin<&mut impl Future<Output = ClientEnd>>,
    mut download: Pin<&mut impl Future<Output = Result<Answer, ExchangeError>>>,
    (server, progress): (&Stream, &Progress),
    grace: Duration,
) -> Result<Answer, ExchangeError> {
    let mut client_ended = false;
    let mut grace_end = None;
    let answer = loop {
        let waited = grace_end.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            result = &mut download => break result?,
            end = &mut client_side, if !client_ended => {
                client_ended = true;
                match end {
                    ClientEnd::Gone if progress.response_sent.load(Relaxed) => {}
                    ClientEnd::Gone => {
                        _ = linux::socket::abort(server);
                        return Err(ExchangeError::Abandoned);
                    }
                    // The response of a server that wants no more may be under way.
                    ClientEnd::Body(RelayError::Receiver) => grace_end = Some(Instant::now() + grace),
                    ClientEnd::Body(error) => {
                        // The server must not wait for the rest.
                        _ = linux::socket::abort(server);
                        let unanswered = !progress.response_began.load(Relaxed);
                        return Err(match error {
                            RelayError::Stalled if unanswered => UNREAD,
                            RelayError::Malformed if unanswered => MALFORMED,
                            RelayError::Stalled => ExchangeError::TimedOut(End::Stalled),
                            RelayError::Sender => ExchangeError::Abandoned,
                            _ => ExchangeError::Incomplete,
                        });
                    }
                }
            }
            () = sleep_until(waited), if grace_end.is_some() => {
                // A response that has begun in time may take longer.
                if !progress.response_began.load(Relaxed) {
                    return Err(UNREAD);
                }
                grace_end = None;
            }
        }
    };
    // Close after a response that came before the whole request was sent.
    let whole = progress.request_sent.load(Relaxed);
    Ok(Answer { keep_server: answer.keep_server && whole, ..answer })
}

/// Relay of a server's response to the client.
struct ResponseRelay<'a> {
    to_client: MessageRelay<'a>,
    /// Limit of the head in bytes.
    max_len: usize,
    /// Bytes of the response including its head, once known; `u64::MAX` before.
    size: AtomicU64,
    progress: &'a Progress,
    began: Instant,
    first_byte: &'a Histogram,
    /// Whether the request can be retried on a new connection, as this one was reused.
    is_retryable: bool,
}

impl ResponseRelay<'_> {
    /// Relays interim responses and the final response.
    async fn run(
        &self,
        buffer: &mut Vec<u8>,
        method: &str,
        request: &Request,
    ) -> Result<Answer, ExchangeError> {
        let bad = |status, reason| ExchangeError::BeforeResponse(ParseError { status, reason });
        let mut no_bytes_yet = true;
        let response = loop {
            // A response that comes before the whole request was sent tells the client of the end.
            let keep_alive = request.keep_alive && self.progress.request_sent.load(Relaxed);
            let read = http::read_response(buffer, self.max_len, method, request.is_http10, keep_alive);
            match read.map_err(|reason| bad(502, reason))? {
                Some(response) if response.is_interim() => {
                    buffer.drain(..response.length);
                    if !request.is_http10 {
                        self.progress.response_began.store(true, Relaxed);
                        let interim = self.to_client.run(response.head, buffer, Framing::Empty, false);
                        interim.await.map_err(response_error)?;
                        self.progress.response_began.store(false, Relaxed);
                    }
                }
                Some(response) => break response,
                None => match read_lines(self.to_client.from, buffer, self.max_len).await {
                    Ok(count) if count > 0 => no_bytes_yet = false,
                    _ if self.is_retryable && no_bytes_yet && buffer.is_empty() => {
                        return Err(ExchangeError::Stale);
                    }
                    _ => return Err(bad(502, "the server closed the connection")),
                },
            }
        };
        buffer.drain(..response.length);
        if let Framing::Length(length) = response.body {
            self.size.store(length.saturating_add(response.head.len() as u64), Relaxed);
        }
        self.progress.response_began.store(true, Relaxed);
        self.first_byte.observe(self.began.elapsed());
        let relay = self.to_client.run(response.head, buffer, response.body, request.is_http10);
        relay.await.map_err(response_error)?;
        self.progress.response_sent.store(true, Relaxed);
        if buffer.is_empty() {
            *buffer = Vec::new();
        }
        Ok(Answer {
            status: response.status,
            keep_client: response.client_keep_alive,
            keep_server: response.keep_alive,
        })
    }
}

/// Error of an exchange whose response could not be relayed.
const fn response_error(error: RelayError) -> ExchangeError {
    match error {
        RelayError::Stalled => ExchangeError::TimedOut(End::Stalled),
        RelayError::Receiver => ExchangeError::Abandoned,
        RelayError::Sender | RelayError::Malformed | RelayError::NoPipe => ExchangeError::Incomplete,
    }
}

/// Relay of a message, or of its body.
struct MessageRelay<'a> {
    from: &'a Stream,
    to: &'a Stream,
    bytes: ByteCounters<'a>,
    options: RelayOptions,
}

impl MessageRelay<'_> {
    /// Relays a head, and a body that begins with `buffer`. Bytes after the body stay in `buffer`.
    async fn run(
        &self,
        mut head: Vec<u8>,
        buffer: &mut Vec<u8>,
        body: Framing,
        dechunk: bool,
    ) -> Result<(), RelayError> {
        let mut flow = match body {
            Framing::Empty => Flow::of_length(head, 0),
            Framing::Length(length) => {
                let here = buffer.len().min(usize::try_from(length).unwrap_or(usize::MAX));
                head.extend(buffer.drain(..here));
                Flow::of_length(head, length - here as u64)
            }
            Framing::UntilClose => {
                head.append(buffer);
                Flow::new(head)
            }
            // Boxed, so that other bodies do not carry its state.
            Framing::Chunked => return Box::pin(self.run_chunked(head, buffer, dechunk)).await,
        };
        relay::relay_one_way(self.from, self.to, &mut flow, self.bytes, self.options).await
    }

    /// Relays a head and a chunked body, encoded as new chunks, or as plain data if `dechunk`.
    async fn run_chunked(
        &self,
        mut out: Vec<u8>,
        buffer: &mut Vec<u8>,
        dechunk: bool,
    ) -> Result<(), RelayError> {
        let Self { from, to, bytes, options } = *self;
        let mut chunks = ChunkDecoder::default();
        let (mut gate, mut flow) = (WriteGate::default(), Flow::of_length(Vec::new(), 0));
        loop {
            let mut at = 0;
            let ended = loop {
                match chunks.next(buffer, &mut at).map_err(|_| RelayError::Malformed)? {
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
            gate.wait(to.tcp(), flow.moved, options.ahead).await;
            flow.prepend(std::mem::take(&mut out));
            relay::relay_one_way(from, to, &mut flow, bytes, options).await?;
            if ended {
                return Ok(());
            }
            match read_some(from, buffer, BODY_CHUNK_BYTES).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Err(RelayError::Sender),
            }
        }
    }
}
