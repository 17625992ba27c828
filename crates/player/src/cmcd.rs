//! CMCD of a request (Common Media Client Data, CTA-5004 of 2020, version 1).
//!
//! Keys are in alphabetical order, separated by commas. Strings are quoted, tokens are not; a true
//! key has no value, a false one is absent. `v` is absent, as the specification asks for version
//! 1.

use ::cmcd::{Object, encoded, quoted};
use playback::Cmcd;
use units::{Bitrate, Duration};

/// Streaming format, `sf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamingFormat {
    Dash,
    Other,
}

impl StreamingFormat {
    const fn token(self) -> &'static str {
        match self {
            Self::Dash => "d",
            Self::Other => "o",
        }
    }
}

/// Values for one request; `None` and false are absent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestState<'a> {
    pub(crate) object: Object,
    /// `br`: bitrate of the requested level, in kbit/s.
    pub(crate) bitrate: Option<Bitrate>,
    /// `d`: length of the segment, in ms.
    pub(crate) duration: Option<Duration>,
    /// `tb`: highest bitrate of the video.
    pub(crate) top: Option<Bitrate>,
    /// `bl`: buffer level, rounded to 100 ms.
    pub(crate) buffer: Option<Duration>,
    /// `dl`: deadline of the segment, rounded to 100 ms.
    pub(crate) deadline: Option<Duration>,
    /// `mtp`: measured throughput, rounded to 100 kbit/s.
    pub(crate) throughput: Option<Bitrate>,
    /// `nor`: probable next request, as a path relative to this one.
    pub(crate) next: Option<String>,
    /// `su`: urgent, because playback waits for this response.
    pub(crate) startup: bool,
    /// `bs`: the buffer ran dry since the previous request.
    pub(crate) starved: bool,
    /// `cid`: content identifier.
    pub(crate) content_id: Option<&'a str>,
    /// `sid`: session identifier.
    pub(crate) session_id: &'a str,
    /// `sf`: unknown before the manifest has arrived.
    pub(crate) format: Option<StreamingFormat>,
}

/// Header field of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Object,
    Request,
    Session,
    Status,
}

impl<'a> RequestState<'a> {
    /// Object type, session and content.
    pub(crate) const fn new(object: Object, session_id: &'a str) -> Self {
        Self {
            object,
            bitrate: None,
            duration: None,
            top: None,
            buffer: None,
            deadline: None,
            throughput: None,
            next: None,
            startup: false,
            starved: false,
            content_id: None,
            session_id,
            format: None,
        }
    }

    fn pairs(&self) -> Vec<(Field, &'static str, String)> {
        let kbps = |rate: Bitrate| rate.as_bps().div_ceil(1_000);
        let hundreds = |value: u64| value.saturating_add(50) / 100 * 100;
        let mut pairs = Vec::new();
        let mut add = |field, key, value: Option<String>| {
            if let Some(value) = value {
                pairs.push((field, key, value));
            }
        };
        let flag = |set: bool| set.then(String::new);
        let number = |value: Option<u64>| value.map(|value| format!("={value}"));
        let token = |word: &str| Some(format!("={word}"));
        let string = |text: &str| format!("={}", quoted(&text.chars().take(64).collect::<String>()));
        add(Field::Request, "bl", number(self.buffer.map(|span| hundreds(span.as_millis()))));
        add(Field::Object, "br", number(self.bitrate.map(kbps)));
        add(Field::Status, "bs", flag(self.starved));
        add(Field::Session, "cid", self.content_id.map(string));
        add(Field::Object, "d", number(self.duration.map(Duration::as_millis)));
        add(Field::Request, "dl", number(self.deadline.map(|span| hundreds(span.as_millis()))));
        add(Field::Request, "mtp", number(self.throughput.map(|rate| hundreds(kbps(rate)))));
        add(Field::Request, "nor", self.next.as_deref().map(|next| format!("=\"{}\"", encoded(next))));
        add(Field::Object, "ot", token(self.object.token()));
        add(Field::Session, "sf", self.format.and_then(|format| token(format.token())));
        add(Field::Session, "sid", Some(string(self.session_id)));
        add(Field::Session, "st", token("v"));
        add(Field::Request, "su", flag(self.startup));
        add(Field::Object, "tb", number(self.top.map(kbps)));
        pairs
    }

    /// The value of the query parameter, before URL encoding.
    pub(crate) fn query(&self) -> String {
        let pairs: Vec<String> =
            self.pairs().into_iter().map(|(_, key, value)| format!("{key}{value}")).collect();
        pairs.join(",")
    }

