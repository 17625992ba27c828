//! Parser of the configuration file.

use super::{Config, Listen, ListenerProtocol, MetricsListener, Upstream, UpstreamProtocol, format};
use crate::Error;
use crate::credentials::Credential;
use crate::network::{Network, NetworkError};
use crate::rules::{PortRange, Ports, Rules};
use crate::special::NAT64_LENGTHS;
use crate::users::Users;
use linux::socket::Protocol;
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use schema::{Diagnostic, Problems};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tls::{ClientAuthority, ClientTls, Identity, ServerTls};

/// Port of name servers.
const DNS_PORT: u16 = 53;

/// Commented example with every key, as `tandem proxy example-config` prints it.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Reads a file that the configuration names; the error is a short reason.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Access to the files that the configuration names.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// Reads users, credentials and keys, which only their owner may read.
    pub secret: ReadFile<'a>,
    /// Reads certificates.
    pub public: ReadFile<'a>,
}

impl Config {
    /// Parses a file that messages call `name`.
    ///
    /// # Errors
    /// All problems in file order, including listeners that everybody could use.
    pub fn parse(name: &str, bytes: &[u8], files: Files<'_>) -> Result<Self, Vec<Diagnostic>> {
        let text = schema::utf8(name, bytes)?;
        schema::read(name, text, &format::PROXY, |root, problems| {
            Reader { problems, files, certificate_files: Vec::new() }.config(root)
        })
    }
}

struct Reader<'a, 'p> {
    problems: &'a mut Problems<'p>,
    files: Files<'a>,
    certificate_files: Vec<PathBuf>,
}

impl Reader<'_, '_> {
    fn config(&mut self, root: &Fields) -> Config {
        let mut config = Config::default();
        if root.given("listen") {
            config.listen = root
                .list("listen")
                .iter()
                .filter_map(Node::fields)
                .filter_map(|one| self.listen(one))
                .collect();
        }
        config.tls = root.fields("tls").and_then(|fields| self.server_tls(fields));
        if let Some(fields) = root.fields("clients") {
            config.clients.allow = self.networks(fields, "allow");
            config.clients.users = self.users(fields).unwrap_or_default();
            config.clients.clear_passwords = fields.flag("clear_passwords").unwrap_or_default();
        }
        if let Some(fields) = root.fields("destinations") {
            config.destinations = self.destinations(fields);
        }
        config.servers = protocol(root, "servers");
        config.name_servers = self.name_servers(root);
        config.upstream = root.fields("upstream").and_then(|fields| self.upstream(fields));
        if let Some(fields) = root.fields("limits") {
            let number = |key, default| {
                fields.integer(key).and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
            };
            let limits = &mut config.limits;
            limits.connections = number("connections", limits.connections);
            limits.per_client = number("per_client", limits.per_client);
            limits.head = number("head", limits.head);
            limits.lookups = number("lookups", limits.lookups);
            limits.lookups_per_client = number("lookups_per_client", limits.lookups_per_client);
        }
        let time =
            |fields: &Fields, key: &str| fields.time(key).map(|time| Duration::from_nanos(time.as_nanos()));
        config.ahead = time(root, "ahead").unwrap_or(config.ahead);
        if let Some(fields) = root.fields("timeouts") {
            let time = |key| time(fields, key);
            let timeouts = &mut config.timeouts;
            timeouts.handshake = time("handshake").unwrap_or(timeouts.handshake);
            timeouts.connect = time("connect").unwrap_or(timeouts.connect);
            timeouts.idle = time("idle").unwrap_or(timeouts.idle);
            timeouts.keep_alive = time("keep_alive").unwrap_or(timeouts.keep_alive);
            timeouts.write = time("write");
            timeouts.total = time("total");
            timeouts.drain = time("drain").unwrap_or(timeouts.drain);
        }
        config.workers = root.integer("workers").and_then(|number| usize::try_from(number).ok());
        config.agent = root.text("agent").map(PathBuf::from);
        config.access_log = root.text("access_log").map(PathBuf::from);
        if let Some(fields) = root.fields("status") {
            config.socket = fields.text("socket").map(PathBuf::from);
            config.metrics = self.metrics(fields);
        }
        config.log = root.custom("log").unwrap_or(config.log);
        config.certificate_files = std::mem::take(&mut self.certificate_files);
        if self.problems.found.is_empty() {
            self.open(root, &config);
        }
        config
    }

