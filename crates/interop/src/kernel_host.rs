//! A host with the Linux kernel's Multipath TCP, in a network namespace of its own.

use crate::host::{PORT, Setup};
use crate::network::{client_address, device_name, path_address, server_address};
use crate::progress::{Script, Shared, bytes_at};
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::socket::{self, Options, Protocol};
use linux::tun::Tun;
use linux::{Error, sysctl};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Identifier of the endpoint of the second path.
const ENDPOINT_ID: u8 = 5;
/// Longest wait of a thread that may have to stop.
const POLL: Duration = Duration::from_millis(2);
const BUFFER_BYTES: usize = 64 << 10;

pub(crate) struct KernelHost {
    namespace: Namespace,
    manager: PathManager,
    shared: Shared,
    stream: Arc<Mutex<Option<TcpStream>>>,
    threads: Vec<JoinHandle<()>>,
    script: Script,
    options: Options,
    v6: bool,
    endpoint: IpAddr,
}

impl KernelHost {
    pub(crate) fn start(setup: Setup<'_>) -> Result<(Self, Vec<Tun>), Error> {
        let Setup { plan, v6, is_client } = setup;
        let namespace = Namespace::create()?;
        let (devices, manager) = namespace.run(|| configure(setup))?;
        let buffers = plan.buffers.map(|bytes| bytes as usize);
        let options =
            Options { send_buffer: buffers, receive_buffer: buffers, no_delay: true, ..Options::default() };
        let mut host = Self {
            namespace,
            manager,
            shared: Shared::default(),
            stream: Arc::default(),
            threads: Vec::new(),
            script: setup.script(),
            options,
            v6,
            endpoint: if is_client { client_address(v6, 1) } else { path_address(v6, 1) },
        };
        if !is_client {
            host.listen()?;
        }
        Ok((host, devices))
    }

    fn listen(&mut self) -> Result<(), Error> {
        // Joins to an announced address need a listener there.
        let any = if self.v6 { IpAddr::from(Ipv6Addr::UNSPECIFIED) } else { Ipv4Addr::UNSPECIFIED.into() };
        let (address, options) = (SocketAddr::new(any, PORT), self.options.clone());
        let listener = self.namespace.run(|| socket::listen(address, Protocol::Mptcp, &options))?;
        let (shared, stream, script) = (self.shared.clone(), Arc::clone(&self.stream), self.script);
        self.threads.push(spawn(self.shared.clone(), move || {
            let accepted = accept(&listener, &shared)?;
            exchange(&accepted, &shared, &stream, script)
        })?);
        Ok(())
    }

    pub(crate) fn connect(&mut self) {
        let address = SocketAddr::new(server_address(self.v6), PORT);
        let (shared, stream, script) = (self.shared.clone(), Arc::clone(&self.stream), self.script);
        let options = Options { timeout: Some(Duration::from_secs(15)), ..self.options.clone() };
        let namespace = self.namespace.try_clone();
        let thread = spawn(self.shared.clone(), move || {
            let connect = || socket::connect(address, Protocol::Mptcp, &options);
            let connected =
                namespace.and_then(|namespace| namespace.run(connect)).map_err(io::Error::other)?;
            exchange(&connected, &shared, &stream, script)
        });
        match thread {
            Ok(thread) => self.threads.push(thread),
            Err(error) => self.shared.lock().failure = Some(error.to_string()),
        }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn info(&self) -> Option<socket::MptcpInfo> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        socket::mptcp_info(stream.as_ref()?).ok().flatten()
    }

    pub(crate) fn is_mptcp(&self) -> bool {
        self.info().is_some_and(|info| !info.fallback)
    }

    pub(crate) fn subflows(&self) -> usize {
        self.info().map_or(0, |info| usize::from(info.subflows.max(info.extra_subflows)))
    }

    pub(crate) fn mib(&self) -> Option<Mib> {
        self.namespace.run(Mib::read).ok()
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.mib().and_then(|mib| mib.counter(name)).unwrap_or(0)
    }

    pub(crate) fn set_backup(&mut self) -> Result<(), Error> {
        self.manager.set_backup(ENDPOINT_ID, true)
    }

    pub(crate) fn remove_address(&mut self) -> Result<(), Error> {
        self.manager.remove(ENDPOINT_ID, self.endpoint)
    }

    pub(crate) fn abort(&self) {
        if let Some(stream) = &*self.stream.lock().unwrap_or_else(PoisonError::into_inner) {
            _ = socket::abort(stream);
        }
    }
}

impl Drop for KernelHost {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            _ = thread.join();
        }
    }
}

