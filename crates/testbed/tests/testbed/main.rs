//! Runs of scenarios on the real kernel, in namespaces.

mod capture_file;
mod counters;
mod delay;
mod faults;
mod plain_tcp;
mod proxied_server;
mod stacks;
mod video;
mod when_needed;
