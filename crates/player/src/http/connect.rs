//! Connections to a server, directly or through a proxy.

use super::error::HttpError;
use super::network::Network;
use super::proxy::Proxy;
use super::tls;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http_body_util::Empty;
use hyper::client::conn::http1;
use hyper::header::{HOST, PROXY_AUTHORIZATION};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use linux::socket::{Options, Protocol};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_socks::tcp::Socks5Stream;
use url::Url;

/// Destination of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    host: String,
    port: u16,
    tls: bool,
    proxy: Option<Proxy>,
}

impl Target {
    pub(super) fn of(url: &Url, proxy: Option<&Proxy>) -> Result<Self, HttpError> {
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            other => {
                return Err(HttpError::Url(format!("cannot play from `{other}:`, only http: and https:")));
            }
        };
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| HttpError::Url("the address names no server".to_owned()))?.to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        Ok(Self { host, port, tls, proxy: proxy.cloned() })
    }

    /// True if the request goes to an HTTP proxy in absolute form.
    pub(super) fn forwarded(&self) -> bool {
        !self.tls && self.proxy.as_ref().is_some_and(|proxy| !proxy.socks)
    }

    /// Proxy-Authorization value (RFC 7617).
    pub(super) fn login(&self) -> Option<String> {
        let (user, password) = self.proxy.as_ref()?.login.as_ref()?;
        Some(format!("Basic {}", BASE64.encode(format!("{user}:{password}"))))
    }
}

/// An IPv6 address of a URL without its brackets; any other host as it is.
fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Host and port in the form of a request.
pub(super) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A connected stream.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<tls::Stream>),
}

pub(super) async fn connect(
    target: &Target,
    network: &Network,
    tls: &mut tls::Connector,
) -> Result<Stream, HttpError> {
    let (host, port) =
        target.proxy.as_ref().map_or((&target.host, target.port), |proxy| (&proxy.host, proxy.port));
    let failed = |error| HttpError::Connect(format!("{host}:{port}"), error);
    let mut stream = open(host, port, network).await.map_err(failed)?;
    if let Some(proxy) = &target.proxy {
        let connected = if proxy.socks {
            socks5(stream, proxy, target).await
        } else if target.tls {
            tunnel(stream, target).await
        } else {
            Ok(stream)
        };
        let to = || format!("{}:{} through {proxy}", target.host, target.port);
        stream = connected.map_err(|error| HttpError::Connect(to(), error))?;
    }
    if target.tls {
        let stream = tls.connect(&target.host, stream).await.map_err(failed)?;
        return Ok(Stream::Tls(Box::new(stream)));
    }
    Ok(Stream::Plain(stream))
}

/// Connects to the first address that answers, in the system's order.
async fn open(host: &str, port: u16, network: &Network) -> io::Result<TcpStream> {
    let host = without_brackets(host).to_owned();
    let addresses: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    let timeout = network.connect / u32::try_from(addresses.len().max(1)).unwrap_or(1);
    for address in addresses {
        let protocol = if network.mptcp { Protocol::Mptcp } else { Protocol::Tcp };
        let options = Options { no_delay: true, timeout: Some(timeout), ..Options::default() };
        let connecting =
            tokio::task::spawn_blocking(move || linux::socket::connect(address, protocol, &options));
        match connecting.await {
            Ok(Ok(stream)) => {
                stream.set_nonblocking(true)?;
                return TcpStream::from_std(stream);
            }
            Ok(Err(error)) => last = io::Error::other(error),
            Err(error) => last = io::Error::other(error),
        }
    }
    Err(last)
}

/// Connects through a SOCKS5 proxy, which resolves the name (RFC 1928, RFC 1929).
async fn socks5(stream: TcpStream, proxy: &Proxy, target: &Target) -> io::Result<TcpStream> {
    let destination = (without_brackets(&target.host), target.port);
    let connected = match &proxy.login {
        Some((user, password)) => {
            Socks5Stream::connect_with_password_and_socket(stream, destination, user, password).await
        }
        None => Socks5Stream::connect_with_socket(stream, destination).await,
    };
    connected.map(Socks5Stream::into_inner).map_err(io::Error::other)
}

/// Opens a tunnel through an HTTP proxy (RFC 9110, section 9.3.6).
async fn tunnel(stream: TcpStream, target: &Target) -> io::Result<TcpStream> {
    let place = format!("{}:{}", target.host, target.port);
    let mut request = Request::builder().method(Method::CONNECT).uri(&place).header(HOST, &place);
    if let Some(login) = target.login() {
        request = request.header(PROXY_AUTHORIZATION, login);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(io::Error::other)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let driver = tokio::spawn(connection.with_upgrades());
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    if !response.status().is_success() {
        driver.abort();
        return Err(io::Error::other(format!("the proxy responds with `{}`", response.status())));
    }
    let tunnel = hyper::upgrade::on(response).await.map_err(io::Error::other)?;
    let parts = tunnel
        .downcast::<TokioIo<TcpStream>>()
        .map_err(|_| io::Error::other("the tunnel is not the connection to the proxy"))?;
    if !parts.read_buf.is_empty() {
        return Err(io::Error::other("the proxy sends data before the request"));
    }
    Ok(parts.io.into_inner())
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
