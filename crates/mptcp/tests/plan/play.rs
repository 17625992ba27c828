//! Plays a plan as a connection, from its first SYN until nothing more happens.

use super::{Action, ActionKind, PathPlan, Plan};
use crate::pair::{CLIENT, Liar, Pair, PathModel, SERVER, lies};
use middlebox::{
    Directions, ExpiryAction, Middlebox, MiddleboxConfig, MiddleboxKind, OptionAction, OptionSet,
    SegmentFilter,
};
use tandem_mptcp::{Endpoint, Event, Failure, Mode, PathId};
use units::{Duration, Instant, Probability, Seed};

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every byte was delivered both ways, and both ends closed.
    Complete,
    /// An end reported a failure.
    Failed,
    /// Neither: no path is left, or the peer lies.
    Waits,
}

/// Virtual time after which every connection must have ended.
const MAX_DURATION: Duration = Duration::from_secs(20_000);
/// Time after which the device opens a lost path again.
const REOPEN_INTERVAL: Duration = Duration::from_secs(10);
/// Time without progress in which every timer has fired more than once.
const QUIET_PERIOD: Duration = Duration::from_secs(900);

/// Plays the plan; panics if an invariant is broken.
pub fn play(plan: &Plan) -> Outcome {
    let mut pair = set_up(plan);
    pair.connect();
    let mut closes = plan.ends.each_ref().map(|end| Some(Instant::from_millis(end.close)));
    for action in &plan.actions {
        run(&mut pair, &mut closes, Instant::from_millis(action.at));
        perform(&mut pair, action, plan.count());
    }
    let last = plan.ends.iter().map(|end| end.close).filter(|&at| at < 1_000_000).max().unwrap_or(0);
    run(&mut pair, &mut closes, Instant::from_millis(last));
    pair.close_when_done = [true, true];
    let progressed = finish(&mut pair, plan);
    judge(&mut pair, plan, progressed)
}

pub fn set_up(plan: &Plan) -> Pair {
    let chance = |n: u64| Probability::new(n as f64 / 10_000.0).expect("below 10,000");
    let at = Instant::from_millis;
    let ms = Duration::from_millis;
    let paths = &plan.paths[..plan.count()];
    let models = paths.iter().map(|path| {
        let outage = |from: u64, len: u64| (len > 0).then_some((at(from), at(from + len)));
        let dead = (path.dead_from > 0).then_some((at(path.dead_from), Instant::MAX));
        let outages =
            [outage(path.outage, path.outage_for), outage(path.second_outage, path.second_outage_for), dead];
        PathModel {
            delay: ms(path.delay),
            jitter: ms(path.jitter),
            loss: chance((path.loss + path.corrupt).min(10_000)),
            duplicate: chance(path.duplicate),
            mark: chance(path.mark),
            outages: outages.into_iter().flatten().collect(),
        }
    });
    let seed = plan.connection.seed;
    let mut pair = Pair::with(seed, plan.config(CLIENT), plan.config(SERVER), models.collect());
    for (i, (chain, path)) in pair.boxes.iter_mut().zip(paths).enumerate() {
        let seed = Seed::new(seed).derive(&format!("boxes {i}"));
        *chain = middleboxes(path).iter().map(|config| Middlebox::new(config, seed)).collect();
    }
    if let Some(end) = plan.connection.liar.checked_sub(1) {
        let connection = &plan.connection;
        pair.liar =
            Some(Liar::new(end.min(1) as usize, connection.lies, connection.lie_rate, Seed::new(seed)));
    }
    for (end, side) in plan.ends.iter().enumerate() {
        pair.to_write[end] = side.write;
        pair.read_pace[end] =
            (side.read_bytes > 0).then_some((ms(side.read_interval.max(1)), side.read_bytes as usize));
    }
    let bytes: u64 = plan.ends.iter().map(|end| end.write).sum();
    // Enough for all retransmissions and a probe per second throughout, and for the bytes of a short
    // stream fifty times, each in a segment of its own: after a timeout, a window of one full segment
    // holds all of them. An endless loop exceeds it soon.
    pair.budget = 300_000 + bytes * 2 + bytes.min(3_000) * 50;
    pair
}

