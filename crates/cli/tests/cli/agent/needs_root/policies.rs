//! Effects of the policies on a real kernel.

use super::testnet::{SERVER, ip, port, stop, until, with_testnet};
use linux::Error;
use linux::mib::Mib;
use linux::route::{Route, RouteEntry};
use linux::socket::{self, Options, Protocol};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

#[test]
#[ignore = "needs root"]
fn wifi_first_makes_lte_a_backup_and_signals_it_to_the_server() {
    with_testnet(|net| {
        net.configure("wifi-first", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let received =
            || net.server.run(|| Ok::<_, Error>(Mib::read()?.counter("MPTcpExtMPPrioRx").unwrap_or(0)));
        let _download = net.download(2_000_000)?;
        until("the connection has joined over LTE", || {
            Ok(net.status()["connections"]["most"][0]["subflows"]
                .as_array()
                .is_some_and(|all| all.len() == 2))
        })?;
        let before = (received()?, net.carried("lte0")?);
        // Without Wi-Fi, LTE becomes regular and carries the data.
        net.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.set_up(index, false)
        })?;
        until("LTE carries", || Ok(net.carried("lte0")? > before.1 + 200_000))?;
        until("the server receives MP_PRIO", || Ok(received()? > before.0))?;
        net.until_endpoints(&[("10.2.0.2", false)])?;
        stop(agent);
        net.until_endpoints(&[])
    });
}

