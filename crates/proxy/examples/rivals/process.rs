//! The proxies, each a process on the middle host.

use crate::world::{MIDDLE, SERVER, World};
use linux::Error;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use tandem_proxy::config::{Listen, ListenerProtocol};
use tandem_proxy::{Config, Proxy};

/// Way of a client to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ask {
    /// Direct connection.
    Straight(SocketAddr),
    /// Proxy: CONNECT or absolute-form requests.
    Proxy(SocketAddr),
}

pub(crate) struct Rival {
    pub(crate) name: &'static str,
    process: Option<Child>,
    tunnel: Ask,
    http: Ask,
}

impl Rival {
    pub(crate) fn tunnel(&self) -> Ask {
        self.tunnel
    }

    pub(crate) fn http(&self) -> Ask {
        self.http
    }

    pub(crate) fn is_process(&self) -> bool {
        self.process.is_some()
    }

    /// The process and its descendants.
    fn processes(&self) -> Vec<u32> {
        let Some(process) = &self.process else { return Vec::new() };
        let mut all = vec![process.id()];
        let mut at = 0;
        while at < all.len() {
            let path = format!("/proc/{0}/task/{0}/children", all[at]);
            let text = fs::read_to_string(path).unwrap_or_default();
            all.extend(text.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
            at += 1;
        }
        all
    }

    /// Processor time, in seconds.
    pub(crate) fn busy(&self) -> f64 {
        let ticks = |process: &u32| {
            let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
            Some(fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?)
        };
        // `sysconf(_SC_CLK_TCK)` on Linux.
        self.processes().iter().filter_map(ticks).sum::<f64>() / 100.0
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> usize {
        let size = |process: &u32| {
            let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
            let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
            line.split_whitespace().nth(1)?.parse::<usize>().ok()
        };
        self.processes().iter().filter_map(size).sum::<usize>() * 1024
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            _ = process.kill();
            _ = process.wait();
        }
    }
}

pub(crate) struct Rivals {
    all: Vec<Rival>,
    _folder: tempfile::TempDir,
}

const SQUID: &str = "\
http_port 10.9.9.9:3128
http_access allow all
cache deny all
cache_mem 0 MB
access_log none
cache_log /dev/null
pid_filename none
visible_hostname bench
max_filedescriptors 16384
shutdown_lifetime 0 seconds
pinger_enable off
";

const HAPROXY: &str = "\
global
\tmaxconn 5000
defaults
\ttimeout connect 5s
\ttimeout client 5m
\ttimeout server 5m
listen tunnel
\tmode tcp
\toption splice-auto
\tbind 10.9.9.9:8001
\tserver only SITE
listen http
\tmode http
\thttp-reuse always
\tbind 10.9.9.9:8002
\tserver only SITE
";

impl Rivals {
    pub(crate) fn start(world: &World) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(|error| Error::system("make a folder", error))?;
        let at = |port: u16| SocketAddr::new(MIDDLE.parse().expect("an address"), port);
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).map_err(|error| Error::system("write a configuration", error))?;
            Ok::<_, Error>(path)
        };
        let direct = Ask::Straight(world.site);
        let mut all = vec![Rival { name: "direct", process: None, tunnel: direct, http: direct }];
        let own = std::env::current_exe().map_err(|error| Error::system("find this program", error))?;
        let tandem = spawn(world, Command::new(own).arg("proxy"))?;
        all.push(Rival {
            name: "tandem",
            process: Some(tandem),
            tunnel: Ask::Proxy(at(1080)),
            http: Ask::Proxy(at(1080)),
        });
        let here = |program: &str| {
            let there =
                ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
            if !there {
                println!("not installed: {program}");
            }
            there
        };
        if here("mptcpize") && here("squid") {
            let path = write("squid.conf", SQUID)?;
            let squid = spawn(
                world,
                Command::new("mptcpize").args(["run", "/usr/sbin/squid", "-N", "-f"]).arg(path),
            )?;
            all.push(Rival {
                name: "squid",
                process: Some(squid),
                tunnel: Ask::Proxy(at(3128)),
                http: Ask::Proxy(at(3128)),
            });
        }
        if here("mptcpize") && here("haproxy") {
            let path = write("haproxy.cfg", &HAPROXY.replace("SITE", &world.site.to_string()))?;
            let haproxy =
                spawn(world, Command::new("mptcpize").args(["run", "/usr/sbin/haproxy", "-f"]).arg(path))?;
            all.push(Rival {
                name: "haproxy",
                process: Some(haproxy),
                tunnel: Ask::Straight(at(8001)),
                http: Ask::Straight(at(8002)),
            });
        }
        for rival in &all {
            super::load::wait_for(world, rival.tunnel);
        }
        Ok(Self { all, _folder: folder })
    }

    pub(crate) fn all(&self) -> &[Rival] {
        &self.all
    }
}

/// Starts a program on the middle host; a child inherits the namespace of its parent thread.
fn spawn(world: &World, command: &mut Command) -> Result<Child, Error> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let name = command.get_program().to_string_lossy().into_owned();
    world.middle.run(|| command.spawn().map_err(|source| Error::Program { name, source }))
}

/// Runs this program as the proxy.
pub(crate) fn tandem() -> ExitCode {
    let parse = |text: &str| text.parse().ok();
    let listen = Listen {
        address: SocketAddr::new(MIDDLE.parse().expect("an address"), 1080),
        serve: ListenerProtocol::Auto,
        protocol: linux::socket::Protocol::Mptcp,
        tls: false,
        send_buffer: None,
    };
    let mut config = Config { listen: vec![listen], ..Config::default() };
    config.clients.allow = parse("10.0.0.0/8").into_iter().collect();
    config.destinations.allow = parse(SERVER).into_iter().collect();
    config.limits.per_client = 10_000;
    linux::process::raise_open_file_limit(20_000);
    let Ok(_proxy) = Proxy::start(config, None) else { return ExitCode::FAILURE };
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
