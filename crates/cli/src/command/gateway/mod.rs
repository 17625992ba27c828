//! `tandem gateway`: agent, proxy and redirection as one program.

mod plan;
mod redirection;
mod renewal;
mod status;

use crate::arguments::{Gateway, GatewayCommand, GatewayUp};
use crate::command;
use crate::failure::Failure;
use crate::logging::log_daemon;
use crate::output::Terminal;
use crate::service::{ServiceManager, directory};
use crate::signals;
use crate::tls_files;
use crate::unit::{self, Unit};
use agent::daemon::{Lifecycle, Options, Signals};
use linux::nft;
use linux::pid_file::PidFile;
use linux::unix_socket::{self, BindError};
use plan::Plan;
use redirection::{Redirection, TABLE};
use renewal::Renewal;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Interval at which signals and parts are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time for the agent to start.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a running gateway to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn run(arguments: &Gateway, terminal: Terminal) -> Result<(), Failure> {
    match &arguments.command {
        GatewayCommand::Up(arguments) => up(arguments, terminal),
        GatewayCommand::Down { only_undo } => down(*only_undo, terminal),
        GatewayCommand::Status(arguments) => status::run(arguments, terminal),
        GatewayCommand::Unit(arguments) => {
            let has_rules = arguments.config.as_deref().is_some_and(unit::has_connection_rules);
            let key = arguments.upstream_tls.client.client_key.as_deref();
            let secrets = key.map(|key| Ok(("--client-key", unit::absolute(key)?))).transpose()?;
            Unit::Gateway { has_rules }.print_with(plan::command_line(arguments)?, secrets.as_slice())
        }
    }
}

/// Directory of sockets and of the locked file. It is not the agent's: systemd removes a runtime
/// directory when its unit ends.
fn runtime() -> PathBuf {
    directory("RUNTIME_DIRECTORY", "/run/tandem-gateway")
}

fn state() -> PathBuf {
    directory("STATE_DIRECTORY", "/var/lib/tandem")
}

fn pid_path() -> PathBuf {
    runtime().join("gateway.pid")
}

fn up(arguments: &GatewayUp, terminal: Terminal) -> Result<(), Failure> {
    let agent_config = plan::agent_config(arguments)?;
    log_daemon(&arguments.log, arguments.log_format, terminal)?;
    for key in plan::ignored_keys(&agent_config) {
        warn!("`{key}` of the configuration does not apply to a gateway: see `tandem gateway up --help`");
    }
    agent::check::requirements().map_err(|error| command::agent::failure(&error))?;
    nft::list(TABLE).map_err(|error| system(&error))?;
    fs::create_dir_all(runtime()).map_err(|error| Failure::write(&runtime(), &error))?;
    let held = PidFile::take(&pid_path()).map_err(|error| system(&error))?;
    let Some(_held) = held else {
        return Err(Failure::Other {
            message: "another gateway is running".to_owned(),
            hint: "`tandem gateway status` shows it, `tandem gateway down` stops it".to_owned(),
        });
    };
    let (stop, reload) = signals::daemon_flags(!io::stdin().is_terminal())?;
    let manager = ServiceManager::new();
    let certificates = Renewal::files(arguments);
    let Some(plan) = plan(arguments, agent_config, &stop)? else {
        info!("stopped during the start; nothing was redirected");
        return Ok(());
    };
    let mut renewal = Renewal::new(arguments, certificates, plan.proxy.clone());
    let Some(mut parts) = Parts::start(plan, &stop)? else {
        info!("stopped during the start; nothing was redirected");
        return Ok(());
    };
    ServiceManager::ready();
    while !stop.load(Ordering::Relaxed) {
        thread::sleep(POLL_INTERVAL);
        if let Some(redirection) = &mut parts.redirection {
            redirection.keep();
        }
        if let Some(proxy) = &parts.proxy {
            renewal.poll(reload.swap(false, Ordering::Relaxed), proxy);
        }
        if let Some(failure) = parts.failure() {
            if let Err(second) = parts.stop() {
                warn!("after this failure, the end failed too:\n{}", second.to_text());
            }
            return Err(failure);
        }
        if manager.is_due() && parts.are_responsive() {
            manager.alive();
        }
    }
    ServiceManager::stopping();
    parts.stop()
}

