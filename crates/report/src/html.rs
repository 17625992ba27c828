//! Escaping, inline markup and anchors.

use core::fmt::Write as _;

/// Text made safe inside an element or a quoted attribute.
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
            // Control characters are not allowed in HTML at all.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Protects a text that comes from elsewhere from being read as inline markup: what `literal` returns
/// is shown by [`Section::prose`](crate::Section::prose) as the text itself.
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

/// Inline markup to HTML: `*emphasis*`, `**strong**`, `` `code` ``, `[text](#anchor)`,
/// `[text](/path)` and `[text](https://…)`; a backslash takes the meaning from the character after it. A sign without its
/// partner stands for itself, and so does a link to anything else.
pub(crate) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    // The sign before an opening `*` must not be a letter or a digit, so that `2*3*4` stays itself.
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let taken = match c {
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
                span(rest, "**", "strong", &mut out).or_else(|| span(rest, "*", "em", &mut out))
            }
            '[' => link(after, &mut out),
            _ => None,
        };
        rest = taken.unwrap_or_else(|| {
            out.push_str(&escape(&c.to_string()));
            after
        });
        previous = c;
    }
    out
}

/// The same with the signs taken away: for a terminal.
pub(crate) fn unmark(text: &str) -> String {
    let html = inline(text);
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

/// Lower-case letters and digits joined by hyphens: an anchor. Never empty.
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

fn span<'a>(rest: &'a str, sign: &str, tag: &str, out: &mut String) -> Option<&'a str> {
    let (body, tail) = rest.strip_prefix(sign)?.split_once(sign)?;
    if body.is_empty() || body.starts_with(char::is_whitespace) || body.ends_with(char::is_whitespace) {
        return None;
    }
    let _ = write!(out, "<{tag}>{}</{tag}>", inline(body));
    Some(tail)
}

/// Whether a link may go there: an anchor, a path on the server that the page came from, or a site.
pub(crate) fn leads(target: &str) -> bool {
    // Two slashes, or one of which a browser makes two, would name another server.
    let path = target.starts_with('/') && !target.starts_with("//") && !target.contains('\\');
    path || target.starts_with('#') || target.starts_with("https://")
}

fn link<'a>(after: &'a str, out: &mut String) -> Option<&'a str> {
    let (label, rest) = after.split_once("](")?;
    let (target, tail) = rest.split_once(')')?;
    if label.contains(['[', ']']) || !leads(target) {
        return None;
    }
    let _ = write!(out, "<a href=\"{}\">{}</a>", escape(target), inline(label));
    Some(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_read_and_everything_else_is_escaped() {
        assert_eq!(inline("a *b* **c** `d<e`"), "a <em>b</em> <strong>c</strong> <code>d&lt;e</code>");
        assert_eq!(inline("[Fig. 4](#fig-4) & <b>"), "<a href=\"#fig-4\">Fig. 4</a> &amp; &lt;b&gt;");
        assert_eq!(inline("2*3*4, a * b * c, `open"), "2*3*4, a * b * c, `open");
        assert_eq!(inline("[x](javascript:alert(1))"), "[x](javascript:alert(1))");
        assert_eq!(inline("[x](/a/b?c)"), "<a href=\"/a/b?c\">x</a>");
        for elsewhere in ["[x](//evil)", "[x](/\\\\evil)", "[x](evil)"] {
            assert!(!inline(elsewhere).contains("href"), "{elsewhere}");
        }
        assert_eq!(inline("[x](https://a/\"onclick=)"), "<a href=\"https://a/&quot;onclick=\">x</a>");
    }

    #[test]
    fn a_literal_is_shown_as_it_is() {
        for text in ["*a* `b` [c](#d) \\e", "<script>", "**", "a\\"] {
            assert_eq!(inline(&literal(text)), escape(text));
        }
    }

    #[test]
    fn a_terminal_sees_the_words_alone() {
        assert_eq!(unmark("*a* `<b>` & [c](#d)"), "a <b> & c");
    }

    #[test]
    fn anchors_are_plain() {
        assert_eq!(slug("Fig. 4: Energy & share"), "fig-4-energy-share");
        assert_eq!(slug("<>"), "part");
    }
}
