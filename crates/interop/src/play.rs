//! Plays a case: sets up both hosts, runs its phases, and checks the results.

use crate::case::Case;
use crate::host::{Host, Setup};
use crate::network::Mode;
use crate::plan::{Action, Expected, Join, Plan};
use crate::{network, oracle};
use emulator::SharedNetwork;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Longest wait for a phase.
const PATIENCE: Duration = Duration::from_secs(12);
/// Length of a cut.
const CUT: Duration = Duration::from_millis(400);
/// Time in which windows fill, and in which a subflow that must not come would come.
const PAUSE: Duration = Duration::from_millis(250);
const POLL: Duration = Duration::from_millis(2);

/// Plays a case.
///
/// # Errors
/// The problem, with the state of both hosts.
pub fn play(case: &Case) -> Result<(), String> {
    play_with(case, false).map(drop)
}

/// Plays a case as [`play`] does, and returns its packets as pcapng.
///
/// # Errors
/// As [`play`].
pub fn play_captured(case: &Case) -> Result<Vec<u8>, String> {
    play_with(case, true)
}

fn play_with(case: &Case, capture: bool) -> Result<Vec<u8>, String> {
    let Case { plan, client, server, v6 } = case;
    let setup = |is_client| Setup { plan, v6: *v6, is_client };
    let (mut client, near) = Host::start(*client, setup(true))?;
    let (server, far) = Host::start(*server, setup(false))?;
    let devices = near.into_iter().zip(far).map(|(near, far)| [near, far]).collect();
    let links: Vec<String> = (0..plan.paths).map(|path| link(plan, path)).collect();
    let (network, running) = network::start(&links, devices, Mode { realtime: false, capture })?;
    client.connect();
    let mut game = Game { plan, client, server, network };
    let result = game.run().map_err(|error| format!("{error}: {}", game.describe()));
    running.stop().map_err(|error| error.to_string())?;
    let captured = game.network.lock().0.take_capture();
    result.map(|()| captured.unwrap_or_default())
}

fn link(plan: &Plan, path: u8) -> String {
    let boxes = if path == 0 && !plan.boxes.is_empty() {
        format!("middlebox = [{}]\n", plan.boxes)
    } else {
        String::new()
    };
    format!("down = {{ {0} }}\nup = {{ {0} }}\n{boxes}", plan.link)
}

struct Game<'a> {
    plan: &'a Plan,
    client: Host,
    server: Host,
    network: SharedNetwork,
}

