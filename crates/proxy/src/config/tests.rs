use super::*;
use proptest::prelude::*;

/// A hash that no password has.
const HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn files(name: &str) -> Result<String, String> {
    match name {
        "users" => Ok(format!("ann:{HASH}\nbob:{HASH}\n")),
        "clear" => Ok("ann:secret1\nbob:secret2\n".to_owned()),
        "one" => Ok("ann:secret1\n".to_owned()),
        "none" => Ok("# empty\n".to_owned()),
        "odd" => Ok(format!("ann:{HASH}\nsecret2\n")),
        _ => Err("it is readable by others".to_owned()),
    }
}

fn read(text: &str) -> Result<Config, Vec<Diagnostic>> {
    Config::parse("proxy.toml", text.as_bytes(), Files { secret: &files, public: &files })
}

#[test]
fn empty_file_and_example_equal_the_defaults() {
    assert_eq!(read("").unwrap(), Config::default());
    assert_eq!(read(EXAMPLE).unwrap(), Config::default());
}

#[test]
fn example_contains_every_key() {
    fn keys(table: &'static schema::shape::Table, found: &mut Vec<&'static str>) {
        for key in table.keys {
            found.push(key.name);
            if let schema::shape::Shape::Table(inner) | schema::shape::Shape::Tables(inner) = key.shape {
                keys(inner, found);
            }
        }
    }
    let mut all = Vec::new();
    keys(&format::PROXY, &mut all);
    for key in all.iter().filter(|key| !["workers", "access_log", "log"].contains(key)) {
        let found = EXAMPLE.lines().any(|line| {
            let line = line.trim_start_matches(['#', ' ', '[']);
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', ']']))
        });
        assert!(found, "{key}");
    }
}

#[test]
fn every_key_is_parsed() {
    let config = read(
        "servers = 'mptcp'\nworkers = 3\naccess_log = '-'\nlog = 'warn'\nagent = '/tmp/b.sock'\n\
        name_servers = ['192.0.2.53', '[::1]:5353']\n\
        [[listen]]\naddress = '192.0.2.1:5124'\nserve = 'convert'\nprotocol = 'tcp'\n\
        [clients]\nallow = ['192.0.2.0/24']\nusers = 'users'\nclear_passwords = true\n\
        [destinations]\nallow = ['10.0.0.0/8']\ndeny = ['10.1.0.0/16']\nports = [80, '8000-8100']\n\
        nat64 = ['2001:db8:64::/96']\n\
        [upstream]\naddress = 'a.example:1080'\ncredential = 'one'\nclear_passwords = true\n\
        [limits]\nconnections = 5\nper_client = 4\nhead = 2048\nlookups = 2\nlookups_per_client = 1\n\
        [timeouts]\nhandshake = '1s'\nconnect = '2s'\nidle = '3s'\nwrite = '2500ms'\nkeep_alive = '4s'\ntotal = '5s'\ndrain = '6s'\n\
        [status]\nsocket = '/tmp/a.sock'\nmetrics = '192.0.2.1:9464'\nmetrics_from = ['192.0.2.0/24']\n",
    )
    .unwrap_or_else(|problems| panic!("{}", problems[0]));
    insta::assert_debug_snapshot!(config);
}

#[test]
fn problems_name_their_place_and_no_secret() {
    let problems = read(
        "server = 'tcp'\n[[listen]]\naddress = 'localhost:1080'\nserve = 'sock5'\n\
        [clients]\nallow = ['192.0.2.1/24', '10/8']\nusers = 'odd'\n\
        [destinations]\nports = [0]\n[upstream]\naddress = 'a'\ncredential = 'none'\n\
        [limits]\nconnections = 0\n[timeouts]\nidle = '5'\ntotal = '0s'\n",
    )
    .unwrap_err();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let problems = problems.join("\n");
    assert!(!problems.contains("secret1") && !problems.contains("secret2"), "{problems}");
    insta::assert_snapshot!(problems);
    let of = |text: &str| read(text).unwrap_err()[0].message.clone();
    assert_eq!(of("clients = { users = 'none' }"), "the file contains no users");
    let problem = &read("clients = { users = 'clear' }").unwrap_err()[0];
    assert_eq!(problem.message, "line 1 of the file: the password is in clear text");
    assert!(
        problem.to_string().contains("tandem proxy passwd clear NAME")
            && !problem.to_string().contains("secret1")
    );
    assert_eq!(of("clients = { users = 'a' }"), "cannot read `a`: it is readable by others");
    assert_eq!(
        of("upstream = { address = 'a:1', credential = 'none' }"),
        "the file contains no `username:password`"
    );
}

