//! Name resolution by DNS, with a cache and a budget of lookups per client.
//!
//! hickory-resolver asks the name servers of resolv.conf(5), after hosts(5). Both files are read again
//! when they change. A client whose names get no answer uses up only its own budget.

use crate::budgets::Budgets;
use crate::config::Limits;
use crate::destination::NameKind;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::RecordType;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tracing::warn;

/// Files that configure resolution.
const FILES: [&str; 2] = ["/etc/resolv.conf", "/etc/hosts"];
/// Time between two looks at these files.
const RELOAD_INTERVAL: Duration = Duration::from_secs(5);
/// Addresses kept of each family.
const MAX_ADDRESSES: usize = 8;
/// Wait for the second family when the first has addresses (RFC 8305, section 3).
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// Names in the cache.
const MAX_CACHED_NAMES: usize = 4096;
/// Longest time in the cache, for an answer and for the absence of a name.
const MAX_TTL: Duration = Duration::from_secs(3600);
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(60);

/// Failed lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupError {
    /// There is no such name, or it has no address.
    Unknown,
    /// No name server answered in time.
    TimedOut,
}

type Addresses = Arc<[IpAddr]>;

/// Resolver of names, shared by all connections.
#[derive(Debug)]
pub(crate) struct Resolver {
    state: Mutex<State>,
    /// Permits for all lookups together.
    lookups: Arc<Semaphore>,
    /// Number of these permits, once a reduction is complete.
    size: Mutex<usize>,
    /// Budgets of clients that look up names at the moment.
    clients: Arc<Budgets<IpAddr>>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` before the first lookup, and if its construction has failed.
    dns: Option<Arc<Dns>>,
    /// Name servers of the configuration; if empty, the system's.
    servers: Vec<SocketAddr>,
    /// Times of change of [`FILES`].
    changed: [Option<SystemTime>; 2],
    checked: Option<Instant>,
}

/// DNS client, and the answers that it has received.
#[derive(Debug)]
struct Dns {
    client: TokioResolver,
    cache: Mutex<Cache>,
}

impl Resolver {
    /// Resolver that asks `servers`; without any, the system's.
    pub(crate) fn new(lookups: usize, servers: &[SocketAddr]) -> Self {
        Self {
            state: Mutex::new(State { servers: servers.to_vec(), ..State::default() }),
            lookups: Arc::new(Semaphore::new(lookups)),
            size: Mutex::new(lookups),
            clients: Arc::default(),
        }
    }

    /// Changes the number of concurrent lookups. A smaller one holds once enough of the present
    /// lookups have ended.
    pub(crate) fn resize(&self, lookups: usize) {
        let mut size = lock(&self.size);
        if lookups >= *size {
            self.lookups.add_permits(lookups - *size);
        } else {
            let surplus = *size - lookups;
            let in_use = surplus - self.lookups.forget_permits(surplus);
            let permits = Arc::clone(&self.lookups);
            tokio::spawn(async move {
                if let Ok(permits) = permits.acquire_many_owned(u32::try_from(in_use).unwrap_or(0)).await {
                    permits.forget();
                }
            });
        }
        *size = lookups;
    }

    /// Asks other name servers from now on, and forgets the answers of the old ones.
    pub(crate) fn set_servers(&self, servers: &[SocketAddr]) {
        let mut state = lock(&self.state);
        if state.servers != servers {
            *state = State { servers: servers.to_vec(), ..State::default() };
        }
    }

    /// Addresses of a lowercase name, for `client`, which is a key as of limits.
    pub(crate) async fn lookup(
        &self,
        name: &str,
        client: IpAddr,
        limits: &Limits,
    ) -> Result<Addresses, LookupError> {
        if let Some(addresses) = NameKind::of(name).addresses() {
            return known(addresses.into());
        }
        if let Some(addresses) = self.dns()?.cached(name) {
            return known(addresses);
        }
        // One client leaves half of the lookups to others, also where descriptors allow few.
        let per_client = limits.lookups_per_client.min(*lock(&self.size) / 2).max(1);
        let budget = self.clients.of(client, per_client);
        let (_own, _shared) = (budget.acquire().await, self.lookups.acquire().await);
        // Meanwhile the name servers may have changed, or a lookup of the same name may have ended.
        let dns = self.dns()?;
        if let Some(addresses) = dns.cached(name) {
            return known(addresses);
        }
        let (addresses, ttl) = ask(&dns.client, name).await?;
        lock(&dns.cache).insert(name, Arc::clone(&addresses), Instant::now() + ttl);
        known(addresses)
    }

    /// The DNS client, built anew if the system's configuration has changed.
    fn dns(&self) -> Result<Arc<Dns>, LookupError> {
        let mut state = lock(&self.state);
        if state.checked.is_none_or(|checked| checked.elapsed() >= RELOAD_INTERVAL) {
            state.checked = Some(Instant::now());
            let changed = FILES.map(|path| std::fs::metadata(path).and_then(|file| file.modified()).ok());
            if state.dns.is_none() || state.changed != changed {
                state.changed = changed;
                let client = build(&state.servers);
                let client = client.inspect_err(|error| warn!("cannot resolve names: {error}")).ok();
                state.dns = client.map(|client| Arc::new(Dns { client, cache: Mutex::default() }));
            }
        }
        state.dns.clone().ok_or(LookupError::Unknown)
    }
}

impl Dns {
    fn cached(&self, name: &str) -> Option<Addresses> {
        lock(&self.cache).get(name, Instant::now())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(addresses: Addresses) -> Result<Addresses, LookupError> {
    if addresses.is_empty() { Err(LookupError::Unknown) } else { Ok(addresses) }
}

fn build(servers: &[SocketAddr]) -> Result<TokioResolver, NetError> {
    let own = |servers: &[SocketAddr]| {
        let servers = servers.iter().map(|server| {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
                connection.port = server.port();
                connection
            });
            NameServerConfig::new(server.ip(), true, connections.to_vec())
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
    };
    let mut builder = if servers.is_empty() {
        // As libc does without resolv.conf: ask this host.
        TokioResolver::builder_tokio().unwrap_or_else(|_| own(&[SocketAddr::from((Ipv4Addr::LOCALHOST, 53))]))
    } else {
        own(servers)
    };
    let options = builder.options_mut();
    // The cache of this module holds addresses alone, so its memory has a bound.
    options.cache_size = 0;
    // One socket for each query, as the budget of descriptors expects.
    options.num_concurrent_reqs = 1;
    options.max_active_requests = 1024;
    builder.build()
}

/// Addresses with their time in a cache. An absent name has none.
type Found = (Vec<IpAddr>, Duration);

/// Asks for both address families at once. When one has addresses, the other has a moment more (RFC
/// 8305, section 3): some name servers never answer queries for AAAA.
async fn ask(dns: &TokioResolver, name: &str) -> Result<(Addresses, Duration), LookupError> {
    let mut six = pin!(ask_for(RecordType::AAAA, dns, name));
    let mut four = pin!(ask_for(RecordType::A, dns, name));
    let (first, rest) = tokio::select! {
        first = &mut six => (first, &mut four),
        first = &mut four => (first, &mut six),
    };
    let has_addresses = |found: &Result<Found, LookupError>| matches!(found, Ok((one, _)) if !one.is_empty());
    let second = if has_addresses(&first) {
        timeout(RESOLUTION_DELAY, rest).await.unwrap_or(Err(LookupError::TimedOut))
    } else {
        rest.await
    };
    let (mut addresses, ttl) = join(first, second)?;
    addresses.sort_by_key(IpAddr::is_ipv4);
    Ok((addresses.into(), ttl))
}

/// The addresses of both families. If one family has no answer, those of the other are kept for a short
/// time.
fn join(first: Result<Found, LookupError>, second: Result<Found, LookupError>) -> Result<Found, LookupError> {
    match (first, second) {
        (Ok(one), Ok((other, _))) if other.is_empty() && !one.0.is_empty() => Ok(one),
        (Ok((other, _)), Ok(one)) if other.is_empty() && !one.0.is_empty() => Ok(one),
        (Ok((first, ttl)), Ok((second, other_ttl))) => Ok(([first, second].concat(), ttl.min(other_ttl))),
        (Ok((one, ttl)), Err(_)) | (Err(_), Ok((one, ttl))) if !one.is_empty() => {
            Ok((one, ttl.min(MAX_NEGATIVE_TTL)))
        }
        (Err(LookupError::TimedOut), _) | (_, Err(LookupError::TimedOut)) => Err(LookupError::TimedOut),
        _ => Err(LookupError::Unknown),
    }
}

/// Asks for the addresses of one family.
async fn ask_for(family: RecordType, dns: &TokioResolver, name: &str) -> Result<Found, LookupError> {
    match dns.lookup(name, family).await {
        Ok(found) => {
            let ttl = found.valid_until().saturating_duration_since(Instant::now()).min(MAX_TTL);
            let addresses = found.answers().iter().filter_map(|record| record.data.ip_addr());
            Ok((addresses.take(MAX_ADDRESSES).collect(), ttl))
        }
        Err(NetError::Dns(DnsError::NoRecordsFound(none))) => {
            let ttl = Duration::from_secs(none.negative_ttl.unwrap_or(0).into()).min(MAX_NEGATIVE_TTL);
            Ok((Vec::new(), ttl))
        }
        Err(NetError::Timeout) => Err(LookupError::TimedOut),
        Err(_) => Err(LookupError::Unknown),
    }
}

/// Answers by name, in two generations: when the younger is full it replaces the older, so the cache
/// has a bound and needs no list of uses.
#[derive(Debug, Default)]
struct Cache {
    young: HashMap<Box<str>, Answer>,
    old: HashMap<Box<str>, Answer>,
}

#[derive(Debug, Clone)]
struct Answer {
    addresses: Addresses,
    until: Instant,
}

impl Cache {
    fn get(&mut self, name: &str, now: Instant) -> Option<Addresses> {
        let valid = |answer: &&Answer| answer.until > now;
        if let Some(answer) = self.young.get(name).filter(valid) {
            return Some(Arc::clone(&answer.addresses));
        }
        let answer = self.old.remove(name).filter(|answer| valid(&answer))?;
        let addresses = Arc::clone(&answer.addresses);
        self.insert(name, answer.addresses, answer.until);
        Some(addresses)
    }

    fn insert(&mut self, name: &str, addresses: Addresses, until: Instant) {
        if self.young.len() >= MAX_CACHED_NAMES / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name.into(), Answer { addresses, until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Name server on loopback that counts queries for A. It never answers names that begin with
    /// `never`, nor queries for AAAA of names with `four`. It knows no name that begins with `none`, and
    /// answers others with 192.0.2.1 and the TTL in seconds of the name's first digit.
    fn name_server() -> (SocketAddr, Arc<AtomicUsize>) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (at, queries) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&queries);
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                let end = 12 + query[12..].iter().position(|&byte| byte == 0).unwrap() + 5;
                let (label, is_a) =
                    (String::from_utf8_lossy(&query[13..end]).into_owned(), query[end - 3] == 1);
                counter.fetch_add(usize::from(is_a), SeqCst);
                let is_ignored = label.starts_with("never") || (label.starts_with("four") && !is_a);
                if is_ignored || length < end {
                    continue;
                }
                let (code, answers) = if label.starts_with("none") { (3, 0) } else { (0, u8::from(is_a)) };
                let mut reply = query[..end].to_vec();
                reply[2..4].copy_from_slice(&[0x81, 0x80 | code]);
                reply[4..12].copy_from_slice(&[0, 1, 0, answers, 0, 0, 0, 0]);
                if answers == 1 {
                    let ttl = label.bytes().find(u8::is_ascii_digit).map_or(60, |digit| digit - b'0');
                    reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, ttl, 0, 4, 192, 0, 2, 1]);
                }
                socket.send_to(&reply, from).unwrap();
            }
        });
        (at, queries)
    }

    fn client(last: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, last).into()
    }

    #[tokio::test]
    async fn number_of_lookups_can_be_resized_while_some_run() {
        let resolver = Resolver::new(4, &[]);
        let running = Arc::clone(&resolver.lookups).acquire_many_owned(3).await.unwrap();
        resolver.resize(1);
        assert!(resolver.lookups.try_acquire().is_err());
        resolver.resize(2);
        drop(running);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(resolver.lookups.available_permits(), 2);
        resolver.resize(10);
        assert_eq!(resolver.lookups.available_permits(), 10);
    }

    #[tokio::test]
    async fn black_holed_names_of_one_client_leave_others_alone() {
        let (server, _) = name_server();
        let limits = Limits { lookups: 8, lookups_per_client: 16, ..Limits::default() };
        let resolver = Arc::new(Resolver::new(limits.lookups, &[server]));
        let attack: Vec<_> = (0..200)
            .map(|nth| {
                let resolver = Arc::clone(&resolver);
                tokio::spawn(
                    async move { resolver.lookup(&format!("never{nth}.test"), client(1), &limits).await },
                )
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(300)).await;
        for nth in 0..20 {
            let name = format!("good-a{nth}.test");
            let lookup = resolver.lookup(&name, client(2), &limits);
            let found = timeout(Duration::from_secs(2), lookup).await.expect("it is answered at once");
            assert_eq!(found.as_deref(), Ok(&[client(1)][..]), "{name}");
        }
        assert_eq!(resolver.clients.len(), 1, "only the attacker waits");
        attack.iter().for_each(tokio::task::JoinHandle::abort);
        for task in attack {
            _ = task.await;
        }
        assert_eq!(resolver.clients.len(), 0);
        assert_eq!(resolver.lookups.available_permits(), limits.lookups);
    }

    #[tokio::test]
    async fn unanswered_family_does_not_delay_the_other() {
        let (server, _) = name_server();
        let (limits, resolver) = (Limits::default(), Resolver::new(8, &[server]));
        let lookup = resolver.lookup("four9.test", client(2), &limits);
        let found = timeout(Duration::from_secs(2), lookup).await.expect("the query for A is answered");
        assert_eq!(found.as_deref(), Ok(&[client(1)][..]));
    }

    #[tokio::test]
    async fn answers_are_cached_by_their_ttl() {
        let (server, queries) = name_server();
        let limits = Limits::default();
        let resolver = Resolver::new(8, &[server]);
        let ask = async |name| resolver.lookup(name, client(2), &limits).await;
        for _ in 0..3 {
            assert_eq!(ask("one1.test").await.as_deref(), Ok(&[client(1)][..]));
        }
        assert_eq!(queries.load(SeqCst), 1);
        tokio::time::sleep(Duration::from_millis(1100)).await;
        ask("one1.test").await.unwrap();
        assert_eq!(queries.load(SeqCst), 2, "the answer has expired");
        for _ in 0..2 {
            ask("zero0.test").await.unwrap();
        }
        assert_eq!(queries.load(SeqCst), 4, "a TTL of zero is not cached");
        assert_eq!(ask("none.test").await, Err(LookupError::Unknown));
        assert_eq!(ask("localhost").await.unwrap().len(), 2);
        assert_eq!(ask("127.1").await.as_deref(), Ok(&[IpAddr::from(Ipv4Addr::LOCALHOST)][..]));
    }

    #[tokio::test]
    async fn lookup_that_began_before_a_change_of_servers_leaves_no_answer() {
        let ((old, of_old), (new, of_new)) = (name_server(), name_server());
        let (limits, resolver) = (Limits::default(), Arc::new(Resolver::new(1, &[old])));
        let ask = async |name| resolver.lookup(name, client(2), &limits).await.unwrap();
        let running = resolver.dns().unwrap();
        resolver.set_servers(&[new]);
        super::ask(&running.client, "one.test").await.unwrap();
        lock(&running.cache).insert("one.test", Arc::default(), Instant::now() + MAX_TTL);
        assert_eq!(&*ask("one.test").await, [client(1)]);
        assert_eq!((of_old.load(SeqCst), of_new.load(SeqCst)), (1, 1));
        resolver.set_servers(&[new]);
        ask("one.test").await;
        assert_eq!(of_new.load(SeqCst), 1, "the cache stays with its servers");
        // A lookup that waits for its permit asks the servers of the end of its wait.
        let permit = resolver.lookups.acquire().await.unwrap();
        let waiting = ask("two.test");
        let change = async {
            while resolver.clients.len() == 0 {
                tokio::task::yield_now().await;
            }
            resolver.set_servers(&[old]);
            drop(permit);
        };
        let ((), _) = tokio::join!(change, waiting);
        assert_eq!((of_old.load(SeqCst), of_new.load(SeqCst)), (2, 1));
    }

    #[test]
    fn cache_has_a_bound_and_keeps_used_names() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        let until = now + Duration::from_secs(60);
        cache.insert("used.test", Arc::from([client(1)]), until);
        for nth in 0..3 * MAX_CACHED_NAMES {
            cache.insert(&format!("{nth}.test"), Arc::default(), until);
            assert!(cache.get("used.test", now).is_some(), "{nth}");
            assert!(cache.young.len() + cache.old.len() <= MAX_CACHED_NAMES);
        }
        assert_eq!(cache.get("0.test", now), None, "the oldest names go");
        assert_eq!(cache.get("used.test", until), None, "expired");
    }
}
