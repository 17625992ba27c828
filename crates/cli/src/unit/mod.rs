//! Hardened systemd units of the daemons.

use crate::command;
use crate::failure::Failure;
use crate::output;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Settings that all units share.
const HARDENING: &str = include_str!("hardening.conf");

const PROTECTED_TUNABLES: &str = "\
# Rules for connections in the configuration need `no`: print the unit again, or `systemctl edit` it.
ProtectKernelTunables=yes";
const WRITABLE_TUNABLES: &str = "\
# The rules for connections of the configuration set net.mptcp.path_manager.
ProtectKernelTunables=no";

/// Group of the daemons' sockets, for sysusers.d(5).
pub(crate) const SYSUSERS: &str = include_str!("tandem.sysusers");

/// Variables of a packaged gateway. Its options have no default: the address of its upstream is one.
const GATEWAY_ENVIRONMENT: &str = "\
# This file sets the options, at least `TANDEM_GATEWAY_OPTIONS=--upstream HOST:PORT`.
Environment=TANDEM_GATEWAY_OPTIONS=
EnvironmentFile=-/etc/tandem/gateway.env
";

/// Program of the units in a package.
const PACKAGED_PROGRAM: &str = "/usr/bin/tandem";

/// The absolute form of a path: a unit has another working directory.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::Other {
        message: format!("cannot find the folder of {}: {error}", path.display()),
        hint: "give an absolute path".to_owned(),
    })
}

/// True when the configuration of the agent at `path` can be read and has rules for connections.
pub(crate) fn has_connection_rules(path: &Path) -> bool {
    command::agent::read(path).is_ok_and(|config| !config.connections.is_empty())
}

/// A daemon with a unit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    /// Agent, with rules for connections in its configuration or without.
    Agent {
        has_rules: bool,
    },
    Gateway {
        has_rules: bool,
    },
    Proxy,
    Serve,
}

/// How a unit comes to a machine, which its first lines say.
#[derive(Debug, Clone, Copy)]
enum Origin {
    /// Printed by `tandem … unit`.
    Command,
    /// Installed by a package.
    Package,
}

impl Unit {
    /// The command that the unit runs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Agent { .. } => "agent",
            Self::Gateway { .. } => "gateway",
            Self::Proxy => "proxy",
            Self::Serve => "serve",
        }
    }

    const fn template(self) -> &'static str {
        match self {
            Self::Agent { .. } => include_str!("agent.service"),
            Self::Gateway { .. } => include_str!("gateway.service"),
            Self::Proxy => include_str!("proxy.service"),
            Self::Serve => include_str!("serve.service"),
        }
    }

    /// Setting that protects sysctls; rules for connections change one.
    const fn tunables(self) -> &'static str {
        match self {
            Self::Agent { has_rules: true } | Self::Gateway { has_rules: true } => WRITABLE_TUNABLES,
            _ => PROTECTED_TUNABLES,
        }
    }

    /// Prints the unit that runs this program with `arguments`.
    pub(crate) fn print<A: AsRef<OsStr>>(
        self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<(), Failure> {
        self.print_with(arguments, &[])
    }

    /// [`Self::print`] with options for files that only root can read: systemd hands them to the
    /// service as credentials (systemd.exec(5), "LoadCredential").
    pub(crate) fn print_with<A: AsRef<OsStr>>(
        self,
        arguments: impl IntoIterator<Item = A>,
        secrets: &[(&str, PathBuf)],
    ) -> Result<(), Failure> {
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/local/bin/tandem"));
        output::write(&self.text(Origin::Command, &program, arguments, secrets))
    }

    /// The unit of a package, for the program /usr/bin/tandem.
    pub(crate) fn packaged(self, arguments: &[&str]) -> String {
        self.text(Origin::Package, Path::new(PACKAGED_PROGRAM), arguments, &[])
    }

    /// The first lines of the unit.
    fn origin(self, origin: Origin) -> String {
        let name = self.name();
        let options = if matches!(self, Self::Gateway { .. }) { " --upstream HOST:PORT" } else { "" };
        match origin {
            Origin::Command => format!(
                "# tandem {name} unit{options} > /etc/systemd/system/tandem-{name}.service\n\
                 # systemctl daemon-reload && systemctl enable --now tandem-{name}"
            ),
            Origin::Package => format!(
                "# A part of the package: an upgrade replaces it. `systemctl edit tandem-{name}` changes settings.\n\
                 # systemctl enable --now tandem-{name}"
            ),
        }
    }

    fn text<A: AsRef<OsStr>>(
        self,
        origin: Origin,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        secrets: &[(&str, PathBuf)],
    ) -> String {
        let program = quote(&program.to_string_lossy());
        let mut command = program.clone();
        for argument in arguments {
            command.push(' ');
            command.push_str(&quote(&argument.as_ref().to_string_lossy()));
        }
        let mut credentials = String::new();
        for (option, file) in secrets {
            let name = option.trim_start_matches('-');
            _ = write!(command, " {option} %d/{name}");
            _ = writeln!(credentials, "LoadCredential={name}:{}", file.to_string_lossy().replace('%', "%%"));
        }
        if !secrets.is_empty() {
            credentials
                .insert_str(0, "# Only root can read these files. A renewed one counts after a restart.\n");
        }
        let (options, environment) = match origin {
            Origin::Package => (" $TANDEM_GATEWAY_OPTIONS", GATEWAY_ENVIRONMENT),
            Origin::Command => ("", ""),
        };
        self.template()
            .replace("@origin@", &self.origin(origin))
            .replace("@options@", options)
            .replace("@environment@\n", environment)
            .replace("@credentials@\n", &credentials)
            .replace("@tunables@", self.tunables())
            .replace("@hardening@", HARDENING.trim_end())
            .replace("@command@", &command)
            .replace("@program@", &program)
    }
}

/// Quotes an argument of a command line of systemd (systemd.service(5), "Command lines").
fn quote(argument: &str) -> String {
    let escaped = argument.replace('%', "%%").replace('$', "$$");
    if !escaped.is_empty() && !escaped.contains([' ', '"', '\'', '\\', ';', '\t', '\n']) {
        return escaped;
    }
    let escaped = escaped.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_systemd() {
        let text = |unit: Unit, program: &str, arguments: &[&str]| {
            unit.text(Origin::Command, Path::new(program), arguments, &[])
        };
        let cases = [("a", "a"), ("a b", "\"a b\""), ("50%", "50%%"), ("$HOME", "$$HOME"), ("", "\"\"")];
        for (text, quoted) in cases {
            assert_eq!(quote(text), quoted);
        }
        let serve = text(Unit::Serve, "/opt/my tandem", &["serve", "--listen", "127.0.0.1:8090"]);
        assert!(
            serve.contains("ExecStart=\"/opt/my tandem\" serve --listen 127.0.0.1:8090 $TANDEM_"),
            "{serve}"
        );
        let has_rules = true;
        for unit in [Unit::Agent { has_rules }, Unit::Gateway { has_rules }, Unit::Proxy, Unit::Serve] {
            let text = text(unit, "/bin/tandem", &["x"]);
            let has_mark = |line: &str| line.contains('@') && !line.starts_with("SystemCallFilter=");
            assert!(!text.lines().any(has_mark), "{text}");
            assert!(text.starts_with(&format!("# tandem {} unit", unit.name())), "{text}");
        }
    }
}
