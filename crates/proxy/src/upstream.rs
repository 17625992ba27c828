//! Connections through an upstream proxy, requested by HTTP CONNECT or by 0-RTT TCP Convert.

use crate::config::{Config, Upstream};
use crate::connect::{
    Ask, ConnectError, Connected, Dialed, Dialer, MAX_CONNECT_ATTEMPTS, Transport, connect_first, race,
    read_lines, read_some, write_all,
};
use crate::front::{convert, http};
use crate::refusal::{Cause, Refusal};
use crate::stream::Stream;
use linux::socket;
use std::fmt::Write as _;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes read of the body of an upstream proxy's refusal.
const MAX_REASON_BYTES: usize = 512;
/// Time to wait for that body.
const REASON_WAIT: Duration = Duration::from_secs(1);
/// Requests of a client for a server that a converter has not answered.
const MAX_UNANSWERED: usize = 32;
/// Longest time for which a further request waits.
const MAX_TURN_WAIT: Duration = Duration::from_secs(2);

/// Addresses of an upstream proxy, and the options of connections to it.
#[derive(Clone)]
struct Route {
    addresses: Arc<[SocketAddr]>,
    transport: Transport,
}

impl Route {
    async fn of(
        (dialer, config): (&Dialer, &Config),
        upstream: &Upstream,
        client: IpAddr,
    ) -> Result<Self, ConnectError> {
        let found = dialer.resolve(config, &upstream.destination, client).await;
        let mut addresses = found.map_err(|failure| {
            let reason = format!("cannot look up its address: {}", failure.to_text());
            ConnectError::Upstream(Refusal::new(Cause::ProxyInternalError, reason))
        })?;
        addresses.truncate(MAX_CONNECT_ATTEMPTS);
        Ok(Self {
            addresses: addresses.into(),
            transport: dialer.transport(config, upstream.protocol, client),
        })
    }

