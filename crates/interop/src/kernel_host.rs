//! A host with the Linux kernel's Multipath TCP, in a network namespace of its own.

use crate::host::{PORT, Setup};
use crate::kernel_application::{accept, exchange, spawn};
use crate::network::{client_address, device_name, path_address, server_address};
use crate::progress::{Script, Shared};
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::pm::{Endpoint, Limits, PathManager};
use linux::route::{Route, RouteEntry};
use linux::socket::{self, Options, Protocol};
use linux::tun::Tun;
use linux::{Error, sysctl};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Identifier of the endpoint of the second path.
const ENDPOINT_ID: u8 = 5;
/// Longest wait for the routes of addresses.
const ADDRESS_PATIENCE: Duration = Duration::from_secs(5);

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
            endpoint: setup.second_address(),
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

    pub(crate) fn uses_checksum(&self) -> bool {
        self.info().is_some_and(|info| info.checksum)
    }

    pub(crate) fn subflows(&self) -> usize {
        self.info().map_or(0, |info| usize::from(info.subflows.max(info.extra_subflows)))
    }

    pub(crate) fn mib(&self) -> Result<Mib, Error> {
        self.namespace.run(Mib::read)
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.mib().ok().and_then(|mib| mib.counter(name)).unwrap_or(0)
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
    sysctl::write("net.ipv4.tcp_timestamps", if setup.has_timestamps() { "1" } else { "0" })?;
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
    if v6 {
        await_addresses(&mut route, setup)?;
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
        manager.add(&Endpoint { port, ..Endpoint::signal(ENDPOINT_ID, setup.second_address()) })?;
    }
    Ok((devices, manager))
}

/// Waits until the kernel delivers packets to the IPv6 addresses: it adds their routes later.
fn await_addresses(route: &mut Route, setup: Setup<'_>) -> Result<(), Error> {
    let own = |path| if setup.is_client { client_address(true, path) } else { path_address(true, path) };
    let mut addresses: Vec<IpAddr> = (0..setup.plan.paths).map(own).collect();
    if !setup.is_client {
        addresses.push(server_address(true));
    }
    let end = Instant::now() + ADDRESS_PATIENCE;
    loop {
        let local = route.local_routes()?;
        let is_local = |address: &IpAddr| local.iter().any(|(known, _)| known == address);
        if addresses.iter().all(is_local) || Instant::now() > end {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