    /// Reports listeners that everybody could use, and passwords in clear text.
    fn open(&mut self, root: &Fields, config: &Config) {
        for (listen, node) in config.listen.iter().zip(root.list("listen")) {
            if let (Err(error), Some(fields)) = (config.check_listener(listen), node.fields()) {
                let expected = match error {
                    Error::OpenProxy { .. } => "a loopback address, or a restriction of the clients",
                    Error::NoTls { .. } => "no `tls = true`",
                    _ => "a loopback address",
                };
                self.problems
                    .add(fields.span("address"), error.to_string())
                    .expected(expected)
                    .hint(error.hint());
            }
        }
        if let (Err(error), Some(fields)) = (config.check_metrics(), root.fields("status")) {
            self.problems
                .add(fields.span("metrics"), error.to_string())
                .expected("a loopback address, or networks in `metrics_from`")
                .hint(error.hint());
        }
        if let (Err(error), Some(fields)) = (config.check_upstream(), root.fields("upstream")) {
            self.problems
                .add(fields.span("credential"), error.to_string())
                .expected("an upstream on loopback")
                .hint(error.hint());
        }
    }

    fn listen(&mut self, fields: &Fields) -> Option<Listen> {
        let text = fields.text("address")?;
        let Ok(address) = text.parse() else {
            self.problems
                .add(
                    fields.span("address"),
                    format!("`{}` is not an address with a port", schema::read::clip(text)),
                )
                .expected("such as `127.0.0.1:1080` or `[::1]:1080`")
                .hint("listening addresses cannot be host names: `getent ahosts NAME` resolves one");
            return None;
        };
        let serve = fields.text("serve")?.parse().unwrap_or(ListenerProtocol::Auto);
        let send_buffer = fields.integer("send_buffer").and_then(|bytes| u32::try_from(bytes).ok());
        Some(Listen {
            address,
            serve,
            protocol: protocol(fields, "protocol"),
            tls: fields.flag("tls").unwrap_or_default(),
            send_buffer,
        })
    }

    fn destinations(&mut self, fields: &Fields) -> Rules {
        let rules = Rules {
            allow: self.networks(fields, "allow"),
            deny: self.networks(fields, "deny"),
            ports: self.ports(fields),
            nat64: self.networks(fields, "nat64"),
            private: false,
        };
        for node in fields.list("allow") {
            let network = node.text().and_then(|text| text.parse::<Network>().ok());
            let Some(network) = network else { continue };
            if let Some(denied) = rules.deny.iter().find(|denied| denied.covers(&network)) {
                self.problems
                    .add(node.span.clone(), format!("`{network}` can never match: `deny` has `{denied}`"))
                    .expected("an allowed network that is not denied as a whole")
                    .hint("`deny` takes precedence over `allow`");
            }
        }
        for node in fields.list("nat64") {
            let network = node.text().and_then(|text| text.parse::<Network>().ok());
            let Some(network) = network else { continue };
            if network.first().is_ipv4() || !NAT64_LENGTHS.contains(&network.prefix()) {
                self.problems
                    .add(node.span.clone(), format!("`{network}` is not a NAT64 prefix"))
                    .expected("an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits (RFC 6052)");
            }
        }
        rules
    }

    fn name_servers(&mut self, root: &Fields) -> Vec<SocketAddr> {
        let mut servers = Vec::new();
        for node in root.list("name_servers") {
            let Some(text) = node.text() else { continue };
            let address = text.parse().map(|address| SocketAddr::new(address, DNS_PORT));
            match address.or_else(|_| text.parse::<SocketAddr>()) {
                Ok(server) => servers.push(server),
                Err(_) => {
                    self.problems
                        .add(node.span.clone(), format!("`{}` is not an address", schema::read::clip(text)))
                        .expected("such as `192.0.2.53`, `127.0.0.1:5353` or `[2001:db8::53]:53`");
                }
            }
        }
        servers
    }

