//! What is wrong with a file, where, and what would be right.

use core::fmt;
use core::ops::Range;

/// A place in a file, as an editor counts: lines from 1, columns from 1 in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file's name, as it was given.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The character within the line, from 1.
    pub column: usize,
}

/// One problem of a file, or of another that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file that is wrong: the scenario, or a trace or profile that it names.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The character within the line, from 1.
    pub column: usize,
    /// Where it is, in bytes of the file's text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What would have been right there.
    pub expected: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where the scenario asked for `file`, if that is another file.
    pub asked_at: Option<Place>,
    /// The text of the line, without its end.
    pub line_text: String,
}

impl fmt::Display for Diagnostic {
    /// Several lines: the message, the place, the line with a mark under it, then what was expected
    /// and the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, "{gutter}--> {}:{}:{}", self.file, self.line, self.column)?;
        let (shown, mark_at, mark) = self.window();
        if !shown.is_empty() {
            writeln!(f, "{gutter} |")?;
            writeln!(f, "{number} | {shown}")?;
            writeln!(f, "{gutter} | {}{}", " ".repeat(mark_at), "^".repeat(mark))?;
        }
        if let Some(place) = &self.asked_at {
            writeln!(f, "{gutter} = asked for at {}:{}:{}", place.file, place.line, place.column)?;
        }
        if let Some(expected) = &self.expected {
            writeln!(f, "{gutter} = expected: {expected}")?;
        }
        if let Some(hint) = &self.hint {
            writeln!(f, "{gutter} = hint: {hint}")?;
        }
        Ok(())
    }
}

impl Diagnostic {
    /// The part of the line that is shown, where the mark begins in it, and how long it is: a line of
    /// a damaged file may be megabytes.
    fn window(&self) -> (String, usize, usize) {
        const BEFORE: usize = 80;
        const WIDTH: usize = 120;
        let at = self.column.saturating_sub(1);
        let skip = at.saturating_sub(BEFORE);
        let shown: String = self
            .line_text
            .chars()
            .skip(skip)
            .take(WIDTH)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect::<String>()
            .trim_end()
            .to_owned();
        let length = shown.chars().count();
        let mark_at = (at - skip).min(length);
        // Characters of this line that the span covers; at least one mark.
        let mut left = self.span.len();
        let mut mark = 0;
        for c in self.line_text.chars().skip(at) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(c.len_utf8());
            mark += 1;
        }
        (shown, mark_at, mark.clamp(1, (length - mark_at).max(1)))
    }
}

/// The text of one file, with its lines counted.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// What messages call the file.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
    /// Where each line begins, in bytes.
    lines: Vec<usize>,
}

impl<'a> Source<'a> {
    /// The file of that name with that text.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i + 1);
        Self { name, text, lines: std::iter::once(0).chain(ends).collect() }
    }

    /// The line and the column, both from 1, of a byte of the text.
    pub fn locate(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor(offset);
        let line = self.lines.partition_point(|&start| start <= offset).max(1);
        let start = self.lines[line - 1];
        (line, self.text[start..offset].chars().filter(|&c| c != '\u{feff}').count() + 1)
    }

    /// The same as a place that can be named.
    pub fn place(&self, offset: usize) -> Place {
        let (line, column) = self.locate(offset);
        Place { file: self.name.to_owned(), line, column }
    }

    /// The text of line `line`, from 1; empty beyond the end.
    pub fn line(&self, line: usize) -> &'a str {
        let Some(&start) = line.checked_sub(1).and_then(|i| self.lines.get(i)) else { return "" };
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}')
    }

    /// The bytes of line `line`, from 1, without its end.
    pub fn line_span(&self, line: usize) -> Range<usize> {
        let start = line.checked_sub(1).and_then(|i| self.lines.get(i)).copied().unwrap_or(self.text.len());
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        start..start + self.text[start..end].trim_end_matches(['\n', '\r']).len()
    }

    /// A problem at these bytes of the text.
    pub fn diagnostic(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let start = self.floor(span.start);
        let end = self.floor(span.end.max(start));
        let (line, column) = self.locate(start);
        Diagnostic {
            file: self.name.to_owned(),
            line,
            column,
            span: start..end,
            message: message.into(),
            expected: None,
            hint: None,
            asked_at: None,
            line_text: self.line(line).to_owned(),
        }
    }

    /// The last beginning of a character at or before `offset`.
    fn floor(&self, offset: usize) -> usize {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// Where problems are gathered: all of a file's, not only the first.
#[derive(Debug)]
pub struct Problems<'a> {
    /// The file that they are of.
    pub source: Source<'a>,
    /// Those found so far.
    pub found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    /// None yet.
    pub fn new(source: Source<'a>) -> Self {
        Self { source, found: Vec::new() }
    }

    /// Notes a problem; the result can be given an expectation and a hint.
    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        let diagnostic = self.source.diagnostic(span, message);
        self.found.push(diagnostic);
        self.found.last_mut().expect("one was just pushed")
    }

    /// All problems, in the order of the file.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| match &d.asked_at {
            Some(place) => (place.line, place.column, d.line),
            None => (d.line, d.column, 0),
        });
        self.found.dedup();
        self.found
    }
}

impl Diagnostic {
    /// Says what would have been right there.
    pub fn expected(&mut self, what: impl Into<String>) -> &mut Self {
        self.expected = Some(what.into());
        self
    }
    /// Says what to do about it.
    pub fn hint(&mut self, what: impl Into<String>) -> &mut Self {
        self.hint = Some(what.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let source = Source::new("f", "a\nµs = 1\r\n\nend");
        assert_eq!(source.locate(0), (1, 1));
        assert_eq!(source.locate(2), (2, 1));
        assert_eq!(source.locate(4), (2, 2), "µ is two bytes and one column");
        assert_eq!(source.locate(3), (2, 1), "inside a character is that character");
        assert_eq!(source.locate(999), (4, 4));
        assert_eq!(source.line(2), "µs = 1");
        assert_eq!(source.line(3), "");
        assert_eq!(source.line(9), "");
        assert_eq!(&source.text[source.line_span(2)], "µs = 1");
    }

    #[test]
    fn the_mark_stands_under_what_is_wrong() {
        let text = "delay = 5 # far too little is known";
        let mut d = Source::new("s.toml", text).diagnostic(8..9, "no unit");
        d.expected("a time").hint("write `\"5ms\"`");
        assert_eq!(
            d.to_string(),
            "error: no unit\n --> s.toml:1:9\n  |\n1 | delay = 5 # far too little is known\n  |         ^\n  \
             = expected: a time\n  = hint: write `\"5ms\"`\n"
        );
    }

    #[test]
    fn a_line_of_a_megabyte_is_shown_in_part() {
        let text = "x".repeat(1_000_000);
        let shown = Source::new("s", &text).diagnostic(500_000..500_003, "odd").to_string();
        assert!(shown.len() < 500);
        assert!(shown.contains(&format!("{}^^^\n", " ".repeat(80))));
    }
}
