//! Network namespaces that have no name and live as long as somebody holds them.
//!
//! A named namespace outlives the process that made it; one that is held by a file descriptor alone
//! does not, however the process ends. So a test bed of these leaves nothing behind, not even after
//! `kill -9`: its devices, addresses, routes and sockets go with it.

use crate::{Error, sysctl};
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{self, JoinHandle};

/// In the table of TCP connections of a namespace: enough for some ten thousand.
const BUCKETS: &str = "8192";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// A new one, with nothing in it but a loopback device that is down, and a small table of TCP connections of its own.
    ///
    /// The table of all namespaces together, which it would have otherwise, has hundreds of thousands of buckets on a host
    /// with some memory. Whoever asks for the connections of one namespace waits for a walk through all of them: some
    /// milliseconds, in which that processor forwards no packet of an emulated link.
    ///
    /// # Errors
    /// Where the caller may not make namespaces (CAP_SYS_ADMIN), or the kernel has none.
    pub fn create() -> Result<Self, Error> {
        let made = thread::spawn(|| {
            leave()?;
            // The size is inherited, so there is one in between. Before Linux 6.1 there is one table for all.
            if sysctl::write("net.ipv4.tcp_child_ehash_entries", BUCKETS).is_ok() {
                leave()?;
            }
            Self::current()
        });
        made.join().unwrap_or_else(|_| {
            Err(Error::System {
                doing: "make a network namespace".to_owned(),
                source: std::io::Error::other("its thread died"),
            })
        })
    }

    /// The one that the calling thread is in.
    ///
    /// # Errors
    /// Where `/proc` is not mounted.
    pub fn current() -> Result<Self, Error> {
        let file = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| Error::system("open /proc/thread-self/ns/net", error))?;
        Ok(Self { file })
    }

    /// Moves the calling thread there, and nothing else of the process. Sockets keep the namespace in
    /// which they were made.
    ///
    /// # Errors
    /// Where the caller may not (CAP_SYS_ADMIN).
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| Error::system("enter a network namespace", error))
    }

    /// Runs `work` in a thread of this namespace and waits for what comes of it. The caller's thread
    /// stays where it is.
    ///
    /// # Errors
    /// Where the namespace cannot be entered, and whatever `work` answers.
    pub fn run<R: Send, E: From<Error> + Send>(
        &self,
        work: impl FnOnce() -> Result<R, E> + Send,
    ) -> Result<R, E> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                work()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Starts a thread there, called `name`.
    ///
    /// # Errors
    /// Where no thread can be started. That the namespace cannot be entered, the thread itself tells.
    pub fn spawn<R: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<R, E> + Send + 'static,
    ) -> Result<JoinHandle<Result<R, E>>, Error> {
        let doing = || format!("start the thread {name}");
        let file = self.file.try_clone().map_err(|error| Error::system(doing(), error))?;
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                Self { file }.enter()?;
                work()
            })
            .map_err(|error| Error::system(doing(), error))
    }
}

/// Makes a new network namespace, and moves the calling thread there, which is to end soon.
fn leave() -> Result<(), Error> {
    // SAFETY: only the network namespace is left, and of this thread alone, which ends soon after and
    // shares no file descriptor table, working directory or address space the less.
    #[allow(unsafe_code)]
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
        .map_err(|error| Error::system("make a network namespace", error))
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
