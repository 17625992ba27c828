//! Integration tests of a proxy on the loopback interface.
#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

mod access_log;
mod attacks;
mod converter;
mod http;
mod logins;
mod loops;
mod names;
mod operation;
mod programs;
mod redirected;
mod refusals;
mod reload;
mod revocation;
mod support;
mod time_limits;
mod tls;
mod tunnel;
