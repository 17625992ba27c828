//! Figures for papers: size, self-containment, and labels that lie within and do not overlap.

use tandem_report::{
    Axis, Bars, Chart, Estimate, FigureStyle, Heat, Lane, Line, Lines, Mark, Panel, Timeline,
};
use units::{Instant, Seed};

/// A text of a figure: place and extent, in points.
#[derive(Debug)]
#[allow(dead_code, reason = "a failed check prints the text")]
struct Label {
    text: String,
    left: f64,
    right: f64,
    baseline: f64,
    size: f64,
    is_turned: bool,
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

/// Reads the labels of a figure. Widths are those of Arial's digits, and its mean for letters.
fn labels(svg: &str) -> Vec<Label> {
    let number =
        |element: &str, name: &str| attribute(element, name).and_then(|value| value.parse::<f64>().ok());
    svg.split("<text")
        .skip(1)
        .map(|rest| {
            let (head, rest) = rest.split_once('>').expect("a text element");
            let text = rest.split("</text>").next().expect("the end of a text element").to_owned();
            let size = number(head, "font-size").unwrap_or(7.5);
            let em = |c: char| match c {
                '.' | ',' | ':' | ';' | 'i' | 'l' | ' ' => 0.278,
                '\u{2009}' => 0.2,
                c if c.is_ascii_digit() => 0.556,
                _ => 0.49,
            };
            let width: f64 = text.chars().map(em).sum();
            let (x, width) = (number(head, "x").expect("x"), width * size);
            let left = match attribute(head, "text-anchor") {
                Some("end") => x - width,
                Some("middle") => x - width / 2.0,
                _ => x,
            };
            let baseline = number(head, "y").expect("y");
            let is_turned = head.contains("rotate(");
            Label { text, left, right: left + width, baseline, size, is_turned }
        })
        .collect()
}

fn size(svg: &str) -> (f64, f64) {
    let view = attribute(svg, "viewBox").expect("a view box");
    let numbers: Vec<f64> = view.split(' ').map(|n| n.parse().expect("a number")).collect();
    (numbers[2], numbers[3])
}

/// Checks that all labels lie within the figure, that none overlaps another, and that none is
/// smaller than 7 pt.
fn check(svg: &str) {
    let ((width, height), labels) = (size(svg), labels(svg));
    let level: Vec<&Label> = labels.iter().filter(|label| !label.is_turned).collect();
    for (i, label) in level.iter().enumerate() {
        assert!(label.size >= 7.0, "{label:?} is too small");
        assert!(
            label.left >= -0.6 && label.right <= width + 0.6,
            "{label:?} beyond the width {width}\n{svg}"
        );
        assert!(
            label.baseline - label.size * 0.72 >= -0.5 && label.baseline + label.size * 0.21 <= height + 0.5,
            "{label:?} beyond the height {height}\n{svg}"
        );
        for other in &level[..i] {
            let apart = label.right <= other.left + 0.01
                || other.right <= label.left + 0.01
                || (label.baseline - other.baseline).abs() >= label.size.min(other.size) * 0.9;
            assert!(apart, "{label:?} overlaps {other:?}\n{svg}");
        }
    }
}

fn svg(chart: impl Into<Chart>) -> String {
    chart.into().to_svg(&FigureStyle::default())
}

fn bars() -> Bars {
    Bars::new("Energy", Axis::new("energy").unit("J").from(0.0))
        .groups(["TCP\ncalibrated", "MPTCP\npredicted"])
        .decimals(1)
        .series("Tandem", [Estimate::new(2.0, 0.25), Estimate::exact(f64::NAN)])
        .reference("paper", [1.5, 3.0].map(Estimate::exact))
        .caption("Means of *30* seeds.")
}

fn lines() -> Lines {
    Lines::new(
        "Delay",
        Axis::new("delay").unit("ms").log(),
        Axis::new("share of segments").unit("%").to(100.0),
    )
    .key("cdf:delay")
    .legend_title("scheduler")
    .line(Line::cdf("min-rtt", [9.0, 12.0, 15.0, 40.0]))
    .line(Line::cdf("blest", [8.0, 10.0, 11.0, 300.0]))
}

fn heat() -> Heat {
    let cell = |value| Some((value, "wifi-first".to_owned()));
    Heat::new("Energy", "saved, %")
        .caption("By radios.")
        .columns(vec!["Wi-Fi + LTE".to_owned(), "Wi-Fi + a long name".to_owned()])
        .row("stream", vec![cell(70.0), None])
        .row("bulk", vec![cell(f64::NAN), cell(-3.0)])
}

fn timeline() -> Timeline {
    let states = [(0, "Idle"), (1, "Promotion"), (2, "Active"), (7, "Tail")];
    let changes: Vec<_> = states.iter().map(|(s, state)| (Instant::from_secs(*s), *state)).collect();
    Timeline::new("Both paths")
        .panel(
            Panel::new(Axis::new("rate").unit("Mbit/s").from(0.0))
                .line(Line::sampled("wifi", 0.0, 2.0, vec![1.0, 2.0, f64::NAN, 2.0, 1.0]))
                .line(Line::sampled("lte", 0.0, 2.0, vec![0.0, 0.5, 3.0, 3.0, 0.0]))
                .mark(Mark::vertical(4.0, "wifi gone"))
                .mark(Mark::point(4.0, 3.0, "peak")),
        )
        .panel(Panel::new(Axis::new("power").unit("W")).line(Line::sampled(
            "power",
            0.0,
            5.0,
            vec![1.0, 2.0, 1.0],
        )))
        .lane(Lane::from_changes("lte radio", &changes, Instant::from_secs(10)))
}

#[test]
fn bars_as_a_figure() {
    check(&svg(bars()));
    insta::assert_snapshot!(svg(bars()));
}

#[test]
fn distribution_on_a_logarithmic_axis_as_a_figure() {
    check(&svg(lines()));
    insta::assert_snapshot!(svg(lines()));
}

#[test]
fn timeline_as_a_figure() {
    check(&svg(timeline()));
    insta::assert_snapshot!(svg(timeline()));
}

#[test]
fn figure_is_self_contained_and_has_the_width_of_a_column() {
    for chart in [Chart::from(bars()), lines().into(), timeline().into(), heat().into()] {
        for (width, written) in [(85.0, "width=\"85mm\""), (180.0, "width=\"180mm\"")] {
            let svg = chart.to_svg(&FigureStyle { width_mm: width });
            check(&svg);
            assert!(svg.contains(written), "{svg}");
            for outside in ["class=", "style=", "var(", "href", "<style", "<script", "NaN", "inf"] {
                assert!(!svg.contains(outside), "{outside} in {svg}");
            }
            assert_eq!(svg.matches("http").count(), 1, "only the namespace is a URL");
            assert_eq!(svg, chart.to_svg(&FigureStyle { width_mm: width }));
        }
    }
}

#[test]
fn text_of_a_figure_never_becomes_markup() {
    let evil = "</svg><script>alert('1')</script>\"&";
    let svg = svg(Bars::new(evil, Axis::new(evil).unit(evil))
        .groups([evil])
        .series(evil, [Estimate::exact(1.0)])
        .series("b", [Estimate::exact(1.0)])
        .caption(evil));
    assert!(!svg.contains("<script") && svg.matches("</svg>").count() == 1, "{svg}");
}

#[test]
fn labels_lie_within_the_figure_for_random_bars() {
    for seed in 0..400 {
        let mut rng = Seed::new(seed).rng("bars");
        let mut draw = |most: f64| (rng.unit() * most) as usize;
        let (groups, series) = (1 + draw(9.0), 1 + draw(5.0));
        let names = (0..groups).map(|g| {
            let words = 1 + draw(5.0);
            format!("{g} {}", vec!["path.lte.down.delay=40ms"; words].join(" "))
        });
        let names: Vec<String> =
            if seed % 2 == 0 { names.collect() } else { (0..groups).map(|g| format!("c{g}")).collect() };
        let exponent = draw(13.0) as i32 - 6;
        let scale: f64 = format!("1e{exponent}").parse().unwrap();
        let mut bars = Bars::new("random", Axis::new("mean power of the whole device").unit("W").from(0.0))
            .groups(names)
            .decimals((4 - exponent).clamp(0, 6) as usize);
        for s in 0..series {
            let value = |_| Estimate::new(rng.unit() * scale, rng.unit() * scale);
            bars = bars
                .series(format!("series {s} with a long name"), (0..groups).map(value).collect::<Vec<_>>());
        }
        check(&svg(bars));
    }
}

#[test]
fn labels_lie_within_the_figure_for_random_lines() {
    for seed in 0..600 {
        let mut rng = Seed::new(seed).rng("lines");
        let scale = |unit: f64| -> f64 { format!("1e{}", (unit * 16.0) as i32 - 8).parse().unwrap() };
        let (x0, width) = (rng.unit() * scale(rng.unit()), scale(rng.unit()));
        let (y0, height) = (rng.unit() * scale(rng.unit()), scale(rng.unit()));
        let log = seed % 3 == 0;
        let x = Axis::new("time").unit("s");
        let mut lines = Lines::new(
            "random",
            if log { x.log() } else { x },
            Axis::new("smoothed round-trip time").unit("ms"),
        );
        for name in
            ["wifi", "lte", "a case with a name that is far too long for one row of a column, path.lte.up=1"]
        {
            let points = 2 + (rng.unit() * 60.0) as usize;
            let x = (0..points).map(|i| x0 + width * i as f64 / points as f64).collect();
            let y = (0..points).map(|_| y0 + height * rng.unit()).collect();
            lines = lines.line(Line::new(name, x, y));
            lines = lines.mark(Mark::vertical(x0 + width * rng.unit(), format!("{name} up")));
        }
        lines.marks.truncate(2);
        check(&svg(lines));
    }
}
