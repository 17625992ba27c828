//! Draws a plan from a seed. Each number has its own random stream, by name: a new number leaves
//! the others unchanged. A renamed stream changes the plans of every seed.

use super::{Action, ActionKind, Connection, EndPlan, PATHS, PathPlan, Plan};
use crate::pair::lies;
use tandem_mptcp::{CongestionKind, SchedulerKind};
use units::Seed;

/// Draws numbers, each from the stream of its name.
struct Dice(Seed);

impl Dice {
    fn of(&self, name: &str, list: &[u64]) -> u64 {
        list[self.below(name, list.len() as u64) as usize]
    }
    fn below(&self, name: &str, n: u64) -> u64 {
        self.0.rng(name).below(n)
    }
    /// Draws 1 with probability 1/n, else 0.
    fn one_in_or_none(&self, name: &str, n: u64) -> u64 {
        u64::from(self.one_in(name, n))
    }
    /// Draws true with probability 1/n.
    fn one_in(&self, name: &str, n: u64) -> bool {
        self.below(name, n) == 0
    }
}

impl Plan {
    pub fn from_seed(seed: u64) -> Self {
        let root = Seed::new(seed);
        let dice = Dice(root.derive("plan"));
        // Buffers smaller than a segment, and little data.
        let tiny = dice.one_in("tiny", 8);
        let has_middleboxes = dice.one_in("middleboxes", 4);
        let mut connection =
            Connection { seed, paths: dice.of("paths", &[1, 1, 2, 2, 3]), ..Connection::default() };
        if dice.one_in("liar", 8) {
            connection.liar = 1 + dice.below("who", 2);
            connection.lies = 1 << dice.below("lie", lies::KINDS);
            if dice.one_in("two lies", 3) {
                connection.lies |= 1 << dice.below("other lie", lies::KINDS);
            }
            if dice.one_in("a lie of MPTCP-rec", 6) {
                connection.lies |= lies::REPORT;
            }
            connection.lie_rate = dice.of("lies often", &[5, 50, 300]);
        }
        let mptcp = !dice.one_in("tcp", 6);
        let paths = std::array::from_fn::<_, PATHS, _>(|i| {
            let dice = Dice(root.derive(&format!("path {i}")));
            let mut path = draw_path(&dice);
            if has_middleboxes {
                draw_middleboxes(&dice, &mut path);
            }
            path
        });
        let ends = ["client", "server"].map(|name| {
            let dice = Dice(root.derive(name));
            let mut end = draw_end(&dice, tiny);
            end.tcp_only = u64::from(!mptcp && (name == "client" || dice.one_in("tcp", 2)));
            end
        });
        let actions = draw_actions(root, dice.one_in("turmoil", 4), connection.paths);
        Self { connection, paths, ends, actions }
    }
}

fn draw_path(dice: &Dice) -> PathPlan {
    let mut path = PathPlan {
        delay: 1 + dice.below("delay", 120),
        jitter: dice.of("jitter", &[0, 0, 2, 40, 200]),
        loss: dice.of("loss", &[0, 0, 10, 100, 500, 2000]),
        duplicate: dice.of("duplicate", &[0, 0, 100, 2000]),
        mark: dice.of("mark", &[0, 0, 100, 2000]),
        corrupt: dice.of("corrupt", &[0, 0, 0, 100]),
        ..PathPlan::default()
    };
    if dice.one_in("dark", 3) {
        path.outage = dice.below("dark from", 5000);
        path.outage_for = 50 + dice.below("dark for", 4000);
        path.second_outage = path.outage + dice.below("dusk from", 15_000);
        path.second_outage_for = if dice.one_in("dusk", 2) { 50 + dice.below("dusk for", 4000) } else { 0 };
    }
    if dice.one_in("wall", 20) {
        path.dead_from = 1 + dice.below("wall from", 5000);
    }
    path
}

fn draw_middleboxes(dice: &Dice, path: &mut PathPlan) {
    if dice.one_in("strip", 2) {
        path.strip = 1 + dice.below("strip where", 4);
        path.strip_what = dice.of("strip what", &[0, 0, 1]) * (1 + dice.below("strip which", 13));
        path.strip_way = dice.of("strip way", &[3, 3, 1, 2]);
        path.strip_from = dice.of("strip from", &[0, 0, 1]) * (1 + dice.below("strip at", 3000));
        path.strip_until =
            dice.of("strip until", &[0, 0, 1]) * (path.strip_from + dice.below("strip to", 6000));
        path.strip_drop = u64::from(dice.one_in("strip drops", 6));
        if (1..=4).contains(&path.strip_what) && path.strip != 2 {
            // A window scale known to one end only breaks any TCP.
            (path.strip, path.strip_way, path.strip_from, path.strip_until) = (1, 3, 0, 0);
        }
    }
    if dice.one_in("split", 3) {
        path.split = dice.of("split at", &[100, 536, 1000]);
    }
    if dice.one_in("merge", 4) {
        path.merge = dice.of("merge to", &[1460, 4000, 20_000, 65_535]);
        path.merge_hold = dice.of("merge for", &[0, 1, 20, 500]);
    }
    if dice.one_in("rewrite", 3) {
        path.rewrite = dice.of("rewrite by", &[1, 0x8000_0000, 0xffff_ff00, 77_777]);
        path.rewrite_down = dice.of("rewrite down by", &[0, 3, 0x7fff_ffff, 0xffff_0000]);
        path.rewrite_not_sack = u64::from(dice.one_in("rewrite not sack", 4));
    }
    if dice.one_in("forget", 5) {
        path.forget = dice.of("forget after", &[300, 2000, 10_000]);
        path.forget_how = dice.below("forget how", 4);
    }
    if dice.one_in("fake", 8) {
        path.fake = dice.of("fake often", &[10, 200, 2000]);
    }
}