    /// Runs `exchange` on a connection to the upstream proxy. If the connection ends before the
    /// response, it runs again on a connection to one of the other addresses.
    async fn exchange<T, F>(&self, exchange: impl Fn(Dialed) -> F) -> Result<T, ConnectError>
    where
        F: Future<Output = Result<T, ExchangeError>> + Send,
    {
        let mut left = self.addresses.to_vec();
        loop {
            let dialed = self.connect(&left).await?;
            let used = dialed.stream.peer_addr();
            match exchange(dialed).await {
                Ok(result) => return Ok(result),
                Err(ExchangeError::Refused(refusal)) => return Err(ConnectError::Upstream(refusal)),
                Err(ExchangeError::Lost(error)) => {
                    left.retain(|address| used.as_ref().is_ok_and(|used| used != address));
                    if left.is_empty() {
                        return Err(ConnectError::Upstream(Refusal::of_error(&error)));
                    }
                }
            }
        }
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<Dialed, ConnectError> {
        connect_first(addresses, &self.transport).await.map_err(|error| {
            // A reset follows a completed handshake; a port without a listener gives "refused".
            ConnectError::Upstream(if error.kind() == ErrorKind::ConnectionReset {
                Refusal::of_error(&error)
            } else {
                let reason = format!("cannot connect to it: {}", error.kind());
                Refusal::new(Cause::ProxyInternalError, reason)
            })
        })
    }
}

/// Failed exchange with an upstream proxy.
enum ExchangeError {
    /// The connection ended before the response.
    Lost(io::Error),
    /// It refused, or its response is invalid.
    Refused(Refusal),
}

impl From<io::Error> for ExchangeError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Requests a tunnel from the upstream proxy with CONNECT.
pub(crate) async fn connect_by_http(
    (dialer, config): (&Dialer, &Config),
    upstream: &Upstream,
    Ask { destination, client, via, .. }: Ask<'_>,
) -> Result<Connected, ConnectError> {
    let route = Route::of((dialer, config), upstream, client).await?;
    let mut request = format!("CONNECT {destination} HTTP/1.1\r\nHost: {destination}\r\n");
    if let Some(credential) = &upstream.credential {
        _ = write!(request, "Proxy-Authorization: {}\r\n", credential.to_basic());
    }
    let before = if via.is_empty() { "" } else { ", " };
    _ = write!(request, "Via: {via}{before}1.1 {}\r\n\r\n", dialer.pseudonym);
    let request = request.as_bytes();
    route.exchange(|dialed| exchange_http(upstream, dialed, request, config.limits.head)).await
}

async fn exchange_http(
    upstream: &Upstream,
    Dialed { stream, registration }: Dialed,
    request: &[u8],
    max_head_len: usize,
) -> Result<Connected, ExchangeError> {
    let stream = upstream.secure(stream).await?;
    write_all(&stream, request).await?;
    let mut buffer = Vec::new();
    let response = loop {
        match http::read_response(&buffer, max_head_len, "CONNECT", false, true) {
            // After a 2xx to CONNECT the tunnel begins, regardless of framing fields.
            Ok(Some(response)) if !response.is_interim() => break response,
            Ok(Some(response)) => _ = buffer.drain(..response.length),
            Ok(None) => {
                if read_lines(&stream, &mut buffer, max_head_len).await? == 0 {
                    return Err(ExchangeError::Lost(ErrorKind::UnexpectedEof.into()));
                }
            }
            Err(_) => return Err(invalid_response()),
        }
    };
    buffer.drain(..response.length);
    if (200..300).contains(&response.status) {
        return Ok(Connected { stream, early_data: buffer, registration });
    }
    read_reason(&stream, &mut buffer, response.body).await;
    Err(ExchangeError::Refused(Refusal::of_response(&response, &buffer)))
}

fn invalid_response() -> ExchangeError {
    ExchangeError::Refused(Refusal::new(Cause::ProxyInternalError, "invalid response"))
}

/// Appends the start of the body of a refusal to `buffer`.
async fn read_reason(stream: &Stream, buffer: &mut Vec<u8>, body: http::Framing) {
    let wanted = match body {
        http::Framing::Length(length) => usize::try_from(length).unwrap_or(usize::MAX),
        http::Framing::UntilClose => usize::MAX,
        http::Framing::Empty | http::Framing::Chunked => 0,
    };
    let wanted = wanted.min(MAX_REASON_BYTES);
    let read = async {
        while buffer.len() < wanted && read_some(stream, buffer, MAX_REASON_BYTES).await.is_ok_and(|n| n > 0)
        {
        }
    };
    // The reason is a courtesy: the client is answered without it.
    _ = timeout(REASON_WAIT, read).await;
    buffer.truncate(wanted);
}

/// Requests a connection to one of `peers` from a converter (RFC 8803): each is tried as in RFC 8305.
///
/// Convert has no `Via`. In a loop of converters all requests are of one client, for one server, and
/// wait for the last of them: their number is limited, and the wait for one of them to be answered.
pub(crate) async fn connect_by_convert(
    (dialer, config): (&Dialer, &Config),
    upstream: &Upstream,
    ask: Ask<'_>,
    peers: Vec<SocketAddr>,
) -> Result<Connected, ConnectError> {
    let route = Route::of((dialer, config), upstream, ask.client).await?;
    // Far below the timeout of the requests that wait: if those ended first, the loop would go on.
    let wait = MAX_TURN_WAIT.min(config.timeouts.connect / 4);
    race(&peers, (&dialer.parallel, ask.client), |peer| {
        let (route, unanswered, client) = (route.clone(), Arc::clone(&dialer.unanswered), ask.client);
        async move {
            let budget = unanswered.of((client, peer), MAX_UNANSWERED);
            let _turn = timeout(wait, budget.acquire()).await.map_err(|_| ConnectError::Loop)?;
            convert(&route, peer).await
        }
    })
    .await
}

/// Requests a connection to `peer`. Retries once with the cookie if the converter demands one.
async fn convert(route: &Route, peer: SocketAddr) -> Result<Connected, ConnectError> {
    let mut cookie: Option<Vec<u8>> = None;
    loop {
        let request = convert::encode_request(peer, cookie.as_deref());
        match route.exchange(|dialed| exchange_convert(dialed, &request)).await? {
            Answer::Connected(connected) => return Ok(connected),
            Answer::Cookie(wanted) if cookie.is_none() => cookie = Some(wanted),
            Answer::Cookie(_) => {
                return Err(ConnectError::Upstream(refused(convert::Code::MissingCookie as u8)));
            }
        }
    }
}

/// Response of a converter other than a refusal.
enum Answer {
    Connected(Connected),
    /// It demands this cookie.
    Cookie(Vec<u8>),
}

async fn exchange_convert(dialed: Dialed, request: &[u8]) -> Result<Answer, ExchangeError> {
    let (stream, registration) = (Stream::Tcp(dialed.stream), dialed.registration);
    write_all(&stream, request).await?;
    let mut buffer = Vec::new();
    let (length, answer) = loop {
        if let Some(found) = convert::parse_response(&buffer).map_err(|_| invalid_response())? {
            break found;
        }
        if read_some(&stream, &mut buffer, 1024).await? == 0 {
            return Err(ExchangeError::Lost(ErrorKind::UnexpectedEof.into()));
        }
    };
    let convert::Response::Failed(code, value) = answer else {
        buffer.drain(..length);
        return Ok(Answer::Connected(Connected { stream, early_data: buffer, registration }));
    };
    // RFC 8803, section 6.2.7, requires a reset here.
    _ = socket::abort(&stream);
    // The first byte of the value is zero (RFC 8803, section 6.2.8).
    if code == convert::Code::MissingCookie as u8 && value.len() > 1 {
        return Ok(Answer::Cookie(value[1..].to_vec()));
    }
    Err(ExchangeError::Refused(refused(code)))
}

/// Refusal with an error code of Convert (RFC 8803, section 6.2.8).
fn refused(code: u8) -> Refusal {
    let (cause, reason) = match code {
        32 => (Cause::DestinationIpProhibited, "destination refused"),
        64 => (Cause::HttpRequestDenied, "a limit is reached"),
        96 => (Cause::ConnectionRefused, "the server refused the connection"),
        97 => (Cause::DestinationIpUnroutable, "server unreachable"),
        65 => (Cause::ProxyInternalError, "network failure"),
        _ => (Cause::ProxyInternalError, "the request is not supported"),
    };
    Refusal::new(cause, format!("{reason} (Convert error {code})"))
}
