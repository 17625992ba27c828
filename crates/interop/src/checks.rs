//! Checks of the results of a case.

use crate::oracle;
use crate::plan::{Action, Join};
use crate::play::Game;
use mptcp::{Event, Failure};
use std::fmt::Write as _;

impl Game<'_> {
    pub(crate) fn check_aborted(&self) -> Result<(), String> {
        let by_client = self.plan.action == Action::Abort { client: true };
        for (host, aborts) in [(&self.client, by_client), (&self.server, !by_client)] {
            if let Some(mib) = host.mib()? {
                let name = if aborts { "MPTcpExtMPFastcloseTx" } else { "MPTcpExtMPFastcloseRx" };
                check(&format!("no {name}"), mib.counter(name).is_some_and(|count| count > 0))?;
            } else if !aborts {
                let wanted = Event::Failed(Failure::FastClose);
                check("no MP_FASTCLOSE", host.shared().lock().events.contains(&wanted))?;
            }
        }
        self.check_counters()
    }

    pub(crate) fn check_results(&self) -> Result<(), String> {
        let plan = self.plan;
        for (host, expected) in [(&self.client, plan.down), (&self.server, plan.up)] {
            let progress = host.shared().lock();
            check("a byte was changed", progress.differs_at.is_none() || plan.corrupts)?;
            check("another number of bytes", progress.received == expected)?;
            drop(progress);
            let Some(mib) = host.mib()? else {
                let is_fallback = host.uses_checksum() && !host.is_mptcp();
                check("no fallback after a failed checksum", is_fallback || !plan.corrupts)?;
                continue;
            };
            let is_positive = |name: &&str| mib.counter(name).is_some_and(|count| count > 0);
            if plan.corrupts {
                let names = ["MPTcpExtDataCsumErr", "MPTcpExtMPFailRx"];
                check("no failed checksum", names.iter().any(is_positive))?;
            }
            if plan.action == Action::ProbeWindows {
                let names = ["MPTcpExtWinProbe", "TcpExtTCPWinProbe", "TcpExtTCPFromZeroWindowAdv"];
                check("no closed window", names.iter().any(is_positive))?;
            }
        }
        if plan.join == Join::ClientBackup {
            self.check_backup()?;
        }
        self.check_counters()
    }

    /// Both hosts have a backup, which carries next to nothing beside a regular subflow.
    fn check_backup(&self) -> Result<(), String> {
        let hosts = [&self.client, &self.server];
        // Linux counts the backups of its peer only.
        let mut known = hosts.into_iter().enumerate().filter(|(i, host)| *i == 1 || !host.is_kernel());
        check("no backup", known.all(|(_, host)| host.has_backup()))?;
        let over_backup = {
            let (network, _) = self.network.lock();
            network.paths()[1].payload_down + network.paths()[1].payload_up
        };
        let limit = (self.plan.up + self.plan.down) / 10;
        check(&format!("{over_backup} bytes over the backup"), over_backup < limit)
    }

    fn check_counters(&self) -> Result<(), String> {
        for host in [&self.client, &self.server] {
            let Some(mib) = host.mib()? else { continue };
            if let Some(violated) = oracle::violated(self.plan, &mib) {
                return Err(format!("counter {violated}"));
            }
        }
        Ok(())
    }

    /// State of both hosts, for an error.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for (name, host) in [("client", &self.client), ("server", &self.server)] {
            let (is_mptcp, subflows) = (host.is_mptcp(), host.subflows());
            let progress = host.shared().lock();
            _ = write!(
                text,
                "\n    {name}: mptcp {is_mptcp}, {subflows} subflows, sent {}, received {}, connected {}, end {}, finished {}, differs {:?}, failure {:?}, events {:?}",
                progress.sent,
                progress.received,
                progress.is_connected,
                progress.has_end,
                progress.is_finished,
                progress.differs_at,
                progress.failure,
                progress.events
            );
            drop(progress);
            if let Ok(Some(mib)) = host.mib() {
                let counters = mib.counters().filter(|(name, count)| name.starts_with("MPTcp") && *count > 0);
                let counters: Vec<String> =
                    counters.map(|(name, count)| format!("{} {count}", &name[8..])).collect();
                _ = write!(text, ", counters {}", counters.join(", "));
            }
        }
        text
    }
}

pub(crate) fn check(problem: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem.to_owned()) }
}
