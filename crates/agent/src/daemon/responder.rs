//! Responses to HTTP requests.

use super::Agent;
use super::interface_state::InterfaceState;
use crate::Error;
use crate::energy::Radio;
use crate::players::Player;
use crate::status::{
    AllowanceStatus, Connections, EnergyStatus, Interface, PlayerStatus, Responder, Status, metrics,
};
use linux::diag::Diag;
use radio::Profile;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// Advice in the warning on costly switching.
pub(super) const COSTLY_SWITCHING_ADVICE: &str =
    "the radio does not become idle in between; the policy wifi-first does not switch";

impl Responder for Agent {
    fn status(&mut self) -> Result<String, Error> {
        let mut status = self.current_status();
        let mut names = BTreeMap::new();
        for one in self.host.managed() {
            names.extend(one.addresses.iter().flatten().map(|address| (*address, one.name.clone())));
        }
        let diag = match &mut self.diag {
            Some(diag) => diag,
            none => none.insert(Diag::open()?),
        };
        status.connections = Some(Connections::list(diag, &names)?);
        Ok(serde_json::to_string(&status).unwrap_or_default())
    }

    fn metrics(&mut self) -> Result<String, Error> {
        Ok(metrics(&self.current_status()))
    }

    fn player(&mut self, now: Instant, state: cmcd::State) -> bool {
        let recorded = self.players.record(now, state);
        if recorded && self.sampling.is_at_rest() {
            // The player's request must not wait for an idle interval.
            self.samples.request();
        }
        recorded
    }
}

impl Agent {
    /// Status without connections, since listing them is expensive.
    fn current_status(&self) -> Status {
        let now = self.clock.now();
        let mut remarks = self.config.remarks.clone();
        remarks.extend(self.failures.remarks(now));
        remarks.extend(self.port_failures.remarks());
        remarks.extend(self.endpoints.unrecorded().map(str::to_owned));
        for (one, path) in self.host.managed().iter().zip(&self.paths) {
            if let Some(radio) = path.radio.as_ref().filter(|_| path.warned_costly) {
                let balance = radio.balance();
                remarks.push(format!(
                    "{}: {} switches in the last minute cost {:.1} J more than they saved; \
                     {COSTLY_SWITCHING_ADVICE}",
                    one.name, balance.switches, -balance.saved_j
                ));
            }
        }
        Status {
            players: self.players.current(now).map(|player| player_status(&player)).collect(),
            policy: self.config.policy.to_string(),
            dry_run: self.dry_run,
            running_s: now.as_secs_f64(),
            interval_ms: self.wait.as_secs_f64() * 1e3,
            interfaces: (0..self.paths.len()).map(|nth| self.interface_status(nth)).collect(),
            remarks,
            connections: None,
        }
    }

    fn interface_status(&self, nth: usize) -> Interface {
        let (one, path) = (&self.host.managed()[nth], &self.paths[nth]);
        let rule = &self.config.interfaces[path.rule];
        let total: u64 = self.paths.iter().map(|path| path.down + path.up).sum();
        let srtt = self.steering.state().paths[nth].srtt;
        Interface {
            name: one.name.clone(),
            kind: rule.kind.to_string(),
            round_trip_ms: srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
            link: self.link_state(nth).to_owned(),
            backup: path.backup_flag.backup,
            channel: if path.delta[0] > 0 { "rx" } else { "idle" }.to_owned(),
            addresses: one.addresses.iter().flatten().map(ToString::to_string).collect(),
            down_mbps: path.rate_down.as_mbps(),
            up_mbps: path.rate_up.as_mbps(),
            down_bytes: path.down,
            up_bytes: path.up,
            share: (total > 0).then(|| (path.down + path.up) as f64 / total as f64),
            energy: rule.profile.as_ref().zip(path.radio.as_ref()).map(|it| energy_status(it.0, it.1)),
            allowance: self.allowance_status(path),
        }
    }

    fn link_state(&self, nth: usize) -> &'static str {
        let (one, path) = (&self.host.managed()[nth], &self.paths[nth]);
        match one.index {
            None => "absent",
            Some(_) if !one.is_up() => "down",
            Some(_) if self.is_closed_by_allowance(path) || !self.steering.wants(nth) => "closed",
            Some(_) => "up",
        }
    }

    fn allowance_status(&self, path: &InterfaceState) -> Option<AllowanceStatus> {
        let rule = &self.config.interfaces[path.rule];
        let (allowance, usage) = self.usage.of(rule)?;
        Some(AllowanceStatus {
            of: rule.pattern.clone(),
            data_bytes: allowance.data.get(),
            used_bytes: usage.used,
            per: allowance.period.name().to_owned(),
            next_period: self.usage.next_period(rule).unwrap_or_default(),
            at_cap: allowance.at_cap.name().to_owned(),
            is_up: path.cap.is_stopped(),
        })
    }
}

fn energy_status(profile: &Profile, radio: &Radio) -> EnergyStatus {
    let balance = radio.balance();
    EnergyStatus {
        radio: profile.name.clone(),
        power_state: radio.state().to_owned(),
        joules: radio.joules(),
        switches: balance.switches,
        tail_j: balance.tail_j,
        saved_j: balance.saved_j,
    }
}

fn player_status(player: &Player<'_>) -> PlayerStatus {
    PlayerStatus {
        session: player.session.to_owned(),
        object: player.object.map(|object| object.token().to_owned()),
        buffer_s: player.buffer.map(Duration::as_secs_f64),
        bitrate_kbps: player.state.bitrate.map(|rate| rate.as_bps() as f64 / 1e3),
        missing_bytes: player.state.missing.map(units::Bytes::get),
        throughput_kbps: player.state.throughput.map(|rate| rate.as_bps() as f64 / 1e3),
        urgent: player.state.urgent,
        silent_s: player.silent.as_secs_f64(),
    }
}
