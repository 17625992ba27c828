//! Logins of clients: verifies passwords at bounded cost.
//!
//! A verification computes an argon2id hash in a blocking thread. Few run at once, one per client
//! address; an address with failures waits before its next. A bounded cache remembers verified
//! credentials, each for the address that it came from, as keyed digests.

use crate::credentials::Credential;
use crate::failed_logins::{Charge, FailedLogins};
use crate::users::{Found, User, Users};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Verifications at once, each of some 20 ms and 19 MiB.
pub(crate) const MAX_VERIFICATIONS: usize = 4;
/// Verified credentials that the cache holds.
const MAX_CACHED: usize = 4096;
/// Queues of clients, so that attempts of one address follow each other.
const LANES: usize = 256;

/// Outcome of a login.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The user has this password.
    Known(Arc<User>),
    /// Wrong name or password; the address may try again after the wait.
    Unknown(Duration),
    /// The address has to wait; the password was not verified.
    LockedOut(Duration),
}

/// State of logins.
#[derive(Debug)]
pub(crate) struct Logins {
    users: watch::Sender<Users>,
    failed: Mutex<FailedLogins>,
    cache: Mutex<Cache>,
    /// Secret of the process, for the digests in the cache.
    secret: [u8; 64],
    permits: Arc<Semaphore>,
    lanes: Vec<tokio::sync::Mutex<()>>,
    lane_key: RandomState,
}

/// Digests of verified credentials; the oldest makes room.
#[derive(Debug, Default)]
struct Cache {
    digests: HashSet<[u8; 32]>,
    order: VecDeque<[u8; 32]>,
}

impl Cache {
    fn insert(&mut self, digest: [u8; 32]) {
        if self.digests.insert(digest) {
            self.order.push_back(digest);
            if self.order.len() > MAX_CACHED
                && let Some(oldest) = self.order.pop_front()
            {
                self.digests.remove(&oldest);
            }
        }
    }
}

impl Logins {
    pub(crate) fn new(users: Users) -> Self {
        let mut secret = [0; 64];
        // Linux has random numbers from boot on; without them the cache's digests would only lack
        // their secret.
        _ = getrandom::fill(&mut secret);
        Self {
            users: watch::Sender::new(users),
            failed: Mutex::default(),
            cache: Mutex::default(),
            secret,
            permits: Arc::new(Semaphore::new(MAX_VERIFICATIONS)),
            lanes: (0..LANES).map(|_| tokio::sync::Mutex::new(())).collect(),
            lane_key: RandomState::new(),
        }
    }

    /// Whether the present configuration has users.
    pub(crate) fn are_required(&self) -> bool {
        !self.users.borrow().is_empty()
    }

    /// Replaces the users, and ends connections of users that are gone or have another password.
    pub(crate) fn replace_users(&self, users: Users) {
        if *self.users.borrow() == users {
            // Else each renewal of a certificate would cost a hash for every client.
            return;
        }
        // Digests of the cache include the hash, so old entries match no user with a new hash.
        *self.cache.lock().unwrap_or_else(PoisonError::into_inner) = Cache::default();
        self.users.send_replace(users);
    }

    /// Completes when the user is removed or has another password.
    pub(crate) fn revocation(&self, user: Arc<User>) -> impl Future<Output = ()> + Send + use<> {
        let mut users = self.users.subscribe();
        async move {
            while users.borrow_and_update().contains(&user) {
                if users.changed().await.is_err() {
                    return;
                }
            }
        }
    }

    /// Verifies a credential of a client, given by its address or prefix.
    pub(crate) async fn verify(&self, client: IpAddr, credential: &Credential) -> Verdict {
        // Before the search, so that its duration tells a locked-out client nothing.
        if let Some(wait) = self.failed().surely_locked_for(client, Instant::now()) {
            return Verdict::LockedOut(wait);
        }
        let found = self.users.borrow().find(&credential.username);
        if let Some(verdict) = self.cached(client, credential, &found) {
            return verdict;
        }
        let lane = (self.lane_key.hash_one(client) % LANES as u64) as usize;
        let _turn = self.lanes[lane].lock().await;
        // An attempt before this one may have decided it. The lock comes first, because the cache would
        // confirm guesses.
        if let Some(verdict) = self.lock_out(client).or_else(|| self.cached(client, credential, &found)) {
            return verdict;
        }
        let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else {
            return Verdict::LockedOut(Duration::from_secs(1));
        };
        let charge = self.failed().charge(client, Instant::now());
        let (Found::Known(user) | Found::Unknown(user)) = &found;
        let (user, password) = (Arc::clone(user), credential.password.clone());
        let work = move || {
            let matches = user.has_password(&password);
            // Released by the thread: a client that gives up frees no place before its end.
            drop(permit);
            matches
        };
        let matches = tokio::task::spawn_blocking(work).await.unwrap_or(false);
        self.conclude(found, credential, matches, &charge)
    }

