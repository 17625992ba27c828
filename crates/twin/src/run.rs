//! Runs exchanges with both servers and collects the differences.

use crate::exchange::Exchange;
use crate::linux_server::LinuxServer;
use crate::outcome::Outcome;
use crate::packet::decode;
use crate::rules::{self, Rule};
use crate::server::Server;
use crate::tandem_server::TandemServer;
use linux::Error;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use units::Seed;

/// Exchanges at once.
const BATCH: u64 = 400;
/// Plays with Linux before a difference without an explanation counts.
const PLAYS: u32 = 3;
/// Time between rounds: a host answers at once, and its application reads within it.
const ROUND: Duration = Duration::from_millis(6);
/// Time after the last round: beyond Linux's longest delay of an ACK, 200 ms.
const LAST: Duration = Duration::from_millis(260);
/// First ports of connections and of joins: a join is no later than the eighth act.
const PORTS: [u16; 2] = [1024, 20_000];
const JOINS: u16 = 8;

/// An exchange in which the servers differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Number of the exchange.
    pub number: u64,
    /// Its script in one line.
    pub script: String,
    /// Names of its hostile opening and acts.
    pub hostile: Vec<String>,
    /// Number of acts played when the servers first differed, and the members that differed then; `None`
    /// if only acknowledgements differ.
    pub first: Option<(usize, Vec<&'static str>)>,
    /// Members of the outcomes that differ in the end.
    pub members: Vec<&'static str>,
    /// Outcome with Linux, and with Tandem.
    pub outcomes: [Outcome; 2],
}

/// Results of all exchanges.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Exchanges.
    pub exchanges: u64,
    /// Exchanges in which both servers did the same.
    pub same: u64,
    /// Explained differences by the name of their rule, with their number and the first of the simplest.
    pub explained: BTreeMap<&'static str, (u64, Difference)>,
    /// Differences that no rule explains.
    pub unexplained: Vec<Difference>,
}

/// Runs `count` exchanges of a seed, from the number `first` on. `progress` gets the finished ones.
///
/// # Errors
/// Without root, TUN devices or Multipath TCP in the kernel.
pub fn run(seed: Seed, first: u64, count: u64, progress: &dyn Fn(u64)) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let (mut at, end) = (first, first + count);
    while at < end {
        let batch = at / BATCH;
        let numbers = at..((batch + 1) * BATCH).min(end);
        let checksum = batch % 2 == 1;
        let server = TandemServer::new(seed.derive(&format!("server {batch}")), checksum);
        let with_tandem =
            play(server, exchanges(seed, numbers.clone(), checksum)).unwrap_or_else(|never| match never {});
        let with_linux = play_with_linux(seed, numbers, checksum, &with_tandem)?;
        for (linux, tandem) in with_linux.iter().zip(&with_tandem) {
            findings.add(at, linux, tandem);
            at += 1;
        }
        progress(at - first);
    }
    Ok(findings)
}

/// Plays a batch with Linux: again, if a difference has no explanation. A busy machine answers late in
/// one play; a defect shows in each.
fn play_with_linux(
    seed: Seed,
    numbers: Range<u64>,
    checksum: bool,
    with_tandem: &[Played],
) -> Result<Vec<Played>, Error> {
    let mut plays = 1;
    loop {
        let with_linux = play(LinuxServer::new(checksum)?, exchanges(seed, numbers.clone(), checksum))?;
        let mut pairs = with_linux.iter().zip(with_tandem);
        let is_explained = |(linux, tandem): (&Played, &Played)| {
            linux.last() == tandem.last() || linux.explanation(tandem).is_some()
        };
        if plays == PLAYS || pairs.all(is_explained) {
            return Ok(with_linux);
        }
        plays += 1;
    }
}

/// The exchanges of a batch.
fn exchanges(seed: Seed, numbers: Range<u64>, checksum: bool) -> Vec<Exchange> {
    let ports = |i: usize| [PORTS[0] + i as u16, PORTS[1] + i as u16 * JOINS];
    numbers.enumerate().map(|(i, number)| Exchange::new(seed, number, ports(i), checksum)).collect()
}

/// An exchange with one server.
struct Played {
    exchange: Exchange,
    /// Outcome after each round.
    rounds: Vec<Outcome>,
}

impl Played {
    fn new(exchange: Exchange) -> Self {
        Self { exchange, rounds: Vec::new() }
    }

    fn last(&self) -> &Outcome {
        self.rounds.last().expect("an exchange has rounds")
    }

    /// The rule that explains the differences from Tandem's outcomes.
    fn explanation(&self, tandem: &Self) -> Option<&'static Rule> {
        let first = self.first_difference(tandem);
        let first = first.as_ref().map(|(acts, members)| (*acts, &**members));
        rules::explain(&self.exchange, first, &self.last().differing(tandem.last()))
    }

    /// Number of acts played when the outcomes first differ for more than a round, and the members that
    /// differ then. A difference of one round is a delay of Linux's threads.
    fn first_difference(&self, other: &Self) -> Option<(usize, Vec<&'static str>)> {
        let differing = |round: usize| match (self.rounds.get(round), other.rounds.get(round)) {
            (Some(one), Some(other)) => one.differing(other),
            _ => self.last().differing(other.last()),
        };
        (0..self.rounds.len()).find_map(|round| {
            let next = differing(round + 1);
            let mut members = differing(round);
            members.retain(|member| !Outcome::is_delayed(member) && next.contains(member));
            (!members.is_empty()).then(|| (Exchange::acts_within(round + 1), members))
        })
    }
}

