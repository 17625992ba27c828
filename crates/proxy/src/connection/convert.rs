//! Client session for 0-RTT TCP Convert.

use super::outcome::Outcome;
use super::{Client, Fin};
use crate::connect::{ConnectError, Connected};
use crate::counters::Counters;
use crate::destination::{Destination, Host};
use crate::front::convert::{self, Code, ParseError, Request};
use crate::refusal::Cause;
use linux::socket::{self, Protocol};
use std::io;
use tokio::net::TcpStream;

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    // An I/O error means that the client disconnected.
    handle(client).await.ok().flatten()
}

async fn handle(client: &mut Client) -> io::Result<Option<Connected>> {
    let request = loop {
        match convert::parse_request(&client.buffer) {
            Ok(Some((length, request))) => {
                client.buffer.drain(..length);
                break request;
            }
            Ok(None) => client.read().await?,
            Err(bad) => {
                Counters::count(&client.counters().bad_requests);
                return match bad {
                    ParseError::Reset(reason) => {
                        client.log_context.outcome = Outcome::Failed(reason);
                        socket::abort(&client.stream).map(|()| None).map_err(io::Error::other)
                    }
                    ParseError::Respond(bytes, reason) => {
                        client.log_context.outcome = Outcome::Failed(reason);
                        respond_and_close(client, &bytes).await
                    }
                };
            }
        }
    };
    let Some(connect) = request.connect else {
        client.log_context.outcome = Outcome::Asked;
        return respond_and_close(client, &convert::encode_success(&request, &[])).await;
    };
    let destination = Destination { host: Host::Address(connect.peer.ip()), port: connect.peer.port() };
    let protocol = if connect.mptcp { Protocol::Mptcp } else { client.config.servers };
    match client.connect(&destination, protocol, Fin::EndOfData, "").await {
        Ok(server) => {
            client.write(&accepted(&request, server.stream.tcp())).await?;
            Ok(Some(server))
        }
        Err(failure) => {
            let (code, value) = code(&failure);
            respond_and_close(client, &convert::encode_error(code, &[value])).await
        }
    }
}

/// Success response with the server's TCP options that the kernel reports: the MSS.
fn accepted(request: &Request, server: &TcpStream) -> Vec<u8> {
    let mss = socket::tcp_info(server).map_or(0, |info| info.mss.min(u32::from(u16::MAX)) as u16);
    let [high, low] = mss.to_be_bytes();
    convert::encode_success(request, &[2, 4, high, low])
}

async fn respond_and_close(client: &Client, bytes: &[u8]) -> io::Result<Option<Connected>> {
    client.write(bytes).await?;
    client.close_after_response().await;
    Ok(None)
}

/// Error code (RFC 8803, section 6.2.8); the value of `Unreachable` is an ICMP code (RFC 792).
fn code(failure: &ConnectError) -> (Code, u8) {
    match failure.cause() {
        Cause::DestinationIpProhibited => (Code::NotAuthorized, 0),
        Cause::ConnectionRefused => (Code::ConnectionReset, 0),
        Cause::DestinationIpUnroutable => (Code::Unreachable, 1),
        Cause::DnsError
        | Cause::DnsTimeout
        | Cause::ProxyLoopDetected
        | Cause::ConnectionTimeout
        | Cause::ConnectionTerminated
        | Cause::TlsCertificateError
        | Cause::HttpRequestDenied
        | Cause::ProxyInternalError => (Code::NetworkFailure, 0),
    }
}
