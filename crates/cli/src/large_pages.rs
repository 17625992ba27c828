//! Large memory pages for simulations.
//!
//! Each event of a simulation loads the state of another connection, which takes less time with pages
//! of 2 MiB (docs/design/segment-cost.md). A kernel in the mode `madvise` gives such pages on request.
//! glibc requests them if a variable says so when the program starts, so the program starts itself
//! again.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{env, fs};

/// Modes of the kernel, the present one in brackets (admin-guide/mm/transhuge of Linux).
const KERNEL_MODES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const VARIABLE: &str = "GLIBC_TUNABLES";
/// glibc 2.35 and later; others ignore it.
const REQUEST: &str = "glibc.malloc.hugetlb=1";
/// Set for the second start: the loader of a privileged program removes the other variable.
const STARTED_AGAIN: &str = "TANDEM_LARGE_PAGES";

/// Starts the program again with large pages, if they need a request. Returns if they need none, or
/// if the program cannot be started: it then runs without.
pub(crate) fn request() {
    if [VARIABLE, STARTED_AGAIN].into_iter().any(|name| env::var_os(name).is_some()) {
        return;
    }
    if !needs_request(&fs::read_to_string(KERNEL_MODES).unwrap_or_default()) {
        return;
    }
    let mut arguments = env::args_os();
    let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) else { return };
    // A program that was started by the loader's name would start the loader alone.
    if program.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"ld")) {
        let mut again = Command::new(program);
        again.arg0(name).args(arguments).env(VARIABLE, REQUEST).env(STARTED_AGAIN, "1");
        _ = again.exec();
    }
}

fn needs_request(modes: &str) -> bool {
    cfg!(target_env = "gnu") && modes.contains("[madvise]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_mode_madvise_needs_a_request() {
        let is_gnu = cfg!(target_env = "gnu");
        assert_eq!(needs_request("always [madvise] never\n"), is_gnu);
        assert!(!needs_request("[always] madvise never\n") && !needs_request(""));
    }
}
