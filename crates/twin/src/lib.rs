//! Hostile peers against Linux and Tandem's endpoint side by side.
//!
//! A seed gives an [`Exchange`], the script of a client. Both servers get the same segments. An
//! [`Outcome`] holds the bytes that the application read, the end of the connection, and the server's
//! answers. A [`rules::Rule`] explains a difference between two outcomes by a section of an RFC. A
//! difference without a rule is a defect.

mod act;
mod exchange;
mod keys;
mod linux_server;
mod outcome;
mod packet;
pub mod rules;
mod run;
mod script;
mod server;
mod tandem_server;

pub use act::{Act, Opening};
pub use exchange::Exchange;
pub use outcome::{End, Outcome};
pub use run::{Difference, Findings, run};
