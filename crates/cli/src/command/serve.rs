//! `tandem serve`.

use super::certificates::Certificates;
use crate::arguments::{LogFormat, Serve, ServeCommand, ServeOptions, ServerTlsOptions};
use crate::failure::{Failure, reason};
use crate::logging::log_daemon;
use crate::output::{self, Terminal};
use crate::service::ServiceManager;
use crate::unit::Unit;
use crate::{player_page, signals, tls_files};
use abr::Manifest;
use collector::{AddressError, Config, Now, Retention, Store, StoreError};
use experiments::files;
use linux::socket::{Options, Protocol, listen};
use player::content::{Content, Log};
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use tls::ServerTls;
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::info;

/// Database without `--database`.
const DEFAULT_DATABASE: &str = "tandem-out/sessions.db";
/// Database of a unit.
pub(crate) const UNIT_DATABASE: &str = "/var/lib/tandem-serve/sessions.db";
/// Default of `--listen`.
const DEFAULT_ADDRESS: &str = "127.0.0.1:8090";
/// Default of `--max-size`.
const DEFAULT_MAX_BYTES: u64 = 16 << 30;
/// Descriptors for 512 connections: a socket, a file and an observer for the log of each.
const OPEN_FILES: u64 = 4096;
/// Interval at which the stop flag is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Interval at which a report to the watchdog may be due.
const ALIVE_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &Serve, terminal: Terminal) -> Result<(), Failure> {
    if let Some(ServeCommand::Unit(options)) = &arguments.command {
        return unit(options);
    }
    let options = &arguments.options;
    let config = config(options)?;
    log_daemon("info", options.log_format, terminal)?;
    let (config, mut renewal) = match Renewal::of(&options.tls)? {
        Some((renewal, tls)) => (Config { tls: Some(tls), ..config }, Some(renewal)),
        None => (config, None),
    };
    config.check(options.listen).map_err(|error| Failure::Usage {
        message: format!("--listen: {error}"),
        hint: match error {
            AddressError::NoToken(_) => "set a token by TANDEM_TOKEN or --token-file, or listen on 127.0.0.1",
            AddressError::ClearToken(_) => {
                "encrypt by --tls-cert and --tls-key, or accept the risk: --clear-token"
            }
        }
        .to_owned(),
    })?;
    linux::process::raise_open_file_limit(OPEN_FILES);
    let protocol = if options.mptcp { Protocol::Mptcp } else { Protocol::Tcp };
    let listener = listen(options.listen, protocol, &Options::default()).map_err(|error| match error {
        linux::Error::Lacks { what, hint } => Failure::MissingRequirement { message: what, hint },
        error => Failure::Other {
            message: error.to_string(),
            hint: "`--listen ADDRESS` chooses another address".to_owned(),
        },
    })?;
    let address = listener.local_addr().map_err(|error| serve_failure(&error))?;
    // Only the owner of the address deletes: a start that fails leaves the sessions as they are.
    let database = options.database.as_deref().unwrap_or(Path::new(DEFAULT_DATABASE));
    let failure = |error| database_failure(database, &error);
    let store = Store::open(database).map_err(failure)?;
    store.limit_size(options.max_size.get()).map_err(failure)?;
    let deleted = store.retain(config.retention, Now::read()).map_err(failure)?;
    let (stop, reload) = signals::daemon_flags(!io::stdin().is_terminal())?;
    let (ending, ended) = tokio::sync::oneshot::channel::<()>();
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(POLL_INTERVAL);
            let is_asked = reload.swap(false, Ordering::Relaxed);
            if let Some(renewal) = &mut renewal {
                renewal.poll(is_asked);
            }
        }
        drop(ending);
    });
    let web = config.web.is_some();
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    output::write(&format!("{scheme}://{address}/\n"))?;
    let note = |text: &str| match options.log_format {
        LogFormat::Text => terminal.note(text),
        LogFormat::Json => info!("{text}"),
    };
    if web {
        note(&format!("player:   {scheme}://{address}/"));
    }
    note(&format!("sessions: {scheme}://{address}/sessions, stored in {}", database.display()));
    if deleted > 0 {
        note(&format!("deleted:  {deleted} sessions beyond the limits of --keep…"));
    }
    if config.content.is_some() && config.token.is_some() && !config.private_content {
        note("content:  readable without the token; --private-content requires it");
    }
    let manager = ServiceManager::new();
    ServiceManager::ready();
    collector::run(listener, config, store, async {
        // Reports from the collector's own thread, so that the watchdog notices when it hangs. The other
        // thread drops the sender when the program is to end.
        let mut ended = ended;
        while timeout(ALIVE_INTERVAL, &mut ended).await.is_err() {
            manager.alive();
        }
        ServiceManager::stopping();
    })
    .map_err(|error| serve_failure(&error))
}

