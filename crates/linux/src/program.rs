//! Runs a program in a namespace and ends it together with every process it started.
//!
//! Init is PID 1 of a new PID namespace. It forwards signals, reaps all processes, and ends with
//! the program; the kernel then kills the remaining processes, daemons too (pid_namespaces(7)). A
//! pipe's hangup or PDEATHSIG ends init when its thread or this process ends. The program itself
//! is PID 2, because the kernel withholds most signals from PID 1. It keeps the terminal, the
//! process group and the inherited limit of open files. A private mount namespace provides `/proc`
//! and `/sys` of the new namespaces, and hides the sockets of the host's name services.

use crate::namespace::Namespace;
use crate::seccomp::{self, Listener};
use crate::{Error, process, signal};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Configuration of the C library's resolver (resolv.conf(5)).
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// Directories of the host's name services: systemd-resolved, nscd and Avahi. `/var/run` may be another
/// directory than `/run`.
const NAME_SERVICES: [&CStr; 4] =
    [c"/run/systemd/resolve", c"/run/nscd", c"/var/run/nscd", c"/run/avahi-daemon"];
/// Files of systemd-resolved to which `/etc/resolv.conf` may be a link.
const RESOLVED_FILES: [&CStr; 2] =
    [c"/run/systemd/resolve/resolv.conf", c"/run/systemd/resolve/stub-resolv.conf"];

/// Treatment of the sockets a program opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sockets {
    /// The program gets the sockets it asks for.
    Unchanged,
    /// TCP stream sockets become MPTCP sockets, with the given congestion control on every subflow.
    Mptcp(Option<String>),
}

/// A program that runs or has ended.
#[derive(Debug)]
pub struct Program {
    /// pidfd of init.
    init: OwnedFd,
    state: Arc<ExitState>,
}

/// Exit code of the program once it has ended.
#[derive(Debug, Default)]
struct ExitState {
    code: Mutex<Option<u8>>,
    changed: Condvar,
}

impl ExitState {
    fn set(&self, code: u8) {
        *self.code.lock().unwrap_or_else(PoisonError::into_inner) = Some(code);
        self.changed.notify_all();
    }
}

