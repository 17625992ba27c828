//! Reports of players to the agent, directly and through the proxy.

use super::testnet::{Agent, SERVER, ip, port, stop, until, with_testnet};
use linux::Error;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Repeats a CMCD report to the agent every 50 ms until dropped.
struct Player {
    report: Arc<Mutex<String>>,
    is_over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Player {
    fn start(socket: std::path::PathBuf, report: &str) -> Self {
        let (report, is_over) = (Arc::new(Mutex::new(report.to_owned())), Arc::default());
        let (current, stop) = (Arc::clone(&report), Arc::<AtomicBool>::clone(&is_over));
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let mut state = cmcd::State::default();
                state.read(&current.lock().expect("no thread panics while holding it"));
                if let Ok(mut stream) = UnixStream::connect(&socket) {
                    let _ = stream.write_all(state.message().as_bytes());
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        Self { report, is_over, thread: Some(thread) }
    }

    fn report(&self, text: &str) {
        text.clone_into(&mut self.report.lock().expect("no thread panics while holding it"));
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

#[test]
#[ignore = "needs root"]
fn qoe_makes_lte_a_backup_while_the_player_has_enough() {
    with_testnet(|net| {
        net.configure("qoe", "");
        let agent = net.agent(&[])?;
        // Without player reports every path is used.
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        net.until_ready()?;
        assert_eq!(net.status()["players"], serde_json::json!([]));
        let _download = net.download(100_000)?;
        let (regular, backup) = ([("lte0", false), ("wlan0", false)], [("lte0", true), ("wlan0", false)]);
        let at = port(&net.listener);
        net.until_subflows(at, &regular);
        let full = "sid=\"film\",ot=v,bl=20000,br=8000,d=2000,tandem-missing=0";
        let player = Player::start(net.socket(), full);
        net.until_subflows(at, &backup);
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let reported = &net.status()["players"][0];
        assert_eq!(
            (&reported["session"], &reported["object"], &reported["missing_bytes"]),
            (&"film".into(), &"v".into(), &0.into())
        );
        // During a stall every path is used.
        player.report("sid=\"film\",ot=v,bl=0,br=8000,d=2000,su,tandem-missing=2000000");
        net.until_subflows(at, &regular);
        player.report(full);
        net.until_subflows(at, &backup);
        // The agent forgets a player without reports.
        drop(player);
        net.until_subflows(at, &regular);
        until("the player is forgotten", || Ok(net.status()["players"] == serde_json::json!([])))?;
        stop(agent);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn proxy_reports_players_to_the_agent() {
    const SIZE: usize = 1_000_000;
    const HELD: usize = 600_000;
    with_testnet(|net| {
        net.configure("qoe", "");
        let agent = net.agent(&[])?;
        net.until_ready()?;
        let socket = net.socket();
        net.place.write(
            "proxy.toml",
            &format!(
                "servers = 'mptcp'\nagent = '{}'\n[[listen]]\naddress = '127.0.0.1:1080'\n[destinations]\n\
                 allow = ['10.9.9.0/24']\n[status]\nsocket = '{}'\n",
                socket.display(),
                net.place.path().join("proxy.sock").display()
            ),
        );
        let _proxy = net.device.run(|| {
            let mut command = net.place.command(&["proxy", "--config", "proxy.toml"]);
            let child = command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
            Ok::<_, Error>(Agent(child.expect("the program starts")))
        })?;
        let at = SocketAddr::new(ip("127.0.0.1"), 1080);
        let mut near = None;
        until("the proxy listens", || {
            near = net.device.run(|| Ok::<_, Error>(std::net::TcpStream::connect(at).ok()))?;
            Ok(near.is_some())
        })?;
        let mut near = near.expect("it listens");
        // The player is paused, so that its buffer level stays constant during the test.
        let words = "bl%3D10000%2Cbr%3D133%2Cd%3D60000%2Cot%3Dv%2Cpr%3D0%2Csid%3D%22film%22";
        let request = format!(
            "GET http://{SERVER}:{port}/a?CMCD={words} HTTP/1.1\r\nHost: {SERVER}:{port}\r\n\r\n",
            port = port(&net.listener)
        );
        near.write_all(request.as_bytes()).expect("it is open");
        let (mut far, _) = net.listener.accept().expect("the proxy connects");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            far.read_exact(&mut byte).expect("a request comes");
            head.push(byte[0]);
        }
        assert!(String::from_utf8_lossy(&head).contains(words), "the request is forwarded unchanged");
        let reader = thread::spawn(move || {
            let mut answer = vec![0; SIZE];
            near.read_exact(&mut answer).expect("the answer comes");
            near
        });
        far.write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").as_bytes()).expect("open");
        far.write_all(&vec![7; SIZE - HELD]).expect("it is open");
        let player = || net.status()["players"][0].clone();
        until("the agent knows the missing bytes", || Ok(player()["missing_bytes"] == HELD))?;
        let reported = player();
        assert_eq!((&reported["session"], reported["buffer_s"].as_f64()), (&"film".into(), Some(10.0)));
        // The endpoints stay as they are.
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", false)])?;
        far.write_all(&vec![7; HELD]).expect("it is open");
        net.until_endpoints(&[("10.1.0.2", false), ("10.2.0.2", true)])?;
        let reported = player();
        assert_eq!(
            (reported["missing_bytes"].as_u64(), reported["buffer_s"].as_f64()),
            (Some(0), Some(70.0))
        );
        drop(reader.join().expect("all came"));
        stop(agent);
        Ok(())
    });
}
