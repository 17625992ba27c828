//! Encoder of CMCD (CTA-5004).

use crate::State;
use core::fmt::Write as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use units::{Bitrate, Duration};

impl State {
    /// Comma-separated `key=value` pairs in alphabetical order, not percent-encoded; a flag is its
    /// key alone. Times are in whole milliseconds, rates in whole kbit/s.
    pub fn to_text(&self) -> String {
        let time = |time: Duration| time.as_millis().to_string();
        let rate = |rate: Bitrate| (rate.as_bps() / 1_000).to_string();
        let flag = |set: bool| set.then(String::new);
        let pairs = [
            ("bl", self.buffer.map(time)),
            ("br", self.bitrate.map(rate)),
            ("bs", flag(self.starved)),
            ("d", self.duration.map(time)),
            ("mtp", self.throughput.map(rate)),
            ("ot", self.object.map(|object| object.token().to_owned())),
            ("pr", self.speed.map(|speed| format!("{speed:.2}"))),
            ("sid", self.session.as_deref().map(quoted)),
            ("su", flag(self.urgent)),
            ("tandem-done", flag(self.done)),
            ("tandem-missing", self.missing.map(|bytes| bytes.get().to_string())),
        ];
        let mut text = String::new();
        for (key, value) in pairs {
            let Some(value) = value else { continue };
            let comma = if text.is_empty() { "" } else { "," };
            let equals = if value.is_empty() { "" } else { "=" };
            let _ = write!(text, "{comma}{key}{equals}{value}");
        }
        text
    }

    /// Request that reports the state to an agent's UNIX socket: `POST /player` with the keys in
    /// the query and no body.
    pub fn message(&self) -> String {
        let query = encoded(&self.to_text());
        format!("POST /player?CMCD={query} HTTP/1.1\r\nHost: agent\r\nContent-Length: 0\r\n\r\n")
    }
}

/// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
pub fn encoded(text: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Quoted string with escapes (RFC 8941, section 3.3.3). Non-ASCII characters, which the RFC
/// forbids, pass unchanged.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;
    use proptest::prelude::*;
    use units::Bytes;

    #[test]
    fn message_is_a_request_with_cmcd_in_its_query() {
        let state = State {
            session: Some("a \"b\"".to_owned()),
            buffer: Some(Duration::from_millis(1_500)),
            missing: Some(Bytes::new(7)),
            ..State::default()
        };
        assert_eq!(
            state.message(),
            "POST /player?CMCD=bl%3D1500%2Csid%3D%22a%20%5C%22b%5C%22%22%2Ctandem-missing%3D7 HTTP/1.1\r\n\
             Host: agent\r\nContent-Length: 0\r\n\r\n"
        );
    }

    proptest! {
        /// Decoding inverts encoding.
        #[test]
        fn message_round_trips(
            session in proptest::option::of("[ -~äß]{0,64}"),
            object in proptest::option::of(0_usize..9),
            times in proptest::array::uniform2(proptest::option::of(0_u64..86_400_000)),
            rates in proptest::array::uniform2(proptest::option::of(0_u64..1_000_000_000)),
            speed in proptest::option::of(0_u32..10_000),
            flags in proptest::array::uniform3(any::<bool>()),
            missing in proptest::option::of(0_u64..1_000_000_000_000),
        ) {
            let state = State {
                session,
                object: object.map(|nth| Object::ALL[nth].0),
                buffer: times[0].map(Duration::from_millis),
                bitrate: rates[0].map(|kbps| Bitrate::from_bps(kbps * 1_000)),
                duration: times[1].map(Duration::from_millis),
                throughput: rates[1].map(|kbps| Bitrate::from_bps(kbps * 1_000)),
                speed: speed.map(|hundredths| f64::from(hundredths) / 100.0),
                urgent: flags[0],
                starved: flags[1],
                missing: missing.map(Bytes::new),
                done: flags[2],
            };
            prop_assert_eq!(State::of_request(state.message().as_bytes()), Some(state));
        }
    }
}
