//! Parser of CMCD in requests.

use crate::{Object, State};
use percent_encoding::percent_decode;
use units::{Bitrate, Bytes, Duration};

/// Length limit of `sid`, in characters (CTA-5004).
const MAX_SESSION_CHARACTERS: usize = 64;
/// Digits of an integer (RFC 8941, section 3.3.1).
const MAX_INTEGER_DIGITS: usize = 15;
/// Cap on times, in ms: one day.
const MAX_TIME_MS: u64 = 86_400_000;
/// Cap on rates, in kbit/s: 1 Tbit/s.
const MAX_RATE_KBPS: u64 = 1_000_000_000;
/// Cap on the playback rate.
const MAX_SPEED: f64 = 100.0;

impl State {
    /// Parses CMCD from a request head: the query argument `CMCD` and the fields `CMCD-Object`,
    /// `CMCD-Request`, `CMCD-Session` and `CMCD-Status`. `None` without any of them.
    pub fn of_request(head: &[u8]) -> Option<Self> {
        let mut state = None;
        let mut lines = head.split(|byte| *byte == b'\n');
        let first = lines.next()?;
        let target = first.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let target = target.split(|byte| *byte == b'#').next().unwrap_or_default();
        let query = target.iter().position(|byte| *byte == b'?').map_or(&[][..], |at| &target[at + 1..]);
        for argument in query.split(|byte| *byte == b'&') {
            if let Some(value) = argument.strip_prefix(b"CMCD=") {
                let text = percent_decode(value).decode_utf8_lossy();
                state.get_or_insert_with(Self::default).read(&text);
            }
        }
        for line in lines.map(<[u8]>::trim_ascii).take_while(|line| !line.is_empty()) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let names: [&[u8]; 4] = [b"cmcd-object", b"cmcd-request", b"cmcd-session", b"cmcd-status"];
            if names.iter().any(|name| line[..colon].eq_ignore_ascii_case(name)) {
                let text = String::from_utf8_lossy(&line[colon + 1..]);
                state.get_or_insert_with(Self::default).read(&text);
            }
        }
        state
    }

    /// Merges a list of keys and values, as in a header field.
    pub fn read(&mut self, text: &str) {
        for pair in pairs(text) {
            let (key, value) = pair.split_once('=').map_or((pair, None), |(key, value)| (key, Some(value)));
            self.take(key.trim(), value.map(str::trim));
        }
    }

    fn take(&mut self, key: &str, value: Option<&str>) {
        let number = || value.and_then(integer);
        let time = || number().map(|ms| Duration::from_millis(ms.min(MAX_TIME_MS)));
        let rate = || number().map(|kbps| Bitrate::from_bps(kbps.min(MAX_RATE_KBPS) * 1_000));
        // A key alone is true; RFC 8941 also permits `?1` and `?0`.
        let flag = || matches!(value, None | Some("?1"));
        match key {
            "bl" => self.buffer = time(),
            "br" => self.bitrate = rate(),
            "bs" => self.starved = flag(),
            "d" => self.duration = time(),
            "mtp" => self.throughput = rate(),
            "ot" => {
                let known = Object::ALL.iter().find(|(_, token)| Some(*token) == value);
                self.object = known.map(|(object, _)| *object);
            }
            "pr" => self.speed = value.and_then(decimal),
            "sid" => self.session = value.and_then(string),
            "su" => self.urgent = flag(),
            "tandem-missing" => self.missing = number().map(Bytes::new),
            "tandem-done" => self.done = flag(),
            _ => {}
        }
    }
}

/// Splits at commas outside of quoted strings.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |letter| {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => return true,
            _ => {}
        }
        false
    })
}