impl Program {
    /// Starts `command` in `namespace` and returns once it runs. `resolver` is the content of its
    /// `/etc/resolv.conf` (resolv.conf(5)); `None` copies that of the host. The sockets of the host's
    /// name services are hidden. `then` is called when it has ended.
    ///
    /// # Errors
    /// Fails with [`Error::Program`] when the program cannot be executed; also when the PID
    /// namespace cannot be created.
    pub fn start(
        namespace: &Namespace,
        command: Command,
        sockets: &Sockets,
        resolver: Option<String>,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<Self, Error> {
        let supervisor = match sockets {
            Sockets::Unchanged => None,
            // This thread must start before the filter is installed. Otherwise its own sockets
            // would wait for itself.
            Sockets::Mptcp(congestion) => Some(start_socket_supervisor(namespace, congestion.clone())?),
        };
        // Nothing is ever written to this pipe. Its hangup tells init that this process has ended.
        let (hangup, keep_open) = io::pipe().map_err(|error| Error::system("create a pipe", error))?;
        let state = Arc::<ExitState>::default();
        let state_of_thread = Arc::clone(&state);
        let (report_start, start_result) = mpsc::channel();
        namespace.spawn::<(), Error>("program", move || {
            let ends = [hangup.as_raw_fd(), keep_open.as_raw_fd()];
            let mut init = match spawn_init(command, supervisor.as_ref(), resolver, ends) {
                Ok(init) => init,
                Err(error) => {
                    let _ = report_start.send(Err(error));
                    return Ok(());
                }
            };
            let _ = report_start.send(open_pidfd(&init));
            let status = init.wait().map_err(|error| Error::system("wait for a program", error));
            drop(keep_open);
            state_of_thread.set(status.as_ref().map_or(1, |&status| shell_exit_code(status)));
            then();
            status.map(|_| ())
        })?;
        let init = start_result.recv().unwrap_or_else(|_| {
            let cause = io::Error::other("the namespace cannot be entered");
            Err(Error::system("run a program", cause))
        })?;
        Ok(Self { init, state })
    }

    /// Exit code, or 128 plus the signal number; `None` while the program runs. As in a shell.
    pub fn exit_code(&self) -> Option<u8> {
        *self.state.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits at most `most` for the end of the program.
    pub fn wait(&self, most: Duration) -> Option<u8> {
        let code = self.state.code.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.state.changed.wait_timeout_while(code, most, |code| code.is_none());
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sends one of [`signal::FORWARDED`] to the program. Has no effect when the program has ended.
    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            let _ = pidfd_send_signal(&self.init, signal);
        }
    }

    /// Sends SIGTERM. After `grace` kills the program and all processes it started.
    pub fn terminate(&self, grace: Duration) -> u8 {
        self.signal(libc::SIGTERM);
        if let Some(code) = self.wait(grace) {
            return code;
        }
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
        // Only a process stuck in the kernel survives SIGKILL this long.
        self.wait(Duration::from_secs(5)).unwrap_or(128 + libc::SIGKILL as u8)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
        self.wait(Duration::from_secs(5));
    }
}

/// Starts init and the program on the calling thread, which must be in the right namespace. `ends`
/// are the two ends of the hangup pipe.
fn spawn_init(
    mut command: Command,
    supervisor: Option<&mpsc::Sender<Listener>>,
    resolver: Option<String>,
    ends: [RawFd; 2],
) -> Result<Child, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    if let Some(supervisor) = supervisor {
        // A send fails only when the supervisor thread has ended; then no answer is needed.
        let _ = supervisor.send(seccomp::mptcp::install_filter()?);
    }
    unshare_pid_namespace()?;
    // The file may be in a hidden directory.
    let resolver = resolver.or_else(|| fs::read_to_string(RESOLV_CONF).ok()).unwrap_or_default();
    // SAFETY: `run_as_init` makes only async-signal-safe system calls, as required after fork.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || run_as_init(ends, &resolver));
    }
    command.spawn().map_err(|source| Error::Program { name, source })
}

fn open_pidfd(child: &Child) -> Result<OwnedFd, Error> {
    let pid = Pid::from_raw(child.id() as i32)
        .ok_or_else(|| Error::system("open a pidfd", io::Error::other("the process has no PID")))?;
    pidfd_open(pid, PidfdFlags::empty()).map_err(|error| Error::system("open a pidfd", error))
}

/// Exit code as a shell reports it.
fn shell_exit_code(status: ExitStatus) -> u8 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).map_or(1, |code| code as u8)
}

/// Starts the thread that serves socket notifications, once it receives the listener.
fn start_socket_supervisor(
    namespace: &Namespace,
    congestion: Option<String>,
) -> Result<mpsc::Sender<Listener>, Error> {
    let (send, receive) = mpsc::channel::<Listener>();
    namespace.spawn::<(), Error>("sockets", move || match receive.recv() {
        Ok(listener) => seccomp::mptcp::serve_notifications(&listener, congestion.as_deref()),
        // The sender is gone: the program was never started.
        Err(_) => Ok(()),
    })?;
    Ok(send)
}

/// Makes the next child of the calling thread PID 1 of a new PID namespace. The thread can start no
/// other threads from then on.
fn unshare_pid_namespace() -> Result<(), Error> {
    // SAFETY: CLONE_NEWPID affects only future children of this thread.
    #[allow(unsafe_code)]
    let answer = unsafe { libc::unshare(libc::CLONE_NEWPID) };
    if answer < 0 {
        return Err(Error::system("create a PID namespace", io::Error::last_os_error()));
    }
    Ok(())
}

/// PID of the program as seen by init.
static PROGRAM_PID: AtomicI32 = AtomicI32::new(0);

