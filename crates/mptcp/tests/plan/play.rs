//! A plan as a connection, from its first SYN until nothing more happens.

use super::{Deed, PathPlan, Plan, What};
use crate::pair::{CLIENT, Liar, Pair, PathModel, SERVER, lies};
use middlebox::{
    Directions, ExpiryAction, Middlebox, MiddleboxConfig, MiddleboxKind, OptionAction, OptionSet,
    SegmentFilter,
};
use tandem_mptcp::{Endpoint, Event, Failure, Mode, PathId};
use units::{Duration, Instant, Probability, Seed};

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Every byte was delivered both ways, and both ends closed.
    Whole,
    /// An end said that it failed.
    Failed,
    /// No path was left, or the peer lies: it waits for better times.
    Waits,
}

/// Virtual time in which all must be over.
const LONGEST: Duration = Duration::from_secs(20_000);
/// The device tries a path again after this.
const PATIENCE: Duration = Duration::from_secs(10);
/// A silence in which every timer has fired more than once.
const SILENCE: Duration = Duration::from_secs(900);

/// Plays it; panics where something does not hold.
pub fn play(plan: &Plan) -> Outcome {
    let mut pair = set_up(plan);
    pair.connect();
    let mut closes = plan.ends.each_ref().map(|end| Some(Instant::from_millis(end.close)));
    for deed in &plan.deeds {
        run(&mut pair, &mut closes, Instant::from_millis(deed.at));
        act(&mut pair, deed, plan.count());
    }
    let last = plan.ends.iter().map(|end| end.close).filter(|&at| at < 1_000_000).max().unwrap_or(0);
    run(&mut pair, &mut closes, Instant::from_millis(last));
    pair.close_when_done = [true, true];
    let moves = finish(&mut pair, plan);
    judge(&mut pair, plan, moves)
}

pub fn set_up(plan: &Plan) -> Pair {
    let chance = |n: u64| Probability::new(n as f64 / 10_000.0).expect("below 10,000");
    let at = Instant::from_millis;
    let ms = Duration::from_millis;
    let paths = &plan.paths[..plan.count()];
    let models = paths.iter().map(|path| {
        let dark = |from: u64, len: u64| (len > 0).then_some((at(from), at(from + len)));
        let wall = (path.wall > 0).then_some((at(path.wall), Instant::MAX));
        let outages = [dark(path.dark, path.dark_for), dark(path.dusk, path.dusk_for), wall];
        PathModel {
            delay: ms(path.delay),
            jitter: ms(path.jitter),
            loss: chance((path.loss + path.corrupt).min(10_000)),
            duplicate: chance(path.duplicate),
            mark: chance(path.mark),
            outages: outages.into_iter().flatten().collect(),
        }
    });
    let seed = plan.whole.seed;
    let mut pair = Pair::with(seed, plan.config(CLIENT), plan.config(SERVER), models.collect());
    for (i, (chain, path)) in pair.boxes.iter_mut().zip(paths).enumerate() {
        let seed = Seed::new(seed).derive(&format!("boxes {i}"));
        *chain = boxes(path).iter().map(|config| Middlebox::new(config, seed)).collect();
    }
    if let Some(end) = plan.whole.liar.checked_sub(1) {
        let whole = &plan.whole;
        pair.liar = Some(Liar::new(end.min(1) as usize, whole.lies, whole.lies_often, Seed::new(seed)));
    }
    for (end, side) in plan.ends.iter().enumerate() {
        pair.to_write[end] = side.write;
        pair.read_pace[end] = (side.bite > 0).then_some((ms(side.every.max(1)), side.bite as usize));
    }
    let bytes: u64 = plan.ends.iter().map(|end| end.write).sum();
    // More than any repetition needs, and a probe a second for all the time; what never ends passes it soon.
    pair.budget = 300_000 + bytes * 2;
    pair
}

