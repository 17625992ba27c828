//! `tandem reproduce`.

use crate::arguments::{Paper, Reproduce};
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::progress;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use study::emtcp::calibration::{Calibration, STEPS, fit};
use study::emtcp::{Options, reproduce};
use study::parallel;

/// Where the fit of the eMTCP paper is kept, beside where the program is run.
const EMTCP_CALIBRATION: &str = "calibration/emtcp.toml";

pub(crate) fn run(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    match arguments.paper {
        Paper::Emtcp => emtcp(arguments, talk),
    }
}

fn emtcp(arguments: &Reproduce, talk: Talk) -> Result<(), Failure> {
    let jobs = parallel::jobs(arguments.jobs);
    let seeds = u64::from(arguments.seeds);
    let default = Path::new("tandem-out").join("emtcp");
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let calibration = if arguments.calibrate {
        let bar = progress::bar(talk, STEPS as u64, "calibrating");
        let fitted = fit(seeds, jobs, &|done| bar.set_position(done as u64));
        bar.finish_and_clear();
        let path = arguments.calibration.as_deref().unwrap_or(Path::new(EMTCP_CALIBRATION));
        replace(path, &fitted.to_toml())?;
        talk.remark(&format!("calibration: {}\n", path.display()));
        fitted
    } else {
        calibration(arguments.calibration.as_deref())?
    };

    let bar = progress::bar(talk, 1, "reproducing");
    let options = Options { seeds, jobs, calibration };
    let result = reproduce(&options, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();

    let json = result.to_json();
    let (text, page) = (output::pretty(&json), result.page().to_html());
    folder.write(&[
        ("result.json", text.as_bytes()),
        ("runs.csv", result.runs_table().to_csv().as_bytes()),
        ("report.html", page.as_bytes()),
    ])?;
    let csv = || result.figures().to_csv();
    let printed = output::print(talk, arguments.format, &result.tables(), &json, csv);
    talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
    printed
}

/// The fit in the file that was named; else in its usual place; else the one built in.
fn calibration(named: Option<&Path>) -> Result<Calibration, Failure> {
    let path = named.unwrap_or(Path::new(EMTCP_CALIBRATION));
    if named.is_none() && !path.exists() {
        return Ok(Calibration::shipped());
    }
    let hint = || "`--calibrate` writes a complete file".to_owned();
    let text = fs::read_to_string(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read {}: {}", path.display(), reason(&error)),
        hint: hint(),
    })?;
    Calibration::parse(&path.display().to_string(), &text)
        .map_err(|error| Failure::Unreadable { message: error.to_string(), hint: hint() })
}

/// Writes a file so that it is the old one or the new one, never half of either.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::write(path, &error))
}
