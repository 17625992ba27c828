//! Arguments of figures, for every command with a report.

use clap::{Args, ValueHint};
use report::FigureStyle;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(next_help_heading = "Figures")]
pub(crate) struct Plot {
    /// Write a chart of the report as a figure for a paper, by its ending an .svg, .pdf or .png file;
    /// may be repeated (docs/how-to/figures.md)
    #[arg(id = "plot", long = "plot", value_name = "FILE", value_parser = file, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PlotFile>,
    /// The chart by its name, one for all files or one for each --plot; help lists the names
    /// [default: the main chart]
    #[arg(id = "plot_what", long = "plot-what", value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Width of the figures: one column of a paper, or 180mm for two
    #[arg(id = "plot_width", long = "plot-width", value_name = "WIDTH", value_parser = width, default_value = "85mm")]
    pub(crate) style: FigureStyle,
}

/// A file of a figure.
#[derive(Debug, Clone)]
pub(crate) struct PlotFile {
    pub(crate) path: PathBuf,
    pub(crate) format: PlotFormat,
}

/// Format of a figure, given by the ending of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlotFormat {
    Svg,
    Pdf,
    Png,
}

fn file(text: &str) -> Result<PlotFile, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let format = match ending.as_deref() {
        Some("svg") => PlotFormat::Svg,
        Some("pdf") => PlotFormat::Pdf,
        Some("png") => PlotFormat::Png,
        Some(other) => {
            return Err(format!(
                "figures have no format `.{other}`\n  hint: end the name with .svg, .pdf or .png, for example \
                 `{}`",
                path.with_extension("pdf").display()
            ));
        }
        None => {
            return Err(format!(
                "the ending gives the format of a figure, and `{text}` has none\n  hint: end the name with .svg, \
                 .pdf or .png"
            ));
        }
    };
    Ok(PlotFile { path, format })
}

fn width(text: &str) -> Result<FigureStyle, String> {
    let (least, most) = (FigureStyle::WIDTHS_MM.start(), FigureStyle::WIDTHS_MM.end());
    let expected = || format!("expected a width from {least}mm to {most}mm, such as 85mm, 8.5cm or 3.35in");
    let split = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(expected)?;
    let (number, unit) = text.split_at(split);
    let mm_per_unit = match unit {
        "mm" => 1.0,
        "cm" => 10.0,
        "in" => 25.4,
        _ => return Err(expected()),
    };
    let number: f64 = number.trim().parse().map_err(|_| expected())?;
    let width_mm = number * mm_per_unit;
    if FigureStyle::WIDTHS_MM.contains(&width_mm) { Ok(FigureStyle { width_mm }) } else { Err(expected()) }
}
