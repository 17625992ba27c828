//! From the text of the proxy's file to what it means.

use super::{Config, Listen, Serve, Speak, Upstream, format};
use crate::Error;
use crate::credentials::{Credential, Users};
use crate::network::Network;
use linux::socket::Protocol;
use quantities::Quantities as _;
use schema::node::{Fields, Node};
use schema::{Diagnostic, Problems};
use std::path::PathBuf;
use std::time::Duration;

/// A commented file with every key, as `tandem proxy example-config` prints it.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Gives the text of a file with secrets, or says in a few words why not.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Config {
    /// Reads a file that is called `name` in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the file; that it would be open to everybody, too.
    pub fn parse(name: &str, bytes: &[u8], files: Files<'_>) -> Result<Self, Vec<Diagnostic>> {
        let text = schema::utf8(name, bytes)?;
        schema::read(name, text, &format::PROXY, |root, problems| Reader { problems, files }.config(root))
    }
}

struct Reader<'a, 'p> {
    problems: &'a mut Problems<'p>,
    files: Files<'a>,
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
        if let Some(fields) = root.fields("clients") {
            config.clients.allow = self.networks(fields, "allow");
            config.clients.users = self.users(fields).unwrap_or_default();
        }
        if let Some(fields) = root.fields("destinations") {
            config.destinations.allow = self.networks(fields, "allow");
            config.destinations.deny = self.networks(fields, "deny");
            let ports = fields.list("ports").iter().filter_map(Node::integer);
            config.destinations.ports = ports.filter_map(|port| u16::try_from(port).ok()).collect();
        }
        config.servers = protocol(root, "servers");
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
            timeouts.total = time("total");
            timeouts.drain = time("drain").unwrap_or(timeouts.drain);
        }
        config.workers = root.integer("workers").and_then(|number| usize::try_from(number).ok());
        config.agent = root.text("agent").map(PathBuf::from);
        config.access_log = root.text("access_log").map(PathBuf::from);
        config.socket = root.fields("status").and_then(|fields| fields.text("socket")).map(PathBuf::from);
        root.text("log").unwrap_or("info").clone_into(&mut config.log);
        if self.problems.found.is_empty() {
            self.open(root, &config);
        }
        config
    }

    /// Says where it would be open to everybody.
    fn open(&mut self, root: &Fields, config: &Config) {
        for (listen, node) in config.listen.iter().zip(root.list("listen")) {
            let alone = Config { listen: vec![*listen], ..config.clone() };
            if let (Err(error @ Error::Open { .. }), Some(fields)) = (alone.check(), node.fields()) {
                self.problems
                    .add(fields.span("address"), error.to_string())
                    .expected("an address of this host alone, or clients that are served and all others not")
                    .hint(error.hint());
            }
        }
    }

    fn listen(&mut self, fields: &Fields) -> Option<Listen> {
        let text = fields.text("address")?;
        let Ok(address) = text.parse() else {
            self.problems
                .add(
                    fields.span("address"),
                    format!("`{}` is no address with a port", schema::read::clip(text)),
                )
                .expected("such as `127.0.0.1:1080` or `[::1]:1080`")
                .hint("names are not looked up: `getent ahosts NAME` does");
            return None;
        };
        let serve = match fields.text("serve")? {
            "http" => Serve::Http,
            "socks5" => Serve::Socks5,
            "convert" => Serve::Convert,
            "transparent" => Serve::Transparent,
            _ => Serve::Auto,
        };
        let send_buffer = fields.integer("send_buffer").and_then(|bytes| u32::try_from(bytes).ok());
        Some(Listen { address, serve, protocol: protocol(fields, "protocol"), send_buffer })
    }

    fn networks(&mut self, fields: &Fields, key: &str) -> Vec<Network> {
        let mut networks = Vec::new();
        for node in fields.list(key) {
            let Some(text) = node.text() else { continue };
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(()) => {
                    self.problems
                        .add(node.span.clone(), format!("`{}` is no network", schema::read::clip(text)))
                        .expected("an address, or where it ends in zeros, with the length of what comes before them")
                        .hint("such as `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/32`");
                }
            }
        }
        networks
    }

    /// The text of a file that a key names.
    fn secrets(&mut self, fields: &Fields, key: &str) -> Option<String> {
        let path = fields.text(key)?;
        (self.files)(path)
            .map_err(|why| {
                self.problems
                    .add(fields.span(key), format!("cannot read `{}`: {why}", schema::read::clip(path)))
                    .expected("a file with lines of `name:secret`, which only its owner can read")
                    .hint(format!("`chmod 600 {}` takes it from all others", schema::read::clip(path)));
            })
            .ok()
    }

    fn users(&mut self, fields: &Fields) -> Option<Users> {
        let text = self.secrets(fields, "users")?;
        let problem = match Users::parse(&text) {
            Ok(users) if !users.is_empty() => return Some(users),
            Ok(_) => "there is nobody in it".to_owned(),
            // Not the line itself: there may be a secret in it.
            Err((line, why)) => format!("its line {line}: {why}"),
        };
        self.problems.add(fields.span("users"), problem).expected("lines of `name:secret`, each name once");
        None
    }

    fn upstream(&mut self, fields: &Fields) -> Option<Upstream> {
        let text = fields.text("address")?;
        let Ok(destination) = text.parse() else {
            self.problems
                .add(fields.span("address"), format!("`{}` is no host and port", schema::read::clip(text)))
                .expected("such as `proxy.example:1080` or `[2001:db8::1]:1080`");
            return None;
        };
        let credential = self.secrets(fields, "credential").and_then(|text| {
            let read = Credential::parse(text.trim_end_matches(['\r', '\n']));
            if read.is_none() {
                self.problems
                    .add(fields.span("credential"), "there is no `name:secret` in it")
                    .expected("one line of `name:secret`");
            }
            read
        });
        let speak = if fields.text("speak") == Some("convert") { Speak::Convert } else { Speak::Connect };
        if speak == Speak::Convert && fields.given("credential") {
            self.problems
                .add(fields.key_span("credential"), "Convert has no place for a name and a secret")
                .expected("no `credential` beside `speak = \"convert\"`");
        }
        Some(Upstream { destination, speak, protocol: protocol(fields, "protocol"), credential })
    }
}

fn protocol(fields: &Fields, key: &str) -> Protocol {
    if fields.text(key) == Some("tcp") { Protocol::Tcp } else { Protocol::Mptcp }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