/// Configures the namespace of the calling thread.
pub(crate) fn configure(setup: Setup<'_>) -> Result<(Vec<Tun>, PathManager), Error> {
    let Setup { plan, v6, is_client } = setup;
    for scope in ["all", "default"] {
        sysctl::write(&format!("net.ipv6.conf.{scope}.accept_dad"), "0")?;
    }
    sysctl::write("net.mptcp.checksum_enabled", if plan.checksum { "1" } else { "0" })?;
    // Announcements without an echo are repeated after this many seconds.
    sysctl::write("net.mptcp.add_addr_timeout", "1")?;
    let mut route = Route::open()?;
    let (host_prefix, net_prefix) = if v6 { (128, 64) } else { (32, 24) };
    let loopback = route.link("lo")?.index;
    route.set_up(loopback, true)?;
    if !is_client {
        route.add_address(loopback, server_address(v6), host_prefix)?;
    }
    let mut devices = Vec::new();
    let mut second = 0;
    for path in 0..plan.paths {
        let name = device_name(path);
        devices.push(Tun::create(&name)?);
        let device = route.link(&name)?.index;
        route.set_queue_length(device, 10_000)?;
        let own = if is_client { client_address(v6, path) } else { path_address(v6, path) };
        route.set_up(device, true)?;
        route.add_address(device, own, net_prefix)?;
        if is_client {
            let metric = 1 + u32::from(path);
            let to = server_address(v6);
            route.add_route(&RouteEntry {
                to,
                prefix: host_prefix,
                device,
                via: None,
                source: Some(own),
                metric,
            })?;
        }
        second = device;
    }
    let mut manager = PathManager::open()?;
    let subflows = if setup.refuses_joins() { 0 } else { 4 };
    manager.set_limits(Limits { subflows, accepted_addresses: 4.min(subflows) })?;
    if setup.joins() {
        let mut endpoint =
            Endpoint { device: second, ..Endpoint::subflow(ENDPOINT_ID, client_address(v6, 1)) };
        endpoint.flags.backup = setup.is_backup();
        manager.add(&endpoint)?;
    }
    if setup.announces() {
        let port = setup.announced_port().unwrap_or(0);
        manager.add(&Endpoint { port, ..Endpoint::signal(ENDPOINT_ID, path_address(v6, 1)) })?;
    }
    Ok((devices, manager))
}

/// Starts a thread. Its error becomes the failure of the host.
fn spawn(
    shared: Shared,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let body = move || {
        if let Err(error) = work() {
            shared.lock().failure.get_or_insert(error.to_string());
        }
    };
    std::thread::Builder::new()
        .name("linux".to_owned())
        .spawn(body)
        .map_err(|error| Error::system("start a thread", error))
}

fn accept(listener: &TcpListener, shared: &Shared) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !shared.is_stopped() => {
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Runs the application over a connected socket.
fn exchange(
    stream: &TcpStream,
    shared: &Shared,
    slot: &Mutex<Option<TcpStream>>,
    script: Script,
) -> io::Result<()> {
    stream.set_read_timeout(Some(POLL))?;
    stream.set_write_timeout(Some(POLL))?;
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.try_clone()?);
    shared.lock().is_connected = true;
    let mut reader = stream.try_clone()?;
    let reading = {
        let shared = shared.clone();
        spawn(shared.clone(), move || read_all(&mut reader, &shared, script)).map_err(io::Error::other)?
    };
    let written = write_all(stream, shared, script);
    _ = reading.join();
    written?;
    let mut progress = shared.lock();
    progress.is_finished = progress.has_end;
    Ok(())
}

fn read_all(stream: &mut TcpStream, shared: &Shared, script: Script) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while script.reads_late && !shared.is_open() && !shared.is_stopped() {
        std::thread::sleep(POLL);
    }
    while !shared.is_stopped() {
        match stream.read(&mut buffer) {
            Ok(0) => {
                shared.lock().has_end = true;
                return Ok(());
            }
            Ok(len) => shared.receive(&script, &buffer[..len]),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_all(mut stream: &TcpStream, shared: &Shared, script: Script) -> io::Result<()> {
    let mut sent = 0;
    while !shared.is_stopped() {
        let allowed = shared.allowed(&script);
        if sent < allowed {
            let len = (allowed - sent).min(BUFFER_BYTES as u64) as usize;
            match stream.write(&bytes_at(script.stream, sent, len)) {
                Ok(len) => sent += len as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            shared.lock().sent = sent;
            continue;
        }
        let may_close = shared.is_open() && (!script.waits_for_end || shared.lock().has_end);
        if sent == script.send && may_close {
            return stream.shutdown(std::net::Shutdown::Write);
        }
        if shared.lock().failure.is_some() {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