#[test]
fn rule_that_can_never_match_is_rejected() {
    let problems = read(
        "[clients]\nallow = ['::ffff:192.0.2.0/120']\n\
        [destinations]\nallow = ['10.1.0.0/16']\ndeny = ['10.0.0.0/8', '::ffff:9.9.9.9']\n\
        ports = [443, '9-1']\nnat64 = ['64:ff9b:1::/50', '10.0.0.0/8']\n",
    )
    .unwrap_err();
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"));
    assert!(read("[destinations]\nports = []\n").is_err(), "no port at all");
    let rules = read("[destinations]\nports = ['1-1024', 25]\n").unwrap().destinations;
    assert!(rules.ports.contains(22) && rules.ports.contains(25) && !rules.ports.contains(8080));
    assert_eq!(read("[destinations]\n").unwrap().destinations, Rules::default());
}

#[test]
fn open_proxy_configuration_is_rejected() {
    let open = |rest: &str| {
        let problems = read(&format!("[[listen]]\naddress = '0.0.0.0:1080'\n{rest}"));
        problems.err().map(|problems| problems[0].message.clone())
    };
    let reason = Some("the listener at 0.0.0.0:1080 (auto) would be an open proxy".to_owned());
    assert_eq!(open(""), reason);
    assert_eq!(open("[clients]\nallow = []\n"), reason);
    assert_eq!(open("[clients]\nallow = ['0.0.0.0/0']\n"), reason, "the whole address space");
    assert_eq!(
        open("[clients]\nallow = ['0.0.0.0/1', '128.0.0.0/1']\n"),
        reason,
        "two halves of the address space"
    );
    assert_eq!(open("[clients]\nallow = ['192.0.2.0/24']\n"), None);
    let clear = "the listener at 0.0.0.0:1080 (auto) would receive passwords in clear text over a network";
    assert_eq!(open("[clients]\nusers = 'users'\n").as_deref(), Some(clear));
    assert_eq!(open("[clients]\nusers = 'users'\nallow = ['192.0.2.0/24']\n").as_deref(), Some(clear));
    assert_eq!(open("[clients]\nusers = 'users'\nclear_passwords = true\n"), None);
    for serve in ["convert", "transparent"] {
        let reason = open(&format!("serve = '{serve}'\n[clients]\nusers = 'users'\n"));
        assert!(reason.is_some(), "{serve} has no authentication");
        assert_eq!(open(&format!("serve = '{serve}'\n[clients]\nallow = ['192.0.2.0/24']\n")), None);
    }
    assert!(read("[[listen]]\naddress = '127.0.0.1:1080'\nserve = 'transparent'\n").is_err());
    assert!(read("[[listen]]\naddress = '[::ffff:127.0.0.1]:1080'\n").is_ok());
    assert!(read("[clients]\nusers = 'users'\n").is_ok(), "passwords over loopback");
    let upstream = |address: &str, more: &str| {
        read(&format!("[upstream]\naddress = '{address}'\ncredential = 'one'\n{more}"))
    };
    let problem = upstream("proxy.example:1080", "").unwrap_err()[0].message.clone();
    assert!(problem.contains("proxy.example:1080 in clear text"), "{problem}");
    assert!(upstream("proxy.example:1080", "clear_passwords = true").is_ok());
    assert!(upstream("127.0.0.1:1080", "").is_ok() && upstream("localhost:1080", "").is_ok());
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_with_a_problem(text in "\\PC*") {
        if let Err(problems) = read(&text) {
            prop_assert!(!problems.is_empty());
        }
    }
}

#[test]
fn users_admit_addresses_only_where_clients_log_in() {
    let mut config = Config::default();
    config.clients.users.add(&Credential::parse("ann:right").unwrap()).unwrap();
    let stranger = "198.51.100.7".parse().unwrap();
    for (serve, is_admitted) in [
        (ListenerProtocol::Auto, true),
        (ListenerProtocol::Http, true),
        (ListenerProtocol::Socks5, true),
        (ListenerProtocol::Convert, false),
        (ListenerProtocol::Transparent, false),
        (ListenerProtocol::Redirected, false),
    ] {
        let listen = Listen { serve, ..config.listen[0] };
        assert_eq!(config.admits(&listen, stranger), is_admitted, "{}", serve.name());
        assert!(config.admits(&listen, "127.0.0.1".parse().unwrap()));
    }
}
