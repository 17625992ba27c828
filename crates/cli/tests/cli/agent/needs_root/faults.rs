//! The agent with a full disk, renamed interfaces, bursts and silent clients.

use super::testnet::{Testnet, stop, until, with_testnet};
use linux::Error;
use linux::route::Route;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::Command;
use std::time::{Duration, Instant};

/// A full file system, unmounted when dropped.
struct FullDisk(std::path::PathBuf);

impl FullDisk {
    fn mount(at: std::path::PathBuf) -> Self {
        fs::create_dir_all(&at).expect("a folder");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(&at).status();
        assert!(mounted.expect("mount is installed").success());
        Self(at)
    }

    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).expect("room for a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).expect("it was written");
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn used(net: &Testnet) -> u64 {
    net.status()["interfaces"][1]["allowance"]["used_bytes"].as_u64().unwrap_or_default()
}

#[test]
#[ignore = "needs root"]
fn full_disk_neither_ends_the_agent_nor_loses_the_usage() {
    with_testnet(|net| {
        let disk = FullDisk::mount(net.place.path().join("state"));
        net.configure("wifi-first", "allowance = { data = '2GB', per = 'month' }");
        let mut agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        // The counters from which the usage is found again.
        let stored = net.place.path().join("state/allowances.json");
        until("the counters are stored", || {
            Ok(fs::read_to_string(&stored).is_ok_and(|text| text.contains("lte0")))
        })?;
        disk.fill();
        let wifi = |up| {
            net.device.run(|| {
                let mut route = Route::open()?;
                let index = route.link("wlan0")?.index;
                route.set_up(index, up)
            })
        };
        wifi(false)?;
        // It goes on steering.
        net.until_endpoints(&[("10.2.0.2", false)])?;
        let download = net.download(2_000_000)?;
        until("the usage grows", || Ok(used(net) > 1_000_000))?;
        until("the status tells", || {
            Ok(net.status()["remarks"].to_string().contains("cannot store the data usage"))
        })?;
        drop(download);
        let counted = used(net);
        // The usage that could not be written is found again by the kernel's counters.
        agent.kill();
        let agent = net.agent(&[])?;
        net.until_ready()?;
        until("the usage is restored", || Ok(used(net) >= counted))?;
        disk.free();
        until("the usage is stored", || Ok(!net.status()["remarks"].to_string().contains("cannot store")))?;
        let log = stop(agent);
        assert!(log.contains("can store the data usage again"), "{log}");
        assert!(log.contains("all changes were undone"), "{log}");
        net.until_endpoints(&[])
    });
}

#[test]
#[ignore = "needs root"]
fn renamed_interface_follows_the_rule_of_its_new_name() {
    with_testnet(|net| {
        net.configure("wifi-first", "allowance = { data = '2GB', per = 'month' }");
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        net.until_ready()?;
        let rename = |from: &str, to: &str| {
            net.device.run(|| {
                let done = Command::new("ip").args(["link", "set", from, "name", to]).status();
                assert!(done.expect("ip is installed").success());
                Ok::<_, Error>(())
            })
        };
        let download = net.download(2_000_000)?;
        until("data is carried", || Ok(net.carried("wlan0")? > 500_000))?;
        drop(download);
        let counted = used(net);
        rename("lte0", "wlan7")?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        until("the new name is up", || {
            let status = net.status();
            let last = status["interfaces"].as_array().and_then(|all| all.last()).cloned();
            Ok(last.is_some_and(|one| one["name"] == "wlan7" && one["link"] == "up" && one["kind"] == "wifi"))
        })?;
        rename("wlan7", "lte0")?;
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        std::thread::sleep(Duration::from_millis(300));
        assert!(used(net) < counted + 100_000, "{} after {counted}", used(net));
        stop(agent);
        net.until_endpoints(&[])
    });
}

#[test]
#[ignore = "needs root"]
fn burst_stops_an_allowance_only_until_it_is_over() {
    with_testnet(|net| {
        net.configure("none", "allowance = { data = '30MB', per = 'month' }");
        net.device.run(|| {
            let mut route = Route::open()?;
            let index = route.link("wlan0")?.index;
            route.set_up(index, false)
        })?;
        let agent = net.agent(&[])?;
        net.until_endpoints(&[("10.2.0.2", false)])?;
        net.until_ready()?;
        // Two thirds of the allowance at once, by UDP.
        net.device.run(|| {
            let socket = UdpSocket::bind("10.2.0.2:0").expect("the address is there");
            let (start, datagram) = (net.carried("lte0")?, vec![7; 60_000]);
            while net.carried("lte0")? < start + 20_000_000 {
                for _ in 0..16 {
                    socket.send_to(&datagram, "10.2.0.1:9").expect("it is sent");
                }
            }
            Ok::<_, Error>(())
        })?;
        let is_up = || net.status()["interfaces"][1]["allowance"]["is_up"] == true;
        until("the agent is cautious", || Ok(is_up()))?;
        let left = 30_000_000 - used(net);
        assert!(left > 5_000_000, "{left} bytes are left");
        until("the interface returns", || Ok(!is_up()))?;
        net.until_endpoints(&[("10.2.0.2", false)])?;
        let log = stop(agent);
        assert!(log.contains("allowance available again"), "{log}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn silent_connections_do_not_starve_the_metrics_port() {
    with_testnet(|net| {
        net.configure("none", "");
        let config = fs::read_to_string(net.place.path().join("agent.toml")).expect("it was written");
        let config = config.replace("[status]", "[status]\nmetrics = '127.0.0.1:9464'");
        net.place.write("agent.toml", &config);
        let agent = net.agent(&[])?;
        net.until_ready()?;
        net.device.run(|| {
            let connect = || TcpStream::connect("127.0.0.1:9464").expect("it listens");
            let _silent: Vec<_> = (0..145).map(|_| connect()).collect();
            let start = Instant::now();
            let mut scraper = connect();
            scraper.set_read_timeout(Some(Duration::from_secs(4))).expect("a socket");
            scraper.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is open");
            let mut text = String::new();
            scraper.read_to_string(&mut text).expect("an answer in time");
            assert!(text.contains("tandem_agent_running_seconds"), "{text}");
            assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
            Ok::<_, Error>(())
        })?;
        net.status();
        stop(agent);
        Ok(())
    });
}
