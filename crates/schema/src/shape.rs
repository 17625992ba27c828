//! The words in which the file's shape is described.
//!
//! Whoever has a file to read writes such a description. Reading and messages, and where they are wanted a
//! schema and the documentation, all come from it, so none of them can disagree.

/// A set of keys.
#[derive(Debug)]
pub struct Table {
    /// What the table is called in messages: "a path".
    pub name: &'static str,
    /// What it describes; one or more sentences.
    pub doc: &'static str,
    /// What may stand in it.
    pub keys: &'static [Key],
    /// Exactly one of these keys must be there; none where it is empty.
    pub one_of: &'static [&'static str],
}

/// One key of a table.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What may stand as its value.
    pub shape: Shape,
    /// What it means where it is not there.
    pub need: Need,
    /// One line.
    pub doc: &'static str,
    /// A realistic value, as TOML.
    pub example: &'static str,
}

/// What an absent key means.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// It may not be absent.
    Required,
    /// This value, as TOML.
    Default(&'static str),
    /// What is said here.
    Absent(&'static str),
}

/// What may stand as a value.
#[derive(Debug)]
pub enum Shape {
    /// A number with its unit, in quotes.
    Quantity(Quantity, Least),
    /// A number from 0 to 1.
    Probability,
    /// A number from `min` to `max`.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A whole number from `min` to `max`.
    Integer {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// Letters, digits, `-` and `_`: it becomes a part of column names.
    Name,
    /// The path of a file, relative to the scenario's folder.
    File,
    /// One of these words.
    Choice(&'static [Choice]),
    /// A radio profile's name.
    Radio,
    /// A queue's limit: packets, bytes, time or `unlimited`.
    Queue,
    /// As many of `of` as `min` to `max`.
    List {
        /// What each entry is.
        of: &'static Shape,
        /// The fewest entries.
        min: usize,
        /// The most entries.
        max: usize,
    },
    /// Exactly these, in this order; each with its name.
    Tuple(&'static [(&'static str, Shape)]),
    /// `[name]`, or keys in braces.
    Table(&'static Table),
    /// `[[name]]`, once or more, or never.
    Tables(&'static Table),
    /// Either of two.
    Or(&'static Shape, &'static Shape),
    /// A table whose keys are described elsewhere; the text says where.
    Free(&'static str),
}

/// One word of a [`Shape::Choice`].
#[derive(Debug)]
pub struct Choice {
    /// As it is written.
    pub name: &'static str,
    /// What it means; part of a sentence.
    pub doc: &'static str,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A span of time.
    Time,
    /// Bits a second.
    Rate,
    /// An amount of data.
    Size,
    /// Watts.
    Power,
    /// Joules.
    Energy,
}

/// The smallest that will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// None at all will do.
    Zero,
    /// Some must be there.
    AboveZero,
}

impl Quantity {
    /// The word in messages: "a time".
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Size => "a size",
            Self::Power => "a power",
            Self::Energy => "an energy",
        }
    }
    /// As `units` reads it.
    pub fn example(self) -> &'static str {
        match self {
            Self::Time => "5ms",
            Self::Rate => "2Mbps",
            Self::Size => "64KiB",
            Self::Power => "1060mW",
            Self::Energy => "300J",
        }
    }
    /// Above this a number is a slip; and sums of such amounts still fit their types.
    pub fn most(self) -> &'static str {
        match self {
            Self::Time => "8784h",
            Self::Rate => "10000Gbps",
            Self::Size => "1000000GB",
            Self::Power => "1000000W",
            Self::Energy => "1000000000kJ",
        }
    }
    /// The units that may be written; the first are shown in messages.
    pub fn units(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["ns", "us", "ms", "s", "min", "h"],
            Self::Rate => &["bps", "kbps", "Mbps", "Gbps", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"],
            Self::Size => &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"],
            Self::Power => &["uW", "mW", "W"],
            Self::Energy => &["mJ", "J", "kJ", "Wh"],
        }
    }
}

impl Table {
    /// The name without its article, as one word: what links and references use.
    pub fn id(&self) -> String {
        let name = ["a ", "an ", "the "].iter().find_map(|a| self.name.strip_prefix(a)).unwrap_or(self.name);
        name.to_lowercase().replace(' ', "-")
    }
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
    /// The names of all keys, for a message.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|k| k.name).collect()
    }
}

