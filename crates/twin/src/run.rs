//! Runs exchanges with both servers and collects the differences.

use crate::exchange::{Exchange, Peers};
use crate::linux_host::LinuxHost;
use crate::outcome::Outcome;
use crate::packet::{Received, decode};
use crate::rules::{self, Rule};
use crate::tandem_host::TandemHost;
use crate::victim::Victim;
use linux::Error;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use units::Seed;

/// Exchanges at once.
const BATCH: u64 = 400;
/// Plays before a difference without an explanation counts, each half as fast as the one before.
const PLAYS: u32 = 5;
/// Time between rounds of the first play: a host answers at once, and its application reads within it.
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

/// Runs `count` exchanges of a seed with hostile clients or servers, from the number `first` on.
/// `progress` gets the finished ones.
///
/// # Errors
/// Without root, TUN devices or Multipath TCP in the kernel.
pub fn run(
    peers: Peers,
    seed: Seed,
    first: u64,
    count: u64,
    progress: &dyn Fn(u64),
) -> Result<Findings, Error> {
    let mut findings = Findings::default();
    let (mut at, end) = (first, first + count);
    while at < end {
        let batch = at / BATCH;
        let numbers = at..((batch + 1) * BATCH).min(end);
        let checksum = batch % 2 == 1;
        for [linux, tandem] in play_batch(peers, seed, numbers, checksum)? {
            findings.add(at, &linux, &tandem);
            at += 1;
        }
        progress(at - first);
    }
    Ok(findings)
}

/// Plays a batch with Linux and with Tandem: again and slower, if a difference has no explanation. A busy
/// machine answers late in one play; a defect shows in each. An exchange is returned from the first play
/// without such a difference, or from the last.
fn play_batch(
    peers: Peers,
    seed: Seed,
    numbers: Range<u64>,
    checksum: bool,
) -> Result<Vec<[Played; 2]>, Error> {
    let mut round = ROUND;
    let mut all: Vec<[Played; 2]> = Vec::new();
    for _ in 0..PLAYS {
        let exchanges = || exchanges(peers, seed, numbers.clone(), checksum);
        let tandem = TandemHost::new(seed.derive(&format!("server {}", numbers.start / BATCH)), checksum);
        let with_tandem = play(tandem, exchanges(), round).unwrap_or_else(|never| match never {});
        let with_linux = play(LinuxHost::new(peers, checksum)?, exchanges(), round)?;
        let pairs = with_linux.into_iter().zip(with_tandem).map(|(linux, tandem)| [linux, tandem]);
        keep_unexplained(&mut all, pairs.collect());
        if all.iter().all(is_explained) {
            break;
        }
        round *= 2;
    }
    Ok(all)
}

/// Replaces the exchanges that had a difference without an explanation in each play so far.
fn keep_unexplained(all: &mut Vec<[Played; 2]>, next: Vec<[Played; 2]>) {
    if all.is_empty() {
        *all = next;
        return;
    }
    for (known, next) in all.iter_mut().zip(next) {
        if !is_explained(known) {
            *known = next;
        }
    }
}

fn is_explained([linux, tandem]: &[Played; 2]) -> bool {
    linux.last() == tandem.last() || linux.explanation(tandem).is_some()
}

