//! One file for each command.

pub(crate) mod agent;
pub(crate) mod capture;
mod certificates;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod emulate;
pub(crate) mod examples;
pub(crate) mod fidelity;
pub(crate) mod gateway;
pub(crate) mod init;
pub(crate) mod interop;
mod lwi_page;
pub(crate) mod map;
pub(crate) mod package_files;
mod passwd;
pub(crate) mod play;
pub(crate) mod profiles;
pub(crate) mod proxy;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod testbed;
pub(crate) mod trace;
