//! Pages in a browser: script errors, zoom, cursor values and the layout on a phone.
//!
//! Needs Chromium: the program in `CHROMIUM`, else `chromium` on the path.

#![allow(clippy::disallowed_methods, reason = "the tests start a browser and write files")]

use std::process::{Command, Stdio};
use tandem_report::{
    Axis, Bars, Cell, Column, Estimate, Lane, Line, Lines, Mark, Page, Panel, Row, Section, Table, Timeline,
};
use units::Instant;

/// Renders a page; returns the document after its scripts have run.
fn render(html: &str) -> String {
    let browser = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let file = folder.path().join("page.html");
    std::fs::write(&file, html).expect("the page can be written");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--window-size=1280,2000", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .stderr(Stdio::null())
        .output()
        .expect("Chromium starts: set CHROMIUM or put chromium on the path");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// JSON written by the test's script into `<pre id="result">`.
fn result(dom: &str) -> serde_json::Value {
    let text = dom
        .split("<pre id=\"result\">")
        .nth(1)
        .unwrap_or_else(|| panic!("the script did not finish: {}", &dom[dom.len().saturating_sub(3000)..]));
    let text = text
        .split("</pre>")
        .next()
        .unwrap_or_default()
        .replace("&amp;", "&")
        .replace("&lt;", "<")
        .replace("&gt;", ">");
    serde_json::from_str(&text).expect("the result is JSON")
}

fn page() -> Page {
    let wave: Vec<f64> = (0..3000).map(|i| f64::from(i * 37 % 200) / 100.0).collect();
    let states = [(0, "Idle"), (20, "Promotion"), (21, "Active"), (80, "Tail"), (91, "Idle")];
    let changes: Vec<_> = states.iter().map(|(s, state)| (Instant::from_secs(*s), *state)).collect();
    let mut wide = Table::new("A table wider than a phone");
    let mut row = Row::default();
    for i in 0..12 {
        wide = wide.column(Column::number(format!("column {i}")).unit("Mbit/s"));
        row = row.cell(Cell::estimate(Estimate::new(1.5, 0.25), 3));
    }
    Page::new("A page for the browser").section(
        Section::new("All")
            .table(wide.row(row))
            .chart(
                Bars::new("bars", Axis::new("rate").unit("Mbit/s"))
                    .groups(["a", "b", "c", "d"])
                    .series("ours", [1.0, 2.0, 3.0, 4.0].map(Estimate::exact)),
            )
            .chart(
                Lines::new("lines", Axis::new("share").unit("%"), Axis::new("efficiency"))
                    .line(
                        Line::estimates(
                            "ours",
                            (0..26).map(|i| (f64::from(i) * 4.0, Estimate::new(f64::from(i), 0.5))),
                        )
                        .dots(),
                    )
                    .mark(Mark::vertical(24.0, "here")),
            )
            .chart(
                Timeline::new("time")
                    .panel(
                        Panel::new(Axis::new("rate").unit("Mbit/s"))
                            .line(Line::sampled("wifi", 0.0, 0.05, wave)),
                    )
                    .panel(
                        Panel::new(Axis::new("srtt"))
                            .line(Line::sampled("lte", 0.0, 1.0, vec![4.0; 150]).step()),
                    )
                    .lane(Lane::from_changes("lte", &changes, Instant::from_secs(150))),
            )
            .details("scenario", "a very long line ".repeat(40)),
    )
}

const DRIVE: &str = r"
const result = { errors: window.errors };
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const view = (figure) => figure.dataset.view ? figure.dataset.view.split(' ').map(Number) : null;
const drawing = (svg) => [...svg.querySelectorAll('[data-l],[data-s]')].map((p) => p.getAttribute('d')).join();
const report = () => {
  const pre = document.createElement('pre');
  pre.id = 'result';
  pre.textContent = JSON.stringify(result);
  document.body.append(pre);
};
(async () => {
  const figure = document.querySelector('figure.timeline'), svg = figure.querySelector('svg.wide');
  svg.scrollIntoView();
  const box = svg.getBoundingClientRect();
  const event = (Kind, type, part, more = {}) => svg.dispatchEvent(new Kind(type, {
    bubbles: true, cancelable: true, button: 0, pointerId: 1, pointerType: 'mouse',
    clientX: box.left + part * box.width, clientY: box.top + 60, ...more }));
  const before = drawing(svg);
  result.unfocused = event(WheelEvent, 'wheel', 0.5, { deltaY: -200 });
  result.still = view(figure);
  svg.focus();
  result.passed = event(WheelEvent, 'wheel', 0.5, { deltaY: -200 });
  result.wheel = view(figure);
  await frames();
  const zoomed = drawing(svg);
  result.redrawn = zoomed !== before;
  result.ticks = [...svg.querySelectorAll('.grid.x text')].map((t) => t.textContent);
  event(MouseEvent, 'dblclick', 0.5);
  result.reset = view(figure);
  await frames();
  const numbers = (d) => d.match(/[A-Za-z]|-?[0-9.]+/g).map((t) => isNaN(t) ? t : Number(t));
  const again = numbers(drawing(svg)), first = numbers(before);
  // Rust and JavaScript may round halves of a tenth of a pixel differently.
  result.restored = again.length === first.length && again.every((v, i) => v === first[i] || Math.abs(v - first[i]) < 0.11);
  event(PointerEvent, 'pointerdown', 0.3);
  event(PointerEvent, 'pointermove', 0.5);
  result.values = [...svg.querySelectorAll('[data-v]')].map((t) => t.textContent);
  event(PointerEvent, 'pointerup', 0.5);
  result.drag = view(figure);
  event(KeyboardEvent, 'keydown', 0, { key: 'Escape' });
  event(PointerEvent, 'pointerdown', 0.4, { pointerType: 'touch', pointerId: 1 });
  event(PointerEvent, 'pointerdown', 0.5, { pointerType: 'touch', pointerId: 2 });
  event(PointerEvent, 'pointermove', 0.7, { pointerType: 'touch', pointerId: 2 });
  event(PointerEvent, 'pointerup', 0.7, { pointerType: 'touch', pointerId: 2 });
  result.pinch = view(figure);
  const lines = document.querySelector('figure.lines'), plot = lines.querySelector('svg.wide');
  const lineBefore = drawing(plot);
  plot.focus();
  plot.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true }));
  result.lines = view(lines);
  await frames();
  result.linesRedrawn = drawing(plot) !== lineBefore;
  result.nan = document.querySelector('main').innerHTML.split('NaN').length - 1;
})().catch((error) => window.errors.push(String(error.stack))).then(report);
";

