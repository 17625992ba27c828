//! A client that speaks SOCKS5.

use super::Client;
use crate::connect::{Connected, Failure};
use crate::counters::Counters;
use crate::front::socks5::{self, Read, Reply, Request};
use std::io::{self, ErrorKind};
use std::time::Duration;

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    client.note.front = "socks5";
    talk(client).await.unwrap_or_else(|error| {
        if error.kind() == ErrorKind::InvalidData {
            client.note.outcome = "bad request";
            Counters::count(&client.counters().bad_requests);
        }
        None
    })
}

async fn talk(client: &mut Client) -> io::Result<Option<Connected>> {
    let needs_password = !client.config.clients.users.is_empty();
    let method = read(client, |bytes| socks5::greeting(bytes, needs_password)).await?;
    client.write(&socks5::choice(method)).await?;
    match method {
        None => {
            client.note.outcome = "unauthorized";
            Counters::count(&client.counters().unauthorized);
            return leave(client).await;
        }
        Some(socks5::Method::Password) => {
            let credential = read(client, socks5::password).await?;
            let known = client.knows(credential.as_ref());
            client.write(&socks5::verdict(known)).await?;
            if !known {
                return leave(client).await;
            }
        }
        Some(socks5::Method::None) => {}
    }
    let destination = match read(client, socks5::request).await? {
        Request::Connect(destination) => destination,
        Request::Unserved(why) => {
            client.note.outcome = "not supported";
            Counters::count(&client.counters().bad_requests);
            client.write(&socks5::reply(why, None)).await?;
            return leave(client).await;
        }
    };
    match client.connect(&destination, client.config.servers).await {
        Ok(server) => {
            let from = server.stream.local_addr().ok();
            client.write(&socks5::reply(Reply::Succeeded, from)).await?;
            Ok(Some(server))
        }
        Err(failure) => {
            client.write(&socks5::reply(reply(&failure), None)).await?;
            leave(client).await
        }
    }
}

async fn leave(client: &Client) -> io::Result<Option<Connected>> {
    crate::relay::close_gently(&client.stream, Duration::from_secs(1)).await;
    Ok(None)
}

fn reply(failure: &Failure) -> Reply {
    match failure {
        Failure::Refused(_) => Reply::NotAllowed,
        Failure::Unknown => Reply::HostUnreachable,
        Failure::TimedOut => Reply::TtlExpired,
        Failure::Unreachable(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Reply::Refused,
            ErrorKind::NetworkUnreachable => Reply::NetworkUnreachable,
            ErrorKind::HostUnreachable => Reply::HostUnreachable,
            _ => Reply::Failure,
        },
        Failure::Upstream(Some(403)) => Reply::NotAllowed,
        Failure::Upstream(_) => Reply::Failure,
    }
}

/// Reads on until `what` finds what it looks for, and takes that out of the buffer.
async fn read<T>(client: &mut Client, what: impl Fn(&[u8]) -> Read<T>) -> io::Result<T> {
    loop {
        match what(&client.buffer) {
            Ok(Some((length, found))) => {
                client.buffer.drain(..length);
                return Ok(found);
            }
            Ok(None) => client.read().await?,
            Err(bad) => return Err(io::Error::new(ErrorKind::InvalidData, bad.0)),
        }
    }
}
