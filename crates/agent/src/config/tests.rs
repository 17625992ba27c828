use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Config, Vec<Diagnostic>> {
    Config::parse("agent.toml", text.as_bytes(), &|file| match file {
        "mine.toml" => Ok(Profile::named("huang2012.lte").unwrap().to_toml()),
        "token" => Ok("0123456789abcdef0123456789abcdef\n".to_owned()),
        "short" => Ok("0123".to_owned()),
        _ => Err("no such file".to_owned()),
    })
}

const WIFI: &str = "[[interface]]\nmatch = 'wlan*'\nradio = 'huang2012.wifi'\n";

#[test]
fn example_comments_show_the_defaults() {
    let example = read(EXAMPLE).unwrap();
    assert_eq!(example.policy.to_string(), "wifi-first");
    assert_eq!(example.interfaces.len(), 2);
    assert!(example.interfaces.iter().all(|interface| interface.allowance.is_none()));
    let limited = read(&EXAMPLE.replace("#   allowance = ", "allowance = ")).unwrap();
    let allowance = limited.interfaces[1].allowance.unwrap();
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
    assert_eq!(all.metrics.take(), Some("127.0.0.1:9464".parse().unwrap()));
    assert_eq!(all, example);
}

#[test]
fn example_shows_every_key() {
    let mut names: Vec<&str> = format::AGENT.names();
    names.extend(
        format::AGENT.keys.iter().flat_map(|key| key.shape.tables()).flat_map(schema::shape::Table::names),
    );
    for name in names {
        assert!(EXAMPLE.contains(&format!("{name} = ")) || EXAMPLE.contains(&format!("[{name}]")), "{name}");
    }
}

#[test]
fn connection_rules_are_parsed_and_checked() {
    let rules = "[[connection]]\nremote = '203.0.113.0/24:443'\npolicy = 'wifi-only'\n\
        [[connection]]\nremote = ':22'\nnever = 'wlan*'\n";
    let config = read(&format!("policy = 'none'\n{WIFI}{rules}")).unwrap();
    let [web, shell] = &config.connections[..] else { panic!("{:?}", config.connections) };
    assert!(web.remote.matches("203.0.113.4:443".parse().unwrap()));
    assert_eq!(web.policy.as_ref().map(ToString::to_string).as_deref(), Some("wifi-only"));
    assert!(!web.excludes("wlan0") && shell.excludes("wlan0") && !shell.excludes("wwan0"));
    let wrong = "[[connection]]\nremote = 'example.org:443'\nnever = 'wlan*'\n\
        [[connection]]\nremote = ':22'\n[[connection]]\nremote = ':22'\npolicy = 'wifi-frist'\n";
    let problems = read(&format!("policy = 'none'\n{WIFI}{wrong}")).unwrap_err();
    let problems: Vec<&str> = problems.iter().map(|one| &*one.message).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("example.org:443") && problems[1].contains("no effect"), "{problems:?}");
}

