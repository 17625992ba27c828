//! Analyses a capture while it is written, without storing it.

use crate::failure::{Failure, reason};
use capture::{ReadError, Summary};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::thread;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 64 << 10;

/// Runs `run`, which writes a capture, and returns its result with the analysis of the capture. A
/// failure of `run` takes precedence over one of the analysis.
pub(crate) fn run_with_capture<T>(
    run: impl FnOnce(&File) -> Result<T, Failure>,
) -> Result<(T, Summary), Failure> {
    let (reader, writer) = io::pipe().map_err(|error| failure(&reason(&error)))?;
    let writer = File::from(OwnedFd::from(writer));
    thread::scope(|scope| {
        // The thread owns the reader: if the analysis fails, writes fail too instead of blocking.
        let reading = scope
            .spawn(move || capture::analyse(BufReader::with_capacity(BUFFER_BYTES, reader), &mut |_| {}));
        let ran = run(&writer);
        drop(writer);
        let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let summary = |error: ReadError| failure(&error.to_string());
        Ok((ran?, read.map_err(summary)?))
    })
}

fn failure(why: &str) -> Failure {
    Failure::Other { message: format!("cannot read the capture of the run: {why}"), hint: String::new() }
}
