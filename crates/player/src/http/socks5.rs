//! Client of SOCKS5 proxies (RFC 1928), with user names and passwords (RFC 1929).

use super::proxy::Proxy;
use std::io;
use std::net::IpAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const VERSION: u8 = 5;
const CONNECT: u8 = 1;

const NO_AUTHENTICATION: u8 = 0;
const USERNAME_PASSWORD: u8 = 2;

const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Connects through a proxy, which resolves the name.
pub(super) async fn socks5(stream: &mut TcpStream, proxy: &Proxy, host: &str, port: u16) -> io::Result<()> {
    authenticate(stream, proxy.login.as_ref()).await?;
    stream.write_all(&connect_request(host, port)?).await?;
    read_reply(stream).await
}

fn refused(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

/// Negotiates the authentication method, and sends the credentials if the proxy requires them.
async fn authenticate(stream: &mut TcpStream, login: Option<&(String, String)>) -> io::Result<()> {
    let methods: &[u8] = if login.is_some() {
        &[VERSION, 2, NO_AUTHENTICATION, USERNAME_PASSWORD]
    } else {
        &[VERSION, 1, NO_AUTHENTICATION]
    };
    stream.write_all(methods).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    match (answer, login) {
        ([VERSION, NO_AUTHENTICATION], _) => Ok(()),
        ([VERSION, USERNAME_PASSWORD], Some((user, password))) => {
            let mut login = vec![1, user.len() as u8];
            login.extend_from_slice(user.as_bytes());
            login.push(password.len() as u8);
            login.extend_from_slice(password.as_bytes());
            stream.write_all(&login).await?;
            stream.read_exact(&mut answer).await?;
            if answer[1] != 0 {
                return Err(refused("the proxy rejects the user name or the password"));
            }
            Ok(())
        }
        ([VERSION, _], None) => Err(refused("the proxy requires a user name and a password")),
        _ => Err(refused(
            "the proxy does not speak SOCKS5, or supports none of the offered authentication methods",
        )),
    }
}

fn connect_request(host: &str, port: u16) -> io::Result<Vec<u8>> {
    let mut request = vec![VERSION, CONNECT, 0];
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => {
            request.push(IPV4);
            request.extend_from_slice(&address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            request.push(IPV6);
            request.extend_from_slice(&address.octets());
        }
        Err(_) => {
            let length = u8::try_from(host.len())
                .map_err(|_| refused("the host name is longer than 255 bytes, the limit of SOCKS5"))?;
            request.extend_from_slice(&[NAME, length]);
            request.extend_from_slice(host.as_bytes());
        }
    }
    request.extend_from_slice(&port.to_be_bytes());
    Ok(request)
}

/// Reads the reply to a CONNECT, with the address that the proxy bound.
async fn read_reply(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    if head[1] != 0 {
        let reasons = [
            "general failure",
            "connection not allowed by its rules",
            "network unreachable",
            "host unreachable",
            "connection refused",
            "TTL expired",
            "command not supported",
            "address type not supported",
        ];
        let reason = reasons.get(usize::from(head[1]) - 1).unwrap_or(&"unknown reason");
        return Err(refused(format!("the proxy cannot connect: {reason}")));
    }
    let length = match head[3] {
        IPV4 => 4,
        IPV6 => 16,
        NAME => usize::from(stream.read_u8().await?),
        _ => return Err(refused("the proxy's reply has an unknown address type")),
    };
    let mut address_and_port = vec![0; length + 2];
    stream.read_exact(&mut address_and_port).await?;
    Ok(())
}
