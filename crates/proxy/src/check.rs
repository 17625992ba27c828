//! Check of a configuration against this machine: opens no listener and connects to nothing.

use crate::config::{ListenerProtocol, UpstreamProtocol};
use crate::{Config, Error};
use linux::socket::{self, Options, Protocol};
use report::{Cell, Column, Row, Table};
use std::net::{SocketAddr, ToSocketAddrs};

/// Result of a check.
#[derive(Debug)]
pub struct Check {
    rows: Vec<[String; 3]>,
    missing: Option<Error>,
    unresolved: Option<String>,
}

impl Check {
    /// Checks the kernel, the privileges and the names of `config`.
    pub fn of(config: &Config) -> Self {
        let mut check = Self { rows: Vec::new(), missing: None, unresolved: None };
        for listen in &config.listen {
            let state = check.kernel(listen.protocol).unwrap_or_else(|| "ready".to_owned());
            let state = match listen.serve {
                ListenerProtocol::Transparent => check.privilege().unwrap_or(state),
                _ => state,
            };
            let over = if listen.tls { " over TLS" } else { "" };
            check.row("listener", format!("{} ({}{over})", listen.address, listen.serve.name()), state);
        }
        if let Some(upstream) = &config.upstream {
            let host = upstream.destination.to_string();
            let state = match host.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>) {
                Ok(found) if !found.is_empty() => {
                    let found: Vec<String> = found.iter().map(|one| one.ip().to_string()).collect();
                    check
                        .kernel(upstream.protocol)
                        .unwrap_or_else(|| format!("resolves to {}", found.join(", ")))
                }
                _ => {
                    check.unresolved = Some(host.clone());
                    "does not resolve".to_owned()
                }
            };
            let speak = match upstream.speak {
                UpstreamProtocol::Connect if upstream.tls.is_some() => "connect over TLS",
                UpstreamProtocol::Connect => "connect",
                UpstreamProtocol::Convert => "convert",
            };
            check.row("upstream", format!("{host} ({speak})"), state);
        }
        let clients = if config.clients.allow.is_empty() && config.clients.users.is_empty() {
            let by_certificate = config.listen.iter().any(|one| config.demands_certificate(one));
            if by_certificate { "with a certificate" } else { "this host only" }.to_owned()
        } else {
            let allow = config.clients.allow.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let users = if config.clients.users.is_empty() { "" } else { " with a password" };
            format!("{}{users}", if allow.is_empty() { "any address" } else { &allow })
        };
        check.row("clients", clients, "–".to_owned());
        check
    }

    fn row(&mut self, part: &str, setting: String, state: String) {
        self.rows.push([part.to_owned(), setting, state]);
    }

    /// The feature that sockets of this protocol lack, if any.
    fn kernel(&mut self, protocol: Protocol) -> Option<String> {
        if protocol == Protocol::Tcp {
            return None;
        }
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let error = socket::open_unconnected(any, protocol, &Options::default()).err()?;
        Some(self.miss(error.into()))
    }

    fn privilege(&mut self) -> Option<String> {
        if linux::process::has_net_admin().unwrap_or(false) {
            return None;
        }
        Some(self.miss(Error::System(linux::Error::Lacks {
            what: "a transparent listener needs CAP_NET_ADMIN".to_owned(),
            hint: "run it as root, or as a service with AmbientCapabilities=CAP_NET_ADMIN".to_owned(),
        })))
    }

    fn miss(&mut self, error: Error) -> String {
        let text = error.to_string();
        self.missing.get_or_insert(error);
        text
    }

    /// Table of listeners, upstream and clients.
    pub fn table(&self) -> Table {
        let table = Table::new("proxy")
            .column(Column::text("part"))
            .column(Column::text("setting"))
            .column(Column::text("state"));
        self.rows
            .iter()
            .fold(table, |table, row| table.row(Row::new(row.iter().map(|text| Cell::text(&**text)))))
    }

    /// Host and port of an upstream proxy that does not resolve.
    pub fn unresolved(&self) -> Option<&str> {
        self.unresolved.as_deref()
    }

    /// The first requirement on the system that is not met.
    pub fn into_missing(self) -> Option<Error> {
        self.missing
    }
}
