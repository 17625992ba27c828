//! `tandem capture`.

use crate::arguments::Capture;
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::input;
use crate::output::{self, Terminal};
use crate::progress;
use crate::provenance::Provenance;
use capture::ReadError;
use scenario::InputFile;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};

pub(crate) fn run(arguments: &Capture, terminal: Terminal) -> Result<(), Failure> {
    let path = &arguments.file;
    let name = input::shown(path);
    let unreadable = |message: String| Failure::Unreadable {
        message,
        hint: "`tcpdump -w`, Wireshark and `tandem run --pcap` write readable captures".to_owned(),
    };
    arguments.plot.check()?;
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let cannot = |error: &io::Error| unreadable(format!("cannot read {name}: {}", reason(error)));
    let (source, len): (Box<dyn Read>, u64) = if input::is_stdin(path) {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path).map_err(|error| cannot(&error))?;
        let len = file.metadata().map_err(|error| cannot(&error))?.len();
        (Box::new(file), len)
    };
    let bar = progress::bar(terminal, len.max(1), "reading");
    let mut source = HashingReader { source, hash: Sha256::new() };
    let summary = capture::analyse(&mut source, &mut |read| bar.set_position(read.min(len)));
    bar.finish_and_clear();
    let summary = summary.map_err(|error| match error {
        ReadError::Io(error) => cannot(&error),
        other => unreadable(format!("{name}: {other}")),
    })?;

    let file = path.file_name().map_or_else(|| "-".to_owned(), |name| name.to_string_lossy().into_owned());
    let digest = source.finish().map_err(|error| cannot(&error))?;
    let made_by = Provenance::new("capture").file(InputFile::from_digest(file, &digest));
    let mut json = summary.to_json();
    made_by.put_into(&mut json);
    let mut written = None;
    let title = path.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
    let title = if input::is_stdin(path) { "the capture".to_owned() } else { title };
    let page = made_by.add_to(summary.page(&title));
    if let Some(folder) = folder.map(|folder| folder.made_by(&made_by)) {
        let (result, report) = (output::pretty(&json), page.to_html());
        let series = made_by.id_in_series(&summary.series_csv());
        written = Some(folder.write(&[
            ("result.json", result.as_bytes()),
            ("series.csv", series.as_bytes()),
            ("report.html", report.as_bytes()),
        ]));
    }
    let csv = || made_by.columns(summary.long_table()).to_csv();
    let printed = arguments.plot.print_or(&page, terminal, || {
        output::print(terminal, arguments.format, &summary.tables(), &json, csv)
    });
    if let Some(written) = written {
        written?.announce(terminal);
    }
    arguments.plot.write(&page, terminal)?;
    printed
}

/// Hashes all bytes that pass.
struct HashingReader<R> {
    source: R,
    hash: Sha256,
}

impl<R: Read> HashingReader<R> {
    /// Reads the rest and returns the SHA-256 of the whole.
    fn finish(mut self) -> io::Result<Vec<u8>> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.hash.finalize().to_vec())
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}
