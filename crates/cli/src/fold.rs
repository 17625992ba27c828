//! A capture that is analysed while it is written, so that none of it is kept.

use crate::failure::{Failure, reason};
use capture::{ReadError, Summary};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::thread;

/// So much is read of it at once.
const PIECE: usize = 64 << 10;

/// Has `run` write a capture, and says what is in it. Where `run` fails, that is what is told.
pub(crate) fn folded<T>(run: impl FnOnce(&File) -> Result<T, Failure>) -> Result<(T, Summary), Failure> {
    let (reader, writer) = io::pipe().map_err(|error| cannot(&reason(&error)))?;
    let writer = File::from(OwnedFd::from(writer));
    thread::scope(|scope| {
        // With the reader in it: where it gives up, whoever writes hears of it and does not wait for ever.
        let reading =
            scope.spawn(move || capture::analyse(BufReader::with_capacity(PIECE, reader), &mut |_| {}));
        let ran = run(&writer);
        drop(writer);
        let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let summary = |error: ReadError| cannot(&error.to_string());
        Ok((ran?, read.map_err(summary)?))
    })
}

fn cannot(why: &str) -> Failure {
    Failure::Other { message: format!("cannot read the run’s capture: {why}"), hint: String::new() }
}
