//! HTTP/1.1 for a forward proxy (RFC 9110, RFC 9112): absolute-form requests and CONNECT.
//!
//! Forwarded messages are re-encoded from the parsed form, and ambiguous messages are rejected even
//! where RFC 9112 permits them. Both prevent request smuggling.

mod body;
mod head;
mod request;
mod response;

pub use body::{ChunkDecoder, ChunkEvent, Framing};
pub use head::{MAX_FIELDS, ParseError};
pub use request::{Request, RequestKind, read as read_request, read_as as read_request_as};
pub use response::{Response, read as read_response};

/// Name of this program in `Proxy-Status` and in `Via` of responses; requests carry a name that is
/// unique per proxy (RFC 9110, section 7.6.3).
pub const PSEUDONYM: &str = "tandem";
