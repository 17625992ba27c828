//! Settings under `/proc/sys/net`, of the namespace that the calling thread is in.

use crate::Error;
use std::fs;

/// Reads `net.mptcp.enabled` and the like.
///
/// # Errors
/// Where this kernel has no such setting, or it cannot be read.
pub fn read(name: &str) -> Result<String, Error> {
    let text =
        fs::read_to_string(path(name)).map_err(|error| Error::system(format!("read {name}"), error))?;
    Ok(text.trim_end().to_owned())
}

/// Sets `net.mptcp.enabled` and the like.
///
/// # Errors
/// Where this kernel has no such setting, refuses the value, or the caller may not.
pub fn write(name: &str, value: &str) -> Result<(), Error> {
    fs::write(path(name), value).map_err(|error| Error::system(format!("set {name} to {value}"), error))
}

/// Sets it and gives back what it was, or `None` where it was so already.
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
