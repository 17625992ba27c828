//! Start, reload, restart and end of the agent on a real kernel.

use super::testnet::{Agent, ip, port, stop, until, with_testnet};
use crate::support::service_reports;
use linux::pm::{Endpoint, Limits};
use linux::route::Route;
use std::thread;
use std::time::Duration;

#[test]
#[ignore = "needs root"]
fn endpoints_are_restored_after_sigterm_and_after_sigkill() {
    with_testnet(|net| {
        net.manager(|manager| {
            manager.add(&Endpoint::subflow(7, ip("10.2.0.2")))?;
            manager.set_limits(Limits { subflows: 1, accepted_addresses: 3 })
        })?;
        let all = || net.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)));
        let before = all()?;
        // `wifi-only` removes the existing endpoint, `wifi-first` changes it.
        for (policy, while_running) in [
            ("wifi-first", &[("10.1.0.2", false), ("10.2.0.2", true)][..]),
            ("wifi-only", &[("10.1.0.2", false)][..]),
        ] {
            net.configure(policy, "");
            let agent = net.agent(&[])?;
            net.until_endpoints(while_running)?;
            stop(agent);
            assert_eq!(all()?, before, "{policy}, ended by SIGTERM");

            let mut agent = net.agent(&[])?;
            net.until_endpoints(while_running)?;
            agent.kill();
            net.until_endpoints(while_running)?;
            // The next agent restores the endpoints at its start, and again at its end.
            net.configure("none", "");
            let agent = net.agent(&[])?;
            net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
            let log = stop(agent);
            assert!(log.contains("undoing the changes of an agent that was killed"), "{log}");
            assert_eq!(all()?, before, "{policy}, killed");
        }
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn new_address_of_an_interface_gets_an_endpoint() {
    with_testnet(|net| {
        net.configure("wifi-first", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        net.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.remove_link(index)
        })?;
        // LTE is the only interface left.
        net.until_endpoints(&[("10.2.0.2", false)])?;
        assert_eq!(net.status()["interfaces"][0]["link"], "absent");
        net.add_interface("wlan0", "eth0", 1, 77)?;
        net.until_endpoints(&[("10.1.0.77", false), ("10.2.0.2", true)])?;
        // A new interface.
        net.add_interface("wlan1", "eth2", 3, 2)?;
        net.until_endpoints(&[("10.1.0.77", false), ("10.2.0.2", true), ("10.3.0.2", false)])?;
        stop(agent);
        net.until_endpoints(&[])
    });
}