#[test]
#[ignore = "needs root"]
fn connection_started_on_a_backup_moves_to_wifi() {
    with_testnet(|net| {
        net.configure("wifi-first", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        // Routes now prefer LTE for new connections.
        net.device.run(|| {
            let mut route = Route::open()?;
            let device = route.link("wlan0")?.index;
            let mut entry = RouteEntry {
                to: ip(SERVER),
                prefix: 32,
                device,
                via: Some(ip("10.1.0.1")),
                source: None,
                metric: 10,
            };
            route.remove_route(&entry)?;
            entry.metric = 30;
            route.add_route(&entry)
        })?;
        let _download = net.download(2_000_000)?;
        until("the first subflow is a backup", || {
            let status = net.status();
            let subflows =
                status["connections"]["most"][0]["subflows"].as_array().cloned().unwrap_or_default();
            let lte = subflows.iter().find(|one| one["interface"] == "lte0");
            Ok(subflows.len() == 2 && lte.is_some_and(|lte| lte["backup"] == true))
        })?;
        let before = (net.carried("wlan0")?, net.carried("lte0")?);
        thread::sleep(Duration::from_millis(1500));
        let (wifi, lte) = (net.carried("wlan0")? - before.0, net.carried("lte0")? - before.1);
        assert!(wifi > 1_000_000 && lte < wifi / 4, "{wifi} over Wi-Fi, {lte} over LTE");
        stop(agent);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn connection_rules_override_the_policy() {
    with_testnet(|net| {
        let any = SocketAddr::new(ip("0.0.0.0"), 0);
        let listen = || net.server.run(|| socket::listen(any, Protocol::Mptcp, &Options::default()));
        let (first, never) = (listen()?, listen()?);
        let rules = |first_rule: &str| {
            format!(
                "[[connection]]\nremote = ':{}'\n{first_rule}\n[[connection]]\nremote = '{SERVER}/24:{}'\nnever = 'lte?'",
                port(&first),
                port(&never)
            )
        };
        let path_manager = || net.device.run(|| Ok::<_, Error>(linux::pm::path_manager::current()));
        net.device.run(|| linux::pm::path_manager::select("userspace"))?;
        net.device.run(|| linux::pm::path_manager::select("kernel"))?;
        net.configure("none", &rules("policy = 'wifi-first'"));
        let mut agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        until("the agent has taken over", || Ok(path_manager()?.as_deref() == Some("userspace")))?;
        net.until_ready()?;
        let _first = net.download_from(&first, 500_000)?;
        let _never = net.download_from(&never, 500_000)?;
        let _other = net.download(500_000)?;
        net.until_subflows(port(&first), &[("lte0", true), ("wlan0", false)]);
        net.until_subflows(port(&net.listener), &[("lte0", false), ("wlan0", false)]);
        net.until_subflows(port(&never), &[("wlan0", false)]);
        // Without Wi-Fi, a backup by rule becomes regular; a connection that excludes LTE waits.
        let wifi = |up| {
            net.device.run(|| {
                let mut route = Route::open()?;
                let index = route.link("wlan0")?.index;
                route.set_up(index, up)
            })
        };
        wifi(false)?;
        until("LTE is regular", || Ok(net.subflows(port(&first)).contains(&("lte0".to_owned(), false))))?;
        // The next agent takes over the connections of a killed one, with its own rules.
        agent.kill();
        drop(agent);
        assert_eq!(path_manager()?.as_deref(), Some("userspace"));
        wifi(true)?;
        net.device.run(|| {
            let mut route = Route::open()?;
            let device = route.link("wlan0")?.index;
            let via = Some(ip("10.1.0.1"));
            route.add_route(&RouteEntry { to: ip(SERVER), prefix: 32, device, via, source: None, metric: 10 })
        })?;
        net.configure("none", &rules("policy = 'wifi-only'"));
        let agent = net.agent(&[])?;
        until("the agent has taken over", || Ok(agent::status::query(&net.socket(), "/metrics").is_ok()))?;
        net.until_subflows(port(&first), &[("wlan0", false)]);
        net.until_subflows(port(&net.listener), &[("lte0", false), ("wlan0", false)]);
        let log = stop(agent);
        assert!(log.contains("userspace path manager"), "{log}");
        assert_eq!(path_manager()?.as_deref(), Some("kernel"));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn allowance_closes_its_interface_and_survives_a_restart() {
    with_testnet(|net| {
        const CAP: u64 = 3_000_000;
        net.configure("none", "allowance = { data = '3MB', per = 'month' }");
        // LTE is the only interface left.
        net.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.set_up(index, false)
        })?;
        let mut agent = net.agent(&[])?;
        net.until_endpoints(&[("10.2.0.2", false)])?;
        net.until_ready()?;
        let before = net.carried("lte0")?;
        let lte = || Ok::<_, Error>(net.carried("lte0")? - before);
        let download = net.download(2_000_000)?;
        until("LTE has carried data", || Ok(lte()? > 400_000))?;
        drop(download);
        // After a kill, the next agent counts the traffic in between by the kernel's counters.
        agent.kill();
        let alone = lte()?;
        let download = net.download(2_000_000)?;
        until("LTE carries without an agent", || Ok(lte()? > alone + 200_000))?;
        drop(download);
        let agent = net.agent(&[])?;
        net.until_ready()?;
        until("the next agent has counted it", || {
            let used = net.status()["interfaces"][1]["allowance"]["used_bytes"].as_u64();
            Ok(used.is_some_and(|used| used > alone + 200_000))
        })?;
        let download = net.download(2_000_000)?;
        net.until_endpoints(&[])?;
        // Wait for data in flight.
        thread::sleep(Duration::from_millis(300));
        let carried = lte()?;
        assert!(carried <= CAP, "{carried} bytes of {CAP}");
        assert!(carried > CAP / 4, "closed too early: {carried} bytes of {CAP}");
        let status = net.status();
        let lte = &status["interfaces"][1];
        assert_eq!((&lte["link"], &lte["allowance"]["is_up"]), (&"closed".into(), &true.into()));
        // A sample may have been taken in between.
        let used = lte["allowance"]["used_bytes"].as_u64().unwrap();
        assert!(used.abs_diff(carried) < 50_000, "{used} and {carried}");
        drop(download);
        stop(agent);
        // With `at_cap = "backup"` the interface is open again, and the usage is kept.
        net.configure("none", "allowance = { data = '3MB', per = 'month', at_cap = 'backup' }");
        let agent = net.agent(&[])?;
        net.until_ready()?;
        net.until_endpoints(&[("10.2.0.2", false)])?;
        let kept = net.status()["interfaces"][1]["allowance"]["used_bytes"].as_u64().unwrap();
        assert!(kept >= used, "{kept}, not {used}");
        stop(agent);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn policy_sees_the_rtt_of_sent_data() {
    with_testnet(|net| {
        net.configure("when-needed", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        net.until_ready()?;
        let rtt_ms = || net.status()["interfaces"][0]["round_trip_ms"].as_f64();
        assert_eq!(rtt_ms(), None, "no data was sent");
        let to = SocketAddr::new(ip(SERVER), port(&net.listener));
        let mut near = net.device.run(|| socket::connect(to, Protocol::Mptcp, &Options::default()))?;
        let (mut far, _) = net.listener.accept().expect("somebody connects");
        let mut buffer = vec![0; 20_000];
        until("the policy sees an RTT", || {
            near.write_all(&buffer).expect("it is open");
            far.read_exact(&mut buffer).expect("it is open");
            Ok(rtt_ms().is_some_and(|milliseconds| milliseconds > 0.0 && milliseconds < 1000.0))
        })?;
        stop(agent);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn emtcp_share_is_held() {
    with_testnet(|net| {
        // On unlimited links one of two paths would carry everything.
        for device in ["eth0", "eth1"] {
            let rate = ["rate", "10mbit", "burst", "32k", "latency", "50ms"];
            let shaped = net.server.run(|| {
                let mut tc = std::process::Command::new("tc");
                Ok::<_, Error>(tc.args(["qdisc", "add", "dev", device, "root", "tbf"]).args(rate).status())
            })?;
            assert!(shaped.expect("tc is installed").success(), "the kernel lacks the qdisc tbf");
        }
        net.configure("emtcp:0.6", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        let _download = net.download(8_000_000)?;
        thread::sleep(Duration::from_secs(9));
        let status = net.status();
        // 0.6 of LTE's half moves to Wi-Fi: one fifth of all data stays on LTE.
        let share = status["interfaces"][1]["share"].as_f64().unwrap();
        assert!((0.1..0.33).contains(&share), "{status:#}");
        assert!(status["interfaces"][1]["switches"].as_u64() > Some(2), "{status:#}");
        stop(agent);
        Ok(())
    });
}