    fn ports(&mut self, fields: &Fields) -> Ports {
        let mut ports = Vec::new();
        for node in fields.list("ports") {
            if let Some(port) = node.integer().and_then(|port| u16::try_from(port).ok()) {
                ports.push(PortRange::from(port));
            } else if let Some(text) = node.text() {
                match text.parse() {
                    Ok(range) => ports.push(range),
                    Err(()) => {
                        self.problems
                            .add(
                                node.span.clone(),
                                format!("`{}` is not a range of ports", schema::read::clip(text)),
                            )
                            .expected("a port such as 443, or a range such as `\"8000-8100\"`");
                    }
                }
            }
        }
        ports.into_iter().collect()
    }

    fn metrics(&mut self, fields: &Fields) -> Option<MetricsListener> {
        let from = self.networks(fields, "metrics_from");
        let text = fields.text("metrics")?;
        let Ok(address) = text.parse() else {
            self.problems
                .add(
                    fields.span("metrics"),
                    format!("`{}` is not an address with a port", schema::read::clip(text)),
                )
                .expected("such as `127.0.0.1:9464`");
            return None;
        };
        Some(MetricsListener { address, from })
    }

    fn networks(&mut self, fields: &Fields, key: &str) -> Vec<Network> {
        let mut networks = Vec::new();
        for node in fields.list(key) {
            let Some(text) = node.text() else { continue };
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(error) => {
                    let message = match error {
                        NetworkError::Form => format!("`{}` is not a network", schema::read::clip(text)),
                        _ => error.to_string(),
                    };
                    self.problems
                        .add(node.span.clone(), message)
                        .expected("an address, or a prefix with its length and no host bits set")
                        .hint(error.hint());
                }
            }
        }
        networks
    }

    /// Text of the credentials file that a key names.
    fn secrets(&mut self, fields: &Fields, key: &str) -> Option<String> {
        let path = fields.text(key)?;
        (self.files.secret)(path)
            .map_err(|reason| {
                self.problems
                    .add(fields.span(key), format!("cannot read `{}`: {reason}", schema::read::clip(path)))
                    .expected("a file that only its owner can read")
                    .hint(format!("run `chmod 600 {}`", schema::read::clip(path)));
            })
            .ok()
    }

    fn users(&mut self, fields: &Fields) -> Option<Users> {
        let text = self.secrets(fields, "users")?;
        let problem = match Users::parse(&text) {
            Ok(users) if !users.is_empty() => return Some(users),
            Ok(_) => "the file contains no users".to_owned(),
            // Report the line number only: the line may contain a password.
            Err((line, reason)) => format!("line {line} of the file: {reason}"),
        };
        let path = schema::read::clip(fields.text("users").unwrap_or_default());
        self.problems
            .add(fields.span("users"), problem)
            .expected("lines of `username:hash` with a hash by argon2id, each username once")
            .hint(format!("`tandem proxy passwd {path} NAME` asks for a password and writes its hash"));
        None
    }

    fn server_tls(&mut self, fields: &Fields) -> Option<ServerTls> {
        let (certificate, key) = (self.pem(fields, "certificate"), self.private_key(fields));
        let (client_ca, crl) = (self.pem(fields, "client_ca"), self.pem(fields, "crl"));
        if fields.given("client_ca") && client_ca.is_none() || fields.given("crl") && crl.is_none() {
            return None;
        }
        if crl.is_some() && client_ca.is_none() {
            self.problems.add(fields.key_span("crl"), "`crl` stands alone").expected("`client_ca` and `crl`");
            return None;
        }
        let (certificate, key) = (certificate?, key?);
        let identity = Identity { certificate: &certificate, key: &key };
        let clients = client_ca.as_ref().map(|ca| ClientAuthority { ca, crl: crl.as_deref() });
        let tls = ServerTls::new(identity, clients);
        tls.map_err(|invalid| self.invalid_tls(fields, &invalid)).ok()
    }

    fn client_tls(&mut self, fields: &Fields) -> Option<ClientTls> {
        let texts = (self.pem(fields, "ca"), self.pem(fields, "certificate"), self.private_key(fields));
        let (ca, certificate, key) = texts;
        let is_missing = |key, text: &Option<String>| fields.given(key) && text.is_none();
        if is_missing("ca", &ca) || is_missing("certificate", &certificate) || is_missing("key", &key) {
            return None;
        }
        if certificate.is_some() != key.is_some() {
            let one = if certificate.is_some() { "certificate" } else { "key" };
            self.problems
                .add(fields.key_span(one), format!("`{one}` stands alone"))
                .expected("`certificate` and `key`");
            return None;
        }
        let pair = certificate.as_ref().zip(key.as_ref());
        let identity = pair.map(|(certificate, key)| Identity { certificate, key });
        let tls = ClientTls::new(ca.as_deref(), fields.text("server_name"), identity);
        tls.map_err(|invalid| self.invalid_tls(fields, &invalid)).ok()
    }

    fn invalid_tls(&mut self, fields: &Fields, (key, reason): &tls::Invalid) {
        let expected = match *key {
            "server_name" => "such as `proxy.example` or `192.0.2.1`",
            "key" => "the private key of the certificate, in PEM",
            "crl" => "the valid certificate revocation list of each CA, in PEM",
            _ => "certificates in PEM",
        };
        self.problems.add(fields.span(key), reason.clone()).expected(expected);
    }

    fn private_key(&mut self, fields: &Fields) -> Option<String> {
        self.certificate_files.extend(fields.text("key").map(PathBuf::from));
        self.secrets(fields, "key")
    }

    /// Text of a PEM file with certificates or revocation lists that a key names.
    fn pem(&mut self, fields: &Fields, key: &str) -> Option<String> {
        let path = fields.text(key)?;
        let content = if key == "crl" { "certificate revocation lists" } else { "certificates" };
        self.certificate_files.push(PathBuf::from(path));
        (self.files.public)(path)
            .map_err(|reason| {
                self.problems
                    .add(fields.span(key), format!("cannot read `{}`: {reason}", schema::read::clip(path)))
                    .expected(format!("a file with {content} in PEM"));
            })
            .ok()
    }

    fn upstream(&mut self, fields: &Fields) -> Option<Upstream> {
        let text = fields.text("address")?;
        let Ok(destination) = text.parse() else {
            self.problems
                .add(fields.span("address"), format!("`{}` is not a host and port", schema::read::clip(text)))
                .expected("such as `proxy.example:1080` or `[2001:db8::1]:1080`");
            return None;
        };
        let credential = self.secrets(fields, "credential").and_then(|text| {
            let read = Credential::parse(text.trim_end_matches(['\r', '\n']));
            if read.is_none() {
                self.problems
                    .add(fields.span("credential"), "the file contains no `username:password`")
                    .expected("one line of `username:password`");
            }
            read
        });
        let speak = if fields.text("speak") == Some("convert") {
            UpstreamProtocol::Convert
        } else {
            UpstreamProtocol::Connect
        };
        if speak == UpstreamProtocol::Convert && fields.given("credential") {
            self.problems
                .add(fields.key_span("credential"), "Convert does not support credentials")
                .expected("no `credential` with `speak = \"convert\"`");
        }
        let clear_passwords = fields.flag("clear_passwords").unwrap_or_default();
        let protocol = protocol(fields, "protocol");
        let tls = fields.fields("tls").and_then(|fields| self.client_tls(fields));
        if speak == UpstreamProtocol::Convert && fields.given("tls") {
            self.problems
                .add(fields.key_span("tls"), "Convert over TLS is not defined")
                .expected("no `tls` with `speak = \"convert\"`");
        }
        Some(Upstream { destination, speak, protocol, credential, clear_passwords, tls })
    }
}

fn protocol(fields: &Fields, key: &str) -> Protocol {
    if fields.text(key) == Some("tcp") { Protocol::Tcp } else { Protocol::Mptcp }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
