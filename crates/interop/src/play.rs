//! Plays a case: sets up both hosts, runs its phases, and checks the results.

use crate::case::Case;
use crate::checks::check;
use crate::host::{Host, Setup};
use crate::network;
use crate::network::Mode;
use crate::plan::{Action, Expected, Join, LOST_KEYS, Plan};
use emulator::SharedNetwork;
use mptcp::Failure;
use std::time::{Duration, Instant};

/// Longest wait for a phase.
const PATIENCE: Duration = Duration::from_secs(12);
/// Length of a cut.
const CUT: Duration = Duration::from_millis(400);
/// Time in which windows fill, and in which a subflow that must not come would come.
const PAUSE: Duration = Duration::from_millis(250);
/// Beyond the first probes of a closed window, which come a retransmission timeout after it closed.
const PROBE_PAUSE: Duration = Duration::from_millis(900);
/// Beyond the idle timeout of the translators.
const IDLE: Duration = Duration::from_millis(700);
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
    let Case { plan, client, server, v6, seed } = case;
    let setup = |is_client| Setup { plan, v6: *v6, is_client };
    let (mut client, near) = Host::start(*client, setup(true))?;
    let (server, far) = Host::start(*server, setup(false))?;
    let devices = near.into_iter().zip(far).map(|(near, far)| [near, far]).collect();
    let links: Vec<String> = (0..plan.paths).map(|path| link(plan, path)).collect();
    let (network, running) = network::start(&links, devices, Mode { realtime: false, capture, seed: *seed })?;
    client.connect();
    let mut game = Game { plan, client, server, network };
    let result = game.run().map_err(|error| {
        let lost = running.lost_packets() + game.client.lost_packets() + game.server.lost_packets();
        let note = if lost == 0 { String::new() } else { format!(" ({lost} packets lost on no link)") };
        format!("{error}{note}: {}", game.describe())
    });
    running.stop().map_err(|error| error.to_string())?;
    let captured = game.network.lock().0.take_capture();
    result.map(|()| captured.unwrap_or_default())
}

fn link(plan: &Plan, path: u8) -> String {
    let boxes = if path == plan.box_path && !plan.boxes.is_empty() {
        format!("middlebox = [{}]\n", plan.boxes)
    } else {
        String::new()
    };
    format!("down = {{ {0} }}\nup = {{ {0} }}\n{boxes}", plan.link)
}

/// A case that is being played.
pub(crate) struct Game<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) client: Host,
    pub(crate) server: Host,
    pub(crate) network: SharedNetwork,
}

