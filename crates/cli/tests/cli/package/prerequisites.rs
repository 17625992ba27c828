//! `scripts/prerequisites.sh` on machines that lack Rust, with stand-ins for the programs it calls.

use crate::support::{Output, output_of, repository};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

/// Programs of the base system that the script calls.
const BASE: [&str; 8] = ["cp", "dirname", "head", "mktemp", "rm", "sed", "sh", "sort"];

/// A machine with only the base system and a C compiler.
struct Machine {
    bin: tempfile::TempDir,
}

impl Machine {
    fn new(user: u32) -> Self {
        let machine = Self { bin: tempfile::tempdir().expect("a folder for the test") };
        for name in BASE {
            let place = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let program = place.iter().find(|path| path.exists()).expect("the base system has it");
            symlink(program, machine.bin.path().join(name)).expect("the folder is ours");
        }
        machine.program("cc", "exit 0");
        machine.program("curl", "exit 1");
        machine.program("id", &format!("echo {user}"));
        machine
    }

    /// A Debian machine with these versions of packages.
    fn debian(user: u32, rustc: &str, cargo: &str, rustup: &str) -> Self {
        let machine = Self::new(user);
        let policy = format!(
            "case $2 in rustc) v='{rustc}' ;; cargo) v='{cargo}' ;; rustup) v='{rustup}' ;; esac
             printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' \"$2\" \"$v\""
        );
        machine.program("apt-cache", &policy);
        let store = machine.bin.path().join("store");
        fs::create_dir(&store).expect("the folder is ours");
        let copy = format!("cd {} && cp -p", store.display());
        for tool in ["rustc", "cargo"] {
            machine.program(&format!("store/{tool}"), &format!("echo {tool} 1.99.0"));
        }
        machine.program("store/rustup", &format!("echo rustup \"$@\" >&2; {copy} rustc cargo .."));
        let install = format!(
            "case \"$*\" in
             update*) ;;
             install*' rustup') {copy} rustup .. ;;
             install*' rustc cargo') {copy} rustc cargo .. ;;
             *) exit 1 ;;
             esac"
        );
        machine.program("apt-get", &install);
        machine
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.bin.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the folder is ours");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
    }

    fn check(&self) -> Output {
        let script = repository().join("scripts/prerequisites.sh");
        output_of(Command::new("/bin/sh").arg(script).arg("build").env("PATH", self.bin.path()))
    }
}

#[test]
fn rust_is_installed_from_debian_where_it_is_new_enough() {
    let told = Machine::debian(0, "1.99.0+dfsg1-1", "1.99.0-1", "1.28.0-1").check();
    assert_eq!((told.code, &*told.err), (0, "installing Debian's rustc cargo with apt-get\n"));
}

#[test]
fn old_rust_of_debian_is_passed_over_for_its_rustup() {
    for (rustc, cargo) in
        [("1.85.0+dfsg3-1", "1.85.0+dfsg3-1"), ("1.99.0-1", "0.66.0+ds1-1"), ("(none)", "(none)")]
    {
        let told = Machine::debian(0, rustc, cargo, "1.27.1-2").check();
        let expected = "installing Debian's rustup with apt-get\nrustup default stable\n";
        assert_eq!((told.code, &*told.err), (0, expected), "{rustc}");
    }
}

#[test]
fn one_command_is_named_where_rust_cannot_be_installed() {
    let rustup = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";
    let debian_rustup = "as root: apt-get install rustup; then: rustup default stable";
    for (machine, command) in [
        (Machine::new(0), rustup),
        (Machine::debian(0, "1.63.0+dfsg1-2", "0.66.0+ds1-1", "(none)"), rustup),
        (Machine::debian(1000, "1.63.0+dfsg1-2", "0.66.0+ds1-1", "(none)"), rustup),
        (Machine::debian(1000, "1.85.0+dfsg3-1", "1.85.0+dfsg3-1", "1.27.1-2"), debian_rustup),
    ] {
        let told = machine.check();
        let lines: Vec<&str> = told.err.lines().collect();
        let [missing, hint] = lines[..] else { panic!("{}", told.err) };
        assert!(told.code == 4 && missing.starts_with("missing: Rust 1."), "{missing}");
        assert_eq!(hint, format!("  hint: {command}"));
    }
}

#[test]
fn old_rust_is_reported_with_its_version() {
    let machine = Machine::new(0);
    machine.program("rustc", "echo rustc 1.63.0");
    machine.program("cargo", "echo cargo 1.65.0");
    let told = machine.check();
    assert!(told.code == 4 && told.err.contains("rustc here is 1.63.0"), "{}", told.err);
}
