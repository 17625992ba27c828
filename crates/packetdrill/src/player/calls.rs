//! Socket calls of a script.

use super::flow::{Connection, Flow};
use super::inbound::SEED;
use super::{Player, Socket, Stop, differs, does_not_apply};
use crate::script::{Call, Value};
use mptcp::{Endpoint, Failure, Mode, PathId};
use units::{Instant, Seed};
use wire::Span;

/// Outcome of a call; an error has its name.
type Outcome = Result<i128, &'static str>;

impl Player {
    /// Makes a call and compares its result. A call that blocks must return before `latest`.
    pub(super) fn call(&mut self, call: &Call, latest: Instant) -> Result<(), Stop> {
        let latest = latest.max(self.now) + self.tolerance;
        let outcome = loop {
            let outcome = self.attempt(call)?;
            self.drain()?;
            match outcome {
                Some(outcome) => break outcome,
                None => match self.next_timer().filter(|&next| next <= latest) {
                    Some(next) => self.advance(next)?,
                    None => return differs(format!("{} blocks", call.name)),
                },
            }
        };
        let expected = match &call.errno {
            Some(errno) => errno.clone(),
            None => call.result.int().map_or_else(|| "?".to_owned(), |number| number.to_string()),
        };
        let got = outcome.map_or_else(str::to_owned, |number| number.to_string());
        if expected == got {
            return Ok(());
        }
        differs(format!("{} returned {got}, expected {expected}", call.name))
    }

    /// Makes a call; `None` if it blocks.
    fn attempt(&mut self, call: &Call) -> Result<Option<Outcome>, Stop> {
        let argument = |at: usize| call.arguments.get(at);
        let number = |at: usize| argument(at).and_then(Value::int).unwrap_or(0);
        let word = |at: usize| argument(at).and_then(Value::word).unwrap_or("");
        let file = number(0);
        match call.name.as_str() {
            "socket" => {
                let Some(file) = call.result.int() else { return differs("a socket needs a number") };
                let mptcp = word(2) == "IPPROTO_MPTCP";
                let socket = Socket { mptcp, blocking: true, listens: false, connection: None };
                self.sockets.insert(file, socket);
                Ok(Some(Ok(file)))
            }
            "poll" => self.poll(call),
            "pipe" | "setsockopt" => Ok(Some(Ok(0))),
            "fcntl" => {
                let socket = self.socket(file)?;
                if word(1) == "F_SETFL" {
                    socket.blocking = !word(2).contains("O_NONBLOCK");
                    return Ok(Some(Ok(0)));
                }
                let non_blocking = if socket.blocking { 0 } else { 0o4000 };
                Ok(Some(Ok(2 | non_blocking)))
            }
            "bind" => self.socket(file).map(|_| Some(Ok(0))),
            "listen" => {
                self.socket(file)?.listens = true;
                Ok(Some(Ok(0)))
            }
            "connect" => self.connect(file),
            "accept" => self.accept(file, call),
            "getsockopt" => self.get_option(file, word(2), argument(3)).map(Some),
            "write" | "send" => self.write(file, number(2)),
            "read" | "recv" => self.read(file, number(2)),
            "recvmsg" => self.read(file, iov_len(argument(1))),
            "splice" => self.read(file, number(4)),
            "shutdown" | "close" => {
                if call.name == "close" && self.sockets.get(&file).is_some_and(|socket| socket.listens) {
                    self.sockets.remove(&file);
                } else if let Some(index) = self.socket(file)?.connection {
                    self.connections[index].end.close();
                }
                Ok(Some(Ok(0)))
            }
            other => does_not_apply(format!("call {other}")),
        }
    }

    fn socket(&mut self, file: i128) -> Result<&mut Socket, Stop> {
        let missing = || Stop::DoesNotApply(format!("call on file {file}, which is no socket"));
        self.sockets.get_mut(&file).ok_or_else(missing)
    }

    fn connect(&mut self, file: i128) -> Result<Option<Outcome>, Stop> {
        let Socket { mptcp, blocking, connection, .. } = *self.socket(file)?;
        if let Some(index) = connection {
            let connection = &self.connections[index];
            return Ok(match connection.failure {
                Some(failure) => Some(Err(errno(failure))),
                None => connection.up.then_some(Ok(0)),
            });
        }
        let (now, index) = (self.now, self.connections.len());
        let mut end = Endpoint::client(self.config(mptcp), Seed::new(SEED + index as u64));
        end.open(now, PathId(0), false);
        let flow = Flow::new(0, self.host.local(0), self.host.remote(0));
        self.connections.push(Connection::new(end, flow, true));
        self.socket(file)?.connection = Some(index);
        Ok(if blocking { None } else { Some(Err("EINPROGRESS")) })
    }

    fn accept(&mut self, file: i128, call: &Call) -> Result<Option<Outcome>, Stop> {
        let Socket { mptcp, blocking, .. } = *self.socket(file)?;
        let Some(index) = self.waiting_connection() else {
            return Ok(if blocking { None } else { Some(Err("EAGAIN")) });
        };
        self.connections[index].accepted = true;
        let Some(file) = call.result.int().filter(|&file| file > 0) else { return Ok(Some(Ok(0))) };
        let socket = Socket { mptcp, blocking: true, listens: false, connection: Some(index) };
        self.sockets.insert(file, socket);
        Ok(Some(Ok(file)))
    }

