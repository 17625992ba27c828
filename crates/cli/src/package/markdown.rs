//! The Markdown of a generated reference as parts of a manual page.

use clap_mangen::roff::{Inline, Roff, bold, roman};

/// Adds headings, paragraphs, lists and tables. A row of a table becomes a tagged paragraph: its first
/// cell is the tag, and the last cell the text. The title and comments are left out.
pub(super) fn add(page: &mut Roff, markdown: &str) {
    let mut columns: Vec<String> = Vec::new();
    let mut is_comment = false;
    let mut has_text = false;
    let mut begins_paragraph = false;
    for line in markdown.lines() {
        is_comment |= line.starts_with("<!--");
        if is_comment {
            is_comment = !line.ends_with("-->");
            continue;
        }
        if line.is_empty() {
            columns.clear();
            begins_paragraph = has_text;
            continue;
        }
        has_text = true;
        if let Some(heading) = line.strip_prefix("## ") {
            page.control("SH", [plain(heading).as_str()]);
            has_text = false;
        } else if line.starts_with("# ") || line.starts_with("|---") {
            has_text = false;
        } else if line.starts_with('|') {
            let cells = cells(line);
            if columns.is_empty() { columns = cells } else { add_row(page, &columns, &cells) }
        } else if let Some(item) = line.strip_prefix("- ") {
            page.control("IP", ["\\(bu", "2"]).text(inlines(item));
        } else {
            if begins_paragraph {
                page.control("PP", []);
            }
            page.text(inlines(line.trim_start()));
        }
        begins_paragraph = false;
    }
}

fn add_row(page: &mut Roff, columns: &[String], cells: &[String]) {
    let [tag, middle @ .., text] = cells else { return };
    page.control("TP", []).text([bold(plain(tag))]);
    for (column, cell) in columns.iter().skip(1).zip(middle) {
        let text = if cell == "**required**" { "Required".to_owned() } else { format!("{column}: {cell}") };
        page.text([inlines(&text), vec![roman(".")]].concat());
    }
    page.text(inlines(text));
}

/// The cells of a row of a table, in which `\|` stands for a bar.
fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{1}");
    row.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// Text with its code in bold.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    let inline = |(index, part): (usize, &str)| match index % 2 {
        0 => roman(plain(part)),
        _ => bold(part),
    };
    parts.filter(|(_, part)| !part.is_empty()).map(inline).collect()
}

/// Text without marks of emphasis and code, and with links reduced to their text.
fn plain(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, link)) = rest.split_once('[') {
        let Some((shown, after)) = link
            .split_once("](")
            .and_then(|(shown, target)| target.split_once(')').map(|(_, after)| (shown, after)))
        else {
            break;
        };
        out += before;
        out += shown;
        rest = after;
    }
    (out + rest).replace("**", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_lists_and_links_become_paragraphs() {
        let mut page = Roff::new();
        let markdown = "# Title\n\n<!-- a\nb -->\n\nThe **file**,\nsee [units](#units).\n\n## Top of `x`\n\n\
                        | Key | Value | Meaning |\n|---|---|---|\n| `a` | `1 \\| 2` | A [table](#t). |\n\n- `b`: c\n";
        add(&mut page, markdown);
        let expected = "The file,\nsee units.\n.SH \"Top of x\"\n.TP\n\\fBa\\fR\nValue: \\fB1 | 2\\fR.\nA table.\n\
                        .IP \\(bu 2\n\\fBb\\fR: c\n";
        assert_eq!(page.to_roff(), expected);
    }
}
