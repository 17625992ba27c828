//! The description of a file: tables, keys and the shapes of values.

use crate::value_type::ValueType;

/// A set of keys.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name in messages, with its article: "a path".
    pub name: &'static str,
    /// Documentation; one or more sentences.
    pub doc: &'static str,
    /// The keys that may be in it.
    pub keys: &'static [Key],
    /// Keys of which exactly one must be given; empty for no such rule.
    pub one_of: &'static [&'static str],
}

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Name as written.
    pub name: &'static str,
    /// The values that it takes.
    pub shape: Shape,
    /// Whether it may be absent, and the value that applies then.
    pub need: Need,
    /// Documentation; one line.
    pub doc: &'static str,
    /// A realistic value, as TOML.
    pub example: &'static str,
}

/// Meaning of an absent key.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// The key must be given.
    Required,
    /// This value applies, written as TOML.
    Default(&'static str),
    /// No value; the text describes the behaviour for the documentation.
    Absent(&'static str),
}

/// The values that a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A number from 0 to 1.
    Probability,
    /// A number from `min` to `max`, both included.
    Number {
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// An integer from `min` to `max`, both included; `i64::MAX` for no upper bound.
    Integer {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// Letters, digits, `-` and `_`, at most 64 of them: usable as a part of column names.
    Name,
    /// Path of a file, relative to the folder of the file that is read.
    File,
    /// One of these words.
    Choice(&'static [Choice]),
    /// A type defined by the user of this crate.
    Custom(&'static dyn ValueType),
    /// An array with `min` to `max` entries; `usize::MAX` for no upper bound.
    List {
        /// Shape of each entry.
        of: &'static Shape,
        /// Fewest entries.
        min: usize,
        /// Most entries.
        max: usize,
    },
    /// An array of exactly these entries, each with a name for messages.
    Tuple(&'static [(&'static str, Shape)]),
    /// `[name]`, or an inline table.
    Table(&'static Table),
    /// `[[name]]`, at least once where the key is given.
    Tables(&'static Table),
    /// A table read as `with` if it contains `key`, and as `without` otherwise.
    TableByKey {
        /// The key that decides.
        key: &'static str,
        /// Description of a table with that key.
        with: &'static Table,
        /// Description of a table without it.
        without: &'static Table,
    },
    /// Either of two.
    Or(&'static Shape, &'static Shape),
}

/// One word of a [`Shape::Choice`].
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// Name as written.
    pub name: &'static str,
    /// Documentation; part of a sentence.
    pub doc: &'static str,
}

impl Choice {
    /// A word with its documentation.
    pub const fn new(name: &'static str, doc: &'static str) -> Self {
        Self { name, doc }
    }
}

impl Table {
    /// The name without its article, in lower case and with `-` for spaces, for links.
    pub fn id(&self) -> String {
        let name = ["a ", "an ", "the "].iter().find_map(|a| self.name.strip_prefix(a)).unwrap_or(self.name);
        name.to_lowercase().replace(' ', "-")
    }
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
    /// Names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|k| k.name).collect()
    }
    /// This table and every table reachable from it, each once, in breadth-first order.
    pub fn with_inner(&'static self) -> Vec<&'static Self> {
        let mut all = vec![self];
        let mut next = 0;
        while let Some(table) = all.get(next).copied() {
            for inner in table.keys.iter().flat_map(|key| key.shape.tables()) {
                if !all.iter().any(|known| core::ptr::eq(*known, inner)) {
                    all.push(inner);
                }
            }
            next += 1;
        }
        all
    }
}

impl Shape {
    /// The expected value as a phrase: "a number from 0 to 1".
    pub fn expected(&self) -> String {
        match self {
            Self::Probability => "a number from 0 to 1".to_owned(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Integer { min, max: i64::MAX } => format!("an integer of at least {min}"),
            Self::Integer { min, max } => format!("an integer from {min} to {max}"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Text => "text in quotes".to_owned(),
            Self::Name => "a name in quotes, of letters, digits, `-` and `_`".to_owned(),
            Self::File => "the path of a file, in quotes".to_owned(),
            Self::Choice(choices) => one_of(&choices.iter().map(|c| c.name).collect::<Vec<_>>()),
            Self::Custom(value_type) => value_type.expected(),
            Self::List { of, min, .. } => {
                let at_least = if *min == 0 { String::new() } else { format!(" of at least {min}") };
                format!("a list{at_least} in brackets; each entry: {}", of.expected())
            }
            Self::Tuple(parts) => {
                let names = parts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                format!("[{names}], such as `{}`", self.sample())
            }
            Self::Table(table) => format!("a table with {}", list(&table.names())),
            Self::Tables(table) => {
                format!("a table in double brackets for {}", table.name.replacen("a ", "each ", 1))
            }
            Self::TableByKey { key, without, .. } => {
                format!("a table with `{key}`, or with the keys of {}", without.name)
            }
            Self::Or(a, b) => format!("{}, or {}", a.expected(), b.expected()),
        }
    }

    /// A value of this shape, as TOML, for messages.
    pub fn sample(&self) -> String {
        match self {
            Self::Probability | Self::Number { .. } => "0.01".to_owned(),
            Self::Integer { min, .. } => min.to_string(),
            Self::Flag => "true".to_owned(),
            Self::Text | Self::Name => "\"wifi\"".to_owned(),
            Self::File => "\"trace.csv\"".to_owned(),
            Self::Choice(choices) => format!("\"{}\"", choices.first().map_or("", |c| c.name)),
            Self::Custom(value_type) => value_type.example(),
            Self::List { of, .. } => format!("[{}]", of.sample()),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|(_, shape)| shape.sample()).collect();
                format!("[{}]", parts.join(", "))
            }
            Self::Table(_) | Self::Tables(_) | Self::TableByKey { .. } => "{ }".to_owned(),
            Self::Or(a, _) => a.sample(),
        }
    }

    /// The tables that a value of this shape may contain directly.
    pub fn tables(&self) -> Vec<&'static Table> {
        match self {
            Self::Table(table) | Self::Tables(table) => vec![table],
            Self::TableByKey { with, without, .. } => vec![with, without],
            Self::List { of, .. } => of.tables(),
            Self::Or(a, b) => [a.tables(), b.tables()].concat(),
            _ => Vec::new(),
        }
    }

    /// The words of a choice inside this shape.
    pub fn choices(&self) -> Option<&'static [Choice]> {
        match self {
            Self::Choice(choices) => Some(choices),
            Self::Or(a, b) => a.choices().or_else(|| b.choices()),
            _ => None,
        }
    }
}

/// "`a`, `b` or `c`".
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// "one of `a`, `b` or `c`", or just "`a`".
pub fn one_of(names: &[&str]) -> String {
    if names.len() == 1 { list(names) } else { format!("one of {}", list(names)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_english() {
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(one_of(&["a"]), "`a`");
        assert_eq!(one_of(&["a", "b"]), "one of `a` or `b`");
    }
}