/// Turns the forked process into init, between `fork` and `exec`. Init forks again, and only the
/// child returns, to execute the program. `ends` are the read and the write end of a pipe that
/// nothing writes to. `resolver` replaces `/etc/resolv.conf` unless empty.
///
/// Only async-signal-safe calls are made here, and no memory is allocated: the parent process has
/// several threads.
fn run_as_init(ends: [RawFd; 2], resolver: &str) -> io::Result<()> {
    let [hangup, keep_open] = ends;
    let (none, forwarded) = (signal::signal_set(&[]), signal::signal_set(&signal::FORWARDED));
    // SAFETY: the arguments are numbers, string literals, or structures on this stack, which
    // outlive the calls. The process has one thread. The closed descriptors belong to code that
    // this process never runs again. Zero is a valid `sigaction`.
    #[allow(unsafe_code)]
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // PDEATHSIG misses a parent that died before the prctl. In that case the pipe has hung up
        // already.
        libc::close(keep_open);
        let mut other = libc::pollfd { fd: hangup, events: 0, revents: 0 };
        if libc::poll(&raw mut other, 1, 0) != 0 {
            libc::_exit(1);
        }
        mount_private_files(resolver.as_bytes());
        // Blocks the signals until init has its handlers: PID 1 loses a signal that is neither
        // blocked nor handled. Handlers installed before the fork would reset signals that the
        // program should inherit as ignored.
        libc::sigprocmask(libc::SIG_SETMASK, &raw const forwarded, core::ptr::null_mut());
        match libc::fork() {
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
                return process::restore_open_file_limit();
            }
            -1 => return Err(io::Error::last_os_error()),
            program => PROGRAM_PID.store(program, Ordering::Relaxed),
        }
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_flags = libc::SA_SIGINFO;
        action.sa_sigaction = forward_signal as SignalHandler as usize;
        for number in signal::FORWARDED {
            libc::sigaction(number, &raw const action, core::ptr::null_mut());
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, core::ptr::null_mut());
        close_all_descriptors();
        loop {
            let mut status = 0;
            let ended = libc::waitpid(-1, &raw mut status, 0);
            if ended == PROGRAM_PID.load(Ordering::Relaxed) {
                let signalled = libc::WIFSIGNALED(status);
                libc::_exit(if signalled { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) });
            }
            if ended < 0 && *libc::__errno_location() != libc::EINTR {
                libc::_exit(1);
            }
        }
    }
}

/// Most descriptors that are closed one by one: the default limit of the kernel (`fs.nr_open`).
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Closes all descriptors, including the pipe on which the standard library awaits a failed `exec`.
///
/// # Safety
/// No other code of the process may use a descriptor from then on. Only system calls are made.
#[allow(unsafe_code)]
unsafe fn close_all_descriptors() {
    // SAFETY: the arguments are numbers, and the caller needs no descriptor.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0) == 0 {
            return;
        }
        // Linux before 5.9 lacks the call.
        let limit = process::open_file_limit().min(MAX_DESCRIPTORS);
        for descriptor in 0..limit {
            libc::close(descriptor as RawFd);
        }
    }
}

/// Handler of a signal with SA_SIGINFO (sigaction(2)).
type SignalHandler = extern "C" fn(i32, *const libc::siginfo_t, *mut libc::c_void);

/// Forwards a signal to the program, unless the terminal has sent it to the process group of both.
extern "C" fn forward_signal(number: i32, info: *const libc::siginfo_t, _context: *mut libc::c_void) {
    let program = PROGRAM_PID.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid structure, and the calls take numbers. The process is an
    // unreaped child of init, so its PID is not reused.
    #[allow(unsafe_code)]
    unsafe {
        let is_from_terminal = (*info).si_code == libc::SI_KERNEL;
        if !is_from_terminal || libc::getpgid(program) != libc::getpgrp() {
            libc::kill(program, number);
        }
    }
}

