use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Config, Vec<Diagnostic>> {
    Config::parse("agent.toml", text.as_bytes(), &|file| match file {
        "mine.toml" => Ok(Profile::named("huang2012.lte").unwrap().to_toml()),
        _ => Err("no such file".to_owned()),
    })
}

const WIFI: &str = "[[interface]]\nmatch = 'wlan*'\nradio = 'huang2012.wifi'\n";

#[test]
fn the_example_is_read_and_its_comments_are_the_defaults() {
    let example = read(EXAMPLE).unwrap();
    assert_eq!(example.policy.to_string(), "wifi-first");
    assert_eq!(example.interfaces.len(), 2);
    let allowance = example.interfaces[1].allowance.unwrap();
    assert_eq!(allowance.period, Period::Month { from: 1 });
    assert_eq!((allowance.data.get(), allowance.at_cap), (5_000_000_000, CapAction::Close));
    // Commented-out keys show their defaults, except for paths and `metrics`.
    let commented = |line: &str| {
        line.strip_prefix('#').is_some_and(|rest| rest.contains(" = ") && !rest.starts_with(' '))
    };
    let all: String = EXAMPLE
        .lines()
        .map(|line| if commented(line) { &line[1..] } else { line })
        .fold(String::new(), |all, line| all + line + "\n");
    let mut all = read(&all).unwrap();
    assert_eq!(all.socket.take(), Some("/run/tandem/agent.sock".into()));
    assert_eq!(all.state.take(), Some("/var/lib/tandem".into()));
    assert!(all.metrics.take().unwrap().ip().is_loopback());
    assert_eq!(all, example);
}

#[test]
fn every_key_has_its_place_in_the_example() {
    let mut names: Vec<&str> = format::AGENT.names();
    names.extend(
        format::AGENT.keys.iter().flat_map(|key| key.shape.tables()).flat_map(schema::shape::Table::names),
    );
    for name in names {
        assert!(EXAMPLE.contains(&format!("{name} = ")) || EXAMPLE.contains(&format!("[{name}]")), "{name}");
    }
}

#[test]
fn rules_for_connections_are_read_and_what_is_wrong_with_them_is_told() {
    let rules = "[[connection]]\nremote = '203.0.113.0/24:443'\npolicy = 'wifi-only'\n\
        [[connection]]\nremote = ':22'\nnever = 'wlan*'\n";
    let config = read(&format!("policy = 'none'\n{WIFI}{rules}")).unwrap();
    let [web, shell] = &config.connections[..] else { panic!("{:?}", config.connections) };
    assert!(web.remote.matches("203.0.113.4:443".parse().unwrap()));
    assert_eq!(web.policy.as_ref().map(|policy| policy.to_string()).as_deref(), Some("wifi-only"));
    assert!(!web.excludes("wlan0") && shell.excludes("wlan0") && !shell.excludes("wwan0"));
    let wrong = "[[connection]]\nremote = 'example.org:443'\nnever = 'wlan*'\n\
        [[connection]]\nremote = ':22'\n[[connection]]\nremote = ':22'\npolicy = 'wifi-frist'\n";
    let told = read(&format!("policy = 'none'\n{WIFI}{wrong}")).unwrap_err();
    let told: Vec<&str> = told.iter().map(|one| &*one.message).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("example.org:443") && told[1].contains("nothing is said"), "{told:?}");
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_would_be_right() {
    let text = "policy = 'wifi-frist'\nzone = 'CET'\nlogs = 'info'\n\
        [[interface]]\nmatch = 'wlan*'\nradio = 'huang2012.wify'\n\
        [[interface]]\nmatch = 'wlan*'\nradio = { file = 'lost.toml' }\n\
        allowance = { data = '5', per = 'fortnight' }\n\
        [[interface]]\nmatch = 'a b'\nradio = 'huang2012.lte'\n\
        allowance = { data = '1GB', per = 'week', from = 9 }\n\
        [[interface]]\nmatch = 'c'\nradio = 'huang2012.lte'\n\
        allowance = { data = '1GB', per = 'day', from = 2, at_cap = 'stop' }\n\
        [detector]\nbusy = '100ms'\nrest = '50ms'\n[status]\nmetrics = '0.0.0.0:9464'\n";
    let told: Vec<String> = read(text).unwrap_err().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_policy_that_the_interfaces_cannot_follow_is_refused() {
    let told = read(&format!("policy = 'lte-only'\n{WIFI}")).unwrap_err();
    assert_eq!(told[0].message, "`lte-only` needs a path over LTE, and the device has none");
    assert_eq!(
        read("policy = 'none'\n").unwrap_err()[0].message,
        "the agent needs at least one `[[interface]]`"
    );
}

#[test]
fn a_share_is_held_by_what_a_device_can_do() {
    let config = read(&format!("policy = 'emtcp:0.4'\n{WIFI}")).unwrap();
    assert_eq!(config.policy.to_string(), "emtcp:mp-prio:0.4");
    assert_eq!(config.remarks.len(), 1);
}

#[test]
fn radios_come_by_name_from_a_file_or_as_they_stand() {
    let lte = Profile::named("huang2012.lte").unwrap();
    let config = read(
        "policy = 'none'\n[[interface]]\nmatch = 'a'\nradio = { file = 'mine.toml' }\n\
        [[interface]]\nmatch = 'b'\nradio = { kind = '5g', down_per_mbps = '1mW', up_per_mbps = '1mW', active = '1W', inactivity = '1s', idle = { power = '1mW' } }\n",
    );
    let config = config.unwrap_or_else(|told| panic!("{}", told[0]));
    assert_eq!(*config.interfaces[0].profile, lte);
    assert_eq!(config.interfaces[1].profile.kind, InterfaceKind::FiveG);
    assert_eq!(config.kinds(), [InterfaceKind::Lte, InterfaceKind::FiveG]);
}

#[test]
fn names_match_as_in_a_shell() {
    let cases = [
        ("wlan0", "wlan0", true),
        ("wlan0", "wlan01", false),
        ("wlan*", "wlan", true),
        ("wlan*", "wlp3s0", false),
        ("w*n?", "wwan0", true),
        ("*", "", true),
        ("?", "", false),
        ("*0*", "eth0.7", true),
        ("**a", "bca", true),
    ];
    for (pattern, name, matches) in cases {
        assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), matches, "{pattern} {name}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_told_what_is_wrong_with_it(text in "\\PC*") {
        if let Err(told) = read(&text) {
            prop_assert!(!told.is_empty());
        }
    }

    /// The example with parts removed, duplicated or changed.
    #[test]
    fn a_damaged_file_is_read_or_told_what_is_wrong_with_it(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, any::<Option<char>>()), 1..6),
    ) {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        for (at, length, put) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, put);
        }
        let text: String = text.into_iter().collect();
        if let Err(told) = read(&text) {
            prop_assert!(told.iter().all(|problem| problem.line >= 1 && !problem.message.is_empty()));
        }
    }
}