/// Runs exchanges with one server, round by round.
fn play<S: Server>(mut server: S, exchanges: Vec<Exchange>) -> Result<Vec<Played>, S::Error> {
    let mut all: Vec<Played> = exchanges.into_iter().map(Played::new).collect();
    for round in 0..Exchange::ROUNDS {
        for played in &mut all {
            for packet in played.exchange.next_round() {
                server.send(&packet)?;
            }
        }
        for packet in server.wait(if round + 1 == Exchange::ROUNDS { LAST } else { ROUND })? {
            let Some(answer) = decode(&packet) else { continue };
            let to = answer.destination;
            let index = if to < PORTS[1] { to - PORTS[0] } else { (to - PORTS[1]) / JOINS };
            if let Some(played) = all.get_mut(usize::from(index)) {
                played.exchange.take(&answer);
            }
        }
        for played in &mut all {
            let application = server.application(played.exchange.ports[0]);
            played.rounds.push(played.exchange.outcome(application));
        }
    }
    Ok(all)
}

impl Findings {
    fn add(&mut self, number: u64, linux: &Played, tandem: &Played) {
        self.exchanges += 1;
        let outcomes = [linux.last().clone(), tandem.last().clone()];
        let members = outcomes[0].differing(&outcomes[1]);
        if members.is_empty() {
            self.same += 1;
            return;
        }
        let exchange = &linux.exchange;
        let first = linux.first_difference(tandem);
        let rule = linux.explanation(tandem);
        let hostile = exchange.hostile();
        let difference = Difference { number, hostile, script: exchange.script(), first, members, outcomes };
        match rule {
            Some(rule) => {
                let (times, example) = self.explained.entry(rule.name).or_insert((0, difference.clone()));
                *times += 1;
                if difference.hostile.len() < example.hostile.len() {
                    *example = difference;
                }
            }
            None => self.unexplained.push(difference),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::End;
    use crate::act::{Act, Opening};

    fn with_tandem(opening: Opening, acts: &[Act], closes: bool) -> Outcome {
        let server = TandemServer::new(Seed::new(1), false);
        let played = play(server, vec![Exchange::scripted(opening, acts, closes)]);
        let mut played = played.unwrap_or_else(|never| match never {});
        played.pop().expect("one exchange").last().clone()
    }

    #[test]
    fn proper_exchange_is_read_and_closed() {
        let outcome = with_tandem(Opening::Proper, &[Act::Data, Act::Data, Act::Join], true);
        assert!(outcome.end == End::Eof && outcome.fin, "{outcome}");
        assert_eq!(outcome.joins, [1, 0]);
        assert_eq!(outcome.data_acknowledged as usize, outcome.read.len() + 1, "the DATA_FIN too");
    }

    #[test]
    fn data_after_a_fin_is_not_delivered() {
        let before = with_tandem(Opening::Proper, &[Act::Data, Act::Fin], false);
        let with_more = with_tandem(Opening::Proper, &[Act::Data, Act::Fin, Act::Data], false);
        assert!(!before.read.is_empty() && with_more.read == before.read, "{with_more}");
    }

    #[test]
    fn first_data_without_the_keys_falls_back() {
        let outcome = with_tandem(Opening::DssThirdAck, &[Act::Data, Act::Data], false);
        assert!(
            outcome.end == End::Open && outcome.read.len() as u32 + 1 == outcome.acknowledged,
            "{outcome}"
        );
        assert_eq!(outcome.data_acknowledged, 0);
    }

    #[test]
    fn key_in_a_syn_is_no_offer_and_a_later_version_is_one() {
        for (opening, offers) in [
            (Opening::KeyInSyn, false),
            (Opening::OtherVersion(0), false),
            (Opening::OtherVersion(2), true),
            (Opening::Extension, false),
            (Opening::NoAlgorithm, false),
        ] {
            let outcome = with_tandem(opening, &[Act::Data], false);
            assert_eq!(outcome.offers_mptcp, offers, "{opening:?}");
            assert_eq!(outcome.read.len() as u32 + 1, outcome.acknowledged, "{opening:?}");
        }
    }

    #[test]
    fn ack_of_another_syn_is_reset_and_the_port_of_a_reset_subflow_is_free() {
        let acts = [Act::Data, Act::Reset, Act::SynInWindow, Act::Data];
        let outcome = with_tandem(Opening::Proper, &acts, false);
        assert!(outcome.reset && outcome.end == End::Open, "{outcome}");
    }

    #[test]
    fn same_seed_gives_the_same_outcomes() {
        let play = || {
            let played = play(TandemServer::new(Seed::new(3), false), exchanges(Seed::new(3), 0..200, false));
            let played = played.unwrap_or_else(|never| match never {});
            played.into_iter().map(|played| played.rounds).collect::<Vec<_>>()
        };
        assert_eq!(play(), play());
    }

    #[test]
    #[ignore = "needs root"]
    fn needs_root_every_difference_from_linux_has_an_explanation() {
        let found = run(Seed::new(1), 0, 4000, &|_| ()).expect("root has namespaces and TUN devices");
        assert_eq!(found.exchanges, 4000);
        let unexplained: Vec<String> =
            found.unexplained.iter().map(|one| format!("{}: {}", one.number, one.script)).collect();
        assert!(unexplained.is_empty(), "{unexplained:#?}");
        assert!(found.same > 3000 && found.explained.len() > 8, "{} are the same", found.same);
    }
}