/// Mounts the `/proc` of the new PID namespace, the `/sys` of the network namespace and a
/// `/etc/resolv.conf` with the content `resolver` (unless empty), and hides the host's name services.
/// Init and its children alone see these mounts. When that is not permitted, they see the host's
/// files.
///
/// # Safety
/// The process must have one thread. Only system calls are made.
#[allow(unsafe_code)]
unsafe fn mount_private_files(resolver: &[u8]) {
    let nothing = core::ptr::null();
    // SAFETY: the strings are literals, and the data pointers are null.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) < 0
            || libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_SLAVE, core::ptr::null())
                < 0
        {
            return;
        }
        hide_name_services();
        if !resolver.is_empty() {
            replace_resolv_conf(resolver);
        }
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        for (kind, place) in [(c"proc", c"/proc"), (c"sysfs", c"/sys")] {
            libc::mount(kind.as_ptr(), place.as_ptr(), kind.as_ptr(), flags, core::ptr::null());
        }
    }
}

/// Mounts an empty tmpfs over the directories of [`NAME_SERVICES`] that exist. A socket in the file
/// system belongs to no network namespace: through it, the C library would resolve names over the
/// host's network.
///
/// # Safety
/// As [`mount_private_files`], and the mount namespace must be the new one.
#[allow(unsafe_code)]
unsafe fn hide_name_services() {
    let (tmpfs, mode) = (c"tmpfs".as_ptr(), c"mode=0755".as_ptr());
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the strings are constants.
    unsafe {
        for place in NAME_SERVICES {
            let is_covered = libc::mount(tmpfs, place.as_ptr(), tmpfs, flags, mode.cast()) == 0;
            if is_covered && place == NAME_SERVICES[0] {
                // `replace_resolv_conf` needs the target of the link.
                for file in RESOLVED_FILES {
                    libc::mknod(file.as_ptr(), libc::S_IFREG | 0o644, 0);
                }
            }
        }
    }
}

/// Mounts a file with this content at `/etc/resolv.conf`. The file is in a tmpfs that has no place
/// in the file system afterwards, so the kernel frees it with the mount namespace.
///
/// # Safety
/// As [`mount_private_files`], in the mount namespace of which it is called before `/sys` is
/// mounted: the tmpfs is at `/sys` for a moment.
#[allow(unsafe_code)]
unsafe fn replace_resolv_conf(content: &[u8]) {
    let nothing = core::ptr::null();
    let (tmpfs, place, file) = (c"tmpfs".as_ptr(), c"/sys".as_ptr(), c"/sys/resolv.conf".as_ptr());
    // SAFETY: the strings are literals, the data pointers are null, and `content` outlives the call.
    unsafe {
        if libc::mount(tmpfs, place, tmpfs, libc::MS_NOSUID | libc::MS_NODEV, nothing) < 0 {
            return;
        }
        let opened = libc::open(file, libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644);
        if opened >= 0 {
            // The file mode creation mask may deny reading to other users.
            libc::fchmod(opened, 0o644);
            libc::write(opened, content.as_ptr().cast(), content.len());
            libc::close(opened);
            libc::mount(file, c"/etc/resolv.conf".as_ptr(), core::ptr::null(), libc::MS_BIND, nothing);
        }
        libc::umount2(place, libc::MNT_DETACH);
    }
}

/// Restores the foreground process group of the terminal on drop. An interactive program such as a
/// shell changes it and may not restore it.
#[derive(Debug)]
pub struct Foreground {
    group: Option<libc::pid_t>,
}

impl Foreground {
    /// Remembers whether this process is in the foreground of its controlling terminal.
    pub fn remember() -> Self {
        // SAFETY: both calls take numbers; `tcgetpgrp` returns -1 when standard input is no
        // terminal.
        #[allow(unsafe_code)]
        let (here, ours) = unsafe { (libc::tcgetpgrp(libc::STDIN_FILENO), libc::getpgrp()) };
        Self { group: (here == ours).then_some(ours) }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let Some(group) = self.group else { return };
        let background = signal::signal_set(&[libc::SIGTTOU]);
        // SAFETY: `background` outlives the call; the other arguments are numbers. A background
        // process may call `tcsetpgrp` only with SIGTTOU blocked.
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
