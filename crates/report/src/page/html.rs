//! Page as HTML.

use super::{Block, Page, Section};
use crate::html::{escape, is_link_target, render_inline, slug};
use core::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
/// Text of the only script element that a page runs, for a policy that allows it by its hash.
pub const PAGE_SCRIPT: &str = concat!("\n", include_str!("script.js"));

/// Hatch patterns of the charts, which distinguish fills without colour.
const HATCH_PATTERNS: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>\
<pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path d=\"M0 0V5\" style=\"stroke:var(--quiet);stroke-width:2.4\"/></pattern>\
<pattern id=\"hatch-tail\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
<path d=\"M0 0V4\" style=\"stroke:var(--tail);stroke-width:4.6\"/></pattern>\
<pattern id=\"hatch-promotion\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(-45)\">\
<path d=\"M0 0V4\" style=\"stroke:var(--promotion);stroke-width:6\"/></pattern>\
</defs></svg>\n";

pub(super) fn page(page: &Page) -> String {
    let anchors = anchors(page);
    let mut out = String::with_capacity(1 << 16);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{HATCH_PATTERNS}<div class=\"page\">\n\
         <header>\n<h1>{title}</h1>\n",
        title = escape(&page.title)
    );
    for paragraph in &page.lead {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", render_inline(paragraph));
    }
    out.push_str("</header>\n");
    if page.sections.len() > 1 {
        out.push_str("<nav aria-label=\"Contents\"><ol>\n");
        for (section, anchor) in page.sections.iter().zip(&anchors) {
            let _ = writeln!(out, "<li><a href=\"#{anchor}\">{}</a></li>", escape(&section.heading));
        }
        out.push_str("</ol></nav>\n");
    }
    out.push_str("<main>\n");
    let mut charts = 0;
    for (section, anchor) in page.sections.iter().zip(&anchors) {
        let _ = writeln!(out, "<section>\n<h2 id=\"{anchor}\">{}</h2>", escape(&section.heading));
        for block in &section.blocks {
            write_block(&mut out, block, &mut charts);
        }
        out.push_str("</section>\n");
    }
    if !page.footer.is_empty() {
        let _ = writeln!(out, "<footer>{}</footer>", render_inline(&page.footer));
    }
    let _ = write!(out, "</main>\n</div>\n<script>{PAGE_SCRIPT}</script>\n</body>\n</html>\n");
    out
}

/// Anchors of the sections, made unique by a number.
fn anchors(page: &Page) -> Vec<String> {
    let anchor =
        |section: &Section| slug(if section.anchor.is_empty() { &section.heading } else { &section.anchor });
    unique(page.sections.iter().map(anchor))
}

/// Makes names unique: a repeated one gets the suffix `-2`, `-3`, ….
pub(super) fn unique(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for base in names {
        let mut name = base.clone();
        let mut count = 2;
        while unique.contains(&name) {
            name = format!("{base}-{count}");
            count += 1;
        }
        unique.push(name);
    }
    unique
}

fn write_block(out: &mut String, block: &Block, charts: &mut usize) {
    let _ = match block {
        Block::Prose(text) => writeln!(out, "<p>{}</p>", render_inline(text)),
        Block::Heading(text) => writeln!(out, "<h3>{}</h3>", escape(text)),
        Block::List(points) => {
            out.push_str("<ul>\n");
            for point in points {
                let _ = writeln!(out, "<li>{}</li>", render_inline(point));
            }
            writeln!(out, "</ul>")
        }
        Block::Facts(facts) => {
            out.push_str("<dl>\n");
            for (name, value) in facts {
                let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), render_inline(value));
            }
            writeln!(out, "</dl>")
        }
        Block::Table(table) => writeln!(out, "{}", table.to_html()),
        Block::Charts(list) => {
            let many = if list.len() > 1 { " many" } else { "" };
            let _ = writeln!(out, "<div class=\"charts{many}\">");
            for chart in list {
                *charts += 1;
                out.push_str(&chart.to_html(&format!("c{charts}")));
            }
            writeln!(out, "</div>")
        }
        Block::Post { path, label } => {
            let path = if path.starts_with('/') && is_link_target(path) { path } else { "" };
            writeln!(
                out,
                "<form method=\"post\" action=\"{}\"><button class=\"post\">{}</button></form>",
                escape(path),
                escape(label)
            )
        }
        Block::Details { summary, text } => {
            writeln!(
                out,
                "<details><summary>{}</summary><pre>{}</pre></details>",
                escape(summary),
                escape(text)
            )
        }
    };
}
