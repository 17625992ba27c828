//! HTTP/1.1 client of the player: one persistent connection, GET with ranges, redirects, proxies.
//!
//! An abandoned request closes its connection: HTTP/1.1 cannot cancel it otherwise, and reading
//! the rest would take bandwidth from the viewer.

mod connect;
mod error;
mod network;
mod proxy;
mod tls;

pub use error::HttpError;
pub use network::Network;
pub use proxy::Proxy;

use crate::address::without_login;
use bytes::Bytes;
use connect::{Stream, Target};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 5;

/// Request of a client.
#[derive(Debug, Clone)]
struct Outgoing<'a> {
    method: hyper::Method,
    url: &'a Url,
    range: Option<Range>,
    fields: &'a [(&'static str, String)],
    body: Bytes,
}

/// Byte range of a body, both ends inclusive; open-ended without an end.
pub(crate) type Range = (u64, Option<u64>);

/// One connection, reopened for another server or after it closed.
#[derive(Debug)]
pub struct Client {
    network: Network,
    kept: Option<Kept>,
    tls: tls::Connector,
}

#[derive(Debug)]
struct Kept {
    target: Target,
    sender: SendRequest<Full<Bytes>>,
}

/// Response head; the body follows.
#[derive(Debug)]
pub struct Answer {
    /// Length of the body, if known.
    pub length: Option<u64>,
    /// Offset of the body in the resource: 0, or the start of the range.
    pub from: u64,
    /// Length of the whole resource, if known.
    pub total: Option<u64>,
    /// Final address after redirects.
    pub url: Url,
    body: Incoming,
    patience: Duration,
}

impl Answer {
    /// Next part of the body; `None` at its end.
    pub async fn more(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let Ok(frame) = timeout(self.patience, self.body.frame()).await else {
                return Err(HttpError::Timeout("no further data", self.patience));
            };
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    return Err(HttpError::Broken(format!("the response was interrupted: {error}")));
                }
            }
        }
    }

    /// The whole body, at most `most` bytes.
    pub async fn whole(mut self, most: usize) -> Result<Vec<u8>, HttpError> {
        let mut bytes = Vec::new();
        while let Some(more) = self.more().await? {
            if bytes.len() + more.len() > most {
                return Err(HttpError::Invalid(format!("the response has more than {most} bytes")));
            }
            bytes.extend_from_slice(&more);
        }
        Ok(bytes)
    }
}

impl Client {
    /// A client without a connection.
    pub fn new(network: Network) -> Self {
        let tls = tls::Connector::new(network.tls.clone());
        Self { network, kept: None, tls }
    }

    /// Closes the connection and abandons the response.
    pub fn close(&mut self) {
        self.kept = None;
    }

