use super::*;
use linux::namespace::Namespace;
use linux::pm::{PathManager, path_manager};
use linux::tun::Tun;
use std::path::Path;

fn config(more: &str) -> Config {
    let text = format!("policy = 'none'\n[[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n{more}");
    Config::parse("agent.toml", text.as_bytes(), &|_| Ok(String::new())).expect("a valid configuration")
}

fn reload_without_listing(folder: &Path, more: &str) -> Result<(), Error> {
    linux::sysctl::write("net.mptcp.enabled", "1")?;
    let _tun = Tun::create("wlan0")?;
    let mut route = Route::open()?;
    let index = route.link("wlan0")?.index;
    route.set_up(index, true)?;
    route.add_address(index, [10, 1, 0, 2].into(), 24)?;
    let options = Options { dry_run: false, state: folder.join("state"), socket: folder.join("agent.sock") };
    let mut agent = Agent::open(config(""), &options)?;
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
        let folder = tempfile::tempdir().expect("a folder");
        let namespace = Namespace::create().expect("a network namespace");
        namespace.run(|| reload_without_listing(folder.path(), more)).expect("the agent runs");
    }
}

/// Sets up an interface with an address that several may have.
fn set_up_interface(name: &str) -> Result<(Tun, u32), Error> {
    let tun = Tun::create(name)?;
    let mut route = Route::open()?;
    let index = route.link(name)?.index;
    route.set_up(index, true)?;
    route.add_address(index, [10, 1, 0, 2].into(), 32)?;
    Ok((tun, index))
}

fn share_an_address(folder: &Path) -> Result<(), Error> {
    linux::sysctl::write("net.mptcp.enabled", "1")?;
    let (_wlan, wlan_index) = set_up_interface("wlan0")?;
    let (_lte, _) = set_up_interface("lte0")?;
    let text = "policy = 'wifi-first'\n[[interface]]\nmatch = 'lte0'\nkind = 'lte'\n\
        [[interface]]\nmatch = 'wlan0'\nkind = 'wifi'\n";
    let config = Config::parse("agent.toml", text.as_bytes(), &|_| Ok(String::new()));
    let options = Options { dry_run: false, state: folder.join("state"), socket: folder.join("agent.sock") };
    let mut agent = Agent::open(config.expect("a valid configuration"), &options)?;
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
    let folder = tempfile::tempdir().expect("a folder");
    let namespace = Namespace::create().expect("a network namespace");
    namespace.run(|| share_an_address(folder.path())).expect("the agent runs");
}