    fn conclude(&self, found: Found, credential: &Credential, matches: bool, charge: &Charge) -> Verdict {
        match found {
            Found::Known(user) if matches => {
                self.failed().refund(charge);
                let digest = self.digest(charge.client, credential, &user);
                self.cache.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
                Verdict::Known(user)
            }
            _ => {
                self.failed().confirm(charge);
                Verdict::Unknown(charge.wait())
            }
        }
    }

    /// Verdict about an address that has to wait.
    fn lock_out(&self, client: IpAddr) -> Option<Verdict> {
        self.failed().locked_for(client, Instant::now()).map(Verdict::LockedOut)
    }

    /// Verdict without a hash, if the client has logged in with the credential before.
    fn cached(&self, client: IpAddr, credential: &Credential, found: &Found) -> Option<Verdict> {
        let (Found::Known(user) | Found::Unknown(user)) = found;
        let digest = self.digest(client, credential, user);
        let is_cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).digests.contains(&digest);
        is_cached.then(|| Verdict::Known(Arc::clone(user)))
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, FailedLogins> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Digest of a credential together with the user's hash and the client. Without the client, the
    /// cache would confirm guesses of other addresses, which wait for their turn uncounted.
    fn digest(&self, client: IpAddr, credential: &Credential, user: &User) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new(&self.secret.into());
        for part in [&*client.to_string(), &credential.username, &credential.password, user.hash()] {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failed_logins::tests::full_table;
    use core::future::pending;
    use tokio::time::timeout;

    fn credential(text: &str) -> Credential {
        Credential::parse(text).unwrap()
    }

    fn users(text: &str) -> Users {
        let mut users = Users::default();
        users.add(&credential(text)).unwrap();
        users
    }

    fn client(number: u32) -> IpAddr {
        IpAddr::V4(number.into())
    }

    #[tokio::test]
    async fn flood_of_guesses_computes_few_hashes() {
        let logins = Arc::new(Logins::new(users("ann:right")));
        let guess = |number: u32| {
            let logins = Arc::clone(&logins);
            async move { logins.verify(client(1), &credential(&format!("ann:{number}"))).await }
        };
        let all: Vec<_> = (0..2000).map(|number| tokio::spawn(guess(number))).collect();
        let mut verified = 0;
        for one in all {
            match one.await.unwrap() {
                Verdict::Unknown(_) => verified += 1,
                Verdict::LockedOut(wait) => assert!(!wait.is_zero()),
                Verdict::Known(_) => panic!(),
            }
        }
        assert!((5..=7).contains(&verified), "{verified} guesses were verified");
        assert!(matches!(logins.verify(client(1), &credential("ann:right")).await, Verdict::LockedOut(_)));
        assert!(matches!(logins.verify(client(2), &credential("ann:right")).await, Verdict::Known(_)));
    }

    #[tokio::test]
    async fn many_connections_of_a_user_compute_one_hash() {
        let logins = Arc::new(Logins::new(users("ann:right")));
        let log_in = || {
            let logins = Arc::clone(&logins);
            async move { logins.verify(client(1), &credential("ann:right")).await }
        };
        let all: Vec<_> = (0..1000).map(|_| tokio::spawn(log_in())).collect();
        let start = Instant::now();
        for one in all {
            assert!(matches!(one.await.unwrap(), Verdict::Known(_)));
        }
        // 1000 hashes would take 20 s and more.
        assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        assert_eq!(logins.failed().locked_for(client(1), Instant::now()), None);
    }

    #[tokio::test]
    async fn attempt_under_way_locks_nobody_out() {
        let logins = Arc::new(Logins::new(users("ann:right")));
        for number in 0..4 {
            let guess = credential(&format!("ann:{number}"));
            assert!(matches!(logins.verify(client(1), &guess).await, Verdict::Unknown(_)));
        }
        let log_in = || {
            let logins = Arc::clone(&logins);
            async move { logins.verify(client(1), &credential("ann:right")).await }
        };
        let first = tokio::spawn(log_in());
        while logins.failed().locked_for(client(1), Instant::now()).is_none() {
            tokio::task::yield_now().await;
        }
        assert!(matches!(log_in().await, Verdict::Known(_)));
        assert!(matches!(first.await.unwrap(), Verdict::Known(_)));
    }

    #[tokio::test]
    async fn cache_confirms_no_guess_of_another_address() {
        let logins = Arc::new(Logins::new(users("ann:right")));
        assert!(matches!(logins.verify(client(1), &credential("ann:right")).await, Verdict::Known(_)));
        let guess = |password: String| {
            let logins = Arc::clone(&logins);
            async move { logins.verify(client(2), &credential(&format!("ann:{password}"))).await }
        };
        let wrong = (0..100).map(|number| number.to_string());
        let all: Vec<_> = wrong.chain(["right".to_owned()]).map(|one| tokio::spawn(guess(one))).collect();
        for one in all {
            assert!(!matches!(one.await.unwrap(), Verdict::Known(_)), "a guess was confirmed");
        }
    }

    #[tokio::test]
    async fn full_table_delays_no_connection_of_a_client_that_logs_in() {
        let logins = Arc::new(Logins::new(users("ann:right")));
        *logins.failed() = full_table(9, Instant::now());
        let client: IpAddr = [192, 0, 2, 1].into();
        let log_in = |password: &'static str| {
            let logins = Arc::clone(&logins);
            async move { logins.verify(client, &credential(&format!("ann:{password}"))).await }
        };
        let all: Vec<_> = (0..100).map(|_| tokio::spawn(log_in("right"))).collect();
        for one in all {
            assert!(matches!(one.await.unwrap(), Verdict::Known(_)));
        }
        let all: Vec<_> = (0..100).map(|_| tokio::spawn(log_in("wrong"))).collect();
        let mut verified = 0;
        for one in all {
            verified += usize::from(matches!(one.await.unwrap(), Verdict::Unknown(_)));
        }
        assert_eq!(verified, 1, "the failure inherits those of the full table");
    }