    /// Requests a URL, or a range of it. Redirects are followed.
    pub async fn get(
        &mut self,
        url: &Url,
        range: Option<(u64, Option<u64>)>,
        fields: &[(&'static str, String)],
    ) -> Result<Answer, HttpError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self
                .send(&Outgoing { method: hyper::Method::GET, url: &url, range, fields, body: Bytes::new() })
                .await?;
            let status = response.status();
            if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
                let place = response.headers().get(header::LOCATION).and_then(|place| place.to_str().ok());
                let next = place.and_then(|place| url.join(place).ok());
                url = next.ok_or_else(|| {
                    HttpError::Invalid(format!("redirect with status {status}, but without a valid location"))
                })?;
                // The rest of a redirect's body is not worth reading.
                self.close();
                continue;
            }
            return self.answer(url, range, response);
        }
        Err(HttpError::Invalid(format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Sends a JSON document. Returns the status, `Retry-After`, and the beginning of the response's
    /// text.
    pub async fn post(
        &mut self,
        url: &Url,
        token: Option<&str>,
        json: Vec<u8>,
    ) -> Result<(StatusCode, Option<Duration>, String), HttpError> {
        let mut fields = vec![("content-type", "application/json".to_owned())];
        if let Some(token) = token {
            fields.push(("authorization", format!("Bearer {token}")));
        }
        let response = self
            .send(&Outgoing {
                method: hyper::Method::POST,
                url,
                range: None,
                fields: &fields,
                body: json.into(),
            })
            .await?;
        let (status, retry_after) = (response.status(), retry_after(response.headers()));
        let answer = Answer {
            length: None,
            from: 0,
            total: None,
            url: url.clone(),
            body: response.into_body(),
            patience: self.network.patience,
        };
        let text = answer.whole(64 << 10).await?;
        Ok((status, retry_after, String::from_utf8_lossy(&text).chars().take(2_000).collect()))
    }

    fn answer(
        &mut self,
        url: Url,
        range: Option<Range>,
        response: hyper::Response<Incoming>,
    ) -> Result<Answer, HttpError> {
        let (status, headers) = (response.status(), response.headers());
        let field = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let length: Option<u64> = field(header::CONTENT_LENGTH).and_then(|length| length.parse().ok());
        let (from, total) = match (status, range) {
            (StatusCode::OK, _) => (0, length),
            (StatusCode::PARTIAL_CONTENT, Some((from, _))) => {
                // `bytes 0-99/200`
                let told = field(header::CONTENT_RANGE).and_then(|range| {
                    let (first, rest) = range.strip_prefix("bytes ")?.split_once('-')?;
                    let total = rest.split_once('/').and_then(|(_, total)| total.trim().parse().ok());
                    Some((first.trim().parse::<u64>().ok()?, total))
                });
                match told {
                    Some((first, total)) if first == from => (from, total),
                    _ => {
                        let what =
                            format!("the response has other bytes than the requested ones from {from} on");
                        return Err(HttpError::Invalid(what));
                    }
                }
            }
            _ => {
                let after = retry_after(headers);
                self.close();
                return Err(HttpError::Status(status, after));
            }
        };
        Ok(Answer { length, from, total, url, body: response.into_body(), patience: self.network.patience })
    }

    /// Sends a request and returns the head of its response.
    async fn send(&mut self, outgoing: &Outgoing<'_>) -> Result<hyper::Response<Incoming>, HttpError> {
        let target = Target::of(outgoing.url, self.network.proxy.as_ref())?;
        loop {
            let fresh = !self.connected(&target).await?;
            let Some(kept) = &mut self.kept else { continue };
            let request = outgoing.clone().into_request(&target)?;
            let answer = timeout(self.network.patience, kept.sender.send_request(request)).await;
            match answer {
                Ok(Ok(response)) => return Ok(response),
                // A server may close an idle connection at any time: retry once on a new one.
                Ok(Err(_)) if !fresh => self.close(),
                Ok(Err(error)) => {
                    self.close();
                    // A server may refuse the client's certificate only now (RFC 8446, section 4.4.2).
                    let reason = ::tls::source_reason(&error).unwrap_or_else(|| error.to_string());
                    return Err(HttpError::Broken(format!("no response: {reason}")));
                }
                Err(_) => {
                    self.close();
                    return Err(HttpError::Timeout("no response", self.network.patience));
                }
            }
        }
    }

    /// Ensures a connection. Returns true if it was used before.
    async fn connected(&mut self, target: &Target) -> Result<bool, HttpError> {
        if let Some(kept) = &mut self.kept {
            // Ready after the previous response was read to its end; otherwise never.
            let ready = kept.target == *target
                && timeout(Duration::from_millis(100), kept.sender.ready())
                    .await
                    .is_ok_and(|ready| ready.is_ok());
            if ready {
                return Ok(true);
            }
        }
        self.close();
        let stream = connect::connect(target, &self.network, &mut self.tls);
        let Ok(stream) = timeout(self.network.connect, stream).await else {
            return Err(HttpError::Timeout("no connection", self.network.connect));
        };
        let (sender, connection): (_, http1::Connection<TokioIo<Stream>, Full<Bytes>>) =
            http1::handshake(TokioIo::new(stream?))
                .await
                .map_err(|error| HttpError::Broken(format!("no connection: {error}")))?;
        // The task ends with its sender and the body, which receive its errors.
        tokio::spawn(connection);
        self.kept = Some(Kept { target: target.clone(), sender });
        Ok(false)
    }
}

/// Requested delay in seconds (RFC 9110, section 10.2.3).
fn retry_after(headers: &header::HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

impl Outgoing<'_> {
    fn into_request(self, target: &Target) -> Result<Request<Full<Bytes>>, HttpError> {
        let Self { method, url, range, fields, body } = self;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let absolute;
        let uri = if target.forwarded() {
            absolute = format!("{}://{}{path}", url.scheme(), connect::authority(url));
            &absolute
        } else {
            path
        };
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::HOST, connect::authority(url))
            .header(header::USER_AGENT, concat!("tandem-play/", env!("CARGO_PKG_VERSION")))
            .header(header::ACCEPT, "*/*");
        if let Some(login) = target.login().filter(|_| target.forwarded()) {
            request = request.header(header::PROXY_AUTHORIZATION, login);
        }
        if let Some((from, to)) = range {
            let to = to.map_or_else(String::new, |to| to.to_string());
            request = request.header(header::RANGE, format!("bytes={from}-{to}"));
        }
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::from_str(value) {
                request = request.header(*name, value);
            }
        }
        request
            .body(Full::new(body))
            .map_err(|error| HttpError::Url(format!("cannot request {}: {error}", without_login(url))))
    }
}