/// Collects script errors. `--dump-dom` paints no frames, so timers replace animation frames.
const WATCH: &str = "<script>window.errors = [];
window.requestAnimationFrame = (act) => setTimeout(act, 1);
window.addEventListener('error', (e) => window.errors.push(String(e.message)));
window.addEventListener('unhandledrejection', (e) => window.errors.push(String(e.reason)));
for (const kind of ['error', 'warn']) console[kind] = (...words) => window.errors.push(words.join(' '));
</script>";

#[test]
#[ignore = "needs chromium"]
fn needs_chromium_wheel_drag_pinch_and_keys_zoom_and_double_click_resets() {
    let html = page().to_html().replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("<script>{DRIVE}</script></body>"),
        1,
    );
    let result = result(&render(&html));
    let range = |key: &str| -> (f64, f64) {
        let ends = result[key].as_array().unwrap_or_else(|| panic!("{key}: {result}"));
        (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap())
    };
    assert_eq!(result["errors"].as_array().unwrap().len(), 0, "{result}");
    // A chart without focus does not capture the scroll wheel.
    assert_eq!(result["unfocused"], true);
    assert!(result["still"].is_null());
    assert_eq!(result["passed"], false);
    let (lo, hi) = range("wheel");
    assert!(lo > 0.0 && hi < 150.0 && hi - lo > 50.0, "{lo} {hi}");
    assert_eq!(result["redrawn"], true);
    assert_eq!(range("reset"), (0.0, 150.0));
    assert_eq!(result["restored"], true, "the script redraws the original view: {result}");
    let values: Vec<&str> =
        result["values"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    assert_eq!(values.len(), 3);
    assert!(values[0].parse::<f64>().is_ok() && values[1] == "4.0" && values[2] == "Tail", "{values:?}");
    let (lo, hi) = range("drag");
    assert!(lo > 20.0 && hi < 110.0 && hi - lo > 20.0, "{lo} {hi}");
    let (lo, hi) = range("pinch");
    assert!(hi - lo < 75.0, "{lo} {hi}");
    let (lo, hi) = range("lines");
    assert!(lo > 0.0 && hi < 100.0);
    assert_eq!(result["linesRedrawn"], true);
    assert_eq!(result["nan"], 0);
}