impl Game<'_> {
    fn run(&mut self) -> Result<(), String> {
        let plan = self.plan;
        self.wait("no connection", |game| game.all(|host| host.shared().lock().is_connected))?;
        match plan.join {
            Join::None => {}
            join if join.is_futile() => self.await_end_of_second_subflow()?,
            _ => self.wait("no second subflow", |game| {
                game.all(|host| host.subflows() == 2) || game.has_lost_keys()
            })?,
        }
        if !plan.reads_late {
            self.wait("the first part does not arrive", |game| {
                let received = |host: &Host| host.shared().lock().received;
                let [down, up] = [plan.down, plan.up].map(|total| plan.first_part(total));
                received(&game.client) >= down && received(&game.server) >= up
            })?;
        }
        let aborts = matches!(plan.action, Action::Abort { .. });
        if plan.expected == Expected::Mptcp && !aborts {
            self.wait("fell back", |game| game.all(Host::is_mptcp) || game.has_lost_keys())?;
            let has_checksums = self.has_lost_keys() || self.all(Host::uses_checksum);
            check("no checksums", !plan.checksum || has_checksums)?;
        }
        if plan.expected == Expected::Tcp && !plan.corrupts {
            self.wait("did not fall back", |game| game.all(|host| !host.is_mptcp()))?;
        }
        self.act()?;
        if aborts {
            return self.check_aborted();
        }
        match plan.action {
            Action::Cut(path) => {
                self.open_gate();
                self.cut(path, || ());
            }
            Action::CutClose => self.cut(0, || self.open_gate()),
            _ => self.open_gate(),
        }
        if plan.join == Join::Failing {
            self.await_end_of_second_subflow()?;
        }
        self.wait("the connection does not finish", |game| {
            game.all(|host| host.shared().lock().is_finished)
        })?;
        self.check_results()
    }

    fn act(&mut self) -> Result<(), String> {
        match self.plan.action {
            Action::None | Action::Cut(_) | Action::CutClose => Ok(()),
            Action::FillWindows | Action::ProbeWindows | Action::Idle => {
                std::thread::sleep(match self.plan.action {
                    Action::FillWindows => PAUSE,
                    Action::ProbeWindows => PROBE_PAUSE,
                    _ => IDLE,
                });
                Ok(())
            }
            Action::SetBackup { client } => {
                // Linux repeats its join until the peer acknowledges it, and has no room for
                // MP_PRIO until then.
                std::thread::sleep(PAUSE);
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

    /// Waits for the reset of the second subflow, and checks that no other comes.
    fn await_end_of_second_subflow(&self) -> Result<(), String> {
        let Some(reset) = self.plan.reset else { return Err("a plan without its reset".to_owned()) };
        let (sender, receiver) =
            if reset.by_client { (&self.client, &self.server) } else { (&self.server, &self.client) };
        let code = if sender.is_kernel() { reset.linux } else { reset.tandem };
        let counts = |host: &Host, name: Option<&str>| name.is_none_or(|name| host.counter(name) > 0);
        // Linux closes the subflow before it resets it: data in between gets a reset without a reason.
        let may_be_plain = sender.is_kernel() && self.plan.join == Join::Failing;
        if sender.is_kernel() {
            self.wait("the sender counts no reset", |_| counts(sender, reset.sent))?;
        }
        if receiver.is_kernel() {
            let count = reset.received.filter(|_| !may_be_plain);
            self.wait("the receiver counts no reset", |_| counts(receiver, count))?;
        } else if reset.seen {
            let expected = |failure: &Failure| match failure {
                Failure::Reset(Some(reason)) => !reset.fails && reason.code == code,
                Failure::Reset(None) => may_be_plain,
                Failure::Checksum => reset.fails,
                _ => false,
            };
            self.wait(&format!("no reset with the reason {code}"), |_| receiver.lost_subflow(expected))?;
        }
        // Linux keeps a subflow that it has reset in its list until the connection ends.
        self.wait("the subflow stays", |_| receiver.subflows() <= 1)?;
        std::thread::sleep(PAUSE);
        check("a second subflow", receiver.subflows() <= 1)
    }

    /// A server of Linux has fallen back because its link lost the third ACK, or reordered it.
    fn has_lost_keys(&self) -> bool {
        self.plan.tolerates.contains(&LOST_KEYS) && self.server.counter(LOST_KEYS) > 0
    }

    fn host(&mut self, client: bool) -> &mut Host {
        if client { &mut self.client } else { &mut self.server }
    }

    fn other(&self, client: bool) -> &Host {
        if client { &self.server } else { &self.client }
    }

    pub(crate) fn all(&self, is_true: impl Fn(&Host) -> bool) -> bool {
        is_true(&self.client) && is_true(&self.server)
    }

    fn open_gate(&self) {
        self.client.shared().open_gate();
        self.server.shared().open_gate();
    }

    /// Cuts a path for a while, of which `during` is the begin.
    fn cut(&self, path: usize, during: impl FnOnce()) {
        let set_present = |present| {
            let (mut network, now) = self.network.lock();
            network.set_present(now, path, present);
        };
        set_present(false);
        during();
        std::thread::sleep(CUT);
        set_present(true);
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
}
