//! HTML escaping, inline markup and anchors.

use core::fmt::Write as _;

/// Escapes text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' | '\r' => out.push(c),
            // HTML allows no other control characters.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes inline markup in a text from an external source.
/// [`Section::prose`](crate::Section::prose) shows the result as the original text.
pub fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '`' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Renders inline markup as HTML: `*emphasis*`, `**strong**`, `` `code` ``, `[text](#anchor)`,
/// `[text](/path)` and `[text](https://…)`. A backslash escapes the next character. Unpaired
/// delimiters and links with another kind of target are shown as text.
pub(crate) fn render_inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    // An opening `*` must not follow a letter or a digit, so that `2*3*4` is shown as text.
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        // The text after the markup, if `c` starts any.
        let tail = match c {
            '\\' => after.chars().next().filter(char::is_ascii_punctuation).map(|next| {
                out.push_str(&escape(&next.to_string()));
                &after[1..]
            }),
            '`' => after.split_once('`').filter(|(code, _)| !code.is_empty()).map(|(code, tail)| {
                out.push_str("<code>");
                out.push_str(&escape(code));
                out.push_str("</code>");
                tail
            }),
            '*' if !previous.is_alphanumeric() => {
                write_span(rest, "**", "strong", &mut out).or_else(|| write_span(rest, "*", "em", &mut out))
            }
            '[' => write_link(after, &mut out),
            _ => None,
        };
        rest = tail.unwrap_or_else(|| {
            out.push_str(&escape(&c.to_string()));
            after
        });
        previous = c;
    }
    out
}

/// Removes inline markup, for plain-text output.
pub(crate) fn strip_markup(text: &str) -> String {
    let html = render_inline(text);
    let mut out = String::with_capacity(html.len());
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// Anchor of a text: lower-case letters and digits joined by hyphens. Never empty.
pub(crate) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "part".to_owned() } else { out.to_owned() }
}

/// Writes a span between two delimiters; returns the text after it.
fn write_span<'a>(rest: &'a str, delimiter: &str, tag: &str, out: &mut String) -> Option<&'a str> {
    let (body, tail) = rest.strip_prefix(delimiter)?.split_once(delimiter)?;
    if body.is_empty() || body.starts_with(char::is_whitespace) || body.ends_with(char::is_whitespace) {
        return None;
    }
    let _ = write!(out, "<{tag}>{}</{tag}>", render_inline(body));
    Some(tail)
}

/// Returns true for an allowed link target: an anchor, a path on the page's own server, or an
/// HTTPS URL.
pub(crate) fn is_link_target(target: &str) -> bool {
    // `//host` and `/\\host`, which browsers treat alike, name another server.
    let path = target.starts_with('/') && !target.starts_with("//") && !target.contains('\\');
    path || target.starts_with('#') || target.starts_with("https://")
}

/// Writes a link; returns the text after it.
fn write_link<'a>(after: &'a str, out: &mut String) -> Option<&'a str> {
    let (label, rest) = after.split_once("](")?;
    let (target, tail) = rest.split_once(')')?;
    if label.contains(['[', ']']) || !is_link_target(target) {
        return None;
    }
    let _ = write!(out, "<a href=\"{}\">{}</a>", escape(target), render_inline(label));
    Some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_rendered_and_other_text_escaped() {
        assert_eq!(render_inline("a *b* **c** `d<e`"), "a <em>b</em> <strong>c</strong> <code>d&lt;e</code>");
        assert_eq!(render_inline("[Fig. 4](#fig-4) & <b>"), "<a href=\"#fig-4\">Fig. 4</a> &amp; &lt;b&gt;");
        assert_eq!(render_inline("2*3*4, a * b * c, `open"), "2*3*4, a * b * c, `open");
        assert_eq!(render_inline("[x](javascript:alert(1))"), "[x](javascript:alert(1))");
        assert_eq!(render_inline("[x](/a/b?c)"), "<a href=\"/a/b?c\">x</a>");
        for other in ["[x](//evil)", "[x](/\\\\evil)", "[x](evil)"] {
            assert!(!render_inline(other).contains("href"), "{other}");
        }
        assert_eq!(render_inline("[x](https://a/\"onclick=)"), "<a href=\"https://a/&quot;onclick=\">x</a>");
    }

    #[test]
    fn literal_text_is_shown_unchanged() {
        for text in ["*a* `b` [c](#d) \\e", "<script>", "**", "a\\"] {
            assert_eq!(render_inline(&literal(text)), escape(text));
        }
    }

    #[test]
    fn strip_markup_keeps_only_the_text() {
        assert_eq!(strip_markup("*a* `<b>` & [c](#d)"), "a <b> & c");
    }

    #[test]
    fn slug_is_lower_case_and_never_empty() {
        assert_eq!(slug("Fig. 4: Energy & share"), "fig-4-energy-share");
        assert_eq!(slug("<>"), "part");
    }
}
