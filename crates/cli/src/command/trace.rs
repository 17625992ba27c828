//! `tandem trace`.

use crate::arguments::{Format, Trace as Arguments};
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::input;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use experiments::traces::{TraceFile, TraceFiles, path_lines};
use experiments::warnings;
use link::{Trace, TraceFormat, TraceReading, TraceText};
use scenario::{InputFile, trace_diagnostic};
use std::fs;
use std::path::Path;
use units::Duration;

/// Shortest step of a converted trace.
const MIN_STEP: Duration = Duration::from_millis(1);

pub(crate) fn run(arguments: &Arguments, terminal: Terminal) -> Result<(), Failure> {
    check(arguments)?;
    arguments.plot.check()?;
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let mut made_by = Provenance::new("trace")
        .option("--as", &arguments.read_as)
        .option("--column", &arguments.column)
        .option("--from", arguments.from)
        .option("--length", arguments.length)
        .option("--scale", arguments.scale)
        .option("--mean", arguments.mean)
        .option("--need", [arguments.need]);
    let mut files = Vec::new();
    for path in &arguments.files {
        let (name, text) = read(path)?;
        made_by = made_by.file(InputFile::new(&*name, text.as_bytes()));
        let input = TraceText::new(&name, &text).column(arguments.column.as_deref());
        let format = arguments.read_as.as_deref().and_then(TraceFormat::named);
        let reading = TraceReading::of(&input, format)
            .map_err(|error| Failure::Input(vec![trace_diagnostic(&text, &error)]))?;
        files.push(TraceFile::new(name, reading));
    }
    if arguments.pair {
        return output::write(&path_lines(&files, &scenario_keys(arguments)));
    }
    for file in &mut files {
        file.trace = changed(arguments, &file.name, &file.trace)?;
    }
    let traces = TraceFiles { files, need: arguments.need };
    let doubtful: Vec<_> =
        traces.files.iter().filter_map(|file| warnings::of_trace(&file.name, &file.trace)).collect();
    terminal.warn(&doubtful);
    match arguments.to.as_deref().and_then(TraceFormat::named) {
        Some(to) => convert(arguments, &traces.files[0], to, terminal),
        None => deliver(arguments, terminal, &traces, &made_by, folder),
    }
}

/// Writes the directory and the charts, and prints the tables.
fn deliver(
    arguments: &Arguments,
    terminal: Terminal,
    traces: &TraceFiles,
    made_by: &Provenance,
    folder: Option<Folder>,
) -> Result<(), Failure> {
    let mut json = traces.to_json();
    made_by.put_into(&mut json);
    let page = made_by.add_to(traces.page());
    let written = match folder.map(|folder| folder.made_by(made_by)) {
        Some(folder) => {
            let (result, report) = (output::pretty(&json), page.to_html());
            let series = made_by.id_in_series(&traces.series_csv());
            Some(folder.write(&[
                ("result.json", result.as_bytes()),
                ("series.csv", series.as_bytes()),
                ("report.html", report.as_bytes()),
            ]))
        }
        None => None,
    };
    let csv = || made_by.columns(traces.long_table()).to_csv();
    let printed = arguments.plot.print_or(&page, terminal, || {
        output::print(terminal, arguments.format, &traces.tables(), &json, csv)?;
        match arguments.format {
            Format::Table => output::write(&format!("\n{}", traces.sparklines())),
            _ => Ok(()),
        }
    });
    if let Some(written) = written {
        written?.announce(terminal);
    }
    arguments.plot.write(&page, terminal)?;
    printed
}

