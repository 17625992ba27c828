//! `tandem serve`.

use crate::arguments::{Serve, ServeCommand};
use crate::failure::{Failure, reason};
use crate::output::{self, Terminal};
use crate::unit::Unit;
use crate::{player_page, signals};
use abr::Manifest;
use collector::{Config, Retention, Store, StoreError};
use linux::socket::{Options, Protocol, listen};
use player::content::{Content, Log};
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Interval at which the stop flag is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: &Serve, terminal: Terminal) -> Result<(), Failure> {
    if let Some(ServeCommand::Unit { listen, content }) = &arguments.command {
        return unit(*listen, content.as_deref());
    }
    let config = config(arguments)?;
    config.check(arguments.listen).map_err(|message| Failure::Usage {
        message: format!("--listen: {message}"),
        hint: "set a token by TANDEM_TOKEN or --token-file, or listen on 127.0.0.1".to_owned(),
    })?;
    let store =
        Store::open(&arguments.database).map_err(|error| database_failure(&arguments.database, &error))?;
    let deleted =
        store.retain(config.retention).map_err(|error| database_failure(&arguments.database, &error))?;
    let protocol = if arguments.mptcp { Protocol::Mptcp } else { Protocol::Tcp };
    let listener = listen(arguments.listen, protocol, &Options::default()).map_err(|error| match error {
        linux::Error::Lacks { what, hint } => Failure::MissingRequirement { message: what, hint },
        error => Failure::Other {
            message: error.to_string(),
            hint: "`--listen ADDRESS` chooses another address".to_owned(),
        },
    })?;
    let address = listener.local_addr().map_err(|error| serve_failure(&error))?;
    let stop = signals::daemon_stop_flag()?;
    let (ending, ended) = tokio::sync::oneshot::channel::<()>();
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(POLL_INTERVAL);
        }
        drop(ending);
    });
    let web = config.web.is_some();
    output::write(&format!("http://{address}/\n"))?;
    if web {
        terminal.note(&format!("player:   http://{address}/"));
    }
    terminal
        .note(&format!("sessions: http://{address}/sessions, stored in {}", arguments.database.display()));
    if deleted > 0 {
        terminal.note(&format!("deleted:  {deleted} sessions beyond --keep or --keep-sessions"));
    }
    collector::run(listener, config, store, async {
        // The thread drops the sender when the program is to end.
        let _ = ended.await;
    })
    .map_err(|error| serve_failure(&error))
}

/// Prints the systemd unit, whose database is in the state directory of the service.
fn unit(listen: SocketAddr, content: Option<&Path>) -> Result<(), Failure> {
    let database = "/var/lib/tandem-serve/sessions.db";
    let mut command: Vec<OsString> =
        ["serve", "--listen", &listen.to_string(), "--database", database].map(Into::into).into();
    if let Some(content) = content {
        command.extend(["--content".into(), content.into()]);
    }
    Unit::Serve.print(command)
}

fn config(arguments: &Serve) -> Result<Config, Failure> {
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| Failure::Unreadable {
            message: format!("cannot read {}: {}", path.display(), reason(&error)),
            hint: String::new(),
        })
    };
    let token = match &arguments.token_file {
        Some(path) => Some(read(path)?.lines().next().unwrap_or_default().trim().to_owned()),
        None => std::env::var("TANDEM_TOKEN").ok(),
    };
    if arguments.token_file.is_some() && token.as_ref().is_none_or(String::is_empty) {
        return Err(Failure::Usage {
            message: "--token-file: the first line of the file is empty".to_owned(),
            hint: "for example: head -c 24 /dev/urandom | base64 > token".to_owned(),
        });
    }
    for folder in [&arguments.web, &arguments.content].into_iter().flatten() {
        if !folder.is_dir() {
            return Err(Failure::Unreadable {
                message: format!("{} is not a directory", folder.display()),
                hint: "`make web` builds the player's page in web/dist".to_owned(),
            });
        }
    }
    let manifest = match &arguments.sizes {
        Some(path) => {
            let manifest = Manifest::from_json(&path.display().to_string(), &read(path)?);
            Some(manifest.map_err(|error| Failure::Unreadable {
                message: error.to_string(),
                hint: "`tandem examples film.json` prints an example, `tandem check FILE` explains a problem".to_owned(),
            })?)
        }
        None => None,
    };
    let content = (arguments.content.is_some() || manifest.is_some()).then(|| Content {
        seed: arguments.seed,
        manifest,
        directory: arguments.content.clone(),
    });
    let log = match &arguments.log {
        Some(path) => {
            let file = fs::File::create(path).map_err(|error| Failure::write(path, &error))?;
            Some(Log::lines(file))
        }
        None => None,
    };
    Ok(Config {
        token: token.filter(|token| !token.is_empty()),
        hosts: arguments.allow_host.clone(),
        origins: arguments.allow_origin.clone(),
        web: arguments.web.clone().or_else(player_page::find),
        content,
        log,
        retention: Retention {
            max_age: arguments.keep.map(|age| Duration::from_nanos(age.as_nanos())),
            max_sessions: arguments.keep_sessions,
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