/// Returns the middleboxes of a path, in a fixed order.
fn middleboxes(path: &PathPlan) -> Vec<MiddleboxConfig> {
    let ms = Duration::from_millis;
    let chance = |n: u64| Probability::new(n as f64 / 10_000.0).expect("below 10,000");
    let mut all = Vec::new();
    if path.strip > 0 {
        let options = match path.strip_what as usize {
            0 => OptionSet::MPTCP,
            n => OptionSet::NAMES[(n - 1) % OptionSet::NAMES.len()].1,
        };
        let filter = [
            SegmentFilter::All,
            SegmentFilter::Syn,
            SegmentFilter::NotSyn,
            SegmentFilter::All,
            SegmentFilter::Data,
        ][path.strip as usize % 5];
        let action = if path.strip_drop > 0 { OptionAction::Drop } else { OptionAction::Strip };
        all.push(MiddleboxConfig {
            kind: MiddleboxKind::StripOptions { options, filter, action, chance: Probability::ALWAYS },
            directions: [Directions::Both, Directions::Up, Directions::Down][path.strip_way as usize % 3],
            from: Instant::from_millis(path.strip_from),
            until: (path.strip_until > 0).then(|| Instant::from_millis(path.strip_until)),
        });
    }
    if path.forget > 0 {
        let ways = [ExpiryAction::Renew, ExpiryAction::NewPort, ExpiryAction::Reset, ExpiryAction::Drop];
        let on_expiry = ways[path.forget_how as usize % 4];
        all.push(MiddleboxConfig::new(MiddleboxKind::Nat { idle: ms(path.forget), on_expiry }));
    }
    if path.split > 0 {
        all.push(MiddleboxConfig::new(MiddleboxKind::Split { mss: path.split as u16 }));
    }
    if path.merge > 0 {
        let hold = ms(path.merge_hold);
        all.push(MiddleboxConfig::new(MiddleboxKind::Coalesce { max_bytes: path.merge as u32, hold }));
    }
    if path.rewrite + path.rewrite_down > 0 {
        let (up, down) = (path.rewrite as u32, path.rewrite_down as u32);
        let sack = path.rewrite_not_sack == 0;
        all.push(MiddleboxConfig::new(MiddleboxKind::RewriteSequence { up, down, sack }));
    }
    if path.fake > 0 {
        all.push(MiddleboxConfig::new(MiddleboxKind::Corrupt { chance: chance(path.fake) }));
    }
    all
}

/// Runs until `until`, with the closes that are due before.
fn run(pair: &mut Pair, closes: &mut [Option<Instant>; 2], until: Instant) {
    loop {
        let due = |end: &usize| closes[*end].filter(|&at| at <= until);
        let Some(end) =
            [CLIENT, SERVER].into_iter().filter(|end| due(end).is_some()).min_by_key(|e| closes[*e])
        else {
            break;
        };
        let at = closes[end].take().unwrap_or(until);
        pair.run_until(at.max(pair.now));
        pair.close_when_done[end] = true;
        pair.settle();
    }
    pair.run_until(until.max(pair.now));
}

fn perform(pair: &mut Pair, action: &Action, count: usize) {
    let path = PathId(action.path % count as u8);
    let (end, flag) = (action.end, action.flag);
    match action.kind {
        ActionKind::Open => {
            pair.ends[CLIENT].open(pair.now, path, flag);
        }
        ActionKind::Remove => pair.ends[end].remove(path, flag),
        ActionKind::Priority => pair.ends[end].set_priority(path, flag),
        ActionKind::Shares => {
            let share = |path: usize| ((path as u64 * 7 + action.at) % 5) as f64 - 1.0;
            let shares: Vec<f64> = (0..count).map(|path| share(path).max(0.0)).collect();
            pair.ends[end].set_shares(&shares);
        }
        ActionKind::Announce => {
            let address = core::net::IpAddr::from([10, 0, 0, action.path]);
            pair.ends[end].announce(action.path + 9, address, flag.then_some(444));
        }
        ActionKind::Close => pair.close_when_done[end] = true,
        ActionKind::Abort => pair.ends[end].abort(),
    }
    pair.settle();
}

fn failed(pair: &Pair, end: usize) -> bool {
    pair.events[end].iter().any(|(_, event)| matches!(event, Event::Failed(_)))
}

fn is_complete(pair: &Pair) -> bool {
    let read = |end| pair.saw(end, &Event::PeerClosed) && pair.ends[end].unread() == 0;
    [CLIENT, SERVER].into_iter().all(read) && pair.read == [pair.written[1], pair.written[0]]
}

