//! Properties of pages: determinism, escaping, self-containment, unique ids, finite coordinates.

use tandem_report::{
    Axis, Bars, Block, Chart, Estimate, Lane, Line, Lines, Mark, Page, Panel, Section, Shade, Span, Timeline,
    literal,
};
use units::Instant;

const EVIL: &str = "</script></style></title><script>alert('1')</script><img src=x onerror=\"alert(2)\">";

fn timeline(name: &str) -> Timeline {
    Timeline::new(name)
        .panel(
            Panel::new(Axis::new(name).unit(name))
                .line(Line::sampled(name, 0.0, 0.5, vec![1.0, f64::NAN, 3.0, 2.0]))
                .line(Line::new("lte", vec![0.0, 1.0, 1.5], vec![0.5, 0.25, 1.0]).step().reference())
                .mark(Mark::vertical(0.7, name))
                .mark(Mark::point(1.5, 2.0, name))
                .mark(Mark::horizontal(2.0, name)),
        )
        .lane(Lane::from_changes(
            name,
            &[(Instant::ZERO, "Idle"), (Instant::from_secs(1), name)],
            Instant::from_secs(2),
        ))
        .caption(literal(name))
}

fn page(name: &str) -> Page {
    Page::new(name)
        .lead(literal(name))
        .section(
            Section::new(name)
                .prose(literal(name))
                .heading(name)
                .list([literal(name)])
                .facts([(name.to_owned(), literal(name))])
                .chart(
                    Bars::new(name, Axis::new(name).unit(name))
                        .groups([name])
                        .series(name, [Estimate::new(1.0, 0.1)])
                        .caption(literal(name)),
                )
                .chart(
                    Lines::new(name, Axis::new(name), Axis::new(name)).line(
                        Line::estimates(name, [(0.0, Estimate::new(1.0, 0.1)), (1.0, Estimate::exact(2.0))])
                            .dots(),
                    ),
                )
                .chart(timeline(name))
                .details(name, name),
        )
        .section(Section::new(name).anchor(name))
        .footer(literal(name))
}

#[test]
fn equal_pages_give_equal_bytes() {
    assert_eq!(page("a").to_html(), page("a").to_html());
}

#[test]
fn text_never_becomes_markup() {
    let (good, evil) = (page("x").to_html(), page(EVIL).to_html());
    for tag in ["<script", "</script", "<style", "<img", "<title"] {
        assert_eq!(good.matches(tag).count(), evil.matches(tag).count(), "{tag}");
    }
    assert!(!evil.contains("onerror=\""));
}