#[test]
#[ignore = "needs root"]
fn sighup_reloads_a_valid_configuration_only() {
    with_testnet(|net| {
        net.configure("none", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        net.until_ready()?;
        let download = net.download(500_000)?;
        until("traffic is counted", || {
            Ok(net.status()["interfaces"][0]["down_bytes"].as_u64() > Some(100_000))
        })?;
        let policy = || net.status()["policy"].as_str().map(str::to_owned);
        net.configure("wifi-first", "allowance = { data = '3GB', per = 'month' }");
        agent.signal("-HUP");
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let status = net.status();
        assert_eq!(status["policy"], "wifi-first");
        assert_eq!(status["interfaces"][1]["allowance"]["data_bytes"], 3_000_000_000_u64);
        assert!(
            status["interfaces"][0]["down_bytes"].as_u64() > Some(100_000),
            "the counters are kept: {status}"
        );
        assert_eq!(net.subflows(port(&net.listener)).len(), 2, "no subflow was closed");
        drop(download);
        net.configure("wifi-frist", "");
        agent.signal("-HUP");
        thread::sleep(Duration::from_millis(500));
        assert_eq!(policy().as_deref(), Some("wifi-first"));
        // An interface that is no longer configured gets its original state back.
        net.place.write(
            "agent.toml",
            &std::fs::read_to_string(net.place.path().join("agent.toml"))
                .expect("it was written")
                .replace("wifi-frist", "wifi-first")
                .replace("match = 'lte*'", "match = 'wwan*'"),
        );
        agent.signal("-HUP");
        net.until_endpoints(&[("10.1.0.2", false)])?;
        let log = stop(agent);
        assert!(log.contains("the configuration was not reloaded") && log.contains("wifi-frist"), "{log}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn dry_run_logs_actions_and_changes_nothing() {
    with_testnet(|net| {
        net.manager(|manager| manager.add(&Endpoint::subflow(3, ip("10.2.0.2"))))?;
        let all = || net.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)));
        let before = all()?;
        net.configure("wifi-first", "");
        let agent = net.agent(&["--dry-run"])?;
        thread::sleep(Duration::from_secs(1));
        assert_eq!(all()?, before);
        let log = stop(agent);
        assert!(log.contains("dry run"), "{log}");
        assert!(log.contains("dry run: endpoint added") && log.contains("10.1.0.2"), "{log}");
        assert!(
            log.contains("dry run: backup flag changed (MP_PRIO)") && log.contains("backup=true"),
            "{log}"
        );
        assert_eq!(all()?, before);
        assert_eq!(net.place.list("."), ["agent.toml", "lte.csv", "tiny.toml"], "no state, no socket");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn status_and_metrics_report_traffic() {
    with_testnet(|net| {
        net.configure("emtcp:0.4", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        let _download = net.download(2_000_000)?;
        until("data is carried", || {
            let status = net.status();
            let wifi = &status["interfaces"][0];
            Ok(wifi["down_bytes"].as_u64() > Some(100_000) && wifi["joules"].as_f64() > Some(0.0))
        })?;
        let status = net.status();
        assert_eq!(status["policy"], "emtcp:mp-prio:0.4");
        assert!(status["remarks"][0].as_str().is_some_and(|remark| remark.contains("MP_PRIO")));
        let connection = &status["connections"]["most"][0];
        let sum: u64 = connection["subflows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["down_bytes"].as_u64().unwrap())
            .sum();
        assert!(connection["down_bytes"].as_u64().unwrap() >= sum && sum > 0, "{connection}");
        let metrics = agent::status::query(&net.socket(), "/metrics").expect("it answers");
        let value = |name: &str| -> f64 {
            let line = metrics.lines().find(|line| line.starts_with(name)).expect(name);
            line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect(name)
        };
        assert_eq!(value("tandem_interface_up{interface=\"wlan0\",kind=\"wifi\"}"), 1.0);
        assert!(value("tandem_interface_receive_bytes_total{interface=\"wlan0\"") > 100_000.0);
        // The table for people; and a second agent refuses to start.
        let output = net.place.run(&["agent", "status", "--socket", net.socket().to_str().unwrap()]);
        assert!(output.out.contains("wlan0") && output.out.contains("lte0"), "{}", output.out);
        let (code, log) = net.agent(&[])?.wait();
        assert!(code == Some(1) && log.contains("another agent is running"), "{log}");
        stop(agent);
        assert!(!net.socket().exists());
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn pattern_that_matches_nothing_is_warned_of_and_checked() {
    with_testnet(|net| {
        net.place.write(
            "kinds.toml",
            "policy = 'wifi-first'\n[[interface]]\nmatch = 'wlan*'\nkind = 'wifi'\n\
             [[interface]]\nmatch = 'wwan*'\nkind = '5g'\n",
        );
        let before = net.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)))?;
        let check = net.device.run(|| {
            let mut command = net.place.command(&["agent", "--config", "kinds.toml", "--check"]);
            Ok::<_, linux::Error>(command.output().expect("it runs"))
        })?;
        assert!(check.status.success(), "{check:?}");
        let (out, err) = (String::from_utf8_lossy(&check.stdout), String::from_utf8_lossy(&check.stderr));
        insta::assert_snapshot!("agent_check", format!("{out}---- stderr\n{err}"));
        assert_eq!(net.manager(|manager| Ok((manager.endpoints()?, manager.limits()?)))?, before);

        net.configure("none", "");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        net.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("lte0")?.index;
            route.remove_link(index)
        })?;
        net.until_endpoints(&[("10.1.0.2", false)])?;
        let log = stop(agent);
        let warning = "`match = \"lte*\"` matches no interface; the interfaces here: lo, wlan0";
        assert_eq!(log.matches(warning).count(), 1, "{log}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn agent_reports_to_its_service_manager() {
    with_testnet(|net| {
        net.configure("none", "");
        let path = net.place.path().join("notify.sock");
        let report = service_reports(&path);
        let agent = net.device.run(|| {
            let mut command = net.place.command(&["agent", "--config", "agent.toml"]);
            command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "2000000");
            Ok::<_, linux::Error>(Agent(command.spawn().expect("the program starts")))
        })?;
        assert_eq!(report(), "READY=1");
        assert!(agent::status::query(&net.socket(), "/metrics").is_ok(), "ready means that it answers");
        assert_eq!([report(), report()], ["WATCHDOG=1", "WATCHDOG=1"]);
        agent.signal("-TERM");
        let mut last = report();
        while last == "WATCHDOG=1" {
            last = report();
        }
        assert_eq!(last, "STOPPING=1");
        stop_after_signal(agent);
        Ok(())
    });
}

/// Waits for the end of an agent that was told to stop.
fn stop_after_signal(mut agent: Agent) {
    let (code, log) = agent.wait();
    assert_eq!(code, Some(0), "{log}");
}