impl Shape {
    /// What should stand here, as a phrase: "a rate such as `2Mbps`; units: bps, kbps, Mbps, Gbps".
    pub fn expected(&self) -> String {
        match self {
            Self::Quantity(quantity, least) => {
                let above = if *least == Least::AboveZero { " above zero" } else { "" };
                let units = quantity.units();
                let shown = if *quantity == Quantity::Rate { &units[..4] } else { units };
                let units = shown.join(", ");
                format!("{}{above} such as `\"{}\"`; units: {units}", quantity.name(), quantity.example())
            }
            Self::Probability => "a number from 0 to 1".to_owned(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Integer { min, max: i64::MAX } => format!("a whole number of at least {min}"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Text => "text in quotes".to_owned(),
            Self::Name => "a name in quotes: letters, digits, `-` and `_`".to_owned(),
            Self::File => "the path of a file, in quotes".to_owned(),
            Self::Radio => "the name of a radio profile, such as `\"huang2012.lte\"`".to_owned(),
            Self::Choice(choices) => {
                format!("one of {}", list(&choices.iter().map(|c| c.name).collect::<Vec<_>>()))
            }
            Self::Queue => {
                "a limit such as `\"50 packets\"`, `\"1MB\"`, `\"100ms\"` or `\"unlimited\"`".to_owned()
            }
            Self::List { of, min, .. } => {
                let some = if *min == 0 { String::new() } else { format!(" of at least {min}") };
                format!("a list{some} in brackets, each {}", of.expected())
            }
            Self::Tuple(parts) => {
                let names = parts.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                format!("[{names}], such as `{}`", self.sample())
            }
            Self::Table(table) => format!("a table with {}", list(&table.names())),
            Self::Tables(table) => {
                format!("a table in two brackets for {}", table.name.replacen("a ", "each ", 1))
            }
            Self::Or(a, b) => format!("{}, or {}", a.expected(), b.expected()),
            Self::Free(what) => (*what).to_owned(),
        }
    }

    /// A value of this shape, as TOML, for messages.
    pub fn sample(&self) -> String {
        match self {
            Self::Quantity(quantity, _) => format!("\"{}\"", quantity.example()),
            Self::Probability | Self::Number { .. } => "0.01".to_owned(),
            Self::Integer { min, .. } => min.to_string(),
            Self::Flag => "true".to_owned(),
            Self::Text | Self::Name => "\"wifi\"".to_owned(),
            Self::File => "\"trace.csv\"".to_owned(),
            Self::Radio => "\"huang2012.lte\"".to_owned(),
            Self::Choice(choices) => format!("\"{}\"", choices.first().map_or("", |c| c.name)),
            Self::Queue => "\"50 packets\"".to_owned(),
            Self::List { of, .. } => format!("[{}]", of.sample()),
            Self::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(|(_, shape)| shape.sample()).collect();
                format!("[{}]", parts.join(", "))
            }
            Self::Table(_) | Self::Tables(_) | Self::Free(_) => "{ }".to_owned(),
            Self::Or(a, _) => a.sample(),
        }
    }

    /// The table inside this shape, if it is one or may be one.
    pub fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table) | Self::Tables(table) => Some(table),
            Self::List { of, .. } => of.table(),
            Self::Or(a, b) => a.table().or_else(|| b.table()),
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

/// The name among `names` that `word` was likely meant to be, if one is near.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    if word.len() > 64 {
        // No name is so long, and the distance takes time with the square of the length.
        return None;
    }
    let word = word.to_lowercase();
    let allowed = (word.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|&(d, name)| {
            d <= allowed || (word.len() >= 3 && (name.starts_with(&word) || name.ends_with(&word)))
        })
        .min_by_key(|&(d, _)| d)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_guessed() {
        let names = ["delay", "queue", "loss", "rate"];
        assert_eq!(nearest("dealy", names), Some("delay"));
        assert_eq!(nearest("Delay", names), Some("delay"));
        assert_eq!(nearest("queu", names), Some("queue"));
        assert_eq!(nearest("lte", ["huang2012.lte", "huang2012.3g"]), Some("huang2012.lte"));
        assert_eq!(nearest("bandwidth", names), None);
        assert_eq!(nearest(&"x".repeat(100), names), None);
    }

    #[test]
    fn every_listed_unit_is_read() {
        use units::{Bitrate, Bytes, Duration, Energy, Power};
        for quantity in [Quantity::Time, Quantity::Rate, Quantity::Size, Quantity::Power, Quantity::Energy] {
            for unit in quantity.units() {
                let text = format!("3{unit}");
                let read = match quantity {
                    Quantity::Time => text.parse::<Duration>().is_ok(),
                    Quantity::Rate => text.parse::<Bitrate>().is_ok(),
                    Quantity::Size => text.parse::<Bytes>().is_ok(),
                    Quantity::Power => text.parse::<Power>().is_ok(),
                    Quantity::Energy => text.parse::<Energy>().is_ok(),
                };
                assert!(read, "{text}");
            }
        }
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
