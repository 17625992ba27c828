//! The lines of a scenario that use trace files.

use super::TraceFile;
use core::fmt::Write as _;

/// Words of file names with the name and the radio of the path.
const RADIOS: [(&[&str], &str, &str); 4] = [
    (&["wifi", "wlan", "wi-fi"], "wifi", "huang2012.wifi"),
    (&["5g", "nr"], "5g", "narayanan2021.5g-low"),
    (&["3g", "umts", "hspa"], "3g", "huang2012.3g"),
    (&["lte", "4g", "cellular", "cell"], "lte", "huang2012.lte"),
];
const UP: [&str; 4] = ["up", "ul", "uplink", "upload"];
const DOWN: [&str; 4] = ["down", "dl", "downlink", "download"];

/// A path: name, radio, and files of the two directions.
struct PathLines<'a> {
    /// Name of the file without the words of a direction.
    base: String,
    name: String,
    radio: &'static str,
    down: Option<&'a TraceFile>,
    up: Option<&'a TraceFile>,
}

/// Returns `[[path]]` tables with these files. Names of files tell the radio, and whether a file is
/// the other direction of the file before it. `keys` are further keys of each trace.
pub fn path_lines(files: &[TraceFile], keys: &str) -> String {
    let mut paths: Vec<PathLines<'_>> = Vec::new();
    for file in files {
        let words: Vec<String> = file
            .name
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .split(|c: char| !c.is_alphanumeric())
            .map(str::to_lowercase)
            .collect();
        let is = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        let is_up = is(&UP);
        let base = words
            .iter()
            .filter(|word| !UP.contains(&word.as_str()) && !DOWN.contains(&word.as_str()))
            .fold(String::new(), |base, word| base + word + ".");
        let other = paths
            .iter_mut()
            .find(|path| path.base == base && (if is_up { path.up } else { path.down }).is_none());
        if let Some(path) = other.filter(|_| is_up || is(&DOWN)) {
            *(if is_up { &mut path.up } else { &mut path.down }) = Some(file);
            continue;
        }
        let known = RADIOS.iter().find(|(known, ..)| is(known));
        let (name, radio) = known.map_or(("path", "huang2012.lte"), |&(_, name, radio)| (name, radio));
        let count = paths.iter().filter(|path| path.name.trim_end_matches(char::is_numeric) == name).count();
        let name =
            if count == 0 && known.is_some() { name.to_owned() } else { format!("{name}{}", count + 1) };
        let (down, up) = if is_up { (None, Some(file)) } else { (Some(file), None) };
        paths.push(PathLines { base, name, radio, down, up });
    }
    let mut text = String::new();
    for path in &paths {
        let direction = |file: Option<&TraceFile>| match file {
            Some(file) => format!("{{ trace = {}, delay = \"20ms\" }}", trace(file, keys)),
            None => "{ rate = \"10Mbps\", delay = \"20ms\" }".to_owned(),
        };
        let _ = writeln!(text, "[[path]]\nname = \"{}\"\nradio = \"{}\"", path.name, path.radio);
        let _ = writeln!(text, "down = {}\nup = {}\n", direction(path.down), direction(path.up));
    }
    text
}

fn trace(file: &TraceFile, keys: &str) -> String {
    let name = file.name.replace('\\', "\\\\").replace('"', "\\\"");
    let mut text = format!("{{ file = \"{name}\", format = \"{}\"", file.format);
    if let Some(column) = &file.column {
        // A column without a header has its number.
        let column = column.name.strip_prefix("column ").unwrap_or(&column.name);
        let _ = write!(text, ", column = \"{}\"", column.replace('\\', "\\\\").replace('"', "\\\""));
    }
    text + keys + " }"
}
