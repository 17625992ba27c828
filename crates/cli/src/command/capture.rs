//! `tandem capture`.

use crate::arguments::Capture;
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::progress;
use capture::ReadError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub(crate) fn run(arguments: &Capture, terminal: Terminal) -> Result<(), Failure> {
    let path = &arguments.file;
    let name =
        if path == Path::new("-") { "the standard input".to_owned() } else { path.display().to_string() };
    let unreadable = |message: String| Failure::Unreadable {
        message,
        hint: "`tcpdump -w`, Wireshark and `tandem run --pcap` write readable captures".to_owned(),
    };
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let cannot = |error: &io::Error| unreadable(format!("cannot read {name}: {}", reason(error)));
    let (source, len): (Box<dyn Read>, u64) = if path == Path::new("-") {
        (Box::new(io::stdin().lock()), 0)
    } else {
        let file = File::open(path).map_err(|error| cannot(&error))?;
        let len = file.metadata().map_err(|error| cannot(&error))?.len();
        (Box::new(file), len)
    };
    let bar = progress::bar(terminal, len.max(1), "reading");
    let summary = capture::analyse(source, &mut |read| bar.set_position(read.min(len)));
    bar.finish_and_clear();
    let summary = summary.map_err(|error| match error {
        ReadError::Io(error) => cannot(&error),
        other => unreadable(format!("{name}: {other}")),
    })?;

    let json = summary.to_json();
    if let Some(folder) = &folder {
        let title = path.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
        let title = if path == Path::new("-") { "the capture".to_owned() } else { title };
        let (result, series, page) =
            (output::pretty(&json), summary.series_csv(), summary.page(&title).to_html());
        folder.write(&[
            ("result.json", result.as_bytes()),
            ("series.csv", series.as_bytes()),
            ("report.html", page.as_bytes()),
        ])?;
    }
    let printed =
        output::print(terminal, arguments.format, &summary.tables(), &json, || summary.long_table().to_csv());
    if let Some(folder) = &folder {
        terminal.note(&format!("\nreport: {}", folder.file("report.html").display()));
    }
    printed
}
