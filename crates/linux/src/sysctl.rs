//! Settings under `/proc/sys/net` in the calling thread's namespace.

use crate::Error;
use std::fs;

/// Reads a setting such as `net.mptcp.enabled`.
///
/// # Errors
/// Fails when this kernel lacks the setting, or it cannot be read.
pub fn read(name: &str) -> Result<String, Error> {
    let text =
        fs::read_to_string(path(name)).map_err(|error| Error::system(format!("read {name}"), error))?;
    Ok(text.trim_end().to_owned())
}

/// Writes a setting such as `net.mptcp.enabled`.
///
/// # Errors
/// Fails when this kernel lacks the setting, rejects the value, or does not permit the write.
pub fn write(name: &str, value: &str) -> Result<(), Error> {
    fs::write(path(name), value).map_err(|error| Error::system(format!("set {name} to {value}"), error))
}

/// Writes a setting and returns the previous value, or `None` when it had the value already.
///
/// # Errors
/// As [`read`] and [`write()`].
pub fn change(name: &str, value: &str) -> Result<Option<String>, Error> {
    let before = read(name)?;
    if before == value {
        return Ok(None);
    }
    write(name, value)?;
    Ok(Some(before))
}

fn path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}
