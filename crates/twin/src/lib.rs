//! Hostile peers against Linux and Tandem's endpoint side by side.
//!
//! A seed gives an [`Exchange`], the script of a hostile client or server. Both hosts get the same
//! segments. An [`Outcome`] holds the bytes that the application read, the end of the connection, and the
//! host's answers. A [`rules::Rule`] explains a difference between two outcomes by a section of an RFC. A
//! difference without a rule is a defect.

mod act;
mod answer;
mod exchange;
mod keys;
mod linux_host;
mod outcome;
mod packet;
pub mod rules;
mod run;
mod script;
mod server_rules;
mod serving;
mod tandem_host;
mod victim;

pub use act::{Act, Opening};
pub use answer::{Answer, JoinAnswer};
pub use exchange::{Exchange, Peers};
pub use outcome::{End, Outcome};
pub use run::{Difference, Findings, run};
