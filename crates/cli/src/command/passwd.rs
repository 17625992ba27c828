//! `tandem proxy passwd`: users of a proxy, with hashed passwords.

use crate::arguments::ProxyPasswd;
use crate::failure::{Failure, reason};
use crate::output::Terminal;
use experiments::files::read_text_to_end;
use proxy::credentials::Credential;
use proxy::users;
use rustix::fs::{FlockOperation, fchown, flock};
use rustix::process::{Gid, Uid};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{self, File, Permissions};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Keys of a terminal in raw mode.
const CTRL_C: u8 = 3;
const CTRL_U: u8 = 21;
const BACKSPACE: [u8; 2] = [8, 127];

pub(crate) fn run(arguments: &ProxyPasswd, terminal: Terminal) -> Result<(), Failure> {
    let (name, path) = (&arguments.user, &arguments.file);
    let is_name = Credential::parse(&format!("{name}:x")).is_some_and(|one| one.username == *name);
    if !is_name || name.starts_with('#') {
        return Err(Failure::Usage {
            message: format!("`{}` cannot be a username", name.escape_debug()),
            hint: "1 to 255 bytes without `:` and control characters, not beginning with `#`".to_owned(),
        });
    }
    let hash = if arguments.delete {
        None
    } else {
        let password = if arguments.stdin { from_stdin()? } else { from_terminal(name)? };
        if Credential::parse(&format!("{name}:{password}")).is_none() {
            return Err(Failure::Other {
                message: "the password is empty, longer than 255 bytes, or has control characters".to_owned(),
                hint: String::new(),
            });
        }
        Some(users::hash(&password).map_err(|error| failure(path, &error))?)
    };
    // A link stays a link.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    if !change(path, name, hash.as_deref()).map_err(|error| failure(path, &error))? {
        return Err(Failure::Other {
            message: format!("{} has no user `{name}`", path.display()),
            hint: String::new(),
        });
    }
    let done = if hash.is_some() { "password stored" } else { "user removed" };
    terminal.note(&format!(
        "{name}: {done} in {}; a running proxy reads the file when it reloads (SIGHUP)",
        path.display()
    ));
    Ok(())
}

/// Replaces the file by one with the user's line changed, so that a reader sees the old or the new
/// one. Returns whether the user was there, or has been added.
fn change(path: &Path, name: &str, hash: Option<&str>) -> io::Result<bool> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Two of these commands at once would lose a change.
    let lock = File::open(folder)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let (text, owner) = match File::open(path) {
        Ok(file) => {
            let owner = file.metadata()?;
            (read_text_to_end(file)?, Some((owner.uid(), owner.gid())))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => (String::new(), None),
        Err(error) => return Err(error),
    };
    let Some(edited) = users::edit(&text, name, hash) else { return Ok(false) };
    let mut new = tempfile::Builder::new()
        .prefix(".passwd")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    if let Some((user, group)) = owner {
        fchown(&new, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))?;
    }
    new.write_all(edited.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    lock.sync_all()?;
    Ok(true)
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::Other {
        message: format!("cannot change {}: {}", path.display(), reason(error)),
        hint: String::new(),
    }
}

fn from_stdin() -> Result<String, Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| unreadable(&reason(&error)))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn unreadable(why: &str) -> Failure {
    Failure::Other { message: format!("cannot read the password: {why}"), hint: String::new() }
}

fn from_terminal(name: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage {
            message: "standard input is no terminal to ask for the password".to_owned(),
            hint: "`--stdin` reads the password from standard input".to_owned(),
        });
    }
    let password = ask(&format!("Password of {name}: "))?;
    if ask("The same again: ")? != password {
        return Err(Failure::Other { message: "the two passwords differ".to_owned(), hint: String::new() });
    }
    Ok(password)
}

/// Terminal without echo and line editing; restored on drop.
struct RawMode {
    before: Termios,
}

impl RawMode {
    fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        // Without ISIG Ctrl-C is a character, so that the terminal is restored before the end.
        raw.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
        _ = writeln!(io::stderr());
    }
}

/// Reads a line without echo.
fn ask(prompt: &str) -> Result<String, Failure> {
    let _raw = RawMode::enter().map_err(|error| unreadable(&reason(&error)))?;
    _ = write!(io::stderr(), "{prompt}");
    let mut line = Vec::new();
    for byte in io::stdin().lock().bytes() {
        match byte.map_err(|error| unreadable(&reason(&error)))? {
            b'\n' | b'\r' => break,
            CTRL_C => return Err(Failure::interrupted("; nothing was changed")),
            CTRL_U => line.clear(),
            byte if BACKSPACE.contains(&byte) => {
                // A character of UTF-8 ends before its first byte.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map_err(|_| unreadable("it is not UTF-8 text"))
}
