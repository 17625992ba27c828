//! Event loop of the agent: one thread that waits for the kernel, for HTTP requests, and for the
//! next sample.

mod path;
mod reload;
mod round_trips;
mod rules;
mod tell;

use crate::allowance::CapAction;
use crate::allowance::usage_store::UsageStore;
use crate::config::Config;
use crate::connections::Connections;
use crate::endpoints::{Endpoints, Wanted};
use crate::host::Host;
use crate::journal::Place;
use crate::players::Players;
use crate::sampling::SamplingInterval;
use crate::status::Server;
use crate::store::Store;
use crate::{Error, InterfaceSample, Steering};
use linux::clock::{self, Clock};
use linux::diag::Diag;
use linux::pm::{Event, Events, path_manager};
use linux::route::{Monitor, Route};
use linux::{process, sysctl};
use path::InterfaceState;
use policy::InterfaceKind;
use round_trips::RoundTrips;
use rules::RuleSteering;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing::{debug, info, warn};
use units::{Bitrate, Duration, Instant};

/// Interval at which the endpoints are read again, in case another program changed them.
const ENDPOINT_REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Delay between the first connection on a backup interface and the repeated backup mark; gathers
/// several connections.
const MARK_DELAY: Duration = Duration::from_millis(300);
/// Switches per minute above which their energy is judged. Fewer have other causes, such as a lost
/// link.
const MIN_JUDGED_SWITCHES: u64 = 5;
/// Lower bound of a policy's interval.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Shorter suspensions of the machine are ignored.
const MIN_SUSPENSION: Duration = Duration::from_secs(1);

/// Options of a run besides the configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Log changes instead of making them.
    pub dry_run: bool,
    /// State directory.
    pub state: PathBuf,
    /// InterfaceState of the UNIX socket.
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
}

/// Steers the device until `signals.stop` is set, then undoes all changes.
///
/// # Errors
/// Fails when MPTCP or CAP_NET_ADMIN is missing, another agent is running, or the state directory
/// is unusable. All changes are undone then too.
pub fn run(config: Config, options: &Options, signals: &Signals<'_>) -> Result<(), Error> {
    let mut agent = Agent::open(config, options)?;
    let finished = agent.run_loop(signals);
    let saved = agent.book.save(agent.clock.now(), true);
    let restored = agent.endpoints.restore();
    info!("stopped; {}", if options.dry_run { "nothing was changed" } else { "all changes were undone" });
    finished.and(saved).and(restored)
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
    host: Host,
    endpoints: Endpoints,
    steering: Steering,
    /// Policies of the rules for connections, one per rule.
    rules: Vec<RuleSteering>,
    round_trips: RoundTrips,
    players: Players,
    /// `None` without rules.
    connections: Option<Connections>,
    paths: Vec<InterfaceState>,
    /// During a reload: state of the interfaces that stay, by name.
    retained: BTreeMap<String, InterfaceState>,
    book: UsageStore,
    sampling: SamplingInterval,
    /// Time from the last sample to the next.
    wait: Duration,
    last_sample: Option<Instant>,
    /// Last run of the policy.
    last_policy_run: Option<Instant>,
    last_endpoint_refresh: Instant,
    suspended: Duration,
    /// Backup interfaces on which connections were created, and since when.
    pending_marks: BTreeSet<IpAddr>,
    pending_marks_since: Option<Instant>,
}

