//! Figures of `--plot`: a chart of the report as an SVG, PDF or PNG file.

use crate::arguments::{Plot, PlotFile, PlotFormat};
use crate::failure::{Failure, reason};
use crate::output::{self, Terminal};
use report::{Cell, Chart, Column, Page, Row, Table};
use std::io::{self, Write as _};
use std::path::Path;

/// Resolution of an image; venues ask for 300 or, for line drawings, 600.
const DOTS_PER_INCH: f32 = 600.0;
/// The name that lists the names.
const HELP: &str = "help";

impl Plot {
    /// Whether the names of the charts take the place of the results on stdout.
    fn lists_names(&self) -> bool {
        self.names.iter().any(|name| name == HELP)
    }

    /// Checks all that is known before the work: the pairs of files and names, and the folders.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.lists_names() {
            return Ok(());
        }
        let (files, names) = (self.files.len(), self.names.len());
        if names > 0 && files == 0 {
            return Err(usage(
                "`--plot-what` names a chart, but no `--plot` says where to write it",
                "add for example `--plot figure.pdf`; `--plot-what help` lists the charts",
            ));
        }
        if names > 1 && names != files {
            return Err(usage(
                &format!("there are {files} of `--plot` and {names} of `--plot-what`"),
                "give one `--plot-what` for all files, or one for each file in the same order",
            ));
        }
        for file in &self.files {
            let folder = folder(&file.path);
            if !folder.is_dir() {
                return Err(Failure::Other {
                    message: format!(
                        "cannot write {}: there is no directory {}",
                        file.path.display(),
                        folder.display()
                    ),
                    hint: format!("create it first: mkdir -p {}", folder.display()),
                });
            }
        }
        Ok(())
    }

    /// Writes the figures from the charts of a report.
    pub(crate) fn write(&self, page: &Page, terminal: Terminal) -> Result<(), Failure> {
        if self.files.is_empty() || self.lists_names() {
            return Ok(());
        }
        let charts = page.charts();
        for (index, file) in self.files.iter().enumerate() {
            let name = self.names.get(index).or(self.names.first());
            let chart = find(&charts, name.map(String::as_str))?;
            let bytes = render(file, &chart.to_svg(&self.style))?;
            replace(&file.path, &bytes).map_err(|error| Failure::Other {
                message: format!("cannot write {}: {}", file.path.display(), reason(&error)),
                hint: String::new(),
            })?;
            terminal.note(&format!("figure: {}", file.path.display()));
        }
        Ok(())
    }

    /// Prints the results, or in their place the names of the charts if asked for.
    pub(crate) fn print_or(
        &self,
        page: &Page,
        terminal: Terminal,
        results: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.lists_names() { Self::print_names(page, terminal) } else { results() }
    }

    fn print_names(page: &Page, terminal: Terminal) -> Result<(), Failure> {
        let mut table = Table::new("Charts for --plot-what, the default first")
            .column(Column::text("name"))
            .column(Column::text("kind"))
            .column(Column::text("chart"));
        for (name, chart) in page.charts() {
            let (kind, title) = match &chart {
                Chart::Bars(bars) => ("bars", bars.title.clone()),
                Chart::Lines(lines) if lines.title.is_empty() => ("lines", lines.y.title.clone()),
                Chart::Lines(lines) => ("lines", format!("{}: {}", lines.title, lines.y.title)),
                Chart::Heat(heat) => ("heat map", heat.title.clone()),
                Chart::Timeline(timeline) => ("timeline", timeline.title.clone()),
            };
            table = table.row(Row::new([Cell::text(name), Cell::text(kind), Cell::text(title)]));
        }
        output::write(&table.to_text(terminal.text_style()))
    }
}

fn usage(message: &str, hint: &str) -> Failure {
    Failure::Usage { message: message.to_owned(), hint: hint.to_owned() }
}

/// The chart of a name, or the first one without a name.
fn find<'a>(charts: &'a [(String, Chart)], name: Option<&str>) -> Result<&'a Chart, Failure> {
    let found = match name {
        Some(name) => charts.iter().find(|(key, _)| key == name),
        None => charts.first(),
    };
    if let Some((_, chart)) = found {
        return Ok(chart);
    }
    let names: Vec<&str> = charts.iter().map(|(key, _)| key.as_str()).collect();
    Err(match name {
        Some(_) if names.is_empty() => usage("this report has no charts", "`report.html` shows its tables"),
        Some(name) => usage(
            &format!("--plot-what: there is no chart `{name}`"),
            &format!("the charts are: {}", names.join(", ")),
        ),
        None => usage("--plot: this report has no charts", "`report.html` shows its tables"),
    })
}

fn render(file: &PlotFile, svg: &str) -> Result<Vec<u8>, Failure> {
    let bytes = match file.format {
        PlotFormat::Svg => Ok(svg.as_bytes().to_vec()),
        PlotFormat::Pdf => figure::to_pdf(svg),
        PlotFormat::Png => figure::to_png(svg, DOTS_PER_INCH),
    };
    bytes.map_err(|error| Failure::Other {
        message: format!("cannot write {}: {error}", file.path.display()),
        hint: "an .svg file holds the same figure".to_owned(),
    })
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file as a whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let mut file = tempfile::Builder::new().prefix(".tandem-figure-").tempfile_in(folder(path))?;
    file.write_all(bytes)?;
    // A temporary file is readable by its owner only; a figure is an ordinary file.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
