//! `tandem proxy`.

use super::certificates::Certificates;
use crate::arguments::{Proxy, ProxyCommand, ProxyRules, ProxyStatus};
use crate::failure::{Failure, reason};
use crate::input::shown;
use crate::logging::log_daemon;
use crate::output::{self, Terminal};
use crate::service::{ServiceManager, directory};
use crate::signals::daemon_flags;
use crate::tls_files::{self, read_secret};
use crate::unit::Unit;
use experiments::files;
use linux::socket::Protocol;
use linux::unix_socket::{self, BindError};
use proxy::Config;
use proxy::config::{EXAMPLE, Files, Listen, ListenerProtocol, Upstream, UpstreamProtocol};
use proxy::front::transparent::Rules;
use proxy::status::{Status, explanations, query, tables};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use tracing::info;

/// Time to end after the drain.
const END_MARGIN: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &Proxy, terminal: Terminal) -> Result<(), Failure> {
    match &arguments.command {
        Some(ProxyCommand::Status(arguments)) => status(arguments, terminal),
        Some(ProxyCommand::ExampleConfig) => output::write(EXAMPLE),
        Some(ProxyCommand::Passwd(arguments)) => super::passwd::run(arguments, terminal),
        Some(ProxyCommand::Rules(rules)) => output::write(&script(rules)),
        Some(ProxyCommand::Unit { config }) => {
            Unit::Proxy.print([OsStr::new("proxy"), OsStr::new("--config"), config.as_os_str()])
        }
        None if arguments.check => check(arguments, terminal),
        None => serve(arguments, terminal),
    }
}

/// Checks the configuration on this machine.
fn check(arguments: &Proxy, terminal: Terminal) -> Result<(), Failure> {
    let config = configuration(arguments, &|_| {})?;
    config.check().map_err(|error| failure(&error))?;
    let check = proxy::Check::of(&config);
    output::print_tables(terminal, &[check.table()])?;
    if let Some(host) = check.unresolved() {
        return Err(Failure::Other {
            message: format!("the upstream proxy {host} does not resolve"),
            hint: "`getent ahosts NAME` shows what the system's resolver finds".to_owned(),
        });
    }
    check.into_missing().map_or(Ok(()), |error| Err(failure(&error)))
}

fn serve(arguments: &Proxy, terminal: Terminal) -> Result<(), Failure> {
    let (mut config, mut certificates) = watched_configuration(arguments)?;
    log_daemon(&config.log, arguments.log_format, terminal)?;
    if config.socket.is_none() {
        config.socket = free_socket(terminal);
    }
    let socket = config.socket.clone();
    let (stop, reload) = daemon_flags(!io::stdin().is_terminal())?;
    linux::process::raise_open_file_limit(proxy::descriptors_needed(&config));
    let proxy = proxy::Proxy::start(config, None).map_err(|error| failure(&error))?;
    let manager = ServiceManager::new();
    ServiceManager::ready();
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100));
        let have_changed = certificates.have_changed();
        if reload.swap(false, Ordering::Relaxed) || have_changed {
            ServiceManager::reloading();
            match reload_from(arguments, socket.as_ref(), &proxy) {
                Ok(watched) => certificates = watched,
                Err(why) => {
                    let why = format!("the configuration stays as it was:\n{}", why.to_text());
                    certificates.note_failure(have_changed, why);
                }
            }
            ServiceManager::ready();
        }
        if !proxy.is_running() {
            return Err(Failure::Other {
                message: "the proxy ended by itself".to_owned(),
                hint: "the log has the reason; please report it".to_owned(),
            });
        }
        if manager.is_due() && proxy.is_responsive() {
            manager.alive();
        }
    }
    ServiceManager::stopping_within(proxy.drain_timeout() + END_MARGIN);
    info!("draining: waiting for open connections to end");
    proxy.drain();
    Ok(())
}

