//! Text files that a user names, with failures in words.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a file, so that one without an end, such as `/dev/zero`, does not fill the memory.
const MAX_BYTES: u64 = 256 << 20;

/// Reads a text file.
///
/// # Errors
/// The reason in a few words, such as "no such file".
pub fn read(path: &Path) -> Result<String, String> {
    read_bytes(path).and_then(text).map_err(|error| reason(&error))
}

/// Reads a file.
///
/// # Errors
/// It cannot be read, or is larger than 256 MiB.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    File::open(path).and_then(read_to_end)
}

/// Reads a text file or stream to its end.
///
/// # Errors
/// It cannot be read, is larger than 256 MiB, or is not UTF-8.
pub fn read_text_to_end(source: impl Read) -> io::Result<String> {
    read_to_end(source).and_then(text)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads a file or a stream to its end.
///
/// # Errors
/// It cannot be read, or is larger than 256 MiB.
pub fn read_to_end(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if length as u64 > MAX_BYTES { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// An I/O error in words, without its number.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is not a directory".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::FileTooLarge => format!("it is larger than {} MiB", MAX_BYTES >> 20),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_an_end_is_refused() {
        assert_eq!(read(Path::new("/dev/zero")), Err("it is larger than 256 MiB".to_owned()));
    }
}
