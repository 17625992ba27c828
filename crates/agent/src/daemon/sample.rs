//! Sampling: counters, radio models, data allowances.

use super::interface_state::InterfaceState;
use super::{Agent, responder};
use crate::Error;
use crate::allowance::CapAction;
use crate::energy::Radio;
use linux::clock;
use tracing::{info, warn};
use units::{Bitrate, Duration, Instant};

/// Interval at which the endpoints are read again, in case another program changed them.
const ENDPOINT_REFRESH_INTERVAL: Duration = Duration::from_secs(10);
/// Switches per minute above which their energy is judged. Fewer have other causes, such as a lost
/// link.
const MIN_JUDGED_SWITCHES: u64 = 5;
/// Lower bound of a policy's interval.
const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Shorter suspensions of the machine are ignored.
const MIN_SUSPENSION: Duration = Duration::from_secs(1);

impl Agent {
    /// Samples the counters, then runs policy and allowances.
    pub(super) fn sample(&mut self, now: Instant) -> Result<(), Error> {
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
        self.usage.save(now, urgent)
    }

    /// Reads the counters. Returns true when there was traffic since the last sample.
    pub(super) fn read_counters(&mut self, now: Instant) -> bool {
        let first = self.paths.iter().all(|path| path.counters().is_none());
        let span = self.last_sample.map_or(Duration::ZERO, |at| now.since(at));
        let clock = clock::unix_seconds();
        for (one, path) in self.host.managed().iter().zip(&mut self.paths) {
            // The event for a removed interface follows shortly.
            let stats = one.index.and_then(|index| Some((index, self.route.stats(index).ok()?)));
            path.record_sample(stats, span, first);
            if let Some((index, bytes)) = path.counters() {
                self.usage.count(&self.config.interfaces[path.rule], clock, &one.name, index, bytes);
            }
        }
        let total: u64 = self.paths.iter().map(InterfaceState::sampled_bytes).sum();
        let up = self.host.managed().iter().filter(|one| one.is_up()).count() as u64;
        let costs: Vec<Option<f64>> =
            self.paths.iter().map(|path| path.radio.as_ref().map(Radio::marginal)).collect();
        for (nth, path) in self.paths.iter_mut().enumerate() {
            let others = costs.iter().enumerate().filter(|(other, _)| *other != nth);
            let others = others.filter_map(|(_, cost)| *cost);
            path.update_radio(now, total, up, others.reduce(f64::min).unwrap_or(0.0));
        }
        total > 0
    }

    /// Updates which allowances are used up. Returns true on a change.
    pub(super) fn update_allowances(&mut self) -> bool {
        let mut news = false;
        for nth in 0..self.paths.len() {
            let rule = &self.config.interfaces[self.paths[nth].rule];
            let Some(allowance) = rule.allowance else { continue };
            let same = self.paths.iter().filter(|other| other.rule == self.paths[nth].rule);
            let rate = same.map(|path| path.rate_down.as_bps() + path.rate_up.as_bps()).sum();
            let left = self.usage.remaining(rule).map_or(u64::MAX, units::Bytes::get);
            // A closed interface has no traffic; its allowance returns only with a new period.
            let up = if self.paths[nth].capped {
                left <= self.paths[nth].remaining_at_cap
            } else {
                self.usage.is_used_up(rule, Bitrate::from_bps(rate))
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
    pub(super) fn is_closed_by_allowance(&self, path: &InterfaceState) -> bool {
        let allowance = self.config.interfaces[path.rule].allowance;
        path.capped && allowance.is_some_and(|allowance| allowance.at_cap == CapAction::Close)
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