/// The settings of all parts, once the upstream was reached; `None` if `stop` is set meanwhile.
fn plan(
    arguments: &GatewayUp,
    agent_config: agent::config::Config,
    stop: &AtomicBool,
) -> Result<Option<Plan>, Failure> {
    // Resolving and connecting may take long, and cannot be interrupted.
    let destination = arguments.upstream.clone();
    let tls = tls_files::upstream(&arguments.upstream_tls, &destination.host.certificate_name())?;
    let used = tls.clone();
    let reach = thread::spawn(move || plan::reach(&destination, used.as_ref()));
    while !reach.is_finished() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
    let upstream = reach.join().unwrap_or_else(|_| {
        Err(Failure::Other { message: "the gateway panicked".to_owned(), hint: String::new() })
    })?;
    Plan::of(arguments, agent_config, (upstream, tls)).map(Some)
}

/// The running parts of a gateway, in the order in which they start.
struct Parts {
    proxy: Option<proxy::Proxy>,
    agent: Option<JoinHandle<Result<(), agent::Error>>>,
    stop_agent: Arc<AtomicBool>,
    /// The agent's event loop has run since the last report to the watchdog.
    agent_ran: Arc<AtomicBool>,
    redirection: Option<Redirection>,
}

impl Parts {
    /// Starts proxy and agent, then redirects; `None` if `stop` is set meanwhile. A failure stops the
    /// parts that run already.
    fn start(plan: Plan, stop: &AtomicBool) -> Result<Option<Self>, Failure> {
        linux::process::raise_open_file_limit(proxy::descriptors_needed(&plan.proxy));
        let proxy = proxy::Proxy::start(plan.proxy, None).map_err(|error| command::proxy::failure(&error))?;
        let stop_agent = Arc::new(AtomicBool::new(false));
        let options = Options { dry_run: false, state: state(), socket: runtime().join("agent.sock") };
        let (stop_flag, socket) = (Arc::clone(&stop_agent), options.socket.clone());
        let agent_ran = Arc::new(AtomicBool::new(false));
        let ran = Arc::clone(&agent_ran);
        let agent = thread::spawn(move || {
            let config = plan.agent;
            let read = || Ok(config.clone());
            let reload = AtomicBool::new(false);
            let report = |event| {
                if event == Lifecycle::Alive {
                    ran.store(true, Ordering::Relaxed);
                }
            };
            agent::daemon::run(
                config.clone(),
                &options,
                &Signals { stop: &stop_flag, reload: &reload, read: &read, report: &report },
            )
        });
        let mut parts =
            Self { proxy: Some(proxy), agent: Some(agent), stop_agent, agent_ran, redirection: None };
        let end = Instant::now() + START_TIMEOUT;
        // The agent's own status: anything else at this path is not the agent.
        let is_ready = || {
            let text = agent::status::query(&socket, "/status");
            text.is_ok_and(|text| serde_json::from_str::<agent::status::Status>(&text).is_ok())
        };
        while !is_ready() {
            if stop.load(Ordering::Relaxed) {
                parts.stop()?;
                return Ok(None);
            }
            if let Some(failure) = parts.agent_failure() {
                return Err(failure);
            }
            if Instant::now() > end {
                return Err(Failure::Other {
                    message: "the agent did not start in time".to_owned(),
                    hint: "`--log debug` shows its steps".to_owned(),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        parts.redirection = Some(Redirection::begin(plan.rules).map_err(|error| system(&error))?);
        info!(upstream = %plan.upstream, "outgoing TCP connections are redirected");
        for listener in &plan.forward {
            // Addresses that the interface gets later have no listener.
            info!("clients reach the gateway at {listener}");
        }
        Ok(Some(parts))
    }

    /// The failure of a part that ended by itself.
    fn failure(&mut self) -> Option<Failure> {
        if self.proxy.as_ref().is_some_and(|proxy| !proxy.is_running()) {
            return Some(Failure::Other {
                message: "the proxy ended: connections are direct again".to_owned(),
                hint: "the log has the reason; start the gateway again".to_owned(),
            });
        }
        self.agent_failure()
    }

    /// Whether the proxy's threads answer and the agent's event loop has run since the last call.
    fn are_responsive(&self) -> bool {
        self.proxy.as_ref().is_some_and(proxy::Proxy::is_responsive)
            && self.agent_ran.swap(false, Ordering::Relaxed)
    }

    fn agent_failure(&mut self) -> Option<Failure> {
        let agent = self.agent.take_if(|agent| agent.is_finished())?;
        Some(match agent.join() {
            Ok(Err(error)) => command::agent::failure(&error),
            _ => Failure::Other { message: "the agent ended".to_owned(), hint: String::new() },
        })
    }

    /// Ends the redirection of new connections, then the open ones, then the agent.
    fn stop(mut self) -> Result<(), Failure> {
        if let Some(redirection) = &mut self.redirection
            && let Err(error) = redirection.stop_redirecting_new()
        {
            warn!("open connections are cut: {error}");
            self.redirection = None;
        }
        info!("connections are direct again; waiting for open ones to end");
        if let Some(proxy) = self.proxy.take()
            && !proxy.drain()
        {
            warn!("some connections were cut");
        }
        self.redirection = None;
        self.stop_agent()
    }

    fn stop_agent(&mut self) -> Result<(), Failure> {
        self.stop_agent.store(true, Ordering::Relaxed);
        let Some(agent) = self.agent.take() else { return Ok(()) };
        match agent.join() {
            Ok(ended) => ended.map_err(|error| command::agent::failure(&error)),
            Err(_) => Err(Failure::Other { message: "the agent panicked".to_owned(), hint: String::new() }),
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.redirection = None;
        self.proxy = None;
        _ = self.stop_agent();
    }
}

/// Stops a running gateway and undoes the changes of a killed one. With `only_undo` a running
/// gateway stays, for the unit: it may have been started by hand.
fn down(only_undo: bool, terminal: Terminal) -> Result<(), Failure> {
    let path = pid_path();
    if only_undo && PidFile::holder(&path).map_err(|error| system(&error))?.is_some() {
        terminal.note("a gateway is running: nothing was undone");
        return Ok(());
    }
    if let Some(process) = PidFile::terminate_holder(&path).map_err(|error| system(&error))? {
        let end = Instant::now() + STOP_TIMEOUT;
        while PidFile::holder(&path).map_err(|error| system(&error))?.is_some() {
            if Instant::now() > end {
                return Err(Failure::Other {
                    message: format!("the gateway (process {process}) does not stop"),
                    hint: format!("`kill -9 {process}`, then `tandem gateway down` again"),
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        terminal.note("the gateway was stopped");
    } else {
        terminal.note("no gateway is running");
    }
    undo_killed(&path)?;
    await_removal()
}

/// Undoes the changes of a killed gateway and removes its sockets.
fn undo_killed(pid_path: &Path) -> Result<(), Failure> {
    // Held meanwhile, so that no gateway starts; removed at the end.
    let _held = if runtime().exists() {
        let held = PidFile::take(pid_path).map_err(|error| system(&error))?;
        Some(held.ok_or_else(|| Failure::Other {
            message: "another gateway was started meanwhile".to_owned(),
            hint: "`tandem gateway down` stops it too".to_owned(),
        })?)
    } else {
        None
    };
    agent::undo(&state()).map_err(|error| command::agent::failure(&error))?;
    for file in ["agent.sock", "proxy.sock"] {
        // Sockets of a killed gateway. A part that still runs by itself keeps its socket.
        match unix_socket::remove_stale(&runtime().join(file)) {
            Ok(()) | Err(BindError::InUse(_)) => {}
            Err(error) => {
                let (message, hint) = (error.to_string(), error.hint().to_owned());
                return Err(Failure::Other { message, hint });
            }
        }
    }
    Ok(())
}

/// Waits for the kernel to remove the table of a killed gateway.
fn await_removal() -> Result<(), Failure> {
    let end = Instant::now() + Duration::from_secs(3);
    while nft::list(TABLE).map_err(|error| system(&error))?.is_some() {
        if Instant::now() > end {
            return Err(Failure::Other {
                message: format!("the nftables table {TABLE} still exists"),
                hint: format!("`nft list table inet {TABLE}` names its owner"),
            });
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// The failure of the program for an error of the system.
fn system(error: &linux::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    match error {
        linux::Error::Lacks { .. } => Failure::MissingRequirement { message, hint },
        _ => Failure::Other { message, hint },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watchdog_gets_no_report_while_the_agent_hangs() {
        let proxy = proxy::Proxy::start(proxy::Config::default(), None).expect("it starts");
        let agent_ran = Arc::new(AtomicBool::new(true));
        let parts = Parts {
            proxy: Some(proxy),
            agent: None,
            stop_agent: Arc::default(),
            agent_ran: Arc::clone(&agent_ran),
            redirection: None,
        };
        assert!(parts.are_responsive());
        assert!(!parts.are_responsive(), "its loop has not run since");
        agent_ran.store(true, Ordering::Relaxed);
        assert!(parts.are_responsive());
    }
}
