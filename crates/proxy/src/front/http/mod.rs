//! HTTP/1.1 as a forward proxy speaks it (RFC 9110, RFC 9112): requests in absolute form, and CONNECT.
//!
//! A message is taken apart and written anew: what goes on is what was understood, so that whoever reads it next
//! cannot understand it otherwise (request smuggling). What two readers might understand in two ways is
//! refused, also where RFC 9112 would let it pass.

mod body;
mod head;
mod request;
mod response;

pub use body::{Chunks, Framing, Piece};
pub use head::{Bad, MOST_FIELDS};
pub use request::{Request, Wanted, read as read_request};
pub use response::{Response, read as read_response};

/// How this proxy calls itself in `Via` (RFC 9110, section 7.6.3).
pub const PSEUDONYM: &str = "tandem";
