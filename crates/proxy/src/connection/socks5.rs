//! Client session for SOCKS5.

use super::outcome::Outcome;
use super::{Access, Client, Fin};
use crate::connect::{ConnectError, Connected};
use crate::counters::Counters;
use crate::front::socks5::{self, Parsed, Reply, Request};
use crate::refusal::Cause;
use std::io::{self, ErrorKind};

pub(super) async fn serve(client: &mut Client) -> Option<Connected> {
    client.log_context.front = "socks5";
    handle(client).await.unwrap_or_else(|error| {
        if error.kind() == ErrorKind::InvalidData {
            note_bad_request(client);
        }
        None
    })
}

fn note_bad_request(client: &mut Client) {
    client.log_context.outcome = Outcome::Failed("bad request");
    Counters::count(&client.counters().bad_requests);
}

async fn handle(client: &mut Client) -> io::Result<Option<Connected>> {
    let needs_password = client.needs_login();
    let method = read(client, |bytes| socks5::parse_greeting(bytes, needs_password)).await?;
    client.write(&socks5::encode_method(method)).await?;
    match method {
        None => {
            client.log_context.outcome = Outcome::Unauthorized;
            Counters::count(&client.counters().unauthorized);
            return close(client).await;
        }
        Some(socks5::Method::Password) => {
            let credential = read(client, socks5::parse_password).await?;
            let known = client.authenticate(credential.as_ref()).await == Access::Granted;
            client.write(&socks5::encode_auth_status(known)).await?;
            if !known {
                return close(client).await;
            }
        }
        Some(socks5::Method::None) => {}
    }
    let request = match read(client, socks5::parse_request).await {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            note_bad_request(client);
            client.write(&socks5::encode_reply(Reply::ConnectError, None)).await?;
            return close(client).await;
        }
        request => request?,
    };
    let destination = match request {
        Request::Connect(destination) => destination,
        Request::Unserved(reason) => {
            client.log_context.outcome = Outcome::Failed("not supported");
            Counters::count(&client.counters().bad_requests);
            client.write(&socks5::encode_reply(reason, None)).await?;
            return close(client).await;
        }
    };
    match client.connect(&destination, client.config.servers, Fin::DisconnectWithoutData, "").await {
        Ok(server) => {
            let from = server.stream.local_addr().ok();
            client.write(&socks5::encode_reply(Reply::Succeeded, from)).await?;
            Ok(Some(server))
        }
        Err(failure) => {
            client.write(&socks5::encode_reply(reply(&failure), None)).await?;
            close(client).await
        }
    }
}

async fn close(client: &Client) -> io::Result<Option<Connected>> {
    client.close_after_response().await;
    Ok(None)
}

fn reply(failure: &ConnectError) -> Reply {
    match failure.cause() {
        Cause::DestinationIpProhibited => Reply::NotAllowed,
        Cause::DnsError => Reply::HostUnreachable,
        Cause::ConnectionTimeout | Cause::DnsTimeout => Reply::TtlExpired,
        Cause::ConnectionRefused => Reply::Refused,
        Cause::DestinationIpUnroutable => Reply::NetworkUnreachable,
        Cause::ConnectionTerminated
        | Cause::TlsCertificateError
        | Cause::HttpRequestDenied
        | Cause::ProxyLoopDetected
        | Cause::ProxyInternalError => Reply::ConnectError,
    }
}

/// Reads until `parse` succeeds, and removes the parsed bytes from the buffer.
async fn read<T>(client: &mut Client, what: impl Fn(&[u8]) -> Parsed<T>) -> io::Result<T> {
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
