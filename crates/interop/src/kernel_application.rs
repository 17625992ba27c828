//! The application over a socket of the kernel, in threads of its own.

use crate::progress::{Script, Shared, bytes_at};
use linux::Error;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest wait of a thread that may have to stop.
const POLL: Duration = Duration::from_millis(2);
const BUFFER_BYTES: usize = 64 << 10;

/// Starts a thread. Its error becomes the failure of the host.
pub(crate) fn spawn(
    shared: Shared,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    let body = move || {
        if let Err(error) = work() {
            shared.lock().failure.get_or_insert(error.to_string());
        }
    };
    std::thread::Builder::new()
        .name("linux".to_owned())
        .spawn(body)
        .map_err(|error| Error::system("start a thread", error))
}

pub(crate) fn accept(listener: &TcpListener, shared: &Shared) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !shared.is_stopped() => {
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Runs the application over a connected socket.
pub(crate) fn exchange(
    stream: &TcpStream,
    shared: &Shared,
    slot: &Mutex<Option<TcpStream>>,
    script: Script,
) -> io::Result<()> {
    stream.set_read_timeout(Some(POLL))?;
    stream.set_write_timeout(Some(POLL))?;
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream.try_clone()?);
    shared.lock().is_connected = true;
    let mut reader = stream.try_clone()?;
    let reading = {
        let shared = shared.clone();
        spawn(shared.clone(), move || read_all(&mut reader, &shared, script)).map_err(io::Error::other)?
    };
    let written = write_all(stream, shared, script);
    _ = reading.join();
    written?;
    let mut progress = shared.lock();
    progress.is_finished = progress.has_end;
    Ok(())
}

fn read_all(stream: &mut TcpStream, shared: &Shared, script: Script) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while script.reads_late && !shared.is_open() && !shared.is_stopped() {
        std::thread::sleep(POLL);
    }
    while !shared.is_stopped() {
        match stream.read(&mut buffer) {
            Ok(0) => {
                shared.lock().has_end = true;
                return Ok(());
            }
            Ok(len) => shared.receive(&script, &buffer[..len]),
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_all(mut stream: &TcpStream, shared: &Shared, script: Script) -> io::Result<()> {
    let mut sent = 0;
    while !shared.is_stopped() {
        let allowed = shared.allowed(&script, shared.lock().has_end);
        if sent < allowed {
            let len = (allowed - sent).min(BUFFER_BYTES as u64) as usize;
            match stream.write(&bytes_at(script.stream, sent, len)) {
                Ok(len) => sent += len as u64,
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            shared.lock().sent = sent;
            continue;
        }
        let may_close = shared.is_open() && (!script.waits_for_end || shared.lock().has_end);
        if sent == script.send && may_close {
            return stream.shutdown(std::net::Shutdown::Write);
        }
        if shared.lock().failure.is_some() {
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
