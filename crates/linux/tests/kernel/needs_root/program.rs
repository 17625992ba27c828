use crate::new_namespace;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};
use tandem_linux::program::{Program, Sockets};

/// Exit code of a shell script in a new network namespace.
fn run(script: &str, resolver: Option<&str>) -> Option<u8> {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let (namespace, resolver) = (new_namespace(), resolver.map(str::to_owned));
    let program = Program::start(&namespace, command, &Sockets::Unchanged, resolver, || {});
    program.expect("the shell starts").wait(Duration::from_secs(20))
}

/// Runs `test` on a thread whose `/run`, `/var/run` and `/etc` are private and empty.
fn with_private_folders(test: impl FnOnce() + Send) {
    let test = || {
        // SAFETY: the call changes the mount namespace and the working directory of this thread only.
        #[allow(unsafe_code)]
        unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }.expect("root");
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).expect("root");
        for place in ["/run", "/etc"] {
            mount("tmpfs", place, "tmpfs", MountFlags::empty(), None).expect("root");
        }
        test();
    };
    thread::scope(|scope| scope.spawn(test).join().expect("no panic"));
}

#[test]
#[ignore = "needs root"]
fn needs_root_program_does_not_see_the_sockets_of_name_services() {
    with_private_folders(|| {
        let sockets = ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket"];
        let _listeners = sockets.map(|path| {
            fs::create_dir_all(path.rsplit_once('/').expect("a path").0).expect("a tmpfs");
            UnixListener::bind(path).expect("a tmpfs")
        });
        let script = "test ! -e /run/systemd/resolve/io.systemd.Resolve && test ! -e /run/nscd/socket";
        assert_eq!(run(script, None), Some(0));
        assert!(sockets.iter().all(|path| fs::exists(path).is_ok_and(|exists| exists)), "outside");
    });
}

#[test]
#[ignore = "needs root"]
fn needs_root_linked_resolv_conf_of_systemd_resolved_stays_readable() {
    with_private_folders(|| {
        let file = "/run/systemd/resolve/stub-resolv.conf";
        fs::create_dir_all("/run/systemd/resolve").expect("a tmpfs");
        fs::write(file, "nameserver 127.0.0.53\n").expect("a tmpfs");
        std::os::unix::fs::symlink("../run/systemd/resolve/stub-resolv.conf", "/etc/resolv.conf")
            .expect("a tmpfs");
        let has = |address: &str| format!("test \"$(cat /etc/resolv.conf)\" = 'nameserver {address}'");
        assert_eq!(run(&has("127.0.0.53"), None), Some(0), "a copy of the host's");
        assert_eq!(run(&has("192.0.2.1"), Some("nameserver 192.0.2.1\n")), Some(0));
        assert_eq!(fs::read_to_string(file).expect("it exists"), "nameserver 127.0.0.53\n");
    });
}

/// As Linux before 5.9.
#[allow(unsafe_code)]
fn remove_close_range_in_this_thread() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_close_range as u32)
        },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter outlives the call, which copies it.
    let result = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!(result, 0, "root may filter system calls");
}

#[test]
#[ignore = "needs root"]
fn needs_root_start_returns_at_once_without_close_range() {
    let namespace = new_namespace();
    let test = || {
        remove_close_range_in_this_thread();
        let mut command = Command::new("sleep");
        command.arg("5");
        let begin = Instant::now();
        let program = Program::start(&namespace, command, &Sockets::Unchanged, None, || {});
        assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
        assert_eq!(program.expect("sleep starts").exit_code(), None);
    };
    thread::scope(|scope| scope.spawn(test).join().expect("no panic"));
}