impl Game<'_> {
    fn run(&mut self) -> Result<(), String> {
        let plan = self.plan;
        self.wait("no connection", |game| game.all(|host| host.shared().lock().is_connected))?;
        match plan.join {
            Join::None => {}
            Join::Refused => {
                std::thread::sleep(PAUSE);
                check("a second subflow", self.client.subflows() == 1 && self.server.subflows() == 1)?;
            }
            _ => self.wait("no second subflow", |game| game.all(|host| host.subflows() == 2))?,
        }
        if !plan.reads_late {
            self.wait("the first half does not arrive", |game| {
                let received = |host: &Host| host.shared().lock().received;
                received(&game.client) >= plan.down / 2 && received(&game.server) >= plan.up / 2
            })?;
        }
        let aborts = matches!(plan.action, Action::Abort { .. });
        if plan.expected == Expected::Mptcp && !aborts {
            self.wait("fell back", |game| game.all(Host::is_mptcp))?;
        }
        if plan.expected == Expected::Tcp && !plan.corrupts {
            self.wait("did not fall back", |game| game.all(|host| !host.is_mptcp()))?;
        }
        self.act()?;
        if aborts {
            return self.check_aborted();
        }
        self.open_gate();
        if let Action::Cut(path) = plan.action {
            self.cut(path);
        }
        self.wait("the connection does not finish", |game| {
            game.all(|host| host.shared().lock().is_finished)
        })?;
        self.check_results()
    }

    fn act(&mut self) -> Result<(), String> {
        match self.plan.action {
            Action::None | Action::Cut(_) => Ok(()),
            Action::FillWindows => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
            Action::SetBackup { client } => {
                self.host(client).set_backup()?;
                self.wait("no MP_PRIO", |game| game.other(client).saw_priority())
            }
            Action::Remove { client } => {
                self.host(client).remove_address()?;
                self.wait("the subflow stays", |game| game.all(|host| host.subflows() == 1))
            }
            Action::Abort { client } => {
                self.host(client).abort();
                self.wait("no failure at the peer", |game| {
                    game.other(client).shared().lock().failure.is_some()
                })
            }
        }
    }

    fn host(&mut self, client: bool) -> &mut Host {
        if client { &mut self.client } else { &mut self.server }
    }

    fn other(&self, client: bool) -> &Host {
        if client { &self.server } else { &self.client }
    }

    fn all(&self, is_true: impl Fn(&Host) -> bool) -> bool {
        is_true(&self.client) && is_true(&self.server)
    }

    fn open_gate(&self) {
        self.client.shared().open_gate();
        self.server.shared().open_gate();
    }

    fn cut(&self, path: usize) {
        self.network.lock().0.set_present(path, false);
        std::thread::sleep(CUT);
        self.network.lock().0.set_present(path, true);
    }

    fn wait(&self, problem: &str, mut is_done: impl FnMut(&Self) -> bool) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        let aborts = matches!(self.plan.action, Action::Abort { .. });
        loop {
            if is_done(self) {
                return Ok(());
            }
            let failure = [&self.client, &self.server]
                .into_iter()
                .find_map(|host| host.shared().lock().failure.clone());
            if let Some(failure) = failure.filter(|_| !aborts) {
                return Err(format!("{problem}: {failure}"));
            }
            if Instant::now() > end {
                return Err(problem.to_owned());
            }
            std::thread::sleep(POLL);
        }
    }

    fn check_aborted(&self) -> Result<(), String> {
        for host in [&self.client, &self.server] {
            if let Some(mib) = host.mib() {
                let fast = mib
                    .counter("MPTcpExtMPFastcloseRx")
                    .or(Some(0))
                    .max(mib.counter("MPTcpExtMPFastcloseTx"));
                check("no MP_FASTCLOSE", fast > Some(0))?;
            }
        }
        self.check_counters()
    }

    fn check_results(&self) -> Result<(), String> {
        let plan = self.plan;
        for (host, expected) in [(&self.client, plan.down), (&self.server, plan.up)] {
            let progress = host.shared().lock();
            check("a byte was changed", progress.differs_at.is_none() || plan.corrupts)?;
            check("another number of bytes", progress.received == expected)?;
            drop(progress);
            if plan.corrupts
                && let Some(mib) = host.mib()
            {
                let failed = ["MPTcpExtDataCsumErr", "MPTcpExtMPFailRx"].map(|name| mib.counter(name));
                check("no failed checksum", failed.into_iter().flatten().any(|count| count > 0))?;
            }
        }
        self.check_counters()
    }

    fn check_counters(&self) -> Result<(), String> {
        for host in [&self.client, &self.server] {
            if let Some(violated) = host.mib().and_then(|mib| oracle::violated(self.plan, &mib)) {
                return Err(format!("counter {violated}"));
            }
        }
        Ok(())
    }

    /// State of both hosts, for an error.
    fn describe(&self) -> String {
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
            if let Some(mib) = host.mib() {
                let counters = mib.counters().filter(|(name, count)| name.starts_with("MPTcp") && *count > 0);
                let counters: Vec<String> =
                    counters.map(|(name, count)| format!("{} {count}", &name[8..])).collect();
                _ = write!(text, ", counters {}", counters.join(", "));
            }
        }
        text
    }
}

fn check(problem: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem.to_owned()) }
}