/// The exchanges of a batch.
fn exchanges(peers: Peers, seed: Seed, numbers: Range<u64>, checksum: bool) -> Vec<Exchange> {
    let ports = |i: usize| [PORTS[0] + i as u16, PORTS[1] + i as u16 * JOINS];
    numbers.enumerate().map(|(i, number)| Exchange::new(peers, seed, number, ports(i), checksum)).collect()
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

/// Runs exchanges with one host, round by round.
fn play<V: Victim>(mut victim: V, exchanges: Vec<Exchange>, pace: Duration) -> Result<Vec<Played>, V::Error> {
    if exchanges.first().is_some_and(|one| one.peers == Peers::Servers) {
        let ports: Vec<u16> = exchanges.iter().map(|one| one.ports[0]).collect();
        victim.open(&ports)?;
    }
    let mut all: Vec<Played> = exchanges.into_iter().map(Played::new).collect();
    for round in 0..Exchange::ROUNDS {
        for played in &mut all {
            for packet in played.exchange.next_round() {
                victim.send(&packet)?;
            }
        }
        for packet in victim.wait(if round + 1 == Exchange::ROUNDS { LAST.max(pace) } else { pace })? {
            let Some(Received { to_announced, port, segment }) = decode(&packet) else { continue };
            let index = if port < PORTS[1] { port.wrapping_sub(PORTS[0]) } else { (port - PORTS[1]) / JOINS };
            let Some(played) = all.get_mut(usize::from(index)) else { continue };
            match segment {
                Some(answer) => played.exchange.take(to_announced, &answer),
                None => played.exchange.take_invalid(),
            }
        }
        for played in &mut all {
            let application = victim.application(played.exchange.ports[0]);
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
    use crate::answer::{Answer, JoinAnswer};

    fn with_tandem(opening: Opening, acts: &[Act], closes: bool) -> Outcome {
        let server = TandemHost::new(Seed::new(1), false);
        let played = play(server, vec![Exchange::scripted(opening, acts, closes)], ROUND);
        let mut played = played.unwrap_or_else(|never| match never {});
        played.pop().expect("one exchange").last().clone()
    }

    /// Outcome of Tandem's client with a hostile server.
    fn client_with_tandem(answer: Answer, acts: &[Act]) -> Outcome {
        let mut exchange = Exchange::new(Peers::Servers, Seed::new(1), 0, PORTS, false);
        (exchange.answer, exchange.acts, exchange.closes) = (answer, acts.to_vec(), true);
        let played = play(TandemHost::new(Seed::new(1), false), vec![exchange], ROUND);
        played.unwrap_or_else(|never| match never {}).pop().expect("one exchange").last().clone()
    }

    #[test]
    fn client_joins_an_announced_address() {
        let announce = Act::Announce(JoinAnswer::Proper);
        let outcome = client_with_tandem(Answer::Proper, &[Act::Data, announce, Act::Data]);
        assert!(outcome.end == End::Eof && outcome.own_joins == [1, 0, 1], "{outcome}");
    }

    #[test]
    fn failed_join_of_a_server_does_not_end_the_connection() {
        let outcome = client_with_tandem(Answer::Proper, &[Act::JoinWrongHmac, Act::Data]);
        assert!(outcome.end == End::Eof && outcome.joins == [1, 1], "{outcome}");
    }

    #[test]
    fn answer_with_two_keys_is_plain_tcp_and_one_to_another_syn_is_reset() {
        let outcome = client_with_tandem(Answer::TwoKeys, &[Act::Data]);
        assert!(!outcome.offers_mptcp && !outcome.read.is_empty(), "{outcome}");
        assert!(client_with_tandem(Answer::WrongAck, &[]).reset);
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
    fn difference_of_one_play_does_not_count() {
        let play = |differ: [bool; 2]| -> Vec<[Played; 2]> {
            let pair = |differs| {
                let played = |reset| Played {
                    exchange: Exchange::scripted(Opening::Proper, &[Act::Data], false),
                    rounds: vec![Outcome { reset, ..Outcome::default() }],
                };
                [played(false), played(differs)]
            };
            differ.into_iter().map(pair).collect()
        };
        let mut all = Vec::new();
        for differ in [[true, true], [true, false], [true, true]] {
            keep_unexplained(&mut all, play(differ));
        }
        assert_eq!(all.iter().map(is_explained).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn same_seed_gives_the_same_outcomes() {
        let play = |peers| {
            let played = play(
                TandemHost::new(Seed::new(3), false),
                exchanges(peers, Seed::new(3), 0..200, false),
                ROUND,
            );
            let played = played.unwrap_or_else(|never| match never {});
            played.into_iter().map(|played| played.rounds).collect::<Vec<_>>()
        };
        for peers in [Peers::Clients, Peers::Servers] {
            assert_eq!(play(peers), play(peers));
        }
    }

    #[test]
    #[ignore = "needs root"]
    fn needs_root_every_difference_from_linux_has_an_explanation() {
        for peers in [Peers::Clients, Peers::Servers] {
            let found =
                run(peers, Seed::new(1), 0, 4000, &|_| ()).expect("root has namespaces and TUN devices");
            assert_eq!(found.exchanges, 4000);
            let unexplained: Vec<String> =
                found.unexplained.iter().map(|one| format!("{}: {}", one.number, one.script)).collect();
            assert!(unexplained.is_empty(), "{peers:?} {unexplained:#?}");
            assert!(found.same > 2500 && found.explained.len() > 8, "{} are the same", found.same);
        }
    }
}
