//! A proxy on this host's loopback, and everything that goes through it.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

mod attacks;
mod converter;
mod http;
mod operation;
mod programs;
mod redirected;
mod support;
mod tunnel;
