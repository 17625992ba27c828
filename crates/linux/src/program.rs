//! Any program, run in a namespace, with all that it starts: when it has ended, or we have, nothing of it
//! is left.
//!
//! ```text
//!  thread in the namespace ── fork ── init (1) ── fork ── the program (2) ── what it starts (3, 4, …)
//!     waits for init                   waits for all       has our terminal and process group
//!     and holds its life (PDEATHSIG)   passes signals on
//! ```
//!
//! Init is the first process of a PID namespace, which ends with it (pid_namespaces(7)), daemons and all: it
//! ends with the program, and is killed when the thread ends, which is when this process does, by whatever. A
//! program that is itself the first of its namespace would not do: the kernel keeps most signals from it.
//! A mount namespace has a `/proc` and a `/sys` that show what is there: these processes and interfaces.

use crate::namespace::Namespace;
use crate::{Error, seccomp, signal};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// What becomes of the sockets of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sockets {
    /// They are what the program asks for.
    Unchanged,
    /// Those for TCP streams are MPTCP's, with that congestion control on every subflow where one is named.
    Mptcp(Option<String>),
}

/// A program that runs, or has.
#[derive(Debug)]
pub struct Program {
    init: OwnedFd,
    ended: Arc<Ended>,
}

/// How it ended, as soon as it has: the exit code, or 128 and the number of the signal that ended it.
#[derive(Debug, Default)]
struct Ended {
    code: Mutex<Option<u8>>,
    changed: Condvar,
}

impl Program {
    /// Starts `command` in that namespace, and comes back when it has begun. With `then`, somebody hears of
    /// its end at once.
    ///
    /// # Errors
    /// [`Error::Program`] where there is no such program or it cannot be run; and where the namespaces cannot be
    /// had.
    pub fn start(
        namespace: &Namespace,
        mut command: Command,
        sockets: &Sockets,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let listening = match sockets {
            Sockets::Unchanged => None,
            // Before the filter is there: what begins later would wait for itself.
            Sockets::Mptcp(congestion) => Some(answering(namespace, congestion.clone())?),
        };
        // Nobody ever writes there. Whoever reads it learns when this process is gone.
        let (dies, lives) = io::pipe().map_err(|error| Error::system("make a pipe", error))?;
        let ended = Arc::<Ended>::default();
        let (tell, told) = mpsc::channel();
        let heard = Arc::clone(&ended);
        namespace.spawn::<(), Error>("program", move || {
            let started = || -> Result<_, Error> {
                if let Some(listening) = &listening {
                    // Where that thread has gone, nobody waits for an answer either.
                    let _ = listening.send(seccomp::listen()?);
                }
                own_processes()?;
                let ends = [dies.as_raw_fd(), lives.as_raw_fd()];
                // SAFETY: `first_process` makes system calls only, which may follow a fork.
                #[allow(unsafe_code)]
                unsafe {
                    command.pre_exec(move || first_process(ends));
                }
                command.spawn().map_err(|source| Error::Program { name, source })
            };
            let mut child = match started() {
                Ok(child) => child,
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return Ok(());
                }
            };
            let init = Pid::from_raw(child.id() as i32).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
            let _ = tell.send(match init {
                Some(Ok(init)) => Ok(init),
                Some(Err(error)) => Err(Error::system("hold a process", error)),
                None => Err(Error::system("hold a process", io::Error::other("it has no number"))),
            });
            let status = child.wait().map_err(|error| Error::system("wait for a program", error));
            drop(lives);
            *heard.code.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(status.as_ref().map_or(1, |&status| code(status)));
            heard.changed.notify_all();
            then();
            status.map(|_| ())
        })?;
        let init = told.recv().unwrap_or_else(|_| {
            Err(Error::system("run a program", io::Error::other("the namespace cannot be entered")))
        })?;
        Ok(Self { init, ended })
    }

    /// How it ended, if it has: its exit code, or 128 and the number of the signal that ended it.
    pub fn exit_code(&self) -> Option<u8> {
        *self.ended.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end, at most so long.
    pub fn wait(&self, most: Duration) -> Option<u8> {
        let code = self.ended.code.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.changed.wait_timeout_while(code, most, |code| code.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sends it one of [`signal::FORWARDED`]; where it has ended, nobody hears of it.
    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = pidfd_send_signal(&self.init, signal);
        }
    }

    /// Asks it to end, and after `grace` ends it with all that it started.
    pub fn terminate(&self, grace: Duration) -> u8 {
        self.signal(libc::SIGTERM);
        if let Some(code) = self.wait(grace) {
            return code;
        }
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
        // Only a process that hangs in the kernel survives that for longer.
        self.wait(Duration::from_secs(5)).unwrap_or(128 + libc::SIGKILL as u8)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
        self.wait(Duration::from_secs(5));
    }
}

/// What a shell says of it.
fn code(status: ExitStatus) -> u8 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).map_or(1, |code| code as u8)
}