#[test]
#[ignore = "needs chromium"]
fn needs_chromium_phone_shows_narrow_drawings_without_overflow() {
    let inner = page().to_html().replace('&', "&amp;").replace('"', "&quot;");
    let html = format!(
        "<!doctype html><body style=\"margin:0\"><iframe style=\"border:0;width:390px;height:4000px\" srcdoc=\"{inner}\"></iframe>
        <script>addEventListener('load', () => {{
          const page = document.querySelector('iframe').contentDocument;
          const shown = (all) => [...page.querySelectorAll(all)].filter((e) => e.getClientRects().length).length;
          const fonts = [...page.querySelectorAll('svg.narrow')].map((svg) => 12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width);
          const scroll = page.querySelector('.scroll');
          const pre = document.createElement('pre');
          pre.id = 'result';
          pre.textContent = JSON.stringify({{ width: page.documentElement.scrollWidth, wide: shown('svg.wide'), narrow: shown('svg.narrow'),
            font: Math.min(...fonts), scrolls: scroll.scrollWidth > scroll.clientWidth }});
          document.body.append(pre);
        }});</script>"
    );
    let dom = render(&html);
    // The script's own source also contains the element.
    let dom =
        dom.rsplit_once("<pre id=\"result\">").map(|(_, tail)| format!("<pre id=\"result\">{tail}")).unwrap();
    let result = result(&dom);
    assert!(result["width"].as_f64().unwrap() <= 390.0, "{result}");
    assert_eq!((&result["wide"], &result["narrow"]), (&0.into(), &3.into()));
    assert!(result["font"].as_f64().unwrap() >= 11.0, "{result}");
    assert_eq!(result["scrolls"], true);
}

const SAVE: &str = r#"
const result = { errors: window.errors, saved: [] };
const blobs = [];
URL.createObjectURL = (blob) => { blobs.push(blob); return 'blob:test'; };
// Images and blobs are read in threads that the browser's virtual time does not wait for, so each of
// its milliseconds is made to last a few real ones until the result is complete.
let finished = false;
const wait = () => new Promise((done) => {
  for (let i = 0, x = 1; i < 3e6; i++) x = Math.sqrt(x + i);
  setTimeout(done, 1);
});
// Compression, in such a thread as well, would delay the test further.
HTMLCanvasElement.prototype.toBlob = function (act, type) {
  const text = atob(this.toDataURL(type).split(',')[1]);
  act(new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))], { type }));
};
HTMLAnchorElement.prototype.click = function () { result.saved.push({ name: this.download }); };
(async () => { while (!finished) await wait(); })();
const bytes = async (blob) => new Uint8Array(await blob.arrayBuffer());
(async () => {
  for (const button of document.querySelectorAll('.save button')) {
    const before = blobs.length;
    button.click();
    while (blobs.length === before) await wait();
  }
  result.figures = [...document.querySelectorAll('script[type="image/svg+xml"]')].map((s) => s.textContent);
  for (let i = 0; i < blobs.length; i++) {
    const data = await bytes(blobs[i]);
    const text = new TextDecoder('latin1').decode(data.slice(0, 24));
    Object.assign(result.saved[i], { type: blobs[i].type, start: text.slice(1, 4) });
    if (blobs[i].type === 'image/svg+xml') result.saved[i].text = await blobs[i].text();
    else result.saved[i].width = new DataView(data.buffer).getUint32(16);
  }
})().catch((error) => window.errors.push(String(error.stack))).then(() => {
  finished = true;
  const pre = document.createElement('pre');
  pre.id = 'result';
  pre.textContent = JSON.stringify(result);
  document.body.append(pre);
});
"#;

