//! Configuration file of the agent: interfaces, policy, allowances.

mod connection;
mod format;
mod players;

pub use connection::Remote;

use crate::allowance::{Allowance, CapAction, Period, Zone};
use crate::status::PlayerPort;
use core::ops::Range;
use policy::{InterfaceKind, PolicyConfig};
use quantities::Quantities as _;
use radio::{Profile, ProfileValue};
use schema::node::{Fields, Node};
use schema::{Diagnostic, Problems};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use units::Duration;

/// Commented example with every key, printed by `tandem agent example-config`.
pub const EXAMPLE: &str = include_str!("example.toml");

/// Minimum sampling interval. Shorter ones show the batches in which the kernel updates counters.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum sampling interval. Traffic between two samples can exceed an allowance unnoticed.
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// Configuration of the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Policy of the device. A policy that needs control of the sender is replaced by the closest
    /// one that a device can apply.
    pub policy: PolicyConfig,
    /// Managed interfaces; the first rule that matches a name applies.
    pub interfaces: Vec<InterfaceRule>,
    /// Rules for connections; the first that matches applies.
    pub connections: Vec<ConnectionRule>,
    /// Interval between samples of the interface counters while there is traffic.
    pub busy: Duration,
    /// Longest interval between samples without traffic; the interval doubles up to it.
    pub rest: Duration,
    /// Path of the UNIX socket; `None` for the default.
    pub socket: Option<PathBuf>,
    /// TCP address of the metrics server.
    pub metrics: Option<SocketAddr>,
    /// Port at which players report; closed by default.
    pub players: Option<PlayerPort>,
    /// State directory; `None` for the default.
    pub state: Option<PathBuf>,
    /// Time zone of the allowance periods.
    pub zone: Zone,
    /// Log filter.
    pub log: String,
    /// Notes on values that were adjusted.
    pub remarks: Vec<String>,
}

/// Rule for the interfaces with a matching name.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceRule {
    /// Interface name, or glob pattern with `*` and `?`.
    pub pattern: String,
    /// Technology, by which policies tell costly interfaces from cheap ones.
    pub kind: InterfaceKind,
    /// Power profile; `None` without an estimate of the energy.
    pub profile: Option<Arc<Profile>>,
    /// Allowance shared by the matching interfaces.
    pub allowance: Option<Allowance>,
}

/// Rule for connections that deviate from the device's policy.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionRule {
    /// Remote end of the connections.
    pub remote: Remote,
    /// Policy of the connections; `None` for the policy of the device.
    pub policy: Option<PolicyConfig>,
    /// Name or glob pattern of the interfaces that these connections never use.
    pub never: Option<String>,
}

impl ConnectionRule {
    /// True when the connections never use this interface.
    pub fn excludes(&self, interface: &str) -> bool {
        self.never.as_ref().is_some_and(|pattern| glob(pattern.as_bytes(), interface.as_bytes()))
    }
}

impl InterfaceRule {
    /// True when the rule matches this interface name.
    pub fn matches(&self, name: &str) -> bool {
        glob(self.pattern.as_bytes(), name.as_bytes())
    }

    /// The only matching name, when the pattern has no `*` or `?`.
    pub fn exact(&self) -> Option<&str> {
        (!self.pattern.contains(['*', '?'])).then_some(&*self.pattern)
    }
}

/// True if `pattern` matches all of `name`: `*` is any text, `?` one byte. Takes time proportional
/// to the product of the lengths.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    // `fits[n]`: the first n bytes of the pattern match the name read so far.
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    // A `*` also matches empty text.
    let match_empty_stars = |fits: &mut Vec<bool>| {
        for (at, letter) in pattern.iter().enumerate() {
            fits[at + 1] |= *letter == b'*' && fits[at];
        }
    };
    match_empty_stars(&mut fits);
    for read in name {
        let mut next = vec![false; pattern.len() + 1];
        for (at, letter) in pattern.iter().enumerate() {
            next[at + 1] |= fits[at] && (*letter == b'?' || letter == read) && *letter != b'*';
            next[at + 1] |= fits[at + 1] && *letter == b'*';
        }
        match_empty_stars(&mut next);
        fits = next;
    }
    fits[pattern.len()]
}

impl Config {
    /// Parses a file. `name` is its name in messages. `files` returns the text of a referenced
    /// radio profile, or the reason why it cannot be read.
    ///
    /// # Errors
    /// Returns all problems, in the order of the file.
    pub fn parse(
        name: &str,
        bytes: &[u8],
        files: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let text = schema::utf8(name, bytes)?;
        schema::read(name, text, &format::AGENT, |root, problems| {
            let mut reader = Reader { problems, files };
            reader.config(root)
        })
    }