/// The boxes of a path, in a fixed order.
fn boxes(path: &PathPlan) -> Vec<MiddleboxConfig> {
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

/// Runs on to `until`, closing what is to be closed before.
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

fn act(pair: &mut Pair, deed: &Deed, count: usize) {
    let path = PathId(deed.path % count as u8);
    let (end, yes) = (deed.end, deed.yes);
    match deed.what {
        What::Open => {
            pair.ends[CLIENT].open(pair.now, path, yes);
        }
        What::Remove => pair.ends[end].remove(path, yes),
        What::Priority => pair.ends[end].set_priority(path, yes),
        What::Shares => {
            let share = |path: usize| ((path as u64 * 7 + deed.at) % 5) as f64 - 1.0;
            let shares: Vec<f64> = (0..count).map(|path| share(path).max(0.0)).collect();
            pair.ends[end].set_shares(&shares);
        }
        What::Announce => {
            let address = core::net::IpAddr::from([10, 0, 0, deed.path]);
            pair.ends[end].announce(deed.path + 9, address, yes.then_some(444));
        }
        What::Close => pair.close_when_done[end] = true,
        What::Abort => pair.ends[end].abort(),
    }
    pair.settle();
}

fn failed(pair: &Pair, end: usize) -> bool {
    pair.events[end].iter().any(|(_, event)| matches!(event, Event::Failed(_)))
}

fn whole(pair: &Pair) -> bool {
    let read = |end| pair.saw(end, &Event::PeerClosed) && pair.ends[end].unread() == 0;
    [CLIENT, SERVER].into_iter().all(read) && pair.read == [pair.written[1], pair.written[0]]
}

/// Runs until it is over, opening paths again as a device does. False if nothing has happened for long.
fn finish(pair: &mut Pair, plan: &Plan) -> bool {
    let end = pair.now + LONGEST;
    let mut news = (pair.now, Vec::new());
    while pair.now < end {
        if whole(pair) && pair.to_write == [0, 0] || failed(pair, CLIENT) || failed(pair, SERVER) {
            return true;
        }
        let told: Vec<u64> =
            pair.read.iter().chain(&pair.ends.each_ref().map(Endpoint::acknowledged)).copied().collect();
        if told != news.1 {
            news = (pair.now, told);
        } else if pair.now.since(news.0) > SILENCE && !plan.must_succeed() {
            return false;
        }
        for path in 0..plan.count() {
            pair.ends[CLIENT].open(pair.now, PathId(path as u8), false);
        }
        pair.settle();
        pair.run_until(pair.now + PATIENCE);
    }
    true
}

fn judge(pair: &mut Pair, plan: &Plan, moves: bool) -> Outcome {
    let told = |pair: &Pair| {
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
    let is_whole = whole(pair) && pair.to_write == [0, 0];
    let handshake = |end: usize| !pair.events[end].iter().any(|(_, e)| matches!(e, Event::Connected(_)));
    if plan.must_succeed() && !is_whole {
        // An outage as long as all tries of a handshake: one seed in some ten thousand.
        let timed_out =
            [CLIENT, SERVER].into_iter().any(|end| pair.saw(end, &Event::Failed(Failure::TimedOut)));
        let unlucky = timed_out && [CLIENT, SERVER].into_iter().any(handshake);
        assert!(unlucky, "it must succeed; {}", told(pair));
        return Outcome::Failed;
    }
    let lying = pair.liar.as_ref().is_some_and(|liar| liar.lies & !lies::HARMLESS != 0);
    if !any_failed && !is_whole && !lying && !moves {
        // Nothing but probes of the device in time keeps a translator from forgetting, or lets it notice; and
        // where subflows come and go all the time, none lives until it is seen that it loses options.
        let probes = plan.ends.iter().map(|end| end.keepalive).min().unwrap_or(0) * 1000;
        let passes = |path: &PathPlan| {
            let known = path.forget == 0 || path.strip == 0 && (1..path.forget).contains(&probes);
            path.wall == 0 && path.strip_drop == 0 && known
        };
        let open = (0..plan.count()).any(|path| {
            let up = |end: usize| pair.ends[end].subflow(PathId(path as u8)).is_some_and(|s| s.up);
            passes(&plan.paths[path]) && up(CLIENT) && up(SERVER)
        });
        assert!(!open, "it is stuck; {}", told(pair));
    }
    let fakes = plan.paths[..plan.count()].iter().any(|path| path.fake > 0);
    // A checksum of the data keeps them out (RFC 8684, section 3.7), as long as there is one.
    let guarded = plan.ends.iter().any(|end| end.checksum > 0)
        && pair.ends.iter().all(|end| end.mode() == Mode::Mptcp)
        && pair.liar.is_none();
    assert!(
        fakes && !guarded || pair.read_corrupted == [0; 2],
        "other bytes than were written; {}",
        told(pair)
    );
    // Whatever came of it, it comes to rest: an end that is over is silent after one TIME-WAIT.
    pair.run_until(pair.now + SILENCE);
    let over = pair.ends.each_ref().map(Endpoint::is_closed);
    pair.run_until(pair.now + Duration::from_secs(61));
    for end in [CLIENT, SERVER] {
        if over[end] {
            assert_eq!(pair.ends[end].poll_timeout(), None, "after the end; {}", told(pair));
        }
        assert_eq!(pair.ends[end].check(), Ok(()));
    }
    match () {
        () if is_whole => Outcome::Whole,
        () if any_failed => Outcome::Failed,
        () => Outcome::Waits,
    }
}