    /// Header fields, without empty ones.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let pairs = self.pairs();
        let fields = [
            (Field::Object, "cmcd-object"),
            (Field::Request, "cmcd-request"),
            (Field::Session, "cmcd-session"),
            (Field::Status, "cmcd-status"),
        ];
        fields
            .into_iter()
            .filter_map(|(field, name)| {
                let own: Vec<String> = pairs
                    .iter()
                    .filter(|(of, ..)| *of == field)
                    .map(|(_, key, value)| format!("{key}{value}"))
                    .collect();
                (!own.is_empty()).then(|| (name, own.join(",")))
            })
            .collect()
    }

    /// Adds the data to the URL, or returns header fields, depending on the mode.
    pub(crate) fn send(&self, mode: Cmcd, url: &mut url::Url) -> Vec<(&'static str, String)> {
        match mode {
            Cmcd::Off => Vec::new(),
            Cmcd::Header => self.headers(),
            Cmcd::Query => {
                // Encoded by hand: form encoding writes a space as `+`, which CMCD readers need
                // not decode.
                let argument = format!("CMCD={}", encoded(&self.query()));
                let query = url.query().filter(|query| !query.is_empty());
                let query = query.map_or_else(|| argument.clone(), |query| format!("{query}&{argument}"));
                url.set_query(Some(&query));
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> RequestState<'static> {
        RequestState {
            object: Object::Video,
            bitrate: Some(Bitrate::from_bps(3_200_000)),
            duration: Some(Duration::from_millis(4_004)),
            top: Some(Bitrate::from_bps(35_000_400)),
            buffer: Some(Duration::from_millis(21_349)),
            deadline: Some(Duration::from_millis(18_450)),
            throughput: Some(Bitrate::from_bps(25_449_000)),
            next: Some("../3/7 b.m4s".into()),
            startup: true,
            starved: true,
            content_id: Some("a \"b\" \\c"),
            session_id: "6e2fb550-c457-11e9-bb97-0800200c9a66",
            format: Some(StreamingFormat::Dash),
        }
    }

    #[test]
    fn query_follows_cta_5004() {
        assert_eq!(
            state().query(),
            "bl=21300,br=3200,bs,cid=\"a \\\"b\\\" \\\\c\",d=4004,dl=18500,mtp=25400,\
             nor=\"..%2F3%2F7%20b.m4s\",ot=v,sf=d,sid=\"6e2fb550-c457-11e9-bb97-0800200c9a66\",st=v,su,tb=35001"
        );
        let least = RequestState::new(Object::Manifest, "s");
        assert_eq!(least.query(), "ot=m,sid=\"s\",st=v");
        assert_eq!(
            least.headers(),
            [("cmcd-object", "ot=m".to_owned()), ("cmcd-session", "sid=\"s\",st=v".to_owned())]
        );
        let other = RequestState { format: Some(StreamingFormat::Other), ..least.clone() };
        assert_eq!(other.query(), "ot=m,sf=o,sid=\"s\",st=v");
        for (object, word) in [(Object::Init, "ot=i"), (Object::Other, "ot=o")] {
            assert!(RequestState { object, ..least.clone() }.query().starts_with(word));
        }
    }

    #[test]
    fn keys_are_grouped_into_their_headers() {
        let fields = state().headers();
        assert_eq!(
            fields,
            [
                ("cmcd-object", "br=3200,d=4004,ot=v,tb=35001".to_owned()),
                ("cmcd-request", "bl=21300,dl=18500,mtp=25400,nor=\"..%2F3%2F7%20b.m4s\",su".to_owned()),
                (
                    "cmcd-session",
                    "cid=\"a \\\"b\\\" \\\\c\",sf=d,sid=\"6e2fb550-c457-11e9-bb97-0800200c9a66\",st=v"
                        .to_owned()
                ),
                ("cmcd-status", "bs".to_owned()),
            ]
        );
    }

    #[test]
    fn query_is_added_to_existing_arguments() {
        let at = |text: &str| {
            let mut url = url::Url::parse(text).unwrap();
            let least = RequestState { next: None, content_id: None, session_id: "s", ..state() };
            assert!(least.send(Cmcd::Query, &mut url).is_empty());
            url
        };
        let url = at("http://h/seg.m4s?token=a%20b");
        assert_eq!(
            url.as_str(),
            "http://h/seg.m4s?token=a%20b&CMCD=bl%3D21300%2Cbr%3D3200%2Cbs%2Cd%3D4004%2Cdl%3D18500%2C\
             mtp%3D25400%2Cot%3Dv%2Csf%3Dd%2Csid%3D%22s%22%2Cst%3Dv%2Csu%2Ctb%3D35001"
        );
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        assert_eq!(pairs[0], ("token".into(), "a b".into()));
        assert_eq!(pairs[1].0, "CMCD");
        assert!(at("http://h/seg.m4s").as_str().starts_with("http://h/seg.m4s?CMCD=bl%3D"));
        let mut url = url::Url::parse("http://h/x").unwrap();
        assert!(state().send(Cmcd::Off, &mut url).is_empty() && url.query().is_none());
    }

    #[test]
    fn parser_reads_query_and_headers() {
        let said = state();
        let query = format!("GET /x?a=b&CMCD={} HTTP/1.1\r\n\r\n", encoded(&said.query()));
        let lines: Vec<String> =
            said.headers().iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let fields = format!("GET /x HTTP/1.1\r\nHost: h\r\n{}\r\n", lines.concat());
        for head in [query, fields] {
            let heard = ::cmcd::State::of_request(head.as_bytes()).unwrap();
            let wanted = ::cmcd::State {
                session: Some("6e2fb550-c457-11e9-bb97-0800200c9a66".to_owned()),
                object: Some(::cmcd::Object::Video),
                buffer: Some(Duration::from_millis(21_300)),
                bitrate: Some(Bitrate::from_bps(3_200_000)),
                duration: Some(Duration::from_millis(4_004)),
                throughput: Some(Bitrate::from_bps(25_400_000)),
                urgent: true,
                starved: true,
                ..::cmcd::State::default()
            };
            assert_eq!(heard, wanted, "{head}");
        }
    }
}
