//! Large memory pages for simulations.
//!
//! Each event of a simulation loads the state of another connection. With pages of 2 MiB a scenario
//! of 200 devices takes a fifth less time, and one of thousands of connections a third. A kernel in
//! the mode `madvise` gives such pages on request. glibc requests them if a variable says so when
//! the program starts, so the program starts itself again.

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::{env, fs};

/// Modes of the kernel, the present one in brackets (admin-guide/mm/transhuge of Linux).
const KERNEL_MODES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const VARIABLE: &str = "GLIBC_TUNABLES";
/// glibc 2.35 and later; others ignore it.
const REQUEST: &str = "glibc.malloc.hugetlb=1";

/// Starts the program again with large pages. Returns if they need no request, if the variable is
/// set, or if the program cannot be started: it then runs without.
pub(crate) fn request() {
    let on_request = fs::read_to_string(KERNEL_MODES).is_ok_and(|modes| modes.contains("[madvise]"));
    if cfg!(not(target_env = "gnu")) || !on_request || env::var_os(VARIABLE).is_some() {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(program), Some(name)) = (env::current_exe(), arguments.next()) {
        _ = Command::new(program).arg0(name).args(arguments).env(VARIABLE, REQUEST).exec();
    }
}