/// Runs until the connection is over, and opens paths again as a device does. Returns false if
/// there was no progress for a quiet period.
fn finish(pair: &mut Pair, plan: &Plan) -> bool {
    let end = pair.now + MAX_DURATION;
    let mut last_progress = (pair.now, Vec::new());
    while pair.now < end {
        if is_complete(pair) && pair.to_write == [0, 0] || failed(pair, CLIENT) || failed(pair, SERVER) {
            return true;
        }
        let progress: Vec<u64> =
            pair.read.iter().chain(&pair.ends.each_ref().map(Endpoint::acknowledged)).copied().collect();
        if progress != last_progress.1 {
            last_progress = (pair.now, progress);
        } else if pair.now.since(last_progress.0) > QUIET_PERIOD && !plan.must_succeed() {
            return false;
        }
        for path in 0..plan.count() {
            pair.ends[CLIENT].open(pair.now, PathId(path as u8), false);
        }
        pair.settle();
        pair.run_until(pair.now + REOPEN_INTERVAL);
    }
    true
}

fn judge(pair: &mut Pair, plan: &Plan, progressed: bool) -> Outcome {
    let describe = |pair: &Pair| {
        let subflows: Vec<_> =
            (0..plan.count()).map(|p| pair.ends.each_ref().map(|e| e.subflow(PathId(p as u8)))).collect();
        format!(
            "at {}: read {:?} of {:?}, events {:?}, subflows {subflows:?}",
            pair.now,
            pair.read,
            [plan.ends[SERVER].write, plan.ends[CLIENT].write],
            pair.events
        )
    };
    let any_failed = failed(pair, CLIENT) || failed(pair, SERVER);
    let complete = is_complete(pair) && pair.to_write == [0, 0];
    let is_unconnected = |end: usize| !pair.events[end].iter().any(|(_, e)| matches!(e, Event::Connected(_)));
    if plan.must_succeed() && !complete {
        // One seed in some ten thousand has an outage as long as all retries of a handshake.
        let timed_out =
            [CLIENT, SERVER].into_iter().any(|end| pair.saw(end, &Event::Failed(Failure::TimedOut)));
        let unlucky = timed_out && [CLIENT, SERVER].into_iter().any(is_unconnected);
        assert!(unlucky, "the connection must succeed; {}", describe(pair));
        return Outcome::Failed;
    }
    let lying = pair.liar.as_ref().is_some_and(|liar| liar.lies & !lies::HARMLESS != 0);
    if !any_failed && !complete && !lying && !progressed {
        // Only keepalive probes in time keep a NAT mapping alive, or show that it is gone. Where
        // subflows come and go all the time, none lives until the endpoint sees that the path
        // strips options.
        let probes = plan.ends.iter().map(|end| end.keepalive).min().unwrap_or(0) * 1000;
        let passes = |path: &PathPlan| {
            let is_noticed = path.forget == 0 || path.strip == 0 && (1..path.forget).contains(&probes);
            path.dead_from == 0 && path.strip_drop == 0 && is_noticed
        };
        let open = (0..plan.count()).any(|path| {
            let up = |end: usize| pair.ends[end].subflow(PathId(path as u8)).is_some_and(|s| s.up);
            passes(&plan.paths[path]) && up(CLIENT) && up(SERVER)
        });
        assert!(!open, "the connection is stuck; {}", describe(pair));
    }
    let has_fakes = plan.paths[..plan.count()].iter().any(|path| path.fake > 0);
    // DSS checksums detect changed payload (RFC 8684, section 3.7), as long as they are in use.
    let is_protected = plan.ends.iter().any(|end| end.checksum > 0)
        && pair.ends.iter().all(|end| end.mode() == Mode::Mptcp)
        && pair.liar.is_none();
    assert!(
        has_fakes && !is_protected || pair.read_corrupted == [0; 2],
        "delivered bytes differ from those written; {}",
        describe(pair)
    );
    // In every case the connection comes to rest: a closed end is silent after one TIME-WAIT.
    pair.run_until(pair.now + QUIET_PERIOD);
    let closed = pair.ends.each_ref().map(Endpoint::is_closed);
    pair.run_until(pair.now + Duration::from_secs(61));
    for end in [CLIENT, SERVER] {
        if closed[end] {
            assert_eq!(
                pair.ends[end].poll_timeout(),
                None,
                "a timer is armed after the end; {}",
                describe(pair)
            );
        }
        assert_eq!(pair.ends[end].check(), Ok(()));
    }
    match () {
        () if complete => Outcome::Complete,
        () if any_failed => Outcome::Failed,
        () => Outcome::Waits,
    }
}
