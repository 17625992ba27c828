use super::*;
use linux::namespace::Namespace;
use linux::pm::{PathManager, path_manager};
use linux::socket::{self, Protocol};
use linux::tun::Tun;
use std::path::Path;
use units::{Bitrate, Bytes};

fn config(more: &str) -> Config {
    let text = format!("policy = 'none'\n[[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n{more}");
    Config::parse("agent.toml", text.as_bytes(), &|_| Ok(String::new())).expect("a valid configuration")
}

/// Creates an interface with an address that several may have.
fn set_up_interface(name: &str) -> Result<(Tun, u32), Error> {
    let tun = Tun::create(name)?;
    let mut route = Route::open()?;
    let index = route.link(name)?.index;
    route.set_up(index, true)?;
    route.add_address(index, [10, 1, 0, 2].into(), 32)?;
    Ok((tun, index))
}

/// Runs `work` with a folder, in a network namespace of its own: a new one has Multipath TCP enabled.
fn in_namespace(work: impl FnOnce(&Path) -> Result<(), Error> + Send) {
    let folder = tempfile::tempdir().expect("a folder");
    let namespace = Namespace::create().expect("a network namespace");
    namespace.run(|| work(folder.path())).expect("the agent runs");
}

fn open_agent(folder: &Path, config: Config) -> Result<Agent, Error> {
    let options = Options { dry_run: false, state: folder.join("state"), socket: folder.join("agent.sock") };
    Agent::open(config, &options)
}

fn reload_without_listing(folder: &Path, more: &str) -> Result<(), Error> {
    let _wlan = set_up_interface("wlan0")?;
    let mut agent = open_agent(folder, config(""))?;
    agent.sample(agent.clock.now());
    let endpoints = PathManager::open()?.endpoints()?;
    assert_eq!(endpoints.len(), 1);
    agent.kernel_lists_nothing = true;
    assert!(agent.reload(config(more)).is_err(), "the kernel cannot be listed");
    agent.kernel_lists_nothing = false;
    agent.sample(agent.clock.now());
    assert_eq!(PathManager::open()?.endpoints()?, endpoints);
    assert_ne!(path_manager::current().as_deref(), Some(path_manager::USERSPACE));
    assert_eq!(agent.config, config(""));
    agent.reload(config(more))?;
    agent.sample(agent.clock.now());
    assert_eq!(PathManager::open()?.endpoints()?, endpoints);
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_reload_changes_nothing_while_the_kernel_cannot_be_listed() {
    for more in ["", "[[connection]]\nremote = ':443'\npolicy = 'none'\n"] {
        in_namespace(|folder| reload_without_listing(folder, more));
    }
}

fn share_an_address(folder: &Path) -> Result<(), Error> {
    let (_wlan, wlan_index) = set_up_interface("wlan0")?;
    let (_lte, _) = set_up_interface("lte0")?;
    let text = "policy = 'wifi-first'\n[[interface]]\nmatch = 'lte0'\nkind = 'lte'\n\
        [[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n";
    let config = Config::parse("agent.toml", text.as_bytes(), &|_| Ok(String::new()));
    let mut agent = open_agent(folder, config.expect("a valid configuration"))?;
    for _ in 0..2 {
        agent.sample(agent.clock.now());
        let endpoints = PathManager::open()?.endpoints()?;
        let choices: Vec<_> = endpoints.iter().map(|one| (one.device, one.flags.backup)).collect();
        assert_eq!(choices, [(wlan_index, false)]);
    }
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_address_of_two_interfaces_has_one_steady_endpoint() {
    in_namespace(share_an_address);
}

fn reload_at_the_cap(folder: &Path) -> Result<(), Error> {
    let _wlan = set_up_interface("wlan0")?;
    let limited = |data: &str| config(&format!("allowance = {{ data = '{data}', per = 'month' }}\n"));
    let mut agent = open_agent(folder, limited("30MB"))?;
    let allowance = agent.config.interfaces[0].allowance.expect("it was given");
    let burst = (Bytes::new(10_000_000), Bitrate::from_mbps(320.0));
    agent.paths[0].cap.update(agent.clock.now(), &allowance, burst, agent.config.busy);
    agent.reload(limited("30MB"))?;
    assert!(agent.paths[0].cap.is_stopped(), "the allowance is the same");
    agent.reload(limited("40MB"))?;
    assert!(!agent.paths[0].cap.is_stopped(), "another allowance");
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_reload_leaves_an_interface_stopped_for_its_allowance() {
    in_namespace(reload_at_the_cap);
}

fn replace_an_interface(folder: &Path) -> Result<(), Error> {
    let text = "policy = 'wifi-first'\n[[interface]]\nmatch = 'enx*'\nkind = 'ethernet'\n";
    let config = Config::parse("agent.toml", text.as_bytes(), &|_| Ok(String::new()));
    let mut agent = open_agent(folder, config.expect("a valid configuration"))?;
    for name in ["enx1", "enx2", "enx3"] {
        let (_tun, index) = set_up_interface(name)?;
        agent.list_all()?;
        agent.sample(agent.clock.now());
        let names: Vec<&str> = agent.paths.iter().map(|path| &*path.name).collect();
        assert_eq!((names, agent.steering.state().paths.len()), (vec![name], 1));
        let endpoints = PathManager::open()?.endpoints()?;
        assert_eq!(endpoints.iter().map(|one| one.device).collect::<Vec<_>>(), [index]);
    }
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_new_interface_takes_the_place_of_an_absent_one() {
    in_namespace(replace_an_interface);
}

fn count_during_events(folder: &Path) -> Result<(), Error> {
    let (wlan, _) = set_up_interface("wlan0")?;
    let mut route = Route::open()?;
    let loopback = route.link("lo")?.index;
    route.set_up(loopback, true)?;
    let mut agent = open_agent(folder, config("[[connection]]\nremote = ':443'\npolicy = 'none'\n"))?;
    let options = socket::Options::default();
    let listener = socket::listen(([127, 0, 0, 1], 0).into(), Protocol::Mptcp, &options)?;
    let address = listener.local_addr().expect("it listens");
    for _ in 0..100 {
        let _client = socket::connect(address, Protocol::Mptcp, &options)?;
        let _server = listener.accept();
        // An IPv4 header without content.
        wlan.send(&[0x45; 20]).expect("the interface is up");
        std::thread::sleep(std::time::Duration::from_millis(2));
        agent.process_mptcp_events();
        let now = agent.clock.now();
        if agent.samples.next(agent.wait) <= now {
            agent.sample(now);
        }
    }
    assert!(agent.paths[0].down >= 1_000 && agent.paths[0].rate_down > Bitrate::ZERO);
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_frequent_connections_do_not_freeze_the_rate() {
    in_namespace(count_during_events);
}

fn reload_without_rules(folder: &Path) -> Result<(), Error> {
    let _wlan = set_up_interface("wlan0")?;
    let rules = "[[connection]]\nremote = ':443'\npolicy = 'none'\n";
    let mut agent = open_agent(folder, config(rules))?;
    agent.sample(agent.clock.now());
    assert!(agent.connections.is_some());
    agent.reload(config(""))?;
    agent.sample(agent.clock.now());
    assert!(agent.connections.is_none(), "no connection is left that began under rules");
    agent.reload(config(rules))?;
    agent.sample(agent.clock.now());
    assert!(agent.connections.is_some());
    agent.endpoints.restore()
}

#[test]
#[ignore = "needs root"]
fn needs_root_agent_without_rules_controls_no_new_connections() {
    in_namespace(reload_without_rules);
}
