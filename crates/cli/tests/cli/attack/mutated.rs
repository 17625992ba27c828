//! Mutated scenarios, traces, profiles, captures and configurations.
//!
//! For each of them the program ends within 10 s and 1 GB with exit code 0 or 3, and never by a panic
//! or a signal. `TANDEM_MUTANTS=100000` runs the long form.

use super::env_number;
use crate::support::{Place, TINY, repository, tandem};
use fuzzing::mutate;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use units::Seed;

/// Limit of the address space in KiB.
const MAX_MEMORY_KIB: u64 = 1 << 20;
/// Limit of the running time.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Kind of file: its name, the command that reads it, and valid contents.
struct Kind {
    file: &'static str,
    command: &'static [&'static str],
    valid: Vec<Vec<u8>>,
}

/// Contents of the files with this ending in a folder of the repository.
fn shipped(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(repository().join(folder))
        .expect("a folder of the repository")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.to_string_lossy().ends_with(ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no file *{ending} in {folder}");
    paths.iter().map(|path| fs::read(path).expect("a file of the repository")).collect()
}

/// Copies the shipped scenarios, traces and lists of segment sizes, which the mutants name.
fn copy_shipped(place: &Place) {
    for folder in ["scenarios", "traces"] {
        let to = place.path().join(folder);
        fs::create_dir_all(&to).expect("the folder is ours");
        for entry in fs::read_dir(repository().join(folder)).expect("a folder of the repository") {
            let path = entry.expect("it can be read").path();
            fs::copy(&path, to.join(path.file_name().expect("a file has a name"))).expect("a file");
        }
    }
}

fn kinds() -> Vec<Kind> {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "out"]);
    let mut captured = fs::read(place.path().join("out/capture.pcapng")).expect("the run wrote it");
    captured.truncate(16_000);
    let mut scenarios = shipped("scenarios", ".toml");
    scenarios.push(TINY.into());
    let traces = [".csv", ".down", ".json"].into_iter().flat_map(|ending| shipped("traces", ending));
    let traces: Vec<Vec<u8>> = traces.map(|text| text[..text.len().min(4000)].to_vec()).collect();
    let profiles = radio::profiles().iter().map(|profile| profile.to_toml().into_bytes()).collect();
    let check = |kind: &'static [&'static str], file, valid| Kind { file, command: kind, valid };
    vec![
        check(&["run", "--duration", "300ms", "--out", "out", "-q", "x.toml"], "x.toml", scenarios),
        check(&["trace", "x.csv"], "x.csv", traces),
        check(&["capture", "x.pcapng"], "x.pcapng", vec![captured]),
        check(&["check", "--as", "profile", "x.toml"], "x.toml", profiles),
        check(&["check", "--as", "agent", "x.toml"], "x.toml", vec![agent::config::EXAMPLE.into()]),
        check(&["check", "--as", "proxy", "x.toml"], "x.toml", vec![proxy::config::EXAMPLE.into()]),
        check(&["check", "--as", "sizes", "x.json"], "x.json", shipped("scenarios", "film.json")),
    ]
}

/// Runs the program within the limits; its exit code and standard error, or the limit that it broke.
fn run_limited(folder: &Path, arguments: &[&str]) -> Result<(i32, String), String> {
    let program = tandem();
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MAX_MEMORY_KIB}; exec \"$0\" \"$@\"")]);
    command.arg(program.get_program()).args(program.get_args()).args(arguments).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stderr = child.stderr.take().expect("it is a pipe");
    let reader = thread::spawn(move || {
        let mut text = Vec::new();
        _ = stderr.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if begin.elapsed() > MAX_TIME {
            _ = (child.kill(), child.wait());
            return Err(format!("it runs for more than {MAX_TIME:?}"));
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = reader.join().expect("the reader does not panic");
    status.code().map(|code| (code, text.clone())).ok_or_else(|| format!("{status}: {text}"))
}

/// Runs one mutant. The error describes a violation.
fn attack(kinds: &[Kind], place: &Place, seed: u64) -> Result<i32, String> {
    let mut rng = Seed::new(seed).rng("mutants");
    let kind = &kinds[rng.below(kinds.len() as u64) as usize];
    let mut input = kind.valid[rng.below(kind.valid.len() as u64) as usize].clone();
    let other = &kind.valid[rng.below(kind.valid.len() as u64) as usize];
    mutate(&mut rng, &mut input, other);
    let folder = place.path().join("scenarios");
    fs::write(folder.join(kind.file), &input).expect("the folder is ours");
    let wrong = |found: String| {
        let kept = std::env::temp_dir().join(format!("tandem-mutant-{seed}-{}", kind.file));
        _ = fs::write(&kept, &input);
        format!("mutant {seed} ({}), `tandem {}`: {found}", kept.display(), kind.command.join(" "))
    };
    let (code, stderr) = run_limited(&folder, kind.command).map_err(wrong)?;
    let is_silent = code != 0 && stderr.is_empty();
    if !matches!(code, 0 | 3) || is_silent || stderr.contains("panicked") {
        return Err(wrong(format!("exit code {code}: {stderr}")));
    }
    Ok(code)
}

#[test]
fn mutated_files_end_with_a_documented_exit_code() {
    let kinds = kinds();
    let count = env_number("TANDEM_MUTANTS", 150);
    let (next, invalid) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        let place = Place::new();
        copy_shipped(&place);
        let mut wrong = Vec::new();
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= count || wrong.len() > 20 {
                return wrong;
            }
            match attack(&kinds, &place, seed) {
                Ok(3) => _ = invalid.fetch_add(1, Relaxed),
                Ok(_) => {}
                Err(violation) => wrong.push(violation),
            }
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
    });
    let invalid = invalid.into_inner();
    println!("{count} mutants: {invalid} invalid, {} violations", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(invalid > count / 10 && invalid < count, "both valid and invalid files are expected: {invalid}");
}
