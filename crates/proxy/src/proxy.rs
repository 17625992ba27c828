//! A proxy as a library: started, asked, reloaded, ended.

use crate::counters::Totals;
use crate::server::{Server, Shared};
use crate::status::Status;
use crate::{Config, Error};
use linux::namespace::Namespace;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use tokio::runtime::Builder;

/// A proxy at work, in threads of its own. Dropping it ends it at once, and breaks off what goes on.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    listening: Vec<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts one, in `place` where that is given, else where the calling thread is. When this returns, it
    /// listens.
    ///
    /// # Errors
    /// Where it would be open to everybody, an address cannot be listened at, the kernel has no MPTCP, or no
    /// thread can be started.
    pub fn start(config: Config, place: Option<&Namespace>) -> Result<Self, Error> {
        config.check()?;
        let shared = Arc::new(Shared::new(config));
        let (say, hear) = mpsc::sync_channel(1);
        let work = {
            let shared = Arc::clone(&shared);
            // Threads that a thread starts are in its namespace, so all of the runtime's are.
            move || work(&shared, &say)
        };
        let thread = match place {
            None => thread::Builder::new()
                .name("proxy".to_owned())
                .spawn(work)
                .map_err(|error| Error::own("start a thread", error))?,
            Some(place) => {
                let inside = place.spawn("proxy", move || {
                    work();
                    Ok::<_, Error>(())
                })?;
                // Its own error, that the namespace cannot be entered, shows below: nobody says anything.
                thread::spawn(move || _ = inside.join())
            }
        };
        let lost = || Error::own("start the proxy", std::io::Error::other("its thread ended"));
        match hear.recv().unwrap_or_else(|_| Err(lost())) {
            Ok(listening) => Ok(Self { shared, listening, thread: Some(thread) }),
            Err(error) => {
                _ = thread.join();
                Err(error)
            }
        }
    }

    /// Where it listens, in the order of the configuration; with the ports that were chosen.
    pub fn listening(&self) -> &[SocketAddr] {
        &self.listening
    }

    /// What it has counted so far.
    pub fn totals(&self) -> Totals {
        self.shared.counters.totals()
    }

    /// How things stand.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Takes another configuration: for connections from now on. Listeners that are in both stay, with all that
    /// came over them; others end or begin. Threads and the status socket are as they were until the next start.
    ///
    /// # Errors
    /// As for [`Proxy::start`]; nothing has changed then.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        config.check()?;
        let (say, hear) = mpsc::sync_channel(1);
        let lost = || Error::own("reload the proxy", std::io::Error::other("it has ended"));
        self.shared.reload.send((config, say)).map_err(|_| lost())?;
        hear.recv().unwrap_or_else(|_| Err(lost()))
    }

    /// Takes no more connections, ends those that wait for a request, and lets the others finish, for as long as
    /// the configuration says; then breaks off what is left. Returns when all is over: true where nothing had to
    /// be broken off.
    pub fn drain(mut self) -> bool {
        self.shared.phase.send_replace(crate::server::Phase::Draining);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
        self.shared.broken_off.load(Relaxed) == 0
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.phase.send_replace(crate::server::Phase::Ended);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

type Started = Result<Vec<SocketAddr>, Error>;

fn work(shared: &Arc<Shared>, say: &mpsc::SyncSender<Started>) {
    let config = shared.config();
    let workers =
        config.workers.or_else(|| thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let built = Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(config.limits.lookups.max(1) + 4)
        .thread_name("proxy")
        .enable_all()
        .build();
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(error) => {
            _ = say.send(Err(Error::own("start threads", error)));
            return;
        }
    };
    runtime.block_on(async {
        match Server::listen(Arc::clone(shared)) {
            Ok(server) => {
                _ = say.send(Ok(server.addresses()));
                server.run().await;
            }
            Err(error) => _ = say.send(Err(error)),
        }
    });
    // A name that is still being looked up is not waited for.
    runtime.shutdown_background();
}
