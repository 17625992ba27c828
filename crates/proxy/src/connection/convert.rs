//! A client that speaks 0-RTT TCP Convert.

use super::Client;
use crate::connect::{Connected, Failure};
use crate::counters::Counters;
use crate::destination::{Destination, Host};
use crate::front::convert::{self, Bad, Code, Request};
use linux::socket::{self, Protocol};
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::net::TcpStream;

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    // A client that is gone needs no more.
    talk(client).await.ok().flatten()
}

async fn talk(client: &mut Client) -> io::Result<Option<Connected>> {
    let request = loop {
        match convert::request(&client.buffer) {
            Ok(Some((length, request))) => {
                client.buffer.drain(..length);
                break request;
            }
            Ok(None) => client.read().await?,
            Err(bad) => {
                Counters::count(&client.counters().bad_requests);
                return match bad {
                    Bad::Reset(why) => {
                        client.note.outcome = why;
                        socket::abort(&client.stream).map(|()| None).map_err(io::Error::other)
                    }
                    Bad::Answer(bytes, why) => {
                        client.note.outcome = why;
                        leave(client, &bytes).await
                    }
                };
            }
        }
    };
    let Some(connect) = request.connect else {
        client.note.outcome = "asked";
        return leave(client, &convert::accepted(&request, &[])).await;
    };
    let destination = Destination { host: Host::Address(connect.peer.ip()), port: connect.peer.port() };
    let protocol = if connect.mptcp { Protocol::Mptcp } else { client.config.servers };
    match client.connect(&destination, protocol).await {
        Ok(server) => {
            client.write(&accepted(&request, &server.stream)).await?;
            Ok(Some(server))
        }
        Err(failure) => {
            let (code, value) = code(&failure);
            leave(client, &convert::error(code, &[value])).await
        }
    }
}

/// The answer with the server's options, as far as the kernel tells them: how long its segments are.
fn accepted(request: &Request, server: &TcpStream) -> Vec<u8> {
    let mss = socket::tcp_info(server).map_or(0, |info| info.mss.min(u32::from(u16::MAX)) as u16);
    let [high, low] = mss.to_be_bytes();
    convert::accepted(request, &[2, 4, high, low])
}

async fn leave(client: &Client, bytes: &[u8]) -> io::Result<Option<Connected>> {
    client.write(bytes).await?;
    crate::relay::close_gently(&client.stream, Duration::from_secs(1)).await;
    Ok(None)
}

/// RFC 8803, section 6.2.8; the value of `Unreachable` is a code of ICMP (RFC 792).
fn code(failure: &Failure) -> (Code, u8) {
    match failure {
        Failure::Refused(_) | Failure::Upstream(Some(403)) => (Code::NotAuthorized, 0),
        Failure::Unreachable(error) => match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => (Code::ConnectionReset, 0),
            ErrorKind::NetworkUnreachable => (Code::Unreachable, 0),
            ErrorKind::HostUnreachable => (Code::Unreachable, 1),
            _ => (Code::NetworkFailure, 0),
        },
        Failure::Unknown | Failure::TimedOut | Failure::Upstream(_) => (Code::NetworkFailure, 0),
    }
}