/// Reads certificates again that have changed.
struct Renewal {
    options: ServerTlsOptions,
    certificates: Certificates,
    current: watch::Sender<ServerTls>,
}

impl Renewal {
    /// Reads the certificates, if the options name some.
    fn of(options: &ServerTlsOptions) -> Result<Option<(Self, watch::Receiver<ServerTls>)>, Failure> {
        let certificates = Certificates::of(tls_files::files_of_server(options));
        let Some(tls) = tls_files::server(options)? else { return Ok(None) };
        let (current, receiver) = watch::channel(tls);
        Ok(Some((Self { options: options.clone(), certificates, current }, receiver)))
    }

    /// Reads the files if `is_asked`, or if they have changed. Invalid ones leave the present ones.
    fn poll(&mut self, is_asked: bool) {
        let have_changed = self.certificates.have_changed();
        if !is_asked && !have_changed {
            return;
        }
        let read = tls_files::server(&self.options);
        if read.is_ok() {
            self.certificates.note_success();
        }
        match read {
            Ok(Some(tls)) => {
                let replace = |current: &mut ServerTls| {
                    *current != tls && {
                        *current = tls;
                        true
                    }
                };
                if self.current.send_if_modified(replace) {
                    info!("the new certificate counts");
                }
            }
            Ok(None) => {}
            Err(why) => {
                let why = format!("the certificate stays as it was:\n{}", why.to_text());
                self.certificates.note_failure(have_changed, why);
            }
        }
    }
}

/// Prints the systemd unit with all options.
fn unit(options: &ServeOptions) -> Result<(), Failure> {
    let (command, secrets) = unit_command(options);
    Unit::Serve.print_with(command, &secrets)
}