fn integer(text: &str) -> Option<u64> {
    let is_one =
        (1..=MAX_INTEGER_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_one { text.parse().ok() } else { None }
}

fn decimal(text: &str) -> Option<f64> {
    let is_one = (1..=MAX_INTEGER_DIGITS).contains(&text.len())
        && text.starts_with(|letter: char| letter.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = if is_one { text.parse().ok()? } else { return None };
    Some(number.min(MAX_SPEED))
}

/// Content of a quoted string; `None` if malformed, too long or with control characters.
fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut read = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => letters.next()?,
            '"' => return None,
            letter => letter,
        };
        read.push(letter);
    }
    let is_one = read.chars().count() <= MAX_SESSION_CHARACTERS && !read.chars().any(char::is_control);
    is_one.then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> State {
        let mut state = State::default();
        state.read(text);
        state
    }

    #[test]
    fn examples_of_cta_5004_are_parsed() {
        // Sections 3.2 and 3.3: query and header fields.
        let query = "GET /a/1.mp4?CMCD=bl%3D21300%2Cbr%3D3200%2Cbs%2Ccid%3D%22faec5fc2-ac30-11ea-bb37-0242ac130002%22\
                     %2Cd%3D4004%2Cdl%3D18500%2Cmtp%3D48100%2Cnor%3D%22..%252F300kbps%252Ftrack.m4v%22%2Cnrr%3D%2212323-48763%22\
                     %2Cot%3Dv%2Cpr%3D1.08%2Crtp%3D12000%2Csf%3Dd%2Csid%3D%226e2fb550-c457-11e9-bb97-0800200c9a66%22\
                     %2Cst%3Dv%2Csu%2Ctb%3D6000 HTTP/1.1\r\nHost: h\r\n\r\n";
        let fields = "GET /a/1.mp4 HTTP/1.1\r\nHost: h\r\nCMCD-Request: mtp=48100,bl=21300,nor=\"a,b\",su\r\n\
                      cmcd-object:br=3200,d=4004,ot=v,tb=6000\r\nCMCD-Status: bs,rtp=12000\r\n\
                      CMCD-Session: sid=\"6e2fb550-c457-11e9-bb97-0800200c9a66\" , pr=1.08\r\n\r\nCMCD-Status: x";
        let wanted = State {
            session: Some("6e2fb550-c457-11e9-bb97-0800200c9a66".to_owned()),
            object: Some(Object::Video),
            buffer: Some(Duration::from_millis(21_300)),
            bitrate: Some(Bitrate::from_bps(3_200_000)),
            duration: Some(Duration::from_millis(4_004)),
            throughput: Some(Bitrate::from_bps(48_100_000)),
            speed: Some(1.08),
            urgent: true,
            starved: true,
            missing: None,
            done: false,
        };
        assert_eq!(State::of_request(query.as_bytes()).as_ref(), Some(&wanted));
        assert_eq!(State::of_request(fields.as_bytes()), Some(wanted));
    }

    #[test]
    fn request_without_cmcd_yields_no_state() {
        let none =
            ["", "GET", "GET / HTTP/1.1\r\n\r\n", "GET /?cmcd=bl%3D1 HTTP/1.1\r\n\r\nCMCD-Request: bl=1"];
        for head in none {
            assert_eq!(State::of_request(head.as_bytes()), None, "{head}");
        }
        assert_eq!(State::of_request(b"GET /?CMCD= HTTP/1.1\r\n\r\n"), Some(State::default()));
        assert!(!State::default().is_of_a_buffer());
    }

    #[test]
    fn invalid_values_are_ignored() {
        for text in
            ["bl=-1", "bl=1.5", "bl", "bl=", "bl=\"100\"", "bl=(100 200)", "bl=1000000000000000", "BL=100"]
        {
            assert_eq!(read(text).buffer, None, "{text}");
        }
        for text in [
            "sid=abc",
            "sid=\"abc",
            "sid=\"a\"b\"",
            "sid=\"a\\\"",
            "sid=\"a\tb\"",
            &format!("sid=\"{}\"", "x".repeat(65)),
        ] {
            assert_eq!(read(text).session, None, "{text}");
        }
        for text in ["pr=x", "pr=-1", "pr=.5", "pr=1.2.3", "pr=inf", "pr=NaN"] {
            assert_eq!(read(text).speed, None, "{text}");
        }
        assert_eq!(read("ot=x").object, None);
        assert_eq!(read("ot=v,ot=x").object, None, "the last one counts");
        assert!(read("su,bs=?1").urgent && !read("su=?0").urgent && !read("su=1").urgent);
        // Quoted commas and escaped quotes do not split; an unterminated string invalidates the
        // rest.
        assert_eq!(read("nor=\"a\\\",bl=7,\",bl=8").buffer, Some(Duration::from_millis(8)));
        assert_eq!(read("cid=\"a,bl=7").buffer, None);
        assert_eq!(read("bl=999999999999999").buffer, Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn playback_drains_the_buffer_and_a_stall_means_empty() {
        let state = read("bl=5000,br=8000,d=2000");
        assert_eq!(state.buffer_after(Duration::from_secs(2)), Some(Duration::from_secs(3)));
        assert_eq!(state.buffer_after(Duration::from_secs(9)), Some(Duration::ZERO));
        assert_eq!(read("bl=5000,pr=0").buffer_after(Duration::from_secs(9)), Some(Duration::from_secs(5)));
        assert_eq!(read("bl=5000,su").buffer_after(Duration::ZERO), Some(Duration::ZERO));
        assert_eq!(read("br=5").buffer_after(Duration::ZERO), None);
        assert_eq!(state.missing_or_whole(), Some(Bytes::new(2_000_000)));
        assert_eq!(read("br=8000,d=2000,tandem-missing=7").missing_or_whole(), Some(Bytes::new(7)));
        assert_eq!(read("br=8000").missing_or_whole(), None);
    }
}
