//! Runs the program in a temporary folder.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The scenario of most tests: two paths, one over a trace, with losses.
pub(crate) const TINY: &str = include_str!("../data/tiny.toml");

/// A temporary folder with the tiny scenario and its trace.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// Exit code and output of the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder for the test") };
        place.write("tiny.toml", TINY);
        place.write("lte.csv", include_str!("../data/lte.csv"));
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Sorted names of all entries of a folder, hidden ones included; empty for a missing folder.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path().join(folder))
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = tandem();
        command.args(arguments).current_dir(self.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        output_of(&mut self.command(arguments))
    }

    /// Runs the program, which must succeed, and returns its standard output.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code, 0, "{arguments:?}: {}", output.err);
        output.out
    }
}

/// The program without a terminal. Signals that the tests inherited as ignored, such as under
/// `nohup`, are reset to their default action, because some tests send them.
pub(crate) fn tandem() -> Command {
    let program = env!("CARGO_BIN_EXE_tandem");
    let mut command = if signals_are_ignored() {
        let mut env = Command::new("env");
        env.args(["--default-signal", program]);
        env
    } else {
        Command::new(program)
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

/// True if SIGHUP, SIGINT, SIGQUIT or SIGTERM is ignored.
fn signals_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask & 0x4007 > 0)
}

pub(crate) fn output_of(command: &mut Command) -> Output {
    let output = command.output().expect("the program starts");
    Output {
        code: output.status.code().expect("no signal ended it"),
        out: String::from_utf8(output.stdout).expect("it prints text"),
        err: String::from_utf8(output.stderr).expect("it prints text"),
    }
}

/// Starts the program, waits, and interrupts it as Ctrl-C does.
pub(crate) fn interrupted(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    ended_by("-INT", place, arguments)
}

/// Starts the program, waits, and sends it a signal, an option of kill(1).
pub(crate) fn ended_by(signal: &str, place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    let child = place.command(arguments).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_secs(2));
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success(), "the program ended too early");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Path of the program.
pub(crate) fn tandem_path() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tandem"))
}

/// Root folder of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fields of proc_pid_stat(5) after the name of a process, first its state.
pub(crate) fn process_stat(id: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).expect("it was started");
    let fields = text.rsplit(") ").next().expect("a name in parentheses").split_whitespace();
    fields.map(str::to_owned).collect()
}

/// Processor time of a process in clock ticks of 10 ms.
pub(crate) fn processor_ticks(id: u32) -> u64 {
    process_stat(id)[11..13].iter().map(|field| field.parse::<u64>().expect("a number")).sum()
}

/// Stands for the service manager: the next report of a daemon at the socket `path`, whenever called.
pub(crate) fn service_reports(path: &Path) -> impl Fn() -> String + use<> {
    let manager = UnixDatagram::bind(path).expect("the folder is ours");
    manager.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    move || {
        let mut buffer = [0; 256];
        let length = manager.recv(&mut buffer).expect("a report in time");
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    }
}