/// Command line of a unit, and its options for files that only root can read. The database is in the
/// state directory of the service.
fn unit_command(options: &ServeOptions) -> (Vec<OsString>, Vec<(&'static str, PathBuf)>) {
    let ServeOptions {
        listen,
        database,
        keep,
        keep_sessions,
        keep_size,
        max_size,
        token_file,
        tls: ServerTlsOptions { certificate, key, clients, crl },
        clear_token,
        allow_host,
        allow_origin,
        web,
        content,
        private_content,
        sizes,
        seed,
        mptcp,
        log,
        log_format,
    } = options;
    let default_database = PathBuf::from(UNIT_DATABASE);
    let mut command: Vec<OsString> = vec!["serve".into()];
    let mut option = |name: &str, value: OsString| command.extend([name.into(), value]);
    let path = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    option("--database", path(database.as_ref().unwrap_or(&default_database)));
    // Durations and sizes print in units that the command line reads.
    for (name, value) in [
        ("--listen", Some(listen.to_string()).filter(|address| address != DEFAULT_ADDRESS)),
        ("--keep", keep.map(|time| format!("{}s", time.as_nanos() / 1_000_000_000))),
        ("--keep-sessions", keep_sessions.map(|count| count.to_string())),
        ("--keep-size", keep_size.map(|size| format!("{}B", size.get()))),
        ("--max-size", Some(format!("{}B", max_size.get())).filter(|_| max_size.get() != DEFAULT_MAX_BYTES)),
        ("--seed", Some(seed.to_string()).filter(|_| *seed != 1)),
        ("--log-format", (*log_format == LogFormat::Json).then(|| "json".to_owned())),
    ] {
        if let Some(value) = value {
            option(name, value.into());
        }
    }
    for (name, file) in [
        ("--tls-cert", certificate),
        ("--tls-clients", clients),
        ("--tls-crl", crl),
        ("--web", web),
        ("--content", content),
        ("--sizes", sizes),
        ("--log", log),
    ] {
        if let Some(file) = file {
            option(name, path(file));
        }
    }
    for (name, values) in [("--allow-host", allow_host), ("--allow-origin", allow_origin)] {
        for value in values {
            option(name, value.into());
        }
    }
    let flags = [("--clear-token", clear_token), ("--private-content", private_content), ("--mptcp", mptcp)];
    command.extend(flags.into_iter().filter(|(_, is_set)| **is_set).map(|(name, _)| name.into()));
    let secrets = [("--token-file", token_file), ("--tls-key", key)]
        .into_iter()
        .filter_map(|(name, file)| Some((name, PathBuf::from(path(file.as_ref()?)))));
    (command, secrets.collect())
}

fn config(options: &ServeOptions) -> Result<Config, Failure> {
    let read = |path: &Path| {
        files::read(path).map_err(|reason| Failure::Unreadable {
            message: format!("cannot read {}: {reason}", path.display()),
            hint: String::new(),
        })
    };
    let token = match &options.token_file {
        Some(path) => Some(read(path)?.lines().next().unwrap_or_default().trim().to_owned()),
        None => std::env::var("TANDEM_TOKEN").ok(),
    };
    if options.token_file.is_some() && token.as_ref().is_none_or(String::is_empty) {
        return Err(Failure::Usage {
            message: "--token-file: the first line of the file is empty".to_owned(),
            hint: "for example: head -c 24 /dev/urandom | base64 > token".to_owned(),
        });
    }
    for folder in [&options.web, &options.content].into_iter().flatten() {
        if !folder.is_dir() {
            return Err(Failure::Unreadable {
                message: format!("{} is not a directory", folder.display()),
                hint: "`make web` builds the player's page in web/dist".to_owned(),
            });
        }
    }
    let manifest = match &options.sizes {
        Some(path) => {
            let manifest = Manifest::from_json(&path.display().to_string(), &read(path)?);
            Some(manifest.map_err(|error| Failure::Unreadable {
                message: error.to_string(),
                hint: "`tandem examples film.json` prints an example, `tandem check FILE` explains a problem".to_owned(),
            })?)
        }
        None => None,
    };
    let content = (options.content.is_some() || manifest.is_some()).then(|| Content {
        seed: options.seed,
        manifest,
        directory: options.content.clone(),
    });
    let log = match &options.log {
        Some(path) => {
            let file = fs::OpenOptions::new().append(true).create(true).open(path);
            let file = file.map_err(|error| Failure::write(path, &error))?;
            Some(Log::lines(file))
        }
        None => None,
    };
    Ok(Config {
        token: token.filter(|token| !token.is_empty()),
        hosts: options.allow_host.clone(),
        origins: options.allow_origin.clone(),
        web: options.web.clone().or_else(player_page::find),
        content,
        private_content: options.private_content,
        tls: None,
        clear_token: options.clear_token,
        log,
        retention: Retention {
            max_age: options.keep.map(|age| Duration::from_nanos(age.as_nanos())),
            max_sessions: options.keep_sessions,
            max_bytes: options.keep_size.map(units::Bytes::get),
        },
    })
}

fn database_failure(path: &Path, error: &StoreError) -> Failure {
    Failure::Other {
        message: format!("cannot use the database {}: {error}", path.display()),
        hint: "`--database FILE` chooses another file".to_owned(),
    }
}

fn serve_failure(error: &std::io::Error) -> Failure {
    Failure::Other { message: format!("cannot serve: {}", reason(error)), hint: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: ServeOptions,
    }

    #[test]
    fn unit_hands_the_token_over_as_a_credential() {
        let line = ["x", "--token-file", "/etc/tandem/token", "--tls-cert", "/c", "--tls-key", "/k"];
        let CommandLine { options } = CommandLine::try_parse_from(line).expect("valid options");
        let (command, secrets) = unit_command(&options);
        assert!(command.iter().all(|part| part != "--token-file"), "{command:?}");
        assert_eq!(secrets, [("--token-file", "/etc/tandem/token".into()), ("--tls-key", "/k".into())]);
    }
}