/// Reads the configuration again and applies it; returns the watch over its certificates.
fn reload_from(
    arguments: &Proxy,
    socket: Option<&PathBuf>,
    proxy: &proxy::Proxy,
) -> Result<Certificates, Failure> {
    let (config, watched) = watched_configuration(arguments)?;
    linux::process::raise_open_file_limit(2 * config.limits.connections as u64 + 64);
    // The default path is chosen at the start.
    let config = Config { socket: config.socket.clone().or_else(|| socket.cloned()), ..config };
    proxy.reload(config).map_err(|error| failure(&error))?;
    Ok(watched)
}

/// The configuration of the file, or of the options. Notes the files that it is about to read.
fn configuration(arguments: &Proxy, note: &dyn Fn(&Path)) -> Result<Config, Failure> {
    let Some(path) = &arguments.config else {
        for file in tls_files_of(arguments) {
            note(&file);
        }
        return from_command_line(arguments);
    };
    parse(path, &read_file(path)?, note)
}

/// Files of TLS that the options name.
fn tls_files_of(arguments: &Proxy) -> Vec<PathBuf> {
    let mut files = tls_files::files_of_server(&arguments.server_tls);
    files.extend(tls_files::files_of_client(&arguments.upstream_tls.client));
    files
}

/// The configuration, and the watch over its certificates.
fn watched_configuration(arguments: &Proxy) -> Result<(Config, Certificates), Failure> {
    let files = |config: &Config| certificate_files(config, arguments.config.as_deref());
    Certificates::of_configuration(|note| configuration(arguments, note), files)
}

/// Files of TLS, which the configuration names relative to its folder.
fn certificate_files(config: &Config, path: Option<&Path>) -> Vec<PathBuf> {
    let folder = path.and_then(Path::parent).unwrap_or(Path::new(""));
    config.certificate_files.iter().map(|file| folder.join(file)).collect()
}

/// The configuration given by the options.
fn from_command_line(arguments: &Proxy) -> Result<Config, Failure> {
    let mut config = Config::default();
    // With an upstream, the clients are programs of this host.
    let protocol = if arguments.upstream.is_some() { Protocol::Tcp } else { Protocol::Mptcp };
    config.tls = tls_files::server(&arguments.server_tls)?;
    let tls = config.tls.is_some();
    let listen =
        |address| Listen { address, serve: ListenerProtocol::Auto, protocol, tls, send_buffer: None };
    if arguments.listen.is_empty() {
        config.listen.iter_mut().for_each(|one| (one.protocol, one.tls) = (protocol, tls));
    } else {
        config.listen = arguments.listen.iter().map(|address| listen(*address)).collect();
    }
    config.clients.allow.clone_from(&arguments.allow);
    config.destinations.allow.clone_from(&arguments.allow_destination);
    if !arguments.allow_port.is_empty() {
        config.destinations.ports = arguments.allow_port.iter().cloned().collect();
    }
    config.agent.clone_from(&arguments.agent);
    let options = &arguments.upstream_tls;
    config.certificate_files = tls_files_of(arguments);
    let Some(destination) = arguments.upstream.clone() else {
        if tls_files::files_of_client(&options.client).is_empty() {
            return Ok(config);
        }
        return Err(Failure::Usage {
            message: "--ca and --client-cert are for the connections to --upstream".to_owned(),
            hint: "`--tls-clients FILE` names the CA of the clients".to_owned(),
        });
    };
    let tls = tls_files::upstream(options, &destination.host.certificate_name())?;
    let upstream = Upstream::new(destination, UpstreamProtocol::Connect, Protocol::Mptcp);
    config.upstream = Some(Upstream { tls, ..upstream });
    Ok(config)
}

/// Reads a configuration.
pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
    parse(path, &read_file(path)?, &|_| {})
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read_bytes(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the configuration {}: {}", path.display(), reason(&error)),
        hint: "`tandem proxy example-config` prints one to start from".to_owned(),
    })
}

