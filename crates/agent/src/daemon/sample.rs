//! Sampling: counters, radio models, data allowances.

use super::interface_state::InterfaceState;
use super::{Agent, responder};
use crate::allowance::CapAction;
use crate::energy::Radio;
use crate::sampling::MIN_SAMPLE_INTERVAL;
use linux::clock;
use tracing::{info, warn};
use units::{Bitrate, Duration, Instant};

/// Interval at which the endpoints are read again, in case another program changed them.
const ENDPOINT_REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Switches per minute above which their energy is judged. Fewer have other causes, such as a lost
/// link.
const MIN_JUDGED_SWITCHES: u64 = 5;
/// ENODEV: the interface does not exist.
const NO_SUCH_DEVICE: i32 = rustix::io::Errno::NODEV.raw_os_error();
/// Shorter suspensions of the machine are ignored.
const MIN_SUSPENSION: Duration = Duration::from_secs(1);

impl Agent {
    /// Samples the counters, then runs policy and allowances.
    pub(super) fn sample(&mut self, now: Instant) {
        let suspended = clock::suspended();
        if suspended.saturating_sub(self.suspended) > MIN_SUSPENSION {
            info!("the machine was suspended for {}", suspended.saturating_sub(self.suspended));
            self.list_or_retry();
        }
        self.suspended = suspended;
        if now.since(self.last_endpoint_refresh) >= ENDPOINT_REFRESH_INTERVAL {
            self.last_endpoint_refresh = now;
            let refreshed = self.endpoints.refresh();
            self.failures.check(now, "list the endpoints", refreshed);
        }
        self.usage.update_clock(clock::unix_seconds(), clock::uptime_seconds());
        let span = self.samples.on_sample(now);
        let carried = self.read_counters(now, span);
        self.wait = self.sampling.on_sample(now, carried);
        let urgent = self.update_allowances(now);
        let of_rules = self.rules.iter().filter_map(|rule| rule.steering.as_ref()?.interval());
        let interval = of_rules.chain(self.steering.interval()).min().unwrap_or(Duration::MAX);
        if self.is_near_a_limit() {
            // Traffic that begins at rest would be noticed too late.
            self.wait = self.wait.min(self.config.busy);
        }
        if !self.sampling.is_at_rest() {
            // A policy may ask for a shorter interval, for instance near a limit.
            self.wait = self.wait.min(interval.max(MIN_SAMPLE_INTERVAL));
        }
        // A run slightly early is better than one that is late by a whole interval.
        let half = Duration::from_nanos(self.wait.as_nanos() / 2);
        if urgent || self.last_policy_run.is_none_or(|at| now.since(at) + half >= interval) {
            self.run_policies(now);
        }
        self.apply_decisions(now);
        self.warn_costly_switching();
        if let Some(saved) = self.usage.save(now, urgent) {
            self.failures.check(now, "store the data usage", saved);
        }
    }