impl Agent {
    fn open(config: Config, options: &Options) -> Result<Self, Error> {
        check_requirements(options.dry_run)?;
        for remark in &config.remarks {
            info!("{remark}");
        }
        let store = if options.dry_run {
            None
        } else {
            let taken = Store::lock(&options.state).map_err(|error| {
                let file = options.state.display().to_string();
                if error.kind() == std::io::ErrorKind::WouldBlock {
                    Error::AlreadyRunning { at: file }
                } else {
                    Error::state(&file, error)
                }
            });
            Some(Rc::new(taken?))
        };
        let boot = process::boot_id()?;
        let place = Place { boot: boot.clone(), namespace: process::network_namespace()? };
        // Subscribed before the first listing, so that no change is missed.
        let monitor = Monitor::open()?;
        let endpoints = Endpoints::open(place, store.clone())?;
        // Opening the endpoints undid the changes of a killed agent.
        check_path_manager()?;
        let events = match Events::open() {
            Ok(events) => Some(events),
            Err(error) if options.dry_run => {
                debug!("{error}");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let server =
            if options.dry_run { None } else { Some(Server::open(&options.socket, config.metrics)?) };
        let mut agent = Self {
            host: Host::new(&config.interfaces),
            steering: Steering::new(&config.policy, &[], &[]),
            rules: Vec::new(),
            round_trips: RoundTrips::default(),
            players: Players::default(),
            connections: None,
            sampling: SamplingInterval::new(config.busy, config.rest),
            wait: config.busy,
            book: UsageStore::open(boot, config.zone, store)?,
            config,
            dry_run: options.dry_run,
            clock: Clock::start(),
            route: Route::open()?,
            monitor,
            events,
            diag: None,
            server,
            endpoints,
            paths: Vec::new(),
            retained: BTreeMap::new(),
            last_sample: None,
            last_policy_run: None,
            last_endpoint_refresh: Instant::ZERO,
            suspended: clock::suspended(),
            pending_marks: BTreeSet::new(),
            pending_marks_since: None,
        };
        agent.list_all()?;
        if let Err(error) = agent.select_path_manager() {
            agent.endpoints.restore()?;
            return Err(error);
        }
        Ok(agent)
    }

    fn run_loop(&mut self, signals: &Signals<'_>) -> Result<(), Error> {
        info!(policy = %self.config.policy, "started{}", if self.dry_run { " (dry run)" } else { "" });
        while !signals.stop.load(Ordering::Relaxed) {
            if signals.reload.swap(false, Ordering::Relaxed) {
                match (signals.read)() {
                    Ok(config) => self.reload(config)?,
                    Err(why) => warn!("the configuration was not reloaded: {why}"),
                }
            }
            let now = self.clock.now();
            if self.last_sample.is_none_or(|at| at + self.wait <= now) {
                self.sample(now)?;
            }
            if self.pending_marks_since.is_some_and(|at| at + MARK_DELAY <= now) {
                self.pending_marks_since = None;
                for address in std::mem::take(&mut self.pending_marks) {
                    self.endpoints.repeat_backup_mark(now, address)?;
                }
            }
            if let Some(mut server) = self.server.take() {
                server.serve(now, self);
                self.server = Some(server);
            }
            self.wait_for_event()?;
        }
        Ok(())
    }

    /// Waits for the next deadline or event, and processes kernel events.
    fn wait_for_event(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        let mut next = self.last_sample.map_or(now, |at| at + self.wait);
        next = next.min(self.pending_marks_since.map_or(Instant::MAX, |at| at + MARK_DELAY));
        for one in self.host.managed() {
            next = next.min(one.next_change(now).unwrap_or(Instant::MAX));
        }
        let mut files = vec![PollFd::new(&self.monitor, PollFlags::IN)];
        files.extend(self.events.iter().map(|events| PollFd::new(events, PollFlags::IN)));
        if let Some(server) = &self.server {
            files.push(PollFd::new(server, PollFlags::IN));
        }
        let timeout: Timespec = self.clock.until(next);
        // A signal ends the wait; the event loop then checks its flags.
        let _ = poll(&mut files, Some(&timeout));
        let ready = |nth: usize| files.get(nth).is_some_and(|file| !file.revents().is_empty());
        let (links, connections) = (ready(0), self.events.is_some() && ready(1));
        drop(files);
        if links {
            self.process_link_changes()?;
        }
        if connections {
            self.process_mptcp_events()?;
        }
        Ok(())
    }

    /// Processes link and address changes.
    fn process_link_changes(&mut self) -> Result<(), Error> {
        while let Some(change) = self.monitor.next(std::time::Duration::ZERO)? {
            if !self.host.apply(change) {
                return self.list_all();
            }
        }
        self.update_managed();
        Ok(())
    }

    /// Processes path manager events.
    fn process_mptcp_events(&mut self) -> Result<(), Error> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let now = self.clock.now();
        let mut lost = false;
        while let Some(event) = events.next(std::time::Duration::ZERO)? {
            if let Some(connections) = &mut self.connections {
                lost |= !connections.process_event(now, &event);
                // Sample at once: until then the connection has only one subflow.
                self.last_sample = None;
                continue;
            }
            let local = match event {
                Event::Established(connection) => connection.local.ip(),
                _ => continue,
            };
            let backup =
                self.host.managed().iter().zip(&self.paths).any(|(managed, path)| {
                    path.backup_flag.backup && managed.addresses.contains(&Some(local))
                });
            if backup {
                self.pending_marks.insert(local);
                self.pending_marks_since.get_or_insert(now);
            }
        }
        if lost && let (Some(connections), Some(diag)) = (&mut self.connections, &mut self.diag) {
            connections.list(diag)?;
        }
        Ok(())
    }

    /// Lists links, addresses and endpoints again.
    fn list_all(&mut self) -> Result<(), Error> {
        let (links, addresses) = (self.route.links()?, self.route.addresses()?);
        self.host.set(links, addresses);
        self.endpoints.refresh()?;
        self.update_managed();
        Ok(())
    }

    /// Updates the managed interfaces; a change makes the policy run at once.
    fn update_managed(&mut self) {
        let before = self.host.managed().to_vec();
        self.host.update_managed(self.clock.now(), &self.config.interfaces);
        if before != self.host.managed() {
            for (nth, one) in self.host.managed().iter().enumerate() {
                if before.get(nth) != Some(one) {
                    debug!(interface = one.name, up = one.is_up(), addresses = ?one.addresses, "changed");
                }
            }
            self.last_policy_run = None;
            self.last_sample = None;
        }
        self.rebuild_policies();
    }

    /// Adds state for new interfaces and rebuilds the policy for all of them.
    fn rebuild_policies(&mut self) {
        let managed = self.host.managed();
        if self.paths.len() == managed.len() && !self.steering.state().paths.is_empty() {
            return;
        }
        for one in &managed[self.paths.len()..] {
            let there = self.endpoints.now().iter();
            let mut there = there.filter(|endpoint| one.addresses.contains(&Some(endpoint.address)));
            // A policy without actions keeps the present flags.
            let backup = there.any(|endpoint| endpoint.flags.backup);
            let rule = &self.config.interfaces[one.rule];
            info!(interface = one.name, kind = %rule.profile.kind, radio = rule.profile.name, "managed");
            let kept = self.retained.remove(&one.name);
            self.paths.push(kept.unwrap_or_else(|| InterfaceState::new(one.rule, rule, backup)));
        }
        let kinds: Vec<InterfaceKind> =
            self.paths.iter().map(|path| self.config.interfaces[path.rule].profile.kind).collect();
        let backups: Vec<bool> = self.paths.iter().map(|path| path.backup_flag.backup).collect();
        self.steering = Steering::new(&self.config.policy, &kinds, &backups);
        self.rules = self
            .config
            .connections
            .iter()
            .map(|rule| RuleSteering::new(rule.policy.as_ref(), &kinds))
            .collect();
        self.last_policy_run = None;
    }

    /// Samples the counters, then runs policy and allowances.
    fn sample(&mut self, now: Instant) -> Result<(), Error> {
        let suspended = clock::suspended();
        if suspended.saturating_sub(self.suspended) > MIN_SUSPENSION {
            info!("the machine was suspended for {}", suspended.saturating_sub(self.suspended));
            self.list_all()?;
        }
        self.suspended = suspended;
        if now.since(self.last_endpoint_refresh) >= ENDPOINT_REFRESH_INTERVAL {
            self.last_endpoint_refresh = now;
            self.endpoints.refresh()?;
        }
        let carried = self.read_counters(now);
        self.wait = self.sampling.on_sample(now, carried);
        self.last_sample = Some(now);
        let urgent = self.update_allowances();
        let of_rules = self.rules.iter().filter_map(|rule| rule.steering.as_ref()?.interval());
        let interval = of_rules.chain(self.steering.interval()).min().unwrap_or(Duration::MAX);
        if !self.sampling.is_at_rest() {
            // A policy may ask for a shorter interval, for instance near a limit.
            self.wait = self.wait.min(interval.max(MIN_INTERVAL));
        }
        // A run slightly early is better than one that is late by a whole interval.
        let half = Duration::from_nanos(self.wait.as_nanos() / 2);
        if urgent || self.last_policy_run.is_none_or(|at| now.since(at) + half >= interval) {
            self.run_policies(now)?;
        }
        self.apply_decisions(now)?;
        self.warn_costly_switching();
        self.book.save(now, urgent)
    }

    /// Reads the counters. Returns true when there was traffic since the last sample.
    fn read_counters(&mut self, now: Instant) -> bool {
        let first = self.paths.iter().all(|path| path.counters().is_none());
        let span = self.last_sample.map_or(Duration::ZERO, |at| now.since(at));
        let clock = clock::unix_seconds();
        for (one, path) in self.host.managed().iter().zip(&mut self.paths) {
            // The event for a removed interface follows shortly.
            let stats = one.index.and_then(|index| Some((index, self.route.stats(index).ok()?)));
            path.record_sample(stats, span, first);
            if let Some((index, bytes)) = path.counters() {
                self.book.count(&self.config.interfaces[path.rule], clock, &one.name, index, bytes);
            }
        }
        let total: u64 = self.paths.iter().map(InterfaceState::sampled_bytes).sum();
        let up = self.host.managed().iter().filter(|one| one.is_up()).count() as u64;
        let costs: Vec<f64> = self.paths.iter().map(|path| path.radio.marginal()).collect();
        for (nth, path) in self.paths.iter_mut().enumerate() {
            let others = costs.iter().enumerate().filter(|(other, _)| *other != nth).map(|(_, cost)| *cost);
            path.update_radio(now, total, up, others.reduce(f64::min).unwrap_or(0.0));
        }
        total > 0
    }

    /// Updates which allowances are used up. Returns true on a change.
    fn update_allowances(&mut self) -> bool {
        let mut news = false;
        for nth in 0..self.paths.len() {
            let rule = &self.config.interfaces[self.paths[nth].rule];
            let Some(allowance) = rule.allowance else { continue };
            let same = self.paths.iter().filter(|other| other.rule == self.paths[nth].rule);
            let rate = same.map(|path| path.rate_down.as_bps() + path.rate_up.as_bps()).sum();
            let left = self.book.remaining(rule).map_or(u64::MAX, units::Bytes::get);
            // A closed interface has no traffic; its allowance returns only with a new period.
            let up = if self.paths[nth].capped {
                left <= self.paths[nth].remaining_at_cap
            } else {
                self.book.is_used_up(rule, Bitrate::from_bps(rate))
            };
            if up != self.paths[nth].capped {
                news = true;
                self.paths[nth].capped = up;
                self.paths[nth].remaining_at_cap = if up { left } else { 0 };
                let name = &self.host.managed()[nth].name;
                if up {
                    warn!(
                        interface = name,
                        left_bytes = left,
                        at_cap = allowance.at_cap.name(),
                        "allowance used up"
                    );
                } else {
                    info!(interface = name, left_bytes = left, "allowance available again");
                }
            }
        }
        news
    }

    /// True when a used-up allowance has closed the interface.
    fn is_closed_by_allowance(&self, path: &InterfaceState) -> bool {
        let allowance = self.config.interfaces[path.rule].allowance;
        path.capped && allowance.is_some_and(|allowance| allowance.at_cap == CapAction::Close)
    }

    /// Runs the policy on the present samples.
    fn run_policies(&mut self, now: Instant) -> Result<(), Error> {
        self.last_policy_run = Some(now);
        self.round_trips.update(now, &self.config, self.sampling.is_at_rest(), &mut self.diag)?;
        let clock = clock::unix_seconds();
        let mut samples = Vec::new();
        for (one, path) in self.host.managed().iter().zip(&self.paths) {
            let rule = &self.config.interfaces[path.rule];
            let until = self.book.next_period(rule);
            samples.push(InterfaceSample {
                up: one.is_up() && !self.is_closed_by_allowance(path),
                bytes_down: path.down,
                bytes_up: path.up,
                srtt: one.addresses.iter().flatten().filter_map(|at| self.round_trips.of(*at)).min(),
                awake: path.radio.is_awake(),
                energy_per_mbit: path.radio.per_mbit(path.rate_down),
                allowance_left: self.book.remaining(rule),
                allowance_until: until
                    .map(|at| now + Duration::from_secs(at.saturating_sub(clock).max(0) as u64)),
                ..InterfaceSample::default()
            });
        }
        self.players.expire(now);
        let app = self.players.app_state(now);
        self.steering.set_app_state(app);
        for action in self.steering.observe(now, &samples) {
            debug!(?action, "action of the policy");
        }
        for steering in self.rules.iter_mut().filter_map(|rule| rule.steering.as_mut()) {
            steering.set_app_state(app);
            for action in steering.observe(now, &samples) {
                debug!(?action, policy = steering.policy_name(), "action of a rule's policy");
            }
        }
        Ok(())
    }

    /// Applies the decisions of policy and allowances to the endpoints.
    fn apply_decisions(&mut self, now: Instant) -> Result<(), Error> {
        let mut wanted = Vec::new();
        for nth in 0..self.paths.len() {
            let at_cap =
                self.config.interfaces[self.paths[nth].rule].allowance.map(|allowance| allowance.at_cap);
            let kept = self.paths[nth].capped && at_cap == Some(CapAction::Backup);
            let backup = self.steering.state().paths[nth].backup || kept;
            self.paths[nth].backup_flag.set(now, backup);
            let (path, one) = (&self.paths[nth], &self.host.managed()[nth]);
            let Some(device) = one.index.filter(|_| one.is_attached(now)) else { continue };
            let open = self.steering.wants(nth) && !self.is_closed_by_allowance(path);
            wanted.extend(one.addresses.iter().flatten().map(|address| Wanted {
                name: one.name.clone(),
                device,
                address: *address,
                open,
                backup: path.backup_flag.backup,
            }));
        }
        self.endpoints.apply(now, &wanted)?;
        self.apply_rules(now, &wanted);
        Ok(())
    }

    /// Warns once when switching costs more energy than it saves.
    fn warn_costly_switching(&mut self) {
        for (one, path) in self.host.managed().iter().zip(&mut self.paths) {
            let balance = path.radio.balance();
            let costly = balance.switches >= MIN_JUDGED_SWITCHES && balance.saved_j < 0.0;
            if costly && !path.warned_costly {
                warn!(
                    interface = one.name,
                    switches = balance.switches,
                    tail_j = balance.tail_j,
                    saved_j = balance.saved_j,
                    "switching costs more energy than it saves: {}",
                    tell::COSTLY_SWITCHING_ADVICE
                );
            }
            path.warned_costly = costly;
        }
    }
}

/// Checks kernel support and privileges.
fn check_requirements(dry_run: bool) -> Result<(), Error> {
    let lacks = |what: &str, hint: &str| {
        Err(Error::System(linux::Error::Lacks { what: what.to_owned(), hint: hint.to_owned() }))
    };
    let Ok(enabled) = sysctl::read("net.mptcp.enabled") else {
        return lacks(
            "this kernel has no Multipath TCP",
            "use Linux 5.6 or later, built with CONFIG_MPTCP (not the out-of-tree MPTCP kernel)",
        );
    };
    if enabled != "1" {
        return lacks(
            "Multipath TCP is disabled in this network namespace",
            "enable it: sysctl net.mptcp.enabled=1",
        );
    }
    if !dry_run && !process::has_net_admin()? {
        return lacks(
            "the agent needs CAP_NET_ADMIN to change the network",
            "run it as root, or as a service (`tandem agent unit` prints one); `--dry-run` changes nothing",
        );
    }
    Ok(())
}

/// Fails when another program uses the userspace path manager.
fn check_path_manager() -> Result<(), Error> {
    if path_manager::current().as_deref() != Some(path_manager::USERSPACE) {
        return Ok(());
    }
    Err(Error::System(linux::Error::Lacks {
        what: "another program controls connections here (the path manager is `userspace`)".to_owned(),
        hint: "stop that program (mptcpd?), then: sysctl net.mptcp.path_manager=kernel".to_owned(),
    }))
}