/// Parses the content of the configuration `path` of the proxy. Notes each file that it is about to
/// read.
pub(crate) fn parse(path: &Path, bytes: &[u8], note: &dyn Fn(&Path)) -> Result<Config, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let noted = |file: &str| {
        let path = folder.join(file);
        note(&path);
        path
    };
    let files =
        Files { secret: &|file| read_secret(&noted(file)), public: &|file| files::read(&noted(file)) };
    Config::parse(&shown(path), bytes, files).map_err(Failure::Input)
}

fn default_socket() -> PathBuf {
    directory("RUNTIME_DIRECTORY", "/run/tandem").join("proxy.sock")
}

/// The socket of a proxy that runs in a terminal, or as the service of `tandem proxy unit`.
fn running_socket() -> PathBuf {
    let (default, service) = (default_socket(), PathBuf::from("/run/tandem-proxy/proxy.sock"));
    if !default.exists() && service.exists() { service } else { default }
}

/// The default status socket, if it is free. Without one the proxy works as well.
fn free_socket(terminal: Terminal) -> Option<PathBuf> {
    let path = default_socket();
    let mut why = None;
    if let Err(error) = unix_socket::is_stale(&path) {
        why = Some(match error {
            BindError::InUse(_) => "another proxy uses it".to_owned(),
            BindError::NotASocket(_) => "a file that is no socket has this name".to_owned(),
            BindError::System { source, .. } => reason(&source),
        });
    } else if let Some(folder) = path.parent() {
        let made = fs::create_dir_all(folder).and_then(|()| {
            let probe = tempfile::tempfile_in(folder);
            probe.map(drop)
        });
        why = made.err().map(|error| reason(&error));
    }
    if let Some(why) = why {
        terminal.note(&format!(
            "no status socket, so `tandem proxy status` will not find this proxy: {}: {why}",
            path.display()
        ));
        return None;
    }
    Some(path)
}

fn script(rules: &ProxyRules) -> String {
    let rules = Rules {
        port: rules.port,
        mark: rules.mark,
        interfaces: rules.interface.clone(),
        ports: rules.to.clone(),
    };
    rules.to_script()
}

fn status(arguments: &ProxyStatus, terminal: Terminal) -> Result<(), Failure> {
    let path = match (&arguments.socket, &arguments.config) {
        (Some(socket), _) => socket.clone(),
        (None, Some(config)) => read(config)?.socket.unwrap_or_else(running_socket),
        (None, None) => running_socket(),
    };
    let text = query(&path, "/status").map_err(|error| unanswered(&path, &error))?;
    let status: Status = serde_json::from_str(&text).map_err(|error| Failure::Other {
        message: format!("invalid answer of the proxy at {}: {error}", path.display()),
        hint: "proxy and `tandem proxy status` may be of different versions".to_owned(),
    })?;
    show(&status, arguments, terminal)
}

fn show(status: &Status, arguments: &ProxyStatus, terminal: Terminal) -> Result<(), Failure> {
    let mut tables = tables(status);
    if arguments.explain {
        tables.insert(tables.len() - 1, explanations());
    }
    let json = serde_json::to_value(status).unwrap_or_default();
    output::print(terminal, arguments.format, &tables, &json, || {
        tables.last().map(report::Table::to_csv).unwrap_or_default()
    })
}

fn unanswered(path: &Path, error: &io::Error) -> Failure {
    let message = format!("no proxy answers at {}: {}", path.display(), reason(error));
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "only its user and group have access: try it as root",
        _ => "is it running? `--config FILE` or `--socket PATH` selects its socket",
    };
    Failure::Other { message, hint: hint.to_owned() }
}

/// The failure of the program for an error of the proxy.
pub(crate) fn failure(error: &proxy::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    if error.is_lack() {
        Failure::MissingRequirement { message, hint }
    } else {
        Failure::Other { message, hint }
    }
}