    #[tokio::test]
    async fn reload_with_the_same_users_keeps_verified_logins() {
        let same = users("ann:right");
        let logins = Logins::new(same.clone());
        assert!(matches!(logins.verify(client(1), &credential("ann:right")).await, Verdict::Known(_)));
        logins.replace_users(same);
        assert_eq!(logins.cache.lock().unwrap().digests.len(), 1);
    }

    #[tokio::test]
    async fn changed_password_leaves_the_cache_and_ends_connections() {
        let logins = Logins::new(users("ann:old"));
        let Verdict::Known(user) = logins.verify(client(1), &credential("ann:old")).await else { panic!() };
        let mut revocation = Box::pin(logins.revocation(user));
        let wait = Duration::from_millis(50);
        assert!(timeout(wait, &mut revocation).await.is_err());
        logins.replace_users(users("ann:new"));
        assert!(matches!(logins.verify(client(1), &credential("ann:old")).await, Verdict::Unknown(_)));
        timeout(Duration::from_secs(5), revocation).await.unwrap();
        let Verdict::Known(user) = logins.verify(client(1), &credential("ann:new")).await else { panic!() };
        let revocation = logins.revocation(user);
        logins.replace_users(Users::default());
        timeout(Duration::from_secs(5), revocation).await.unwrap();
        assert!(timeout(wait, pending::<()>()).await.is_err());
    }

    #[test]
    fn cache_is_bounded() {
        let mut cache = Cache::default();
        for number in 0..10_000_u32 {
            let mut digest = [0; 32];
            digest[..4].copy_from_slice(&number.to_le_bytes());
            cache.insert(digest);
            cache.insert(digest);
        }
        assert_eq!((cache.digests.len(), cache.order.len()), (MAX_CACHED, MAX_CACHED));
    }
}