/// A thread that answers the sockets of programs, as soon as it is told where they ask.
fn answering(namespace: &Namespace, congestion: Option<String>) -> Result<mpsc::Sender<OwnedFd>, Error> {
    let (send, receive) = mpsc::channel::<OwnedFd>();
    namespace.spawn::<(), Error>("sockets", move || match receive.recv() {
        Ok(listener) => seccomp::answer(&listener, congestion.as_deref()),
        // The program was never started.
        Err(_) => Ok(()),
    })?;
    Ok(send)
}

/// The next child of the calling thread is the first process of a PID namespace. The thread can start no
/// other thread from now on.
fn own_processes() -> Result<(), Error> {
    // SAFETY: it changes nothing of this process but what its children are.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::unshare(libc::CLONE_NEWPID) };
    if answer < 0 {
        return Err(Error::system("make a PID namespace", io::Error::last_os_error()));
    }
    Ok(())
}

/// The program's process, as init knows it.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// What the first process of a PID namespace does between `fork` and `exec`: it becomes init, and it is a
/// child of it that returns. `ends` are those of a pipe that nobody writes to, to read and to write.
///
/// Everything in it may be called after a fork of a process with threads: system calls, and no memory.
fn first_process(ends: [RawFd; 2]) -> io::Result<()> {
    let [dies, lives] = ends;
    let (none, passed_on) = (signal::set(&[]), signal::set(&signal::FORWARDED));
    // SAFETY: all of these take numbers, strings that are literals, or structures on this stack; the process
    // has one thread. Descriptors that are closed belong to code that this process never comes back to.
    #[allow(unsafe_code)]
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Whoever died before that cannot be waited for: then the other end is closed already.
        libc::close(lives);
        let mut other = libc::pollfd { fd: dies, events: 0, revents: 0 };
        if libc::poll(&raw mut other, 1, 0) != 0 {
            libc::_exit(1);
        }
        show_what_is_here();
        // Those that come before init is ready wait. The kernel drops what the first process has neither
        // blocked nor a handler for; and with one set before the fork, a program could not inherit that a
        // signal is ignored.
        libc::sigprocmask(libc::SIG_SETMASK, &raw const passed_on, core::ptr::null_mut());
        match libc::fork() {
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
                return Ok(());
            }
            -1 => return Err(io::Error::last_os_error()),
            program => PROGRAM.store(program, Ordering::Relaxed),
        }
        // What a terminal sends to all who are in its foreground, the program has itself.
        libc::setpgid(0, 0);
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = pass_on as extern "C" fn(i32) as usize;
        for number in signal::FORWARDED {
            libc::sigaction(number, &raw const action, core::ptr::null_mut());
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
        // With the pipe by which the standard library hears that there is no such program.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        loop {
            let mut status = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if ended == PROGRAM.load(Ordering::Relaxed) {
                let signalled = libc::WIFSIGNALED(status);
                libc::_exit(if signalled { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) });
            }
            if ended < 0 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(1);
            }
        }
    }
}

extern "C" fn pass_on(number: i32) {
    // SAFETY: it takes numbers; the process is our child, and we have not waited for it.
    #[allow(unsafe_code)]
    unsafe {
        libc::kill(PROGRAM.load(Ordering::Relaxed), number);
    }
}

/// Mounts the `/proc` of this PID namespace and the `/sys` of this network namespace, for it and its children
/// alone. Where that is refused, they see those of the host, and little is lost.
///
/// # Safety
/// Makes system calls alone; the process must have one thread.
#[allow(unsafe_code)]
unsafe fn show_what_is_here() {
    let nothing = core::ptr::null();
    // SAFETY: strings are literals, and no data is passed.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) < 0
            || libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_SLAVE, core::ptr::null())
                < 0
        {
            return;
        }
        let guarded = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        for (kind, place) in [(c"proc", c"/proc"), (c"sysfs", c"/sys")] {
            libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), guarded, core::ptr::null());
        }
    }
}

/// Whose turn it is at the terminal: a program that hands it about, such as a shell, need not give it back.
#[derive(Debug)]
pub struct Foreground {
    group: Option<libc::pid_t>,
}

impl Foreground {
    /// Remembers that this process is in the foreground of the terminal that it reads from, if it is.
    pub fn remember() -> Self {
        // SAFETY: both take numbers; where the standard input is no terminal, the answer is -1.
        #[allow(unsafe_code)]
        let (here, ours) = unsafe { (libc::tcgetpgrp(libc::STDIN_FILENO), libc::getpgrp()) };
        Self { group: (here == ours).then_some(ours) }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        let background = signal::set(&[libc::SIGTTOU]);
        // SAFETY: numbers, and a set that outlives the call. With the signal blocked, the terminal lets one
        // who is not in its foreground do that.
        #[allow(unsafe_code)]
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const background, core::ptr::null_mut());
            libc::tcsetpgrp(libc::STDIN_FILENO, group);
        }
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.init.as_fd()
    }
}
