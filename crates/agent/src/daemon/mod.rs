//! Event loop of the agent: one thread that waits for the kernel, for HTTP requests, and for the
//! next sample.

mod events;
mod failures;
mod interface_state;
mod reload;
pub(crate) mod requirements;
mod responder;
mod round_trips;
mod rules;
mod sample;
mod steer;

use crate::allowance::usage_store::UsageStore;
use crate::config::Config;
use crate::connections::Connections;
use crate::endpoints::{Endpoints, Wanted};
use crate::host::Host;
use crate::journal::Place;
use crate::players::Players;
use crate::sampling::{SampleTimer, SamplingInterval};
use crate::status::{PortFailures, Server};
use crate::store::Store;
use crate::{Error, Steering};
use failures::Failures;
use interface_state::InterfaceState;
use linux::clock::{self, Clock};
use linux::diag::Diag;
use linux::pm::Events;
use linux::route::{Monitor, Route};
use round_trips::RoundTrips;
use rules::RuleSteering;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{debug, error, info, warn};
use units::{Duration, Instant};

/// Delay between the first connection on a backup interface and the repeated backup mark; gathers
/// several connections.
const MARK_DELAY: Duration = Duration::from_millis(300);
/// Pause after a failed poll, which has no memory.
const POLL_RETRY_DELAY: std::time::Duration = std::time::Duration::from_millis(50);

/// Options of a run besides the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Log changes instead of making them.
    pub dry_run: bool,
    /// State directory.
    pub state: PathBuf,
    /// Path of the UNIX socket.
    pub socket: PathBuf,
}

/// Requests from outside the event loop.
pub struct Signals<'a> {
    /// Set to end the agent.
    pub stop: &'a AtomicBool,
    /// Set to reload the configuration.
    pub reload: &'a AtomicBool,
    /// Reads the configuration, or returns a description of its errors.
    pub read: &'a dyn Fn() -> Result<Config, String>,
    /// Called when the agent is ready, in every turn of its event loop, and when it stops.
    pub report: &'a dyn Fn(Lifecycle),
}

/// Report of the agent to its service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// It steers the device, and its sockets are open.
    Ready,
    /// Its event loop runs; at least every two seconds.
    Alive,
    /// It undoes its changes.
    Stopping,
}

/// Steers the device until `signals.stop` is set, then undoes all changes.
///
/// # Errors
/// Fails when MPTCP or CAP_NET_ADMIN is missing, another agent is running, or the state directory
/// is unusable. All changes are undone then too.
pub fn run(config: Config, options: &Options, signals: &Signals<'_>) -> Result<(), Error> {
    let mut agent = Agent::open(config, options)?;
    (signals.report)(Lifecycle::Ready);
    agent.run_loop(signals);
    (signals.report)(Lifecycle::Stopping);
    let saved = agent.usage.save(agent.clock.now(), true).unwrap_or(Ok(()));
    let restored = agent.endpoints.restore();
    match &restored {
        Ok(()) if options.dry_run => info!("stopped; nothing was changed"),
        Ok(()) => info!("stopped; all changes were undone"),
        Err(error) => error!("stopped: {error}"),
    }
    saved.and(restored)
}

struct Agent {
    config: Config,
    dry_run: bool,
    clock: Clock,
    route: Route,
    monitor: Monitor,
    /// `None` in a dry run without CAP_NET_ADMIN.
    events: Option<Events>,
    /// Opened when first needed.
    diag: Option<Diag>,
    server: Option<Server>,
    port_failures: PortFailures,
    host: Host,
    endpoints: Endpoints,
    steering: Steering,
    /// Policies of the rules for connections, one per rule.
    rules: Vec<RuleSteering>,
    round_trips: RoundTrips,
    players: Players,
    /// `None` without rules, once the connections have ended that began under earlier ones.
    connections: Option<Connections>,
    paths: Vec<InterfaceState>,
    /// During a reload: state of the interfaces that stay, by name.
    retained: BTreeMap<String, InterfaceState>,
    /// Rules that no interface follows, as last warned of.
    unmatched: Vec<usize>,
    /// Addresses that several interfaces have, as last warned of.
    shared_addresses: BTreeSet<IpAddr>,
    usage: UsageStore,
    failures: Failures,
    /// Time at which interfaces, addresses and endpoints are listed again. Events wait until then.
    list_at: Option<Instant>,
    has_lost_events: bool,
    sampling: SamplingInterval,
    /// Time from the last sample to the next.
    wait: Duration,
    samples: SampleTimer,
    /// Last run of the policy.
    last_policy_run: Option<Instant>,
    last_endpoint_refresh: Instant,
    suspended: Duration,
    /// Backup interfaces on which connections were created, and since when.
    pending_marks: BTreeSet<IpAddr>,
    pending_marks_since: Option<Instant>,
    /// Makes every listing fail, as a kernel without memory does.
    #[cfg(test)]
    kernel_lists_nothing: bool,
}