#[test]
fn problems_have_location_and_expectation() {
    let text = "policy = 'wifi-frist'\nzone = 'CTE'\nlogs = 'info'\n\
        [[interface]]\nmatch = 'wlan*'\nradio = 'huang2012.wify'\n\
        [[interface]]\nmatch = 'wlan*'\nradio = { file = 'lost.toml' }\n\
        allowance = { data = '5', per = 'fortnight' }\n\
        [[interface]]\nmatch = 'a b'\nradio = 'huang2012.lte'\n\
        allowance = { data = '1GB', per = 'week', from = 9 }\n\
        [[interface]]\nmatch = 'c'\nradio = 'huang2012.lte'\n\
        allowance = { data = '1GB', per = 'day', from = 2, at_cap = 'stop' }\n\
        [detector]\nbusy = '100ms'\nrest = '50ms'\n[status]\nmetrics = '0.0.0.0:9464'\n";
    let problems: Vec<String> = read(text).unwrap_err().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn log_filter_is_checked_with_its_line() {
    let with = |filter: &str| {
        read(&format!("policy = 'none'\n{WIFI}").replacen('\n', &format!("\nlog = '{filter}'\n"), 1))
    };
    assert_eq!(with("warn, agent=debug").unwrap().log, "warn, agent=debug");
    let problems = with("info,loud").unwrap_err();
    assert_eq!((&*problems[0].message, problems[0].line), ("invalid log filter `loud`", 2));
}

#[test]
fn policy_without_matching_interfaces_is_rejected() {
    let problems = read(&format!("policy = 'lte-only'\n{WIFI}")).unwrap_err();
    assert_eq!(problems[0].message, "`lte-only` needs a path over LTE, and the device has none");
    assert_eq!(
        read("policy = 'none'\n").unwrap_err()[0].message,
        "the agent needs at least one `[[interface]]`"
    );
}

#[test]
fn emtcp_share_uses_mp_prio() {
    let config = read(&format!("policy = 'emtcp:0.4'\n{WIFI}")).unwrap();
    assert_eq!(config.policy.to_string(), "emtcp:mp-prio:0.4");
    assert_eq!(config.remarks.len(), 1);
}

#[test]
fn radio_profiles_are_named_read_or_inline() {
    let lte = Profile::named("huang2012.lte").unwrap();
    let config = read(
        "policy = 'none'\n[[interface]]\nmatch = 'a'\nradio = { file = 'mine.toml' }\n\
        [[interface]]\nmatch = 'b'\nradio = { kind = '5g', down_per_mbps = '1mW', up_per_mbps = '1mW', active = '1W', inactivity = '1s', idle = { power = '1mW' } }\n",
    );
    let config = config.unwrap_or_else(|problems| panic!("{}", problems[0]));
    assert_eq!(config.interfaces[0].profile.as_deref(), Some(&lte));
    assert_eq!(config.interfaces[1].kind, InterfaceKind::FiveG);
    assert_eq!(config.kinds(), [InterfaceKind::Lte, InterfaceKind::FiveG]);
}

#[test]
fn kind_suffices_and_overrides_that_of_the_radio() {
    let config = read(
        "policy = 'wifi-first'\n[[interface]]\nmatch = 'eth0'\nkind = 'ethernet'\n\
        [[interface]]\nmatch = 'sat0'\nkind = 'satellite'\n\
        [[interface]]\nmatch = 'wwan0'\nkind = '5g'\nradio = 'huang2012.lte'\n",
    );
    let config = config.unwrap_or_else(|problems| panic!("{}", problems[0]));
    let rules = config.interfaces.iter().map(|rule| (rule.kind, rule.profile.is_some()));
    assert_eq!(
        rules.collect::<Vec<_>>(),
        [(InterfaceKind::Ethernet, false), (InterfaceKind::Satellite, false), (InterfaceKind::FiveG, true)]
    );
    let text =
        "policy = 'none'\n[[interface]]\nmatch = 'eth0'\n[[interface]]\nmatch = 'b'\nkind = 'sattelite'\n";
    let problems: Vec<String> = read(text).unwrap_err().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"));
}

#[test]
fn patterns_match_as_shell_globs() {
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
    fn arbitrary_text_is_parsed_or_rejected(text in "\\PC*") {
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.is_empty());
        }
    }

    /// The example with parts removed, duplicated or changed.
    #[test]
    fn damaged_file_is_parsed_or_rejected(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..40, any::<Option<char>>()), 1..6),
    ) {
        let mut text: Vec<char> = EXAMPLE.chars().collect();
        for (at, length, put) in cuts {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, put);
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.is_empty());
            prop_assert!(problems.iter().all(|problem| problem.line >= 1 && !problem.message.is_empty()));
        }
    }
}

#[test]
fn port_of_players_is_closed_by_default_and_checked() {
    assert_eq!(read(EXAMPLE).unwrap().players, None);
    let with = |keys: &str| read(&format!("policy = 'qoe'\n{WIFI}[players]\n{keys}"));
    let origins = "origins = ['https://Player.example:443', 'http://127.0.0.1:8090']";
    let config = with(&format!("listen = '127.0.0.1:9465'\ntoken_file = 'token'\n{origins}\n"));
    let port = config.unwrap().players.unwrap();
    assert_eq!(port.origins, ["https://player.example", "http://127.0.0.1:8090"]);
    assert!(!format!("{port:?}").contains("0123456789abcdef"));
    let wrong = "listen = '0.0.0.0:9465'\ntoken_file = 'short'\norigins = ['null', '*', 'https://a/b']\n";
    let problems = with(wrong).unwrap_err();
    let problems: Vec<&str> = problems.iter().map(|one| &*one.message).collect();
    assert_eq!(
        problems,
        [
            "0.0.0.0 is not a loopback address",
            "`short` has no usable token",
            "invalid origin `null`",
            "invalid origin `*`",
            "invalid origin `https://a/b`",
        ]
    );
    let problems = with("listen = '127.0.0.1:9465'\ntoken_file = 'none'\n").unwrap_err();
    assert_eq!(problems[0].message, "cannot read `none`: no such file");
    assert!(with("listen = '127.0.0.1:9465'\n").is_err(), "the token is required");
}
