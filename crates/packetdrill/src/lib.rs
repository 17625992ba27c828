//! packetdrill scripts for Multipath TCP, played against [`mptcp::Endpoint`] in virtual time.
//!
//! [`Script::parse`] reads the subset of the language that the public MPTCP scripts use, and
//! [`play`] runs a script: it feeds the endpoint the script's packets and compares the endpoint's
//! packets field by field. `docs/background/packetdrill.md` has the results and the concessions.

mod applies;
mod crypto;
mod host;
mod lexer;
mod options;
mod parse;
mod player;
mod script;
mod verdict;

pub use player::play;
pub use script::{Action, Call, Packet, Script, ScriptError, Step, Value, When};
pub use verdict::{Concession, Difference, Verdict};
