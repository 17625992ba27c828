//! Anonymous network namespaces, kept alive by a file descriptor.
//!
//! A named namespace (`ip netns`) outlives the process that created it. An anonymous one ends with
//! its last descriptor, however the process ends. A test bed built of these leaves nothing behind,
//! not even after `kill -9`: devices, addresses, routes and sockets vanish with the namespace.

use crate::{Error, sysctl};
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{self, JoinHandle};

/// Size of a namespace's own TCP connection hash table; enough for about ten thousand connections.
const EHASH_ENTRIES: &str = "8192";

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Creates a namespace that holds only a loopback device, which is down. It gets its own small
    /// TCP connection hash table.
    ///
    /// By default a namespace shares the host's table, which has hundreds of thousands of buckets.
    /// A sock_diag dump walks every bucket and occupies a processor for milliseconds. An emulated
    /// link on that processor forwards nothing meanwhile.
    ///
    /// # Errors
    /// Fails without CAP_SYS_ADMIN, or when the kernel has no network namespaces.
    pub fn create() -> Result<Self, Error> {
        let thread = thread::spawn(|| {
            unshare_network()?;
            // A child namespace inherits the size from its parent, so an intermediate one is
            // created first. Kernels before 6.1 only have the shared table.
            if sysctl::write("net.ipv4.tcp_child_ehash_entries", EHASH_ENTRIES).is_ok() {
                unshare_network()?;
            }
            Self::current()
        });
        thread.join().unwrap_or_else(|_| {
            Err(Error::System {
                doing: "create a network namespace".to_owned(),
                source: std::io::Error::other("its thread panicked"),
            })
        })
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// Fails when `/proc` is not mounted.
    pub fn current() -> Result<Self, Error> {
        let file = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| Error::system("open /proc/thread-self/ns/net", error))?;
        Ok(Self { file })
    }

    /// Another handle of the same namespace.
    ///
    /// # Errors
    /// Fails when the process may open no more files.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let file =
            self.file.try_clone().map_err(|error| Error::system("duplicate a network namespace", error))?;
        Ok(Self { file })
    }

    /// Moves the calling thread into the namespace; other threads stay. Open sockets keep the
    /// namespace in which they were created.
    ///
    /// # Errors
    /// Fails without CAP_SYS_ADMIN.
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| Error::system("enter a network namespace", error))
    }

    /// Runs `work` on a new thread inside the namespace and waits for the result. The calling
    /// thread stays in its own namespace.
    ///
    /// # Errors
    /// Fails when the namespace cannot be entered, or with the error of `work`.
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

    /// Starts a thread named `name` inside the namespace.
    ///
    /// # Errors
    /// Fails when no thread can be started. A failure to enter the namespace is the thread's own
    /// result.
    pub fn spawn<R: Send + 'static, E: From<Error> + Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<R, E> + Send + 'static,
    ) -> Result<JoinHandle<Result<R, E>>, Error> {
        let doing = || format!("start the thread {name}");
        let inside = self.try_clone()?;
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                inside.enter()?;
                drop(inside);
                work()
            })
            .map_err(|error| Error::system(doing(), error))
    }
}

/// Moves the calling thread into a new network namespace. The thread should end soon afterwards.
fn unshare_network() -> Result<(), Error> {
    // SAFETY: CLONE_NEWNET changes only the network namespace of this thread. File descriptor
    // table, working directory and address space stay shared with the process.
    #[allow(unsafe_code)]
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
        .map_err(|error| Error::system("create a network namespace", error))
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
