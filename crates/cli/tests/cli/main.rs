//! End-to-end tests of the program: output, files, exit codes.

mod agent;
mod bad_input;
mod capture;
mod compare;
mod delay;
mod emulate;
mod first_steps;
mod folder;
mod help;
mod log;
mod mistakes;
mod pipes;
mod play;
mod plot;
mod profiles;
mod provenance;
mod proxy;
mod results;
mod shipped;
mod support;
mod sweep;
mod testbed;
mod trace;
mod tutorials;
mod uplink;
mod warnings;
