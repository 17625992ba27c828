//! An nftables table that lives as long as this process, by the program `nft`.
//!
//! The flag `owner` ties a table to the netlink socket that created it: no other program can change
//! the table, and the kernel removes it with the socket. An interactive `nft` holds that socket. It
//! ends when its input ends, hence also when this process is killed.

use crate::Error;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time for `nft` to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for `nft` to end after its input.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// A table of the family `inet` that vanishes when this value is dropped, or this process ends.
#[derive(Debug)]
pub struct HeldTable {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    /// Lines that `nft` prints.
    answers: Receiver<String>,
}

impl HeldTable {
    /// Adds the table `name` with `content`: chains in nft(8) syntax, in one line, each with a final
    /// semicolon.
    ///
    /// # Errors
    /// Fails when `nft` is missing, too old or does not answer, another process holds a table of this
    /// name, the kernel lacks a feature, or without CAP_NET_ADMIN.
    pub fn add(name: &str, content: &str) -> Result<Self, Error> {
        let no_pipe = |error| Error::system("create a pipe", error);
        let (lines, output) = std::io::pipe().map_err(no_pipe)?;
        let mut child = Command::new("nft")
            .arg("-i")
            .stdin(Stdio::piped())
            // One pipe keeps an error before the list that follows it.
            .stdout(output.try_clone().map_err(no_pipe)?)
            .stderr(output)
            // A Ctrl-C on the terminal must not end it before its owner.
            .process_group(0)
            .spawn()
            .map_err(cannot_run)?;
        let (tx, answers) = channel();
        forward(lines, tx);
        let mut table = Self { name: name.to_owned(), input: child.stdin.take(), child, answers };
        table.execute("add", &format!("table inet {name} {{ flags owner; {content} }}"))?;
        Ok(table)
    }

    /// Inserts `return` as the first rule of `chains`, so that they apply to no new connection. The other
    /// rules stay: they keep the kernel's connection tracking active, which open connections need.
    ///
    /// # Errors
    /// Fails when `nft` has ended or does not answer.
    pub fn bypass_chains(&mut self, chains: &[&str]) -> Result<(), Error> {
        let name = &self.name;
        let commands: Vec<_> =
            chains.iter().map(|chain| format!("insert rule inet {name} {chain} return")).collect();
        self.execute("change", &commands.join("\n"))
    }

    /// Sends commands, one on each line, and waits for the result. `verb` names them in errors.
    fn execute(&mut self, verb: &str, commands: &str) -> Result<(), Error> {
        let doing = format!("{verb} the nftables table {}", self.name);
        if let Some(input) = &mut self.input {
            // The list shows that the commands before it were executed.
            input
                .write_all(format!("{commands}\nlist tables inet\n").as_bytes())
                .and_then(|()| input.flush())
                .map_err(|error| Error::system(doing.clone(), error))?;
        }
        self.await_answer(doing)
    }

    /// Waits until the list of tables contains the table, or for an error.
    fn await_answer(&mut self, doing: String) -> Result<(), Error> {
        let end = Instant::now() + ANSWER_TIMEOUT;
        let present = format!("table inet {}", self.name);
        let lacks = |cause: &str, hint: &str| {
            Err(Error::Lacks { what: format!("cannot {doing}: {cause}"), hint: hint.to_owned() })
        };
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(line) if line.trim() == present => return Ok(()),
                Ok(line) if line.contains("Error:") => {
                    let cause = line.split("Error:").last().unwrap_or_default().trim();
                    return lacks(
                        cause,
                        "nftables 1.0.2 and Linux 5.12 or later, with nf_tables, NAT and fib",
                    );
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) if self.has_failed() => {
                    return lacks("`nft -i` has ended", "`nft -i` must work on this machine");
                }
                // It was ended, or is slow because the machine is busy: a later attempt may succeed.
                Err(_) => {
                    return Err(Error::system(doing, std::io::Error::other("no answer from `nft -i`")));
                }
            }
        }
    }

    /// True if `nft` exits with a failure after the end of its output.
    fn has_failed(&mut self) -> bool {
        self.await_end();
        matches!(self.child.try_wait(), Ok(Some(status)) if status.code().is_some_and(|code| code != 0))
    }

    fn await_end(&mut self) {
        let end = Instant::now() + END_TIMEOUT;
        while self.is_held() && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// True while the table exists.
    pub fn is_held(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for HeldTable {
    fn drop(&mut self) {
        drop(self.input.take());
        self.await_end();
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Text of the table `name` of the family `inet`; `None` when there is none.
///
/// # Errors
/// Fails when `nft` is missing, or without CAP_NET_ADMIN.
pub fn list(name: &str) -> Result<Option<String>, Error> {
    let output = Command::new("nft").args(["list", "table", "inet", name]).output().map_err(cannot_run)?;
    if output.status.success() {
        return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let cause = String::from_utf8_lossy(&output.stderr).into_owned();
    if cause.contains("No such file or directory") {
        return Ok(None);
    }
    Err(Error::system(
        format!("list the nftables table {name}"),
        std::io::Error::other(cause.lines().next().unwrap_or_default().to_owned()),
    ))
}

/// Sends each line to `tx` from a thread of its own.
fn forward(output: impl Read + Send + 'static, tx: Sender<String>) {
    thread::spawn(move || {
        // Reading to the end keeps the pipe from filling up.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            _ = tx.send(line);
        }
    });
}

fn cannot_run(error: std::io::Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        return Error::Lacks {
            what: "the program nft is not installed".to_owned(),
            hint: "install nftables 1.0.2 or later".to_owned(),
        };
    }
    Error::Program { name: "nft".to_owned(), source: error }
}
