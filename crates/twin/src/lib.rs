//! Hostile peers against Linux and Tandem's endpoint side by side.
//!
//! A seed gives an [`Exchange`]: what a client sends, step by step, proper or not. Both servers get the
//! same steps; what their application read, how the connection ended and what came back on the wire are
//! their [`Outcome`]s. A difference is explained by a [`rules::Rule`] with its section of an RFC, or is a
//! defect of one of them.

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
