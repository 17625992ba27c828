//! Tables as text, CSV, JSON and HTML.

use tandem_report::{Align, Badge, Cell, Column, Estimate, Row, Table, TextStyle, Tone};

fn cases() -> Table {
    Table::new("Ours beside the paper's")
        .column(Column::text("case"))
        .column(Column::number("throughput").unit("Mbit/s"))
        .column(Column::number("paper").unit("Mbit/s"))
        .column(Column::number("difference"))
        .column(Column::text("quality").align(Align::Centre))
        .row(Row::heading("One path"))
        .row(
            Row::new([
                Cell::text("tcp-wifi"),
                Cell::estimate(Estimate::new(0.8481, 0.0021), 3),
                Cell::number(0.846, 3),
                Cell::difference(0.8481, 0.846, 1),
                Cell::text("Poor"),
            ])
            .badge(Badge::calibrated()),
        )
        .row(Row::heading("Both paths"))
        .row(
            Row::new([
                Cell::text("emtcp"),
                Cell::estimate(Estimate::exact(11.5), 3),
                Cell::number(1.91, 3),
                Cell::difference(11.5, 1.91, 1).good_if(false),
                Cell::text("Fair").badge(Badge::new("as printed")),
            ])
            .badge(Badge::predicted())
            .strong(),
        )
        .row(Row::new([Cell::text("電池"), Cell::number(f64::NAN, 2), Cell::empty(), Cell::difference(1.0, 0.0, 1)]))
        .note("The mean of *30* seeds with its 95 % interval; see `tandem compare` for how it is made, and for more.")
}

#[test]
fn text_is_aligned() {
    insta::assert_snapshot!(cases().to_text(TextStyle::PLAIN));
}

#[test]
fn colour_preserves_text_and_width() {
    let plain = cases().to_text(TextStyle::PLAIN);
    let colour = cases().to_text(TextStyle::COLOUR);
    assert!(colour.contains("\u{1b}[1m"));
    let mut stripped = String::new();
    let mut rest = colour.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn csv_has_full_precision_and_separate_interval_columns() {
    insta::assert_snapshot!(cases().to_csv().replace("\r\n", "\n"));
}

#[test]
fn csv_quotes_fields_per_rfc_4180() {
    let table = Table::new("")
        .column(Column::text("a, \"b\""))
        .column(Column::text("c"))
        .row(Row::new([Cell::text("line\nbreak"), Cell::text("plain")]))
        .row(Row::new([Cell::text("say \"so\""), Cell::empty()]));
    assert_eq!(table.to_csv(), "\"a, \"\"b\"\"\",c\r\n\"line\nbreak\",plain\r\n\"say \"\"so\"\"\",\r\n");
}

#[test]
fn json_rows_are_objects_by_key() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&cases().to_json()).unwrap());
}

#[test]
fn columns_of_equal_name_have_distinct_keys() {
    let table = Table::new("")
        .column(Column::number("Paper (W)"))
        .column(Column::number("paper w"))
        .column(Column::number("x").key("mean_w"))
        .row(Row::new([Cell::number(1.0, 0), Cell::number(2.0, 0), Cell::number(f64::INFINITY, 0)]));
    let row = &table.to_json()["rows"][0];
    assert_eq!(row.to_string(), r#"{"paper_w":1.0,"paper_w_2":2.0,"mean_w":null}"#);
}

#[test]
fn html_escapes_all_text() {
    let evil = "<script>\"'&";
    let table = Table::new(evil)
        .column(Column::text(evil).unit(evil))
        .row(Row::heading(evil))
        .row(Row::new([Cell::text(evil).badge(Badge::new(evil))]).badge(Badge::filled(evil)))
        .note(evil);
    let html = table.to_html();
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("&lt;script&gt;").count(), 9);
}

#[test]
fn html_marks_good_and_bad_without_colour() {
    let table =
        Table::new("").column(Column::number("d")).row(Row::new([Cell::percent(-3.0, 1).tone(Tone::Bad)]));
    let html = table.to_html();
    assert!(html.contains("aria-label=\"bad\"") && html.contains("\u{2212}3.0\u{a0}%"));
}

#[test]
fn non_finite_number_is_a_dash_in_html() {
    let table = Table::new("")
        .column(Column::number("n"))
        .row(Row::new([Cell::estimate(Estimate::new(f64::NAN, 1.0), 2)]));
    assert!(table.to_html().contains(">–</td>"));
}

#[test]
fn missing_cells_are_empty_and_surplus_cells_hidden() {
    let table = Table::new("")
        .column(Column::text("a"))
        .row(Row::new([]))
        .row(Row::new(["x".into(), "surplus".into()]));
    assert_eq!(table.to_text(TextStyle::PLAIN), "a\n\nx\n");
    assert_eq!(table.to_csv(), "a\r\n\"\"\r\nx\r\n");
    assert!(!table.to_html().contains("surplus"));
}

#[test]
fn text_output_has_no_control_characters() {
    let evil = "\u{1b}[2Jx\ny\u{7}\u{8}\u{9b}\tz";
    let table = Table::new(evil)
        .column(Column::text(evil).unit(evil))
        .row(Row::heading(evil))
        .row(Row::new([Cell::text(evil).badge(Badge::new(evil))]).badge(Badge::new(evil)))
        .note(evil);
    let text = table.to_text(TextStyle::PLAIN);
    let seen = "\u{fffd}[2Jx y\u{fffd}\u{fffd}\u{fffd} z";
    assert_eq!(text.matches(seen).count(), 8, "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
}