impl Agent {
    fn open(config: Config, options: &Options) -> Result<Self, Error> {
        requirements::check_requirements(options.dry_run)?;
        for remark in &config.remarks {
            info!("{remark}");
        }
        let store = if options.dry_run { None } else { Some(lock_store(options)?) };
        let place = Place::here()?;
        let boot = place.boot.clone();
        // Subscribed before the first listing, so that no change is missed.
        let monitor = Monitor::open()?;
        let endpoints = Endpoints::open(place, store.clone())?;
        // Opening the endpoints undid the changes of a killed agent.
        requirements::check_path_manager()?;
        let events = open_events(options.dry_run)?;
        let server = if options.dry_run {
            None
        } else {
            Some(Server::open(&options.socket, config.metrics, config.players.as_ref())?)
        };
        let mut agent = Self {
            host: Host::new(&config.interfaces),
            steering: Steering::new(&config.policy, &[], &[]),
            rules: Vec::new(),
            round_trips: RoundTrips::default(),
            players: Players::default(),
            connections: None,
            sampling: SamplingInterval::new(config.busy, config.rest),
            wait: config.busy,
            usage: UsageStore::open(
                &boot,
                config.zone.clone(),
                store,
                (clock::unix_seconds(), clock::uptime_seconds()),
            )?,
            failures: Failures::default(),
            list_at: None,
            has_lost_events: false,
            config,
            dry_run: options.dry_run,
            clock: Clock::start(),
            route: Route::open()?,
            monitor,
            events,
            diag: None,
            port_failures: server.as_ref().map(Server::port_failures).unwrap_or_default(),
            server,
            endpoints,
            paths: Vec::new(),
            retained: BTreeMap::new(),
            unmatched: Vec::new(),
            shared_addresses: BTreeSet::new(),
            samples: SampleTimer::default(),
            last_policy_run: None,
            last_endpoint_refresh: Instant::ZERO,
            suspended: clock::suspended(),
            pending_marks: BTreeSet::new(),
            pending_marks_since: None,
            #[cfg(test)]
            kernel_lists_nothing: false,
        };
        agent.usage.follow_rules(&agent.config.interfaces);
        agent.list_all()?;
        let has_rules = !agent.config.connections.is_empty();
        if let Err(error) = agent.select_path_manager(has_rules) {
            agent.endpoints.restore()?;
            return Err(error);
        }
        Ok(agent)
    }

    fn run_loop(&mut self, signals: &Signals<'_>) {
        info!(policy = %self.config.policy, "started{}", if self.dry_run { " (dry run)" } else { "" });
        while !signals.stop.load(Ordering::Relaxed) {
            (signals.report)(Lifecycle::Alive);
            if signals.reload.swap(false, Ordering::Relaxed) {
                let reloaded = (signals.read)()
                    .and_then(|config| self.reload(config).map_err(|error| error.to_string()));
                if let Err(why) = reloaded {
                    warn!("the configuration was not reloaded: {why}");
                }
            }
            let now = self.clock.now();
            if self.list_at.is_some_and(|at| at <= now) {
                self.list_or_retry();
            }
            if self.samples.next(self.wait) <= now {
                self.sample(now);
            }
            if self.pending_marks_since.is_some_and(|at| at + MARK_DELAY <= now) {
                self.pending_marks_since = None;
                for address in std::mem::take(&mut self.pending_marks) {
                    self.endpoints.repeat_backup_mark(now, address);
                }
            }
            if let Some(mut server) = self.server.take() {
                server.serve(now, self);
                self.server = Some(server);
            }
            self.wait_for_event();
        }
    }

    /// Waits for the next deadline or event, and processes kernel events.
    fn wait_for_event(&mut self) {
        let now = self.clock.now();
        let mut next = self.samples.next(self.wait);
        next = next.min(self.pending_marks_since.map_or(Instant::MAX, |at| at + MARK_DELAY));
        for one in self.host.managed() {
            next = next.min(one.next_change(now).unwrap_or(Instant::MAX));
        }
        next = next.min(self.list_at.unwrap_or(Instant::MAX));
        let mut files = Vec::new();
        if let Some(server) = &self.server {
            files.push(PollFd::new(server, PollFlags::IN));
        }
        let first_event = files.len();
        // Events wait while a listing is planned.
        if self.list_at.is_none() {
            files.push(PollFd::new(&self.monitor, PollFlags::IN));
            files.extend(self.events.iter().map(|events| PollFd::new(events, PollFlags::IN)));
        }
        let timeout: Timespec = self.clock.until(next);
        match poll(&mut files, Some(&timeout)) {
            // A signal ends the wait; the event loop then checks its flags.
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => std::thread::sleep(POLL_RETRY_DELAY),
        }
        let ready = |nth: usize| files.get(nth).is_some_and(|file| !file.revents().is_empty());
        let (links, connections) = (ready(first_event), ready(first_event + 1));
        drop(files);
        if links {
            self.process_link_changes();
        }
        if connections {
            self.process_mptcp_events();
        }
    }
}

fn lock_store(options: &Options) -> Result<Rc<Store>, Error> {
    let store = Store::lock(&options.state).map_err(|error| {
        let folder = options.state.display().to_string();
        if error.kind() == std::io::ErrorKind::WouldBlock {
            Error::AlreadyRunning { at: folder }
        } else {
            Error::state(&folder, error)
        }
    })?;
    Ok(Rc::new(store))
}

/// Opens the path manager events; a dry run also works without them.
fn open_events(dry_run: bool) -> Result<Option<Events>, Error> {
    match Events::open() {
        Ok(events) => Ok(Some(events)),
        Err(error) if dry_run => {
            debug!("{error}");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
