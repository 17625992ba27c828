//! Problems of a file, each with its position, the expected value and a hint.

use crate::shape::Shape;
use core::fmt;
use core::ops::Range;

/// A position in a file. Lines and columns count from 1, columns in characters, as in editors.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the file, as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Character within the line, from 1.
    pub column: usize,
}

/// One problem of a file, or of another file that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file that contains the problem.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Character within the line, from 1.
    pub column: usize,
    /// Position in bytes of the file's text.
    pub span: Range<usize>,
    /// Description of the problem.
    pub message: String,
    /// The valid values at this position.
    pub expected: Option<String>,
    /// A suggestion for a correction.
    pub hint: Option<String>,
    /// Position of the reference to `file`, if another file refers to it.
    pub referenced_at: Option<Place>,
    /// Text of the line, without its line break.
    pub line_text: String,
}

impl fmt::Display for Diagnostic {
    /// Several lines: the message, the position, the line of the file with a mark under the
    /// problem, then expectation and hint.
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
        if let Some(place) = &self.referenced_at {
            writeln!(f, "{gutter} = referenced at {}:{}:{}", place.file, place.line, place.column)?;
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
    /// The visible part of the line, and the start and length of the mark in it. A line of a
    /// damaged file may be megabytes long.
    fn window(&self) -> (String, usize, usize) {
        const CHARS_BEFORE_MARK: usize = 80;
        const MAX_CHARS: usize = 120;
        let at = self.column.saturating_sub(1);
        let skip = at.saturating_sub(CHARS_BEFORE_MARK);
        let shown: String = self
            .line_text
            .chars()
            .skip(skip)
            .take(MAX_CHARS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect::<String>()
            .trim_end()
            .to_owned();
        let length = shown.chars().count();
        let mark_at = (at - skip).min(length);
        // The mark has one character for each that the span covers on this line, at least one.
        let mut bytes_left = self.span.len();
        let mut mark = 0;
        for c in self.line_text.chars().skip(at) {
            if bytes_left == 0 {
                break;
            }
            bytes_left = bytes_left.saturating_sub(c.len_utf8());
            mark += 1;
        }
        (shown, mark_at, mark.clamp(1, (length - mark_at).max(1)))
    }
}

/// The reason why a single value cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// Description of the problem.
    pub message: String,
    /// The valid values; `None` for the general expectation of the value's shape.
    pub expected: Option<String>,
    /// A suggestion for a correction.
    pub hint: Option<String>,
}

impl Invalid {
    /// A problem without a hint, and with the general expectation of the shape.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), expected: None, hint: None }
    }
}

/// The text of a file with an index of its lines.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// Name of the file in messages.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Start of each line, in bytes.
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Indexes the lines of a file.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i + 1);
        Self { name, text, line_starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Line and column, both from 1, of a byte of the text.
    pub fn locate(&self, offset: usize) -> (usize, usize) {
        let offset = self.floor_char_boundary(offset);
        let line = self.line_starts.partition_point(|&start| start <= offset).max(1);
        let start = self.line_starts[line - 1];
        (line, self.text[start..offset].chars().filter(|&c| c != '\u{feff}').count() + 1)
    }

    /// Position of a byte of the text, with the name of the file.
    pub fn place(&self, offset: usize) -> Place {
        let (line, column) = self.locate(offset);
        Place { file: self.name.to_owned(), line, column }
    }

    /// Text of line `line`, from 1; empty beyond the end of the file.
    pub fn line(&self, line: usize) -> &'a str {
        let Some(&start) = line.checked_sub(1).and_then(|i| self.line_starts.get(i)) else { return "" };
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}')
    }

    /// Byte range of line `line`, from 1, without its line break.
    pub fn line_span(&self, line: usize) -> Range<usize> {
        let start =
            line.checked_sub(1).and_then(|i| self.line_starts.get(i)).copied().unwrap_or(self.text.len());
        let end = self.line_starts.get(line).copied().unwrap_or(self.text.len());
        start..start + self.text[start..end].trim_end_matches(['\n', '\r']).len()
    }

    /// A diagnostic at these bytes of the text.
    pub fn diagnostic(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        let start = self.floor_char_boundary(span.start);
        let end = self.floor_char_boundary(span.end.max(start));
        let (line, column) = self.locate(start);
        Diagnostic {
            file: self.name.to_owned(),
            line,
            column,
            span: start..end,
            message: message.into(),
            expected: None,
            hint: None,
            referenced_at: None,
            line_text: self.line(line).to_owned(),
        }
    }

    /// The last character boundary at or before `offset`.
    fn floor_char_boundary(&self, offset: usize) -> usize {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// The problems of one file found so far.
#[derive(Debug)]
pub struct Problems<'a> {
    /// The file.
    pub source: Source<'a>,
    /// Problems in the order in which they were found.
    pub found: Vec<Diagnostic>,
}

impl<'a> Problems<'a> {
    /// No problems yet.
    pub fn new(source: Source<'a>) -> Self {
        Self { source, found: Vec::new() }
    }

    /// Adds a problem; the caller can set its expectation and hint.
    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        let diagnostic = self.source.diagnostic(span, message);
        self.found.push(diagnostic);
        self.found.last_mut().expect("one was just pushed")
    }

    /// Adds a problem of a value of the given shape.
    pub fn report(&mut self, span: Range<usize>, invalid: Invalid, shape: &Shape) {
        let problem = self.add(span, invalid.message);
        problem.expected = Some(invalid.expected.unwrap_or_else(|| shape.expected()));
        problem.hint = invalid.hint;
    }

    /// Adds the problems of another file, which the value at `span` refers to.
    pub fn add_referenced(&mut self, span: &Range<usize>, found: Vec<Diagnostic>) {
        let place = self.source.place(span.start);
        self.found.extend(found.into_iter().map(|diagnostic| Diagnostic {
            referenced_at: diagnostic.referenced_at.or_else(|| Some(place.clone())),
            ..diagnostic
        }));
    }

    /// All problems, in the order of the file.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| match &d.referenced_at {
            Some(place) => (place.line, place.column, d.line),
            None => (d.line, d.column, 0),
        });
        self.found.dedup();
        self.found
    }
}

impl Diagnostic {
    /// Sets the valid values at this position.
    pub fn expected(&mut self, expected: impl Into<String>) -> &mut Self {
        self.expected = Some(expected.into());
        self
    }
    /// Sets the suggestion for a correction.
    pub fn hint(&mut self, hint: impl Into<String>) -> &mut Self {
        self.hint = Some(hint.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let source = Source::new("f", "a\nµs = 1\r\n\nend");
        assert_eq!(source.locate(0), (1, 1));
        assert_eq!(source.locate(2), (2, 1));
        assert_eq!(source.locate(4), (2, 2), "µ is two bytes and one column");
        assert_eq!(source.locate(3), (2, 1), "an offset inside a character is its start");
        assert_eq!(source.locate(999), (4, 4));
        assert_eq!(source.line(2), "µs = 1");
        assert_eq!(source.line(3), "");
        assert_eq!(source.line(9), "");
        assert_eq!(&source.text[source.line_span(2)], "µs = 1");
    }

    #[test]
    fn mark_is_under_the_span() {
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
    fn long_line_is_shown_in_part() {
        let text = "x".repeat(1_000_000);
        let shown = Source::new("s", &text).diagnostic(500_000..500_003, "odd").to_string();
        assert!(shown.len() < 500);
        assert!(shown.contains(&format!("{}^^^\n", " ".repeat(80))));
    }
}