#[test]
fn page_has_no_external_resources() {
    let html = page("x").to_html();
    for outside in ["src=", "@import", "url(http", "//cdn", "<link rel=\"stylesheet\"", "<iframe", "fetch("] {
        assert!(!html.contains(outside), "{outside}");
    }
    // The only URL is the SVG namespace, which browsers do not load.
    assert_eq!(html.matches("http").count(), html.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn ids_are_unique_and_anchors_resolve() {
    // The figures for saving are text; their ids are those of files of their own.
    let html = page("Fig. 4").to_html();
    let parts: Vec<&str> = html.split("<script type=\"image/svg+xml\"").collect();
    let html: String = parts
        .iter()
        .enumerate()
        .map(|(i, part)| if i == 0 { part } else { part.split_once("</script>").unwrap().1 })
        .collect();
    let mut ids: Vec<&str> =
        html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    for target in html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(ids.contains(&target), "{target}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    assert!(ids.contains(&"fig-4") && ids.contains(&"fig-4-2"));
}

#[test]
fn embedded_data_is_json() {
    let html = page("wifi").to_html();
    let mut found = 0;
    for part in html.split("<script type=\"application/json\">").skip(1) {
        let text = part.split("</script>").next().unwrap();
        let data: serde_json::Value = serde_json::from_str(text).expect("embedded data is JSON");
        found += 1;
        if let Some(line) = data["t"][1]["s"].as_array() {
            assert_eq!(line.len() % 3, 0);
            assert_eq!(data["t"][0]["l"][0]["y"].to_string(), "[1,null,3,2]");
            assert_eq!(data["t"][0]["l"][1]["p"], 1);
        }
    }
    assert_eq!(found, 2);
}

#[test]
fn extreme_numbers_give_finite_coordinates() {
    let extreme = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, -1e308, 0.0, 5e-324];
    let mut section = Section::new("extreme");
    for value in extreme {
        section = section
            .chart(
                Bars::new("b", Axis::new("v").from(value))
                    .groups(["a", "b"])
                    .series("s", [Estimate::new(value, value), Estimate::exact(1.0)]),
            )
            .chart(
                Lines::new("l", Axis::new("x").to(value), Axis::new("y").from(value).to(value))
                    .line(
                        Line::new("s", vec![0.0, value, 2.0], vec![value, 1.0, value])
                            .band(vec![value; 3])
                            .dots(),
                    )
                    .mark(Mark::point(value, value, "p"))
                    .mark(Mark::vertical(value, "v")),
            )
            .chart(Timeline::new("t").panel(Panel::new(Axis::new("y"))).lane(Lane::new(
                "lane",
                vec![Span { from: 0.0, to: value, label: "Active".to_owned(), shade: Shade::Active }],
            )));
    }
    let empty: Vec<Chart> = vec![
        Bars::default().into(),
        Lines::default().into(),
        Timeline::default().into(),
        Timeline::new("t").lane(Lane::default()).into(),
    ];
    let html = Page::new("p").section(section.block(Block::Charts(empty))).to_html();
    let script = html.rfind("<script>").unwrap();
    assert!(!html[..script].contains("NaN") && !html[..script].contains("inf"), "a drawing has a NaN");
    for part in html.split("<script type=\"application/json\">").skip(1) {
        let text = part.split("</script>").next().unwrap();
        serde_json::from_str::<serde_json::Value>(text).expect("embedded data is JSON");
    }
}

#[test]
fn long_line_is_downsampled_and_keeps_its_peak() {
    let mut y: Vec<f64> = (0..200_000).map(|i| f64::from(i % 7)).collect();
    y[123_456] = 1000.0;
    let chart = Timeline::new("t").panel(Panel::new(Axis::new("y")).line(Line::sampled("a", 0.0, 0.001, y)));
    let html = Page::new("p").section(Section::new("s").chart(chart)).to_html();
    assert!(html.len() < 600_000, "{}", html.len());
    let data = html.split("<script type=\"application/json\">").nth(1).unwrap();
    assert!(data.contains(",1000,"));
}

#[test]
fn shade_follows_from_state_name() {
    for (name, shade) in [
        ("Idle", Shade::Idle),
        ("PSM", Shade::Idle),
        ("Promotion", Shade::Promotion),
        ("Active", Shade::Active),
        ("Tail(0)", Shade::Tail),
        ("short DRX", Shade::Tail),
        ("CELL_FACH", Shade::Tail),
        ("CELL_DCH", Shade::Active),
        ("broken", Shade::Other),
    ] {
        assert_eq!(Shade::of(name), shade, "{name}");
    }
}

#[test]
fn charts_are_found_by_key_and_the_main_chart_is_first() {
    let bars = |title: &str| Bars::new(title, Axis::new("energy").unit("J"));
    let page = Page::new("p").main_chart("x:wifi-first").section(
        Section::new("s")
            .chart(bars("Energy by radio"))
            .chart(bars("any").key("split"))
            .chart(bars("other").key("split"))
            .chart(timeline("x").key("timeline:wifi-first")),
    );
    let charts = page.charts();
    let keys: Vec<&str> = charts.iter().map(|(key, _)| key.as_str()).collect();
    // The second track of the timeline is a lane, which is no chart of its own.
    assert_eq!(keys, ["x:wifi-first", "energy-by-radio", "split", "split-2", "timeline:wifi-first"]);
    assert_eq!(page.chart("split-2").expect("the key exists").title(), "other");
    assert!(matches!(page.chart("x:wifi-first"), Some(Chart::Lines(lines)) if lines.y.unit == "x"));
    assert_eq!(page.chart("none"), None);
}

#[test]
fn cdf_has_one_step_for_each_distinct_sample() {
    let line = Line::cdf("delay", [3.0, f64::NAN, 1.0, 1.0, 2.0]);
    assert_eq!(line.x, [1.0, 1.0, 2.0, 3.0]);
    assert_eq!(line.y, [0.0, 50.0, 75.0, 100.0]);
    assert_eq!(Line::cdf("delay", []).x, [0.0; 0]);
    assert_eq!(Line::cdf_of_quantiles("delay", [(0.5, 4.0), (0.99, 9.0)]).y, [50.0, 99.0]);
}

#[test]
fn legend_title_stands_above_the_legend() {
    let line = |name: &str| Line::new(name, vec![0.0, 1.0], vec![1.0, 2.0]);
    let lines = Lines::new("l", Axis::new("x"), Axis::new("y")).line(line("ecf")).line(line("blest"));
    let bars = Bars::new("b", Axis::new("y")).groups(["a"]).series("ecf", [Estimate::exact(1.0)]);
    let page = Page::new("p").section(
        Section::new("s").chart(lines.legend_title("scheduler")).chart(bars.legend_title("scheduler")),
    );
    let html = page.to_html();
    // In both drawings of the lines, and once for the bars.
    assert_eq!(html.matches("class=\"axis\">scheduler</text>").count(), 2);
    assert_eq!(html.matches("<li class=\"quiet\">scheduler</li>").count(), 1);
}

#[test]
fn long_names_are_whole_in_legends_and_under_bars() {
    let name = |i: usize| {
        format!("case{i} {}end{i}", "path.wifi.down.loss=0.01 transport.scheduler=redundant ".repeat(3))
    };
    let mut lines = Lines::new("l", Axis::new("x"), Axis::new("y"));
    let mut bars = Bars::new("b", Axis::new("y")).groups([name(7), name(8)]);
    for i in 0..3 {
        lines = lines.line(Line::new(name(i), vec![0.0, 1.0], vec![1.0, 2.0]));
        bars = bars.series(name(i), [Estimate::exact(1.0), Estimate::exact(2.0)]);
    }
    let html = Page::new("p").section(Section::new("s").chart(lines).chart(bars)).to_html();
    assert!(!html[..html.rfind("<script>").unwrap()].contains('…'), "a name is cut");
    for i in [0, 1, 2] {
        // In the wide and the narrow drawing and in the figure for saving; for bars in the page's legend
        // and in the figure.
        assert!(html.matches(&format!("end{i}</text>")).count() >= 4, "{i}");
    }
}

#[test]
fn small_values_of_bars_are_printed_with_their_digits() {
    let bars = Bars::new("b", Axis::new("energy").unit("J")).groups(["a", "b"]);
    let bars = bars.series("s", [0.00123, 0.0005].map(Estimate::exact));
    let html = Page::new("p").section(Section::new("s").chart(bars)).to_html();
    assert!(html.contains(">0.0012</text>") && html.contains(">0.0005</text>"), "{html}");
}