fn draw_end(dice: &Dice, tiny: bool) -> EndPlan {
    let mut end = EndPlan {
        write: match dice.below("size", 40) {
            0..=5 => dice.below("bytes", 10),
            6..=20 => dice.below("bytes", 5000),
            21..=36 => dice.below("bytes", 50_000),
            37..=38 => dice.below("bytes", 300_000),
            _ => dice.below("bytes", 1_500_000),
        },
        close: dice.of("close", &[0, 0, 0, 1, 1, 1_000_000]),
        tcp_only: 0,
        checksum: dice.one_in_or_none("checksum", 4),
        deny_join: dice.one_in_or_none("deny join", 20),
        max_subflows: dice.of("max subflows", &[0, 0, 0, 0, 1, 2]),
        scheduler: dice.below("scheduler", SchedulerKind::ALL.len() as u64),
        congestion: dice.below("congestion", CongestionKind::ALL.len() as u64),
        mss: dice.of("mss", &[536, 1200, 1460]),
        send_buffer: dice.of("send buffer", &[8000, 64_000, 1_000_000]),
        recv_buffer: dice.of("receive buffer", &[6000, 64_000, 1_000_000]),
        subflow_buffer: dice.of("subflow buffer", &[0, 0, 20_000]),
        opportunistic: dice.below("opportunistic", 2),
        penalise: dice.below("penalise", 2),
        no_sack: u64::from(dice.one_in("sack", 3)),
        no_timestamps: u64::from(dice.one_in("timestamps", 3)),
        delayed_ack: dice.of("delayed ack", &[0, 40, 200]),
        initial_window: dice.of("initial window", &[1, 3, 10, 10]),
        stale_after: 1 + dice.below("stale", 3),
        max_retries: dice.of("retries", &[100, 100, 100, 100, 15, 3]),
        rack: dice.one_in_or_none("rack", 3),
        dsack: dice.one_in_or_none("dsack", 3),
        prr: dice.one_in_or_none("prr", 3),
        frto: dice.one_in_or_none("frto", 3),
        undo: dice.one_in_or_none("undo", 3),
        hystart: dice.one_in_or_none("hystart", 3),
        ecn: dice.below("ecn", 3),
        pacing: dice.one_in_or_none("pacing", 4),
        autotune: dice.of("autotune", &[0, 0, 2000, 20_000]),
        keepalive: dice.of("keepalive", &[0, 0, 0, 1, 30]),
        close_timeout: dice.of("close timeout", &[0, 0, 60]),
        paws: dice.one_in_or_none("paws", 3),
        challenge_acks: dice.one_in_or_none("challenge", 3),
        quickack: dice.one_in_or_none("quickack", 3),
        linux: dice.one_in_or_none("linux", 3),
        rec: dice.of("rec", &[0, 0, 0, 7, 7, 23, 39, 1, 2, 4]),
        ..EndPlan::default()
    };
    if end.close == 1 {
        end.close = dice.below("close at", 5000);
    }
    if dice.one_in("slow", 4) {
        end.read_bytes = dice.of("bite", &[500, 3000, 20_000]);
        end.read_interval = 10 + dice.below("every", 300);
    }
    if tiny {
        end.recv_buffer = dice.of("tiny receive buffer", &[1, 500, 1500, 3000]);
        end.send_buffer = dice.of("tiny send buffer", &[1, 300, 5000]);
        end.write = end.write.min(1500);
        if end.read_bytes > 0 {
            end.read_bytes = 70;
        }
    }
    end
}

fn draw_actions(root: Seed, turmoil: bool, paths: u64) -> Vec<Action> {
    let mut rng = root.rng("deeds");
    let mut actions = Vec::new();
    let mut at = 0;
    let count = if turmoil { rng.below(20) } else { rng.below(5) / 4 };
    for _ in 0..count {
        let wait = [1, 30, 300, 4000][rng.below(4) as usize];
        at += rng.below(wait);
        let kind = match rng.below(40) {
            0..=7 => ActionKind::Remove,
            8..=17 => ActionKind::Open,
            18..=27 => ActionKind::Priority,
            28..=32 => ActionKind::Shares,
            33..=35 => ActionKind::Announce,
            36..=38 => ActionKind::Close,
            _ => ActionKind::Abort,
        };
        let end = rng.below(2) as usize;
        actions.push(Action { at, kind, end, path: rng.below(paths) as u8, flag: rng.below(2) == 0 });
    }
    actions
}