    /// The first connection that `accept` has not returned.
    fn waiting_connection(&self) -> Option<usize> {
        self.connections.iter().position(|connection| connection.up && !connection.accepted)
    }

    fn get_option(&mut self, file: i128, name: &str, expected: Option<&Value>) -> Result<Outcome, Stop> {
        let Socket { mptcp, connection, .. } = *self.socket(file)?;
        let connection = connection.map(|index| &self.connections[index]);
        let got = match name {
            "SO_ERROR" => match connection.and_then(|connection| connection.failure) {
                Some(failure) => Value::Word(errno(failure).to_owned()),
                None => Value::Int(0),
            },
            "TCP_IS_MPTCP" => {
                let tcp = connection.is_some_and(|connection| connection.end.mode() == Mode::Tcp);
                Value::Int(i128::from(mptcp && !tcp))
            }
            other => return does_not_apply(format!("socket option {other}")),
        };
        let expected = expected.and_then(Value::list).and_then(<[Value]>::first);
        if expected == Some(&got) {
            return Ok(Ok(0));
        }
        differs(format!("{name} is {got:?}, expected {expected:?}"))
    }

    fn write(&mut self, file: i128, len: i128) -> Result<Option<Outcome>, Stop> {
        let Socket { blocking, connection, .. } = *self.socket(file)?;
        let Some(index) = connection else { return Ok(Some(Err("EPIPE"))) };
        let connection = &mut self.connections[index];
        if let Some(failure) = connection.failure {
            let error = if connection.up { "EPIPE" } else { errno(failure) };
            return Ok(Some(Err(error)));
        }
        let len = u32::try_from(len).unwrap_or(0);
        let taken =
            if connection.up { connection.end.write(&Span::new(connection.end.written(), len)) } else { 0 };
        Ok(match taken {
            0 if len > 0 && !blocking => Some(Err("EAGAIN")),
            0 if len > 0 => None,
            taken => Some(Ok(taken as i128)),
        })
    }

    fn read(&mut self, file: i128, len: i128) -> Result<Option<Outcome>, Stop> {
        let Socket { blocking, connection, .. } = *self.socket(file)?;
        let Some(index) = connection else { return Ok(Some(Err("ENOTCONN"))) };
        let connection = &mut self.connections[index];
        let (mut taken, len) = (0, usize::try_from(len).unwrap_or(0));
        while taken < len {
            let Some(piece) = connection.end.read(len - taken) else { break };
            taken += piece.len as usize;
        }
        Ok(if taken > 0 || len == 0 || connection.peer_closed {
            Some(Ok(taken as i128))
        } else if connection.failure.is_some() {
            Some(Err("ENOTCONN"))
        } else if blocking {
            None
        } else {
            Some(Err("EAGAIN"))
        })
    }

    /// `poll` of one socket.
    fn poll(&mut self, call: &Call) -> Result<Option<Outcome>, Stop> {
        let entry = call.arguments.first().and_then(Value::list).and_then(<[Value]>::first);
        let Some(fields) = entry.and_then(Value::list) else { return does_not_apply("poll without a list") };
        let field = |name: &str| {
            fields.iter().find_map(|field| match field {
                Value::Set(found, value) if found == name => Some(&**value),
                _ => None,
            })
        };
        let file = field("fd").and_then(Value::int).unwrap_or(0);
        let Socket { listens, connection, .. } = *self.socket(file)?;
        let mut ready = Vec::new();
        if listens && self.waiting_connection().is_some() {
            ready.push("POLLIN");
        }
        if let Some(connection) = connection.map(|index| &self.connections[index]) {
            let failed = connection.failure.is_some();
            if connection.end.unread() > 0 || connection.peer_closed || failed {
                ready.push("POLLIN");
            }
            if failed || connection.up && connection.end.write_space() > 0 {
                ready.push("POLLOUT");
            }
            if failed {
                ready.extend(["POLLERR", "POLLHUP"]);
            }
        }
        let events = field("events").and_then(Value::word).unwrap_or("");
        ready.retain(|event| events.contains(event) || matches!(*event, "POLLERR" | "POLLHUP"));
        let expected = field("revents").and_then(Value::word).unwrap_or("").split('|');
        let mut expected: Vec<&str> = expected.filter(|word| !word.is_empty()).collect();
        let waits = call.arguments.get(2).and_then(Value::int) != Some(0);
        if ready.is_empty() && waits {
            return Ok(None);
        }
        let count = i128::from(!ready.is_empty());
        expected.sort_unstable();
        ready.sort_unstable();
        if expected == ready {
            return Ok(Some(Ok(count)));
        }
        differs(format!("poll returned {}, expected {}", ready.join("|"), expected.join("|")))
    }
}

/// Bytes of all buffers of `recvmsg`.
fn iov_len(message: Option<&Value>) -> i128 {
    let fields = message.and_then(Value::list).unwrap_or(&[]);
    let buffers = fields.iter().find_map(|field| match field {
        Value::Set(name, value) if name == "msg_iov" => value.list(),
        _ => None,
    });
    let lens = buffers.unwrap_or(&[]).iter().filter_map(|buffer| buffer.list()?.get(1)?.int());
    lens.sum()
}

fn errno(failure: Failure) -> &'static str {
    match failure {
        Failure::Reset(_) => "ECONNREFUSED",
        Failure::TimedOut => "ETIMEDOUT",
        _ => "ECONNRESET",
    }
}
