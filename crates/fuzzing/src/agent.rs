//! Targets of the agent: its configuration, and its own state files.

use agent::allowance::counters::{CounterBytes, CounterReading};
use agent::allowance::usage_file::UsageFile;
use agent::allowance::{Allowance, CapAction, Period, Zone};
use agent::config::Config;
use agent::journal::Journal;
use agent::players::{MAX_PLAYERS, Players};
use agent::status::{PlayerGate, Token, Verdict, parse_origin, parse_report};
use cmcd::State;
use units::{Duration, Instant};

/// Fuzz target: configuration of the agent.
pub fn agent_config(bytes: &[u8]) {
    let files = |_: &str| Ok(String::from_utf8_lossy(bytes).into_owned());
    match Config::parse("fuzz.toml", bytes, &files) {
        Ok(config) => {
            assert!(config.busy <= config.rest && !config.interfaces.is_empty());
            for rule in &config.interfaces {
                let problem = rule.profile.as_ref().and_then(|profile| profile.problem());
                assert_eq!(problem, None, "an accepted profile has no problem");
                rule.matches("wlan0");
            }
        }
        Err(problems) => assert!(!problems.is_empty(), "rejected without a message"),
    }
}

/// Fuzz target: journal of changes and data usage that an agent left behind.
pub fn agent_state(bytes: &[u8]) {
    if let Ok(journal) = Journal::parse(bytes) {
        assert_eq!(Journal::parse(&journal.to_bytes()), Ok(journal.clone()));
        journal.undo_steps(&[], linux::pm::Limits::default());
    }
    if let Ok(mut file) = UsageFile::parse(bytes, "boot") {
        file.enter_boot("boot");
        let bytes = CounterBytes::Directions(1000, 0);
        file.counters.record("wwan0", CounterReading { index: 3, bytes });
        for usage in file.usages.values_mut() {
            let allowance = Allowance {
                data: units::Bytes::new(5),
                period: Period::Month { from: 31 },
                at_cap: CapAction::Close,
            };
            let next = allowance.period.next(usage.period, &Zone::default());
            usage.advance(&allowance, next, &Zone::default(), |_| false);
            assert!(usage.period <= next);
        }
        assert_eq!(UsageFile::parse(&file.to_bytes(), "boot"), Ok(file));
    }
}

/// Fuzz target: reports of players as they arrive at the agent's socket, one in each line.
pub fn agent_players(bytes: &[u8]) {
    let mut players = Players::default();
    let mut now = Instant::ZERO;
    for line in bytes.split(|&byte| byte == b'\n') {
        let head = [b"POST /player HTTP/1.1\r\nCMCD-Request: ", line].concat();
        let state = State::of_request(&head).expect("the head has a report");
        now += Duration::from_millis(line.len() as u64);
        let is_of_a_buffer = state.is_of_a_buffer();
        assert_eq!(players.record(now, state), is_of_a_buffer);
        players.expire(now);
        assert!(players.current(now).count() <= MAX_PLAYERS, "too many players");
        if let Some(app) = players.app_state(now) {
            assert!(app.buffer.is_none_or(|buffer| buffer < Duration::from_secs(1 << 20)), "{app:?}");
        }
    }
    let later = now + Duration::from_secs(1 << 20);
    players.expire(later);
    assert_eq!(players.current(later).count(), 0, "a silent player is never forgotten");
}

/// Fuzz target: requests at the agent's port of players. The first line has method and path, the next
/// ones are header fields, and the body follows an empty line.
pub fn agent_port(bytes: &[u8]) {
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    const ORIGIN: &str = "https://player.example";
    let address = ([127, 0, 0, 1], 9465).into();
    let token = Token::parse(TOKEN).expect("a valid token");
    let gate = PlayerGate::new(address, vec![ORIGIN.to_owned()], token);
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let mut lines = head.split('\n');
    let (method, path) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
    let fields: Vec<(&str, &[u8])> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name, value.as_bytes()))
        .collect();
    let judgement = gate.judge(method, path, &fields);
    let value = |name: &str| {
        let mut values = fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        (values.next().map(|(_, value)| *value), values.next().is_some())
    };
    if judgement.verdict == Verdict::Report {
        assert!(value("authorization").0.is_some_and(|value| value.trim_ascii().ends_with(TOKEN.as_bytes())));
        let (host, is_repeated) = value("host");
        assert!(!is_repeated && host.is_some_and(|host| host.ends_with(b":9465")), "foreign host");
        let (origin, is_repeated) = value("origin");
        assert!(!is_repeated && origin.is_none_or(|origin| origin == ORIGIN.as_bytes()), "foreign origin");
    }
    assert!(judgement.origin.is_none_or(|origin| origin == ORIGIN));
    if let Some(state) = parse_report(body.as_bytes()) {
        assert!(Players::default().record(Instant::ZERO, state), "a report without the state of a buffer");
    }
    if let Some(origin) = parse_origin(&text) {
        assert_eq!(parse_origin(&origin).as_ref(), Some(&origin), "an origin has one form");
    }
    if let Some(token) = Token::parse(&text) {
        assert!(!format!("{token:?}").contains(text.trim()), "a token in a message");
    }
}