#[test]
#[ignore = "needs chromium"]
fn needs_chromium_buttons_save_each_chart_as_svg_and_png() {
    let html = page().to_html().replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("<script>{SAVE}</script></body>"),
        1,
    );
    let dom = render(&html);
    let (_, tail) = dom
        .rsplit_once("<pre id=\"result\">")
        .unwrap_or_else(|| panic!("the script did not finish: {}", &dom[dom.len().saturating_sub(2500)..]));
    let result = result(&format!("<pre id=\"result\">{tail}"));
    assert_eq!(result["errors"].as_array().unwrap().len(), 0, "{}", result["errors"]);
    let saved = result["saved"].as_array().unwrap();
    let names: Vec<&str> = saved.iter().map(|file| file["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["bars.svg", "bars.png", "lines.svg", "lines.png", "time.svg", "time.png"]);
    for (pair, figure) in saved.chunks(2).zip(result["figures"].as_array().unwrap()) {
        assert_eq!(pair[0]["text"], *figure);
        assert!(figure.as_str().unwrap().starts_with("<svg xmlns="));
        // 85 mm at 600 dots per inch; the browser rounds the size of the drawing to whole pixels.
        assert_eq!((&pair[1]["type"], &pair[1]["start"]), (&"image/png".into(), &"PNG".into()));
        let width = pair[1]["width"].as_f64().unwrap();
        assert!((width - 2008.0).abs() < 7.0, "{width}");
    }
}

const LOG_ZOOM: &str = r"
const result = { errors: window.errors };
const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
(async () => {
  const svg = document.querySelector('figure.lines svg.wide');
  const labels = () => [...svg.querySelectorAll('.grid.x text')].map((t) => t.textContent);
  svg.scrollIntoView();
  result.before = labels();
  svg.focus();
  const key = (name) => svg.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
  key('+');
  await frames();
  result.zoomed = labels();
  key('0');
  await frames();
  result.after = labels();
  const box = svg.getBoundingClientRect();
  const [left, right] = svg.dataset.x.split(' ').map(Number);
  const x = box.left + (left + right) / 2 * box.width / svg.viewBox.baseVal.width;
  svg.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: x, clientY: box.top + 60 }));
  result.cursor = svg.querySelector('.cursor text').textContent;
})().catch((error) => window.errors.push(String(error.stack))).then(() => {
  const pre = document.createElement('pre');
  pre.id = 'result';
  pre.textContent = JSON.stringify(result);
  document.body.append(pre);
});
";

#[test]
#[ignore = "needs chromium"]
fn needs_chromium_logarithmic_axis_keeps_its_labels_while_zoomed() {
    let chart =
        Lines::new("delay", Axis::new("delay").unit("ms").log().from(1.0).to(10_000.0), Axis::new("share"))
            .line(Line::cdf("a", [1.0, 3.0, 40.0, 10_000.0]))
            .line(Line::cdf("b", [2.0, 30.0, 400.0, 8000.0]));
    let html = Page::new("p").section(Section::new("s").chart(chart)).to_html();
    let html = html.replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("<script>{LOG_ZOOM}</script></body>"),
        1,
    );
    let dom = render(&html);
    let (_, tail) = dom.rsplit_once("<pre id=\"result\">").expect("the script finishes");
    let result = result(&format!("<pre id=\"result\">{tail}"));
    assert_eq!(result["errors"], serde_json::json!([]));
    assert_eq!(result["before"], serde_json::json!(["1", "10", "100", "1000", "10\u{2009}000"]));
    assert_eq!(result["zoomed"], serde_json::json!(["10", "20", "50", "100", "200", "500", "1000"]));
    assert_eq!(result["after"], result["before"]);
    // The middle of a logarithmic axis from 1 to 10000.
    let cursor = result["cursor"].as_str().unwrap();
    assert!(cursor.starts_with("100") && cursor.ends_with("ms"), "{cursor}");
}
