//! Requests and response headers as HTTP/1.1 (RFC 9112), padded to a known length: the simulation
//! counts the same bytes that a real connection carries.

use crate::{Request, Video};
use units::Bytes;

/// End of the header section.
const END: &[u8] = b"\r\n\r\n";
/// Maximum length of a request.
const MAX_REQUEST_BYTES: usize = 64 * 1024;

impl Request {
    /// The request with its headers, padded to `length` bytes, at least [`Video::MIN_REQUEST`]: a
    /// GET for the range of the whole segment (RFC 9110, section 14.2).
    pub fn to_http(&self, length: Bytes) -> Vec<u8> {
        let Self { segment, level, size } = *self;
        let last = size.get().saturating_sub(1);
        let head = format!("GET /{segment}/{level} HTTP/1.1\r\nHost: server\r\nRange: bytes=0-{last}\r\n");
        padded(head, length.max(Video::MIN_REQUEST))
    }

    /// The header section of the response, [`Video::RESPONSE_HEADER`] bytes.
    pub fn response_header(&self) -> Vec<u8> {
        response_header(self.size)
    }
}

/// The header section of a response with a body of `size`.
fn response_header(size: Bytes) -> Vec<u8> {
    let (size, last) = (size.get(), size.get().saturating_sub(1));
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Type: video/mp4\r\nContent-Length: {size}\r\n\
         Content-Range: bytes 0-{last}/{size}\r\n"
    );
    padded(head, Video::RESPONSE_HEADER)
}

/// Pads a header section to `length` bytes, by a header without meaning.
fn padded(mut head: String, length: Bytes) -> Vec<u8> {
    const FILL: &str = "X-Padding: ";
    let more = (length.get() as usize).saturating_sub(head.len() + FILL.len() + END.len());
    head.push_str(FILL);
    head.extend(core::iter::repeat_n('-', more));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(END);
    bytes
}

/// Parses requests from a stream that arrives in chunks of any size.
#[derive(Debug, Default)]
pub struct Server {
    unread: Vec<u8>,
}

impl Server {
    /// Appends received bytes.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
    }

    /// The next complete request, as the response's header section and the size of its body; `None`
    /// while the request is incomplete.
    ///
    /// # Errors
    /// A message if the request is not a GET for a range from the first byte on. The stream is
    /// unusable afterwards.
    pub fn poll(&mut self) -> Result<Option<(Vec<u8>, Bytes)>, String> {
        let Some(end) = self.unread.windows(END.len()).position(|window| window == END) else {
            if self.unread.len() > MAX_REQUEST_BYTES {
                return Err(format!("a request of more than {MAX_REQUEST_BYTES} bytes"));
            }
            return Ok(None);
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        self.unread.drain(..end + END.len());
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default();
        if !(line.starts_with("GET ") && line.ends_with(" HTTP/1.1")) {
            return Err(format!("`{}` is not a GET request", line.chars().take(40).collect::<String>()));
        }
        let range = lines.find_map(|line| line.strip_prefix("Range: bytes=0-"));
        let last: u64 = range.and_then(|last| last.parse().ok()).ok_or("a request without a range")?;
        let size = Bytes::new(last.saturating_add(1));
        Ok(Some((response_header(size), size)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request = Request { segment: 7, level: 2, size: Bytes::new(1_000_000) };

    #[test]
    fn headers_have_the_given_length_for_any_numbers() {
        let largest = Request { segment: usize::MAX, level: usize::MAX, size: Bytes::new(u64::MAX) };
        let smallest = Request { segment: 0, level: 0, size: Bytes::new(1) };
        for request in [REQUEST, smallest, largest] {
            for length in [Video::MIN_REQUEST, Video::REQUEST, Bytes::new(5_000)] {
                assert_eq!(request.to_http(length).len() as u64, length.get());
            }
            assert_eq!(request.response_header().len() as u64, Video::RESPONSE_HEADER.get());
        }
    }

    #[test]
    fn requests_parse_in_chunks_of_any_size() {
        let other = Request { size: Bytes::new(17), ..REQUEST };
        let mut stream = REQUEST.to_http(Video::REQUEST);
        stream.extend(other.to_http(Video::MIN_REQUEST));
        for size in [1, 3, 159, 400, 1000] {
            let mut server = Server::default();
            let mut parsed = Vec::new();
            for chunk in stream.chunks(size) {
                server.receive(chunk);
                while let Some(response) = server.poll().unwrap() {
                    parsed.push(response);
                }
            }
            let expected = [REQUEST, other].map(|request| (request.response_header(), request.size));
            assert_eq!(parsed, expected);
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        for (text, wrong) in [
            ("PUT / HTTP/1.1\r\n\r\n", "`PUT / HTTP/1.1` is not a GET request"),
            ("GET / HTTP/1.1\r\nHost: server\r\n\r\n", "a request without a range"),
            ("GET / HTTP/1.1\r\nRange: bytes=0-x\r\n\r\n", "a request without a range"),
        ] {
            let mut server = Server::default();
            server.receive(text.as_bytes());
            assert_eq!(server.poll().unwrap_err(), wrong);
        }
        let mut server = Server::default();
        server.receive(&vec![b'-'; MAX_REQUEST_BYTES + 1]);
        assert_eq!(server.poll().unwrap_err(), "a request of more than 65536 bytes");
    }
}