    /// Reads the counters, `span` after the last sample. Returns true when there was traffic since then.
    fn read_counters(&mut self, now: Instant, span: Duration) -> bool {
        self.follow_renamed();
        let mut failure = None;
        for (one, path) in self.host.managed().iter().zip(&mut self.paths) {
            let stats = one.index.and_then(|index| match self.route.stats(index) {
                Ok(stats) => Some((index, stats)),
                // The event for the removed interface follows shortly.
                Err(error) if error.errno() == Some(NO_SUCH_DEVICE) => None,
                Err(error) => {
                    failure = Some(error);
                    None
                }
            });
            path.record_sample(stats, span);
            let rule = &self.config.interfaces[path.rule];
            match path.counters() {
                Some(reading) => self.usage.count(rule, &one.name, reading),
                None => self.usage.advance(rule),
            }
        }
        let read = failure.map_or(Ok(()), Err);
        if self.failures.check(now, "read the counters", read).is_none() {
            self.reopen_route();
        }
        let total = self
            .paths
            .iter()
            .fold([0; 2], |sum: [u64; 2], path| [sum[0] + path.delta[0], sum[1] + path.delta[1]]);
        let up = self.host.managed().iter().filter(|one| one.is_up()).count() as u64;
        let costs: Vec<Option<[f64; 2]>> =
            self.paths.iter().map(|path| path.radio.as_ref().map(Radio::marginal)).collect();
        for (nth, path) in self.paths.iter_mut().enumerate() {
            let others = costs.iter().enumerate().filter(|(other, _)| *other != nth);
            let others = others.filter_map(|(_, cost)| *cost);
            let cheapest = others.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]);
            path.update_radio(now, total, up, cheapest.unwrap_or_default());
        }
        total != [0; 2]
    }

    /// Passes the counters of a renamed interface on to its new name.
    fn follow_renamed(&mut self) {
        for (nth, one) in self.host.managed().iter().enumerate() {
            let has_index =
                |path: &InterfaceState| path.counters().is_some_and(|known| Some(known.index) == one.index);
            if one.index.is_none() || has_index(&self.paths[nth]) {
                continue;
            }
            if let Some(before) = self.paths.iter().position(has_index)
                && let Ok([new, old]) = self.paths.get_disjoint_mut([nth, before])
            {
                new.adopt_counters(old);
            }
        }
    }

    /// Updates which allowances are used up. Returns true on a change.
    pub(super) fn update_allowances(&mut self, now: Instant) -> bool {
        let mut news = false;
        for nth in 0..self.paths.len() {
            let rule = &self.config.interfaces[self.paths[nth].rule];
            let Some(allowance) = rule.allowance else { continue };
            let same = self.paths.iter().filter(|other| other.rule == self.paths[nth].rule);
            let rate = same.map(|path| path.rate_down.as_bps() + path.rate_up.as_bps()).sum();
            let Some(left) = self.usage.remaining(rule) else { continue };
            let state = (left, Bitrate::from_bps(rate));
            if !self.paths[nth].cap.update(now, &allowance, state, self.config.busy) {
                continue;
            }
            news = true;
            let (interface, left_bytes) = (&self.host.managed()[nth].name, left.get());
            let at_cap = allowance.at_cap.name();
            match (self.paths[nth].cap.is_stopped(), left_bytes) {
                (false, _) => info!(interface, left_bytes, "allowance available again"),
                (true, 0) => warn!(interface, at_cap, "allowance used up"),
                (true, _) => {
                    warn!(interface, left_bytes, at_cap, "allowance would soon be used up at this rate");
                }
            }
        }
        news
    }

    /// True when traffic of one idle interval may exceed an allowance.
    fn is_near_a_limit(&self) -> bool {
        self.paths.iter().any(|path| {
            let usage = self.usage.of(&self.config.interfaces[path.rule]);
            usage.is_some_and(|(allowance, usage)| {
                !path.cap.is_stopped() && usage.remaining(allowance) <= path.cap.peak().over(self.config.rest)
            })
        })
    }

    /// True when a used-up allowance has closed the interface.
    pub(super) fn is_closed_by_allowance(&self, path: &InterfaceState) -> bool {
        let allowance = self.config.interfaces[path.rule].allowance;
        path.cap.is_stopped() && allowance.is_some_and(|allowance| allowance.at_cap == CapAction::Close)
    }

    /// Warns once when switching costs more energy than it saves.
    pub(super) fn warn_costly_switching(&mut self) {
        for (one, path) in self.host.managed().iter().zip(&mut self.paths) {
            let Some(balance) = path.radio.as_ref().map(Radio::balance) else { continue };
            let costly = balance.switches >= MIN_JUDGED_SWITCHES && balance.saved_j < 0.0;
            if costly && !path.warned_costly {
                warn!(
                    interface = one.name,
                    switches = balance.switches,
                    tail_j = balance.tail_j,
                    saved_j = balance.saved_j,
                    "switching costs more energy than it saves: {}",
                    responder::COSTLY_SWITCHING_ADVICE
                );
            }
            path.warned_costly = costly;
        }
    }
}