/// Checks arguments that exclude one another for some values.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |message: &str, hint: &str| {
        Err(Failure::Usage { message: message.to_owned(), hint: hint.to_owned() })
    };
    if arguments.to.is_some() && arguments.files.len() > 1 {
        return usage("--to converts one file", "convert each file by itself");
    }
    if arguments.files.iter().filter(|path| input::is_stdin(path)).count() > 1 {
        return usage("`-` is given twice", "the standard input holds one file");
    }
    if arguments.step.is_some_and(|step| step < MIN_STEP) {
        return usage("--step is shorter than 1ms", "`100ms` is typical");
    }
    if let (Some(to), Some(output)) = (&arguments.to, &arguments.output)
        && arguments.files.iter().any(|file| same_file(file, output))
    {
        return usage(
            &format!("--output {} is the file that is read", output.display()),
            &format!("name another file for the trace in {to}"),
        );
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).ok().is_some_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// Name and text of a file.
fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = input::shown(path);
    let unreadable = |why: &str| Failure::Unreadable {
        message: format!("cannot read the trace {name}: {why}"),
        hint: "docs/reference/traces.md describes the formats".to_owned(),
    };
    let bytes = input::read(path).map_err(|error| unreadable(&reason(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not text in UTF-8"))?;
    Ok((name, text))
}

/// Cuts and scales a trace as the arguments say.
fn changed(arguments: &Arguments, name: &str, trace: &Trace) -> Result<Trace, Failure> {
    let failure = |message: String, hint: String| Failure::Usage { message, hint };
    let mut trace = trace.clone();
    if arguments.from.is_some() || arguments.length.is_some() {
        let from = arguments.from.unwrap_or_default();
        let length = arguments.length.unwrap_or_else(|| trace.period().saturating_sub(from));
        trace = trace.cut(from, length).ok_or_else(|| {
            let whole = trace.period();
            failure(
                format!("cannot keep {length} from {from} of {name}"),
                format!("the trace is {whole} long, and the part must carry data"),
            )
        })?;
    }
    let by_mean = arguments.mean.map(|mean| mean.as_bps() as f64 / trace.mean_rate().as_bps().max(1) as f64);
    if let Some(factor) = arguments.scale.or(by_mean) {
        let (min, max) = link::SCALE_RANGE;
        let scaled = Some(factor).filter(|factor| (min..=max).contains(factor));
        trace = scaled.and_then(|factor| trace.scaled(factor)).ok_or_else(|| {
            failure(
                format!("cannot scale {name} by {factor:.6}"),
                format!(
                    "its mean is {}; a factor from {min} to {max} must leave capacity",
                    trace.mean_rate()
                ),
            )
        })?;
    }
    Ok(trace)
}

/// Keys of a scenario's trace for the given changes.
fn scenario_keys(arguments: &Arguments) -> String {
    let start = arguments.from.map(|from| format!(", start = \"{from}\"")).unwrap_or_default();
    start + &arguments.scale.map(|scale| format!(", scale = {scale}")).unwrap_or_default()
}

/// Writes a trace in another format.
fn convert(
    arguments: &Arguments,
    file: &TraceFile,
    to: &TraceFormat,
    terminal: Terminal,
) -> Result<(), Failure> {
    let cannot = |why: &str| Failure::Other {
        message: format!("cannot write {} as {}: {why}", file.name, to.name),
        hint: "cut it by `--from` and `--length`, or choose another `--step` or format".to_owned(),
    };
    let resampled = match arguments.step {
        Some(step) => file.trace.resampled(step).ok_or_else(|| cannot("too many steps"))?,
        None => file.trace.clone(),
    };
    let write = to.write.ok_or_else(|| cannot("the format is only read"))?;
    let text = write(&resampled).map_err(|error| cannot(&error.to_string()))?;
    let has_latency = file.trace.pieces().iter().any(|piece| !piece.latency.is_zero());
    if has_latency && (to.name != "json" || arguments.step.is_some()) {
        terminal
            .note("note: the latencies of the trace are left out; `--to json` without `--step` keeps them");
    }
    match arguments.output.as_deref().filter(|path| !input::is_stdin(path)) {
        Some(path) => fs::write(path, text).map_err(|error| Failure::Other {
            message: format!("cannot write {}: {}", path.display(), reason(&error)),
            hint: "`-o FILE` names another file".to_owned(),
        }),
        None => output::write(&text),
    }
}
