//! Writer of the access log: a thread of its own, so that disk latency never delays a connection.
//!
//! Every line is written or counted in `log_lost`. A failed write, as on a full disk, is counted in
//! `log_write_errors`, and the writer continues with the next lines.

use crate::access::LogRecord;
use crate::counters::Counters;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::{info, warn};

/// Lines that may wait for the writer thread. Further lines are dropped and counted.
const MAX_QUEUED_LINES: usize = 4096;
/// Bytes written at once.
const MAX_BATCH_BYTES: usize = 64 << 10;
/// Time to write the queued lines at the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Output of the writer.
pub(crate) type Output = Box<dyn Write + Send>;

/// Access log. Dropping it lets the writer thread finish the queued lines.
pub(crate) struct AccessLog {
    /// `None` after [`Self::close`].
    queue: Mutex<Option<SyncSender<Message>>>,
    /// Replacement output after log rotation.
    next: Arc<Mutex<Option<Output>>>,
    /// Disconnects when the writer thread has ended.
    ended: Mutex<Receiver<()>>,
    counters: Arc<Counters>,
}

enum Message {
    Line(String),
    /// Wakes the writer to take the replacement output.
    Reopened,
}

impl fmt::Debug for AccessLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AccessLog").finish_non_exhaustive()
    }
}

impl AccessLog {
    /// Opens the file at `path` for appending; `-` is standard output.
    pub(crate) fn open(path: &Path, counters: Arc<Counters>) -> io::Result<Self> {
        let out = open_output(path)?;
        let (tx, rx) = sync_channel(MAX_QUEUED_LINES);
        let (end, ended) = sync_channel(0);
        let next = Arc::new(Mutex::new(None));
        let mut writer = Writer {
            out,
            next: Arc::clone(&next),
            counters: Arc::clone(&counters),
            is_torn: false,
            lost_since: None,
        };
        thread::Builder::new().name("access log".to_owned()).spawn(move || {
            writer.run(&rx);
            drop(end);
        })?;
        Ok(Self { queue: Mutex::new(Some(tx)), next, ended: Mutex::new(ended), counters })
    }

    /// Continues with `file` after a rotation. Lines that still wait go to it.
    pub(crate) fn reopen(&self, file: Output) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        // A full queue wakes the writer as well.
        self.send(Message::Reopened);
    }

    /// Queues a record for the writer thread.
    pub(crate) fn line(&self, line: &LogRecord<'_>) {
        let is_queued = serde_json::to_string(line).is_ok_and(|text| self.send(Message::Line(text)));
        if !is_queued {
            Counters::count(&self.counters.log_lost);
        }
    }

    /// Writes the queued lines, for a limited time. Later lines are counted as lost.
    pub(crate) fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(CLOSE_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
            warn!("the last lines of the access log were not written within {} s", CLOSE_TIMEOUT.as_secs());
        }
    }

    fn send(&self, message: Message) -> bool {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match queue.as_ref().map(|queue| queue.try_send(message)) {
            Some(Ok(())) => true,
            None | Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) => false,
        }
    }
}

/// Opens the output at `path`: a file for appending, or standard output for `-`.
pub(crate) fn open_output(path: &Path) -> io::Result<Output> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdout()));
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o640).open(path)?;
    Ok(Box::new(file))
}

/// State of the writer thread.
struct Writer {
    out: Output,
    next: Arc<Mutex<Option<Output>>>,
    counters: Arc<Counters>,
    /// The output ends with a part of a line, because a write failed within it.
    is_torn: bool,
    /// Lost lines at the first of the present series of failed writes.
    lost_since: Option<u64>,
}

impl Writer {
    /// Writes lines in batches until the queue closes and is empty.
    fn run(&mut self, queue: &Receiver<Message>) {
        let mut batch = Vec::new();
        while let Ok(message) = queue.recv() {
            let mut message = Ok(message);
            while let Ok(one) = message {
                if let Message::Line(line) = one {
                    batch.extend_from_slice(line.as_bytes());
                    batch.push(b'\n');
                }
                if batch.len() >= MAX_BATCH_BYTES {
                    break;
                }
                message = queue.try_recv().map_err(|error: TryRecvError| error);
            }
            if let Some(file) = self.next.lock().unwrap_or_else(PoisonError::into_inner).take() {
                (self.out, self.is_torn) = (file, false);
            }
            if !batch.is_empty() {
                self.write(&batch);
                batch.clear();
            }
        }
    }

