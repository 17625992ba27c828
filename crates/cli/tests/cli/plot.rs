//! Figures of `--plot`.

use crate::support::Place;
use std::fmt::Write as _;
use std::fs;

#[test]
fn chart_is_written_as_svg_pdf_and_png() {
    let place = Place::new();
    let files = ["a.svg", "b.pdf", "c.png"];
    let mut arguments = vec!["run", "tiny.toml", "--plot-what", "power"];
    for file in files {
        arguments.extend(["--plot", file]);
    }
    let output = place.run(&arguments);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(
        output.err.ends_with("report.html\nfigure: a.svg\nfigure: b.pdf\nfigure: c.png\n"),
        "{}",
        output.err
    );
    let read = |file: &str| fs::read(place.path().join(file)).expect("the figure was written");
    let svg = place.read("a.svg");
    assert!(
        svg.starts_with("<svg") && svg.contains("width=\"85mm\"") && svg.contains(">power (W)</text>"),
        "{svg}"
    );
    assert!(read("b.pdf").starts_with(b"%PDF") && read("c.png").starts_with(b"\x89PNG"));
    // Another run writes the same bytes, and the report holds the same drawing.
    let before = files.map(read);
    place.done(&arguments);
    assert!(before == files.map(read), "the same run gives other bytes");
    assert_eq!(place.list("."), ["a.svg", "b.pdf", "c.png", "lte.csv", "tandem-out", "tiny.toml"]);
}

#[test]
fn figure_is_as_wide_as_asked() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--plot", "a.svg", "--plot-width", "18cm"]);
    assert!(place.read("a.svg").contains("width=\"180mm\""));
}

#[test]
fn report_holds_each_chart_as_it_is_plotted() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--plot", "a.svg", "--plot-what", "energy-parts"]);
    assert!(place.read("tandem-out/tiny/report.html").contains(&place.read("a.svg")));
}

#[test]
fn names_of_the_charts_of_a_run() {
    insta::assert_snapshot!(Place::new().done(&["run", "tiny.toml", "--plot-what", "help"]));
}

#[test]
fn names_of_the_charts_of_a_comparison() {
    let arguments =
        ["compare", "tiny.toml", "--policies", "none,wifi-first", "--seeds", "2", "--plot-what", "help"];
    insta::assert_snapshot!(Place::new().done(&arguments));
}

#[test]
fn every_chart_of_a_comparison_can_be_plotted() {
    let place = Place::new();
    let compare = ["compare", "tiny.toml", "--policies", "none,wifi-first", "--seeds", "2"];
    let names = place.done(&[&compare[..], &["--plot-what", "help"]].concat());
    let names: Vec<&str> = names.lines().skip(3).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 10, "{names:?}");
    let files: Vec<String> = (0..names.len()).map(|i| format!("{i}.svg")).collect();
    let mut arguments = compare.to_vec();
    for (file, name) in files.iter().zip(&names) {
        arguments.extend(["--plot", file, "--plot-what", name]);
    }
    place.done(&arguments);
    for file in files {
        assert!(place.read(&file).ends_with("</svg>\n"));
    }
}

#[test]
fn unknown_chart_is_an_error_that_lists_the_charts_and_keeps_the_results() {
    let place = Place::new();
    let output = place.run(&["run", "tiny.toml", "-q", "--plot", "a.svg", "--plot-what", "gootput"]);
    assert_eq!(output.code, 2);
    insta::assert_snapshot!(output.err);
    assert!(place.list("tandem-out/tiny").contains(&"report.html".to_owned()));
    assert!(!place.list(".").contains(&"a.svg".to_owned()));
}

#[test]
fn invalid_files_names_and_widths_are_reported_before_the_run() {
    let place = Place::new();
    let mut all = String::new();
    for (arguments, code) in [
        (&["--plot", "a.eps"][..], 2),
        (&["--plot", "figure"], 2),
        (&["--plot", "a.svg", "--plot-width", "85"], 2),
        (&["--plot", "a.svg", "--plot-width", "2mm"], 2),
        (&["--plot-what", "power"], 2),
        (
            &[
                "--plot",
                "a.svg",
                "--plot",
                "b.svg",
                "--plot",
                "c.svg",
                "--plot-what",
                "power",
                "--plot-what",
                "queue",
            ],
            2,
        ),
        (&["--plot", "missing/a.svg"], 1),
    ] {
        let output = place.run(&[&["run", "tiny.toml"], arguments].concat());
        assert_eq!((output.code, output.out.as_str()), (code, ""), "{arguments:?}: {}", output.err);
        let told = output.err.split("\n\nFor more").next().unwrap_or_default();
        let _ = writeln!(all, "$ {}\n{told}", arguments.join(" "));
    }
    assert!(place.list("tandem-out").is_empty(), "nothing ran");
    insta::assert_snapshot!(all);
}

#[test]
fn capture_and_reproduction_write_figures_as_well() {
    let place = Place::new();
    place.done(&["run", "tiny.toml", "--pcap", "--out", "run"]);
    let output = place.run(&["capture", "run/capture.pcapng", "--plot", "split.svg"]);
    assert_eq!((output.code, output.err.as_str()), (0, "figure: split.svg\n"));
    assert!(place.read("split.svg").contains(">payload (MB)</text>"));
    place.done(&["reproduce", "lwi", "--seeds", "1", "--plot", "f.svg", "--plot-what", "fig-5"]);
    assert!(place.read("f.svg").contains(">share of the data (%)</text>"));
}

#[test]
fn trace_writes_figures() {
    let place = Place::new();
    place.write("wifi.csv", "time,mbps\n0,24\n1,20\n2,4\n");
    let files = ["trace", "wifi.csv", "lte.csv"];
    insta::assert_snapshot!(place.done(&[&files[..], &["--plot-what", "help"]].concat()));
    let plot = ["--plot", "rate.svg", "--plot", "cdf.pdf", "--plot-what", "rate", "--plot-what", "cdf:rate"];
    let output = place.run(&[&files[..], &plot].concat());
    assert_eq!((output.code, output.err.as_str()), (0, "figure: rate.svg\nfigure: cdf.pdf\n"));
    assert!(output.out.contains("Together"), "the tables are printed as well: {}", output.out);
    let svg = place.read("rate.svg");
    assert!(svg.contains(">wifi.csv</text>") && svg.contains(">rate (Mbit/s)</text>"), "{svg}");
    assert!(fs::read(place.path().join("cdf.pdf")).unwrap().starts_with(b"%PDF"));
    // A conversion and lines of a scenario have no charts.
    for other in [&["--to", "json"][..], &["--pair"]] {
        assert_eq!(place.run(&[&["trace", "wifi.csv", "--plot", "a.svg"], other].concat()).code, 2);
    }
}