    /// Distinct kinds of the configured interfaces.
    pub fn kinds(&self) -> Vec<InterfaceKind> {
        let mut kinds: Vec<_> = self.interfaces.iter().map(|rule| rule.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

struct Reader<'a, 'p> {
    problems: &'a mut Problems<'p>,
    files: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Reader<'_, '_> {
    fn config(&mut self, root: &Fields) -> Config {
        let mut interfaces = Vec::new();
        for node in root.list("interface") {
            let Some(fields) = node.fields() else { continue };
            let pattern = fields.text("match").unwrap_or_default().to_owned();
            // The kernel's limit is 15 characters; wildcards may add some.
            let is_invalid = pattern.is_empty() || pattern.len() > 64 || pattern.contains(['/', ' ']);
            // A missing name is reported already.
            if is_invalid && fields.given("match") {
                self.problems
                    .add(fields.span("match"), "invalid interface name")
                    .expected("a name of at most 15 characters, such as `wlan0`, `wlan*` or `wwan?`")
                    .hint("`ip link` lists them");
            }
            let duplicate = interfaces.iter().any(|rule: &InterfaceRule| rule.pattern == pattern);
            if duplicate {
                self.problems
                    .add(fields.span("match"), format!("duplicate interface pattern `{pattern}`"))
                    .expected("each pattern once")
                    .hint("the first matching entry applies: remove one of the two");
            }
            let profile = fields.get("radio").and_then(|node| self.radio(node, &pattern));
            let kind = self.kind(fields, profile.as_deref());
            let allowance = fields.fields("allowance").and_then(|fields| self.allowance(fields));
            interfaces.push(InterfaceRule { pattern, kind, profile, allowance });
        }
        let mut remarks = Vec::new();
        let policy = self.policy(root, &interfaces, &mut remarks).unwrap_or_default();
        let connections = self.connections(root, &interfaces, &mut remarks);
        let (busy, rest) = self.detector(root);
        let status = root.fields("status");
        let path = |fields: Option<&Fields>, key| fields.and_then(|f| f.text(key)).map(PathBuf::from);
        Config {
            policy,
            interfaces,
            connections,
            busy,
            rest,
            socket: path(status, "socket"),
            metrics: status.and_then(|fields| self.metrics(fields)),
            players: root.fields("players").and_then(|fields| self.players(fields)),
            state: path(Some(root), "state"),
            zone: self.zone(root),
            log: root.custom("log").unwrap_or_else(|| "info".to_owned()),
            remarks,
        }
    }

    fn connections(
        &mut self,
        root: &Fields,
        rules: &[InterfaceRule],
        remarks: &mut Vec<String>,
    ) -> Vec<ConnectionRule> {
        let mut connections = Vec::new();
        for fields in root.list("connection").iter().filter_map(Node::fields) {
            let text = fields.text("remote").unwrap_or_default();
            let Ok(remote) = text.parse::<Remote>() else {
                self.problems
                    .add(
                        fields.span("remote"),
                        format!("invalid remote end `{}`", schema::read::clip(text)),
                    )
                    .expected("an address, network or port such as `203.0.113.0/24:443`, `203.0.113.7`, `[2001:db8::/32]:443` or `:443`")
                    .hint("host names are not resolved; look them up with `getent ahosts NAME`");
                continue;
            };
            let policy = self.policy(fields, rules, remarks);
            let never = fields.text("never").map(str::to_owned);
            if policy.is_none() && never.is_none() {
                self.problems
                    .add(fields.span("remote"), "this rule has no effect")
                    .expected("a `policy`, or excluded interfaces in `never`");
            }
            connections.push(ConnectionRule { remote, policy, never });
        }
        connections
    }

    fn policy(
        &mut self,
        root: &Fields,
        rules: &[InterfaceRule],
        remarks: &mut Vec<String>,
    ) -> Option<PolicyConfig> {
        let text = root.text("policy")?;
        let kinds: Vec<_> = rules.iter().map(|rule| rule.kind).collect();
        let read = text.parse::<PolicyConfig>().map(|policy| self.with_file(policy, &root.span("policy")));
        match read.and_then(|policy| policy.check(&kinds).map(|()| policy)) {
            Ok(policy) => Some(policy.for_device().map_or(policy, |carried_out| {
                remarks.push(format!(
                    "policy {text}: a device cannot set its sender's shares; {carried_out} holds the share by MP_PRIO"
                ));
                carried_out
            })),
            Err(error) => {
                self.problems
                    .add(root.span("policy"), error.to_string())
                    .expected("a policy that these interfaces can follow")
                    .hint(error.hint());
                Some(PolicyConfig::default())
            }
        }
    }

    /// The policy with the file that it names.
    fn with_file(&mut self, policy: PolicyConfig, span: &Range<usize>) -> PolicyConfig {
        let Some(path) = policy.file() else { return policy };
        let Some(text) = self.named_file(path, span, "map", "`tandem map` writes one") else {
            return PolicyConfig::default();
        };
        let read = policy.with_file(path, &text);
        read.map_err(|found| self.problems.add_referenced(span, found)).unwrap_or_default()
    }

    /// Content of the file that holds a `thing`; an unreadable file is reported at `span`.
    fn named_file(&mut self, path: &str, span: &Range<usize>, thing: &str, hint: &str) -> Option<String> {
        (self.files)(path)
            .map_err(|why| {
                self.problems
                    .add(span.clone(), format!("cannot read `{path}`: {why}"))
                    .expected(format!("the path of a {thing}, relative to the folder of this file"))
                    .hint(hint);
            })
            .ok()
    }

    /// Reads the sampling intervals `busy` and `rest`.
    fn detector(&mut self, root: &Fields) -> (Duration, Duration) {
        let fields = root.fields("detector");
        let time = |key, default| fields.and_then(|f| f.time(key)).unwrap_or(default);
        let busy = time("busy", Duration::from_millis(50));
        let rest = time("rest", Duration::from_millis(500));
        if let Some(fields) = fields {
            for (key, value) in [("busy", busy), ("rest", rest)] {
                if value < MIN_INTERVAL || value > MAX_INTERVAL {
                    self.problems
                        .add(fields.span(key), format!("`{key}` is out of range: {value}"))
                        .expected(format!("a time from {MIN_INTERVAL} to {MAX_INTERVAL}"));
                }
            }
            if rest < busy {
                self.problems
                    .add(fields.span("rest"), format!("`rest` ({rest}) is shorter than `busy` ({busy})"))
                    .expected(format!("a time of at least {busy}"))
                    .hint("`rest` is the interval without traffic, `busy` the one with traffic");
            }
        }
        (busy, rest)
    }

    fn metrics(&mut self, fields: &Fields) -> Option<SocketAddr> {
        let hint = "metrics have no access control; expose them through a reverse proxy";
        self.loopback(fields, "metrics", 9464, hint)
    }

    /// Reads a loopback address with a port, such as `127.0.0.1:9464`.
    fn loopback(&mut self, fields: &Fields, key: &str, port: u16, hint: &'static str) -> Option<SocketAddr> {
        let text = fields.text(key)?;
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Some(address),
            Ok(address) => {
                self.problems
                    .add(fields.span(key), format!("{} is not a loopback address", address.ip()))
                    .expected(format!(
                        "an address of this host alone, such as `127.0.0.1:{port}` or `[::1]:{port}`"
                    ))
                    .hint(hint);
                None
            }
            Err(_) => {
                self.problems
                    .add(fields.span(key), "invalid address with port")
                    .expected(format!("an address and a port, such as `127.0.0.1:{port}`"));
                None
            }
        }
    }

    fn zone(&mut self, root: &Fields) -> Zone {
        let text = root.text("zone").unwrap_or("+00:00");
        text.parse().unwrap_or_else(|()| {
            self.problems
                .add(root.span("zone"), format!("unknown time zone `{}`", schema::read::clip(text)))
                .expected("hours and minutes such as `+01:00`, or a zone of the tz database such as `Europe/Berlin`")
                .hint("`timedatectl` shows the zone of this host; zones need the package tzdata");
            Zone::default()
        })
    }

    fn allowance(&mut self, fields: &Fields) -> Option<Allowance> {
        let data = fields.size("data")?;
        let from = fields.integer("from").and_then(|day| u8::try_from(day).ok()).unwrap_or(1);
        let period = match fields.text("per")? {
            "day" if fields.given("from") => {
                self.problems
                    .add(fields.key_span("from"), "a day always starts at midnight")
                    .expected("no `from` beside `per = \"day\"`")
                    .hint("remove `from`");
                Period::Day
            }
            "day" => Period::Day,
            "week" if from > 7 => {
                self.problems
                    .add(fields.span("from"), format!("invalid day of the week {from}"))
                    .expected("a whole number from 1, Monday, to 7, Sunday");
                return None;
            }
            "week" => Period::Week { from },
            _ => Period::Month { from },
        };
        let at_cap = fields.text("at_cap").and_then(|name| name.parse().ok()).unwrap_or(CapAction::Close);
        Some(Allowance { data, period, at_cap })
    }

    /// The kind of an interface, as given or as that of its power profile.
    fn kind(&mut self, fields: &Fields, profile: Option<&Profile>) -> InterfaceKind {
        if !fields.given("kind") && !fields.given("radio") {
            self.problems
                .add(fields.span.clone(), "an interface needs a kind")
                .expected("`kind`, or `radio` with a power profile")
                .hint("for example `kind = \"wifi\"`; `radio` is needed only to estimate energy");
        }
        let given = fields.text("kind").and_then(|name| name.parse().ok());
        given.or(profile.map(|profile| profile.kind)).unwrap_or(InterfaceKind::Other)
    }

    fn radio(&mut self, node: &Node, pattern: &str) -> Option<Arc<Profile>> {
        match ProfileValue::of(node)? {
            ProfileValue::BuiltIn(profile) => Some(profile),
            ProfileValue::Inline(fields) => {
                Some(Arc::new(Profile::from_fields(fields, pattern, self.problems)))
            }
            ProfileValue::File(path, span) => self.profile_file(path, &span),
        }
    }

    fn profile_file(&mut self, path: &str, span: &Range<usize>) -> Option<Arc<Profile>> {
        let text = self.named_file(
            path,
            span,
            "profile",
            "`tandem profiles NAME > mine.toml` writes one to start from",
        )?;
        Profile::from_toml(path, &text)
            .map_err(|found| self.problems.add_referenced(span, found))
            .map(Arc::new)
            .ok()
    }
}

#[cfg(test)]
mod tests;