    /// Writes whole lines. After a failed write, the lines that are not whole in the output count as
    /// lost.
    fn write(&mut self, lines: &[u8]) {
        let (mut result, mut written) = (Ok(()), 0);
        if self.is_torn {
            // Ends the partial line, so that the next one is readable.
            result = self.write_some(b"\n").0;
            self.is_torn = result.is_err();
        }
        if result.is_ok() {
            (result, written) = self.write_some(lines);
            self.is_torn = written > 0 && lines[written - 1] != b'\n';
        }
        match result.and_then(|()| self.out.flush()) {
            Ok(()) => {
                if let Some(before) = self.lost_since.take() {
                    let lost = self.counters.log_lost.load(Relaxed) - before;
                    info!("the access log is written again; {lost} lines were lost");
                }
            }
            Err(error) => {
                let before = self.counters.log_lost.load(Relaxed);
                let lost = lines[written..].split_inclusive(|byte| *byte == b'\n').count() as u64;
                self.counters.log_lost.fetch_add(lost, Relaxed);
                Counters::count(&self.counters.log_write_errors);
                if self.lost_since.is_none() {
                    self.lost_since = Some(before);
                    warn!("cannot write the access log: {error}; `log_lost` counts the lines");
                }
            }
        }
    }

    /// Writes as much as possible; returns the number of bytes written.
    fn write_some(&mut self, bytes: &[u8]) -> (io::Result<()>, usize) {
        let mut written = 0;
        while written < bytes.len() {
            match self.out.write(&bytes[written..]) {
                Ok(0) => return (Err(ErrorKind::WriteZero.into()), written),
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return (Err(error), written),
            }
        }
        (Ok(()), written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Output with limited space that grows on demand.
    #[derive(Clone, Default)]
    struct Disk {
        space: Arc<AtomicUsize>,
        content: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.space.load(Relaxed));
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.space.fetch_sub(count, Relaxed);
            self.content.lock().unwrap().extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(disk: &Disk) -> Writer {
        Writer {
            out: Box::new(disk.clone()),
            next: Arc::default(),
            counters: Arc::default(),
            is_torn: false,
            lost_since: None,
        }
    }

    #[test]
    fn line_torn_by_a_full_disk_is_ended_before_the_next() {
        let disk = Disk::default();
        let mut writer = writer(&disk);
        disk.space.store(6, Relaxed);
        writer.write(b"one\ntwo\nthree\n");
        let lost = |writer: &Writer| writer.counters.log_lost.load(Relaxed);
        assert_eq!(lost(&writer), 2);
        writer.write(b"four\n");
        assert_eq!(lost(&writer), 3);
        disk.space.store(100, Relaxed);
        writer.write(b"five\n");
        assert_eq!((lost(&writer), writer.counters.log_write_errors.load(Relaxed)), (3, 2));
        assert_eq!(*disk.content.lock().unwrap(), b"one\ntw\nfive\n");
    }

    #[test]
    fn every_queued_line_is_written_before_the_end() {
        let disk = Disk::default();
        disk.space.store(usize::MAX, Relaxed);
        let (tx, rx) = sync_channel(MAX_QUEUED_LINES);
        for nth in 0..MAX_QUEUED_LINES {
            assert!(tx.try_send(Message::Line(format!("{nth:0100}"))).is_ok());
        }
        drop(tx);
        writer(&disk).run(&rx);
        let content = disk.content.lock().unwrap();
        assert_eq!(content.len(), 101 * MAX_QUEUED_LINES);
        assert_eq!(content.split(|byte| *byte == b'\n').count(), MAX_QUEUED_LINES + 1);
    }
}
