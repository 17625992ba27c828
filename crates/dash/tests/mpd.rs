//! Valid and invalid manifests.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use tandem_dash::{Missing, Presentation};
use units::Duration;
use url::Url;

fn read(text: &str) -> Result<Presentation, String> {
    let base = Url::parse("https://example.org/a/film.mpd").unwrap();
    Presentation::parse("film.mpd", text, Some(&base)).map_err(|error| error.to_string())
}

/// A presentation of 10 s with one video adaptation set.
fn mpd(set: &str) -> String {
    format!(
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" mediaPresentationDuration=\"PT10S\">\n\
         <Period><AdaptationSet mimeType=\"video/mp4\">\n{set}\n</AdaptationSet></Period></MPD>"
    )
}

fn addresses(presentation: &Presentation, level: usize) -> Vec<String> {
    let one = &presentation.representations[level];
    (0..one.len())
        .map(|segment| {
            let address = one.address(segment).unwrap();
            let range = address.range.map_or(String::new(), |(from, to)| format!(" {from}-{to}"));
            format!("{}{range}", address.url)
        })
        .collect()
}

fn lengths(presentation: &Presentation, level: usize) -> Vec<u64> {
    presentation.representations[level].lengths().map(Duration::as_millis).collect()
}

#[test]
fn number_template_is_inherited_and_its_last_segment_is_shorter() {
    let read = read(&mpd(
        "<SegmentTemplate timescale=\"1000\" duration=\"4000\" startNumber=\"5\" \
         media=\"$RepresentationID$/$Number%03d$.m4s\" initialization=\"$RepresentationID$/init.mp4\"/>\
         <Representation id=\"high\" bandwidth=\"2500000\" width=\"1280\" height=\"720\" codecs=\"avc1.64001f\" \
         frameRate=\"30000/1001\"/>\
         <Representation id=\"low\" bandwidth=\"1000000\"><BaseURL>https://cdn.example.org/b/</BaseURL>\
         </Representation>",
    ))
    .unwrap();
    let ids: Vec<&str> = read.representations.iter().map(|one| &*one.id).collect();
    assert_eq!(ids, ["low", "high"]);
    assert_eq!(
        addresses(&read, 0),
        ["005", "006", "007"].map(|number| format!("https://cdn.example.org/b/low/{number}.m4s"))
    );
    assert_eq!(addresses(&read, 1)[0], "https://example.org/a/high/005.m4s");
    assert_eq!(lengths(&read, 1), [4_000, 4_000, 2_000]);
    let high = &read.representations[1];
    assert_eq!(high.init(2).unwrap().1.url.as_str(), "https://example.org/a/high/init.mp4");
    assert_eq!((high.pixels, high.codecs.as_deref()), (Some((1280, 720)), Some("avc1.64001f")));
    assert!((high.frame_rate.unwrap() - 29.97).abs() < 1e-3);
    assert_eq!((high.address(3), high.init(3)), (None, None));
}

#[test]
fn timeline_has_times_and_repetitions() {
    let read = read(&mpd(
        "<SegmentTemplate timescale=\"10\" media=\"$Time$-$Bandwidth$\" presentationTimeOffset=\"100\">\
         <SegmentTimeline><S t=\"100\" d=\"20\" r=\"1\"/><S d=\"30\"/><S d=\"10\" r=\"-1\"/></SegmentTimeline>\
         </SegmentTemplate><Representation id=\"v\" bandwidth=\"900\"/>",
    ))
    .unwrap();
    let names: Vec<String> =
        [100, 120, 140, 170, 180, 190].map(|t| format!("https://example.org/a/{t}-900")).to_vec();
    assert_eq!(addresses(&read, 0), names);
    assert_eq!(lengths(&read, 0), [2_000, 2_000, 3_000, 1_000, 1_000, 1_000]);
}

#[test]
fn list_has_an_address_or_a_range_per_segment() {
    let read = read(&mpd("<Representation id=\"v\" bandwidth=\"900\"><BaseURL>one.mp4?key=1</BaseURL>\
         <SegmentList duration=\"5\"><Initialization range=\"0-99\"/>\
         <SegmentURL mediaRange=\"100-199\"/><SegmentURL media=\"two.mp4\"/></SegmentList></Representation>"))
    .unwrap();
    assert_eq!(
        addresses(&read, 0),
        ["https://example.org/a/one.mp4?key=1 100-199", "https://example.org/a/two.mp4"]
    );
    let (index, init) = read.representations[0].init(1).unwrap();
    assert_eq!((index, init.range), (0, Some((0, 99))));
}

#[test]
fn single_file_takes_its_index_or_its_size() {
    let mut indexed = read(&mpd(
        "<Representation id=\"v\" bandwidth=\"900\"><BaseURL>v.mp4</BaseURL>\
         <SegmentBase indexRange=\"700-767\"><Initialization range=\"0-699\"/></SegmentBase></Representation>",
    ))
    .unwrap();
    let one = &mut indexed.representations[0];
    let Some(Missing::Index(address)) = one.missing() else { panic!("{one:?}") };
    assert_eq!((address.url.as_str(), address.range), ("https://example.org/a/v.mp4", Some((700, 767))));
    assert!(one.is_empty() && one.index(b"nonsense").is_err());
    // A sidx of version 0, timescale 1: 300 bytes for 6 s, 200 for 4 s.
    let mut sidx = b"\0\0\0\x38sidx\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02".to_vec();
    sidx.extend(b"\0\0\x01\x2c\0\0\0\x06\x90\0\0\0\0\0\0\xc8\0\0\0\x04\x90\0\0\0");
    one.index(&sidx).unwrap();
    assert_eq!(one.missing(), None);
    assert_eq!(
        addresses(&indexed, 0),
        ["https://example.org/a/v.mp4 756-1055", "https://example.org/a/v.mp4 1056-1255"]
    );
    assert_eq!(lengths(&indexed, 0), [6_000, 4_000]);

    let mut plain =
        read(&mpd("<Representation id=\"v\" bandwidth=\"900\"><BaseURL>v.mp4</BaseURL></Representation>"))
            .unwrap();
    let one = &mut plain.representations[0];
    assert_eq!(one.missing(), Some(Missing::Size(Url::parse("https://example.org/a/v.mp4").unwrap())));
    let error = one.clone().cut(4).unwrap_err();
    assert_eq!(error, "expected a file of at least 5 bytes, found 4");
    one.cut(1_001).unwrap();
    assert_eq!(lengths(&plain, 0), [2_000; 5]);
    assert_eq!(addresses(&plain, 0)[4], "https://example.org/a/v.mp4 800-1000");
}

#[test]
fn periods_are_concatenated() {
    let period = |start: &str, dir: &str| {
        format!(
            "<Period{start}><BaseURL>{dir}/</BaseURL><AdaptationSet contentType=\"audio\"/>\
             <AdaptationSet contentType=\"video\"><EssentialProperty \
             schemeIdUri=\"http://dashif.org/guidelines/trickmode\" value=\"1\"/></AdaptationSet>\
             <AdaptationSet contentType=\"video\"><SegmentTemplate duration=\"3\" media=\"$Number$\" \
             initialization=\"i\"/><Representation id=\"v\" bandwidth=\"900\"/></AdaptationSet></Period>"
        )
    };
    let text = format!(
        "<MPD mediaPresentationDuration=\"PT10S\"><ProgramInformation><Title> A film </Title>\
         </ProgramInformation>{}{}</MPD>",
        period("", "one"),
        period(" start=\"PT6S\"", "two")
    );
    let read = read(&text).unwrap();
    assert_eq!(read.title.as_deref(), Some("A film"));
    assert_eq!(lengths(&read, 0), [3_000, 3_000, 3_000, 1_000]);
    assert_eq!(addresses(&read, 0)[2], "https://example.org/a/two/1");
    let init = |segment| {
        read.representations[0].init(segment).map(|(index, init)| (index, init.url.path().to_owned()))
    };
    assert_eq!([init(1), init(2)], [Some((0, "/a/one/i".into())), Some((1, "/a/two/i".into()))]);
}

/// A presentation of periods of one second, whose segments are named after their representations.
fn named_periods(periods: &[(&str, [(&str, u64); 2])]) -> String {
    let periods = periods.iter().map(|(attributes, representations)| {
        let representations = representations
            .map(|(id, bandwidth)| format!("<Representation id=\"{id}\" bandwidth=\"{bandwidth}\"/>"))
            .concat();
        format!(
            "<Period {attributes}><AdaptationSet contentType=\"video\">\
             <SegmentTemplate duration=\"1\" media=\"$RepresentationID$/$Bandwidth$/$Number$\"/>\
             {representations}</AdaptationSet></Period>"
        )
    });
    format!("<MPD>{}</MPD>", periods.collect::<String>())
}

#[test]
fn each_period_has_its_own_identifiers_and_bandwidths() {
    let read = read(&named_periods(&[
        ("duration=\"PT2S\"", [("main-lo", 100_000), ("main-hi", 200_000)]),
        ("duration=\"PT1S\"", [("ad-hi", 250_000), ("ad-lo", 90_000)]),
    ]))
    .unwrap();
    let expected = ["main-hi/200000/1", "main-hi/200000/2", "ad-hi/250000/1"];
    assert_eq!(addresses(&read, 1), expected.map(|path| format!("https://example.org/a/{path}")));
    let low = &read.representations[0];
    let rates: Vec<Option<u64>> =
        (0..4).map(|segment| low.bandwidth_of(segment).map(units::Bitrate::as_bps)).collect();
    assert_eq!(rates, [Some(100_000), Some(100_000), Some(90_000), None]);
}

#[test]
fn rounding_error_of_the_period_is_no_segment() {
    let text = |length: &str, timing: &str| {
        let template = format!(
            "<SegmentTemplate timescale=\"1000\" media=\"$Number$\" {timing}</SegmentTemplate>\
             <Representation id=\"v\" bandwidth=\"9\"/>"
        );
        mpd(&template).replace("PT10S", length)
    };
    let equal = "duration=\"2002\">";
    let repeated = "><SegmentTimeline><S t=\"0\" d=\"2002\" r=\"-1\"/></SegmentTimeline>";
    for timing in [equal, repeated] {
        let lengths_of = |length: &str| lengths(&read(&text(length, timing)).unwrap(), 0);
        assert_eq!(lengths_of("PT6.0060014724731445S"), [2_002; 3], "{timing}");
        assert_eq!(lengths_of("PT6.0059S"), [2_002; 3], "{timing}");
        assert_eq!(lengths_of("PT6.016S"), [2_002, 2_002, 2_002, 10], "{timing}");
    }
}

#[test]
fn timeline_is_limited_to_its_period() {
    let text = |media: &str, timeline: &str| {
        let template = format!(
            "<SegmentTemplate presentationTimeOffset=\"100\" startNumber=\"7\" media=\"{media}\">\
             <SegmentTimeline>{timeline}</SegmentTimeline></SegmentTemplate>\
             <Representation id=\"v\" bandwidth=\"9\"/>"
        );
        mpd(&template).replace("PT10S", "PT4S")
    };
    let names = |media, timeline| {
        let read = read(&text(media, timeline)).unwrap();
        let names: Vec<String> =
            addresses(&read, 0).iter().map(|url| url.rsplit('/').next().unwrap().to_owned()).collect();
        (names.join(" "), lengths(&read, 0))
    };
    let (time, number) = ("$Time$", "$Number$");
    let aligned = "<S t=\"96\" d=\"2\" r=\"7\"/>";
    assert_eq!(names(time, aligned), ("100 102".to_owned(), vec![2_000; 2]));
    assert_eq!(names(number, aligned), ("9 10".to_owned(), vec![2_000; 2]));
    // Segments across the ends of the period are played in part.
    let across = "<S t=\"95\" d=\"3\"/><S d=\"3\" r=\"2\"/>";
    assert_eq!(names(time, across), ("98 101".to_owned(), vec![1_000, 3_000]));
    assert_eq!(names(time, "<S t=\"99\" d=\"3\" r=\"-1\"/>"), ("99 102".to_owned(), vec![2_000; 2]));
    // Without a time, the first segment begins at 0.
    assert_eq!(names(time, "<S d=\"34\" r=\"9\"/>"), ("68 102".to_owned(), vec![2_000; 2]));
    let long = "<S d=\"1\" r=\"99999999999\"/>";
    assert_eq!(names(number, long), ("107 108 109 110".to_owned(), vec![1_000; 4]));
    let error = read(&text(time, "<S t=\"200\" d=\"2\"/>")).unwrap_err();
    assert!(error.ends_with("expected at least one `S` of the timeline in the period"), "{error}");
}

#[test]
fn segments_before_the_period_count_in_a_list() {
    let read =
        read(&mpd("<Representation id=\"v\" bandwidth=\"900\"><SegmentList presentationTimeOffset=\"2\">\
         <SegmentTimeline><S t=\"0\" d=\"2\" r=\"2\"/></SegmentTimeline><SegmentURL media=\"1\"/>\
         <SegmentURL media=\"2\"/><SegmentURL media=\"3\"/></SegmentList></Representation>"))
        .unwrap();
    assert_eq!(addresses(&read, 0), ["https://example.org/a/2", "https://example.org/a/3"]);
}

#[test]
fn surplus_segments_of_one_representation_are_dropped() {
    let list = |id: &str, rate: u32, names: &[&str]| {
        let urls: Vec<String> = names.iter().map(|name| format!("<SegmentURL media=\"{name}\"/>")).collect();
        let urls = urls.concat();
        format!(
            "<Representation id=\"{id}\" bandwidth=\"{rate}\"><SegmentList>\
             <SegmentTimeline><S d=\"2\" r=\"{}\"/></SegmentTimeline>{urls}</SegmentList></Representation>",
            names.len() - 1
        )
    };
    let text = |more: &[&str]| mpd(&(list("a", 1, &["1", "2"]) + &list("b", 2, more)));
    let mut one_more = read(&text(&["1", "2", "3"])).unwrap();
    one_more.complete().unwrap();
    assert_eq!([one_more.representations[0].len(), one_more.representations[1].len()], [2, 2]);
    let mut many = read(&text(&["1", "2", "3", "4"])).unwrap();
    assert_eq!(
        many.complete().unwrap_err(),
        "expected the same number of segments for each bitrate, found 2 and 4"
    );
}

#[test]
fn surplus_segment_is_dropped_in_its_own_period() {
    let representation = |id: &str, rate: u32, last: usize| {
        format!(
            "<Representation id=\"{id}\" bandwidth=\"{rate}\">\
             <SegmentTemplate endNumber=\"{last}\" duration=\"1\" media=\"{id}-$Number$\"/></Representation>"
        )
    };
    let period = |low: usize, high: usize| {
        format!(
            "<Period><AdaptationSet contentType=\"video\">{}{}</AdaptationSet></Period>",
            representation("low", 1, low),
            representation("high", 2, high)
        )
    };
    let mut read = read(&format!("<MPD>{}{}</MPD>", period(2, 3), period(3, 2))).unwrap();
    read.complete().unwrap();
    for (level, id) in ["low", "high"].iter().enumerate() {
        let expected = [1, 2, 1, 2].map(|number| format!("https://example.org/a/{id}-{number}"));
        assert_eq!(addresses(&read, level), expected);
    }
}

#[test]
fn errors_have_a_position_and_an_expectation() {
    let template = |attributes: &str, inner: &str| {
        read(&mpd(&format!(
            "<SegmentTemplate {attributes}>{inner}</SegmentTemplate><Representation id=\"v\" bandwidth=\"9\"/>"
        )))
        .unwrap_err()
    };
    let table = [
        (read("").unwrap_err(), "film.mpd:1:1: "),
        (read("<html/>").unwrap_err(), "film.mpd:1:1: expected an MPD, found `html`"),
        (read("<MPD type=\"dynamic\"/>").unwrap_err(), "film.mpd:1:1: expected a static presentation"),
        (read("<MPD/>").unwrap_err(), "film.mpd:1:1: expected a period with video"),
        (read("<!DOCTYPE x [<!ENTITY a \"aa\">]><MPD>&a;</MPD>").unwrap_err(), "film.mpd:1:1: "),
        (
            read("<MPD><Period/></MPD>").unwrap_err(),
            "film.mpd:1:6: expected a video adaptation set, found none",
        ),
        (
            read("<MPD><Period xmlns:x=\"http://www.w3.org/1999/xlink\" x:href=\"http://e\"/></MPD>")
                .unwrap_err(),
            "film.mpd:1:6: expected a complete document",
        ),
        (
            read("<MPD mediaPresentationDuration=\"soon\"/>").unwrap_err(),
            "film.mpd:1:1: mediaPresentationDuration: expected a duration such as `PT1M30.5S`",
        ),
        (read(&mpd("<Representation bandwidth=\"0\"/>")).unwrap_err(), "film.mpd:3:1: expected a bandwidth"),
        (
            read(&mpd("<Representation bandwidth=\"fast\"/>")).unwrap_err(),
            "film.mpd:3:1: bandwidth: expected a whole number",
        ),
        (read(&mpd("")).unwrap_err(), "film.mpd:2:9: expected a representation"),
        (template("duration=\"2\"", ""), "film.mpd:3:1: expected a template with `media`"),
        (template("media=\"$Number$\"", ""), "film.mpd:3:1: expected a `duration` above 0, or a timeline"),
        (template("media=\"$Nmuber$\" duration=\"2\"", ""), "film.mpd:3:1: expected `$RepresentationID$`"),
        (template("media=\"a\" duration=\"0\"", ""), "film.mpd:3:1: expected a `duration` above 0"),
        (template("media=\"a\" timescale=\"0\" duration=\"1\"", ""), "film.mpd:3:1: expected a timescale"),
        (
            template("media=\"file:///etc/passwd\" duration=\"2\"", ""),
            "film.mpd:3:1: expected an address with http",
        ),
        (
            template("media=\"a\" timescale=\"1000000\" duration=\"1\"", ""),
            "film.mpd:3:1: expected at most 100000 segments",
        ),
        (
            template(
                "media=\"a\" timescale=\"99999\"",
                "<SegmentTimeline><S d=\"1\" r=\"99999999999\"/></SegmentTimeline>",
            ),
            "film.mpd:3:63: expected at most 100000 segments",
        ),
        (
            template(
                "media=\"a\" presentationTimeOffset=\"18446744073709551000\"",
                "<SegmentTimeline><S t=\"18446744073709551001\" d=\"1\"/></SegmentTimeline>",
            ),
            "film.mpd:3:91: expected a presentation time below 2^62 units",
        ),
        (
            template("media=\"a\"", "<SegmentTimeline/>"),
            "film.mpd:3:28: expected at least one `S` of the timeline in the period",
        ),
    ];
    for (found, expected) in table {
        assert!(found.starts_with(expected), "expected {expected}\n   found {found}");
    }
    let relative =
        mpd("<SegmentTemplate media=\"a\" duration=\"2\"/><Representation id=\"v\" bandwidth=\"9\"/>");
    let error = Presentation::parse("m", &relative, None).unwrap_err().to_string();
    assert!(error.contains("its own address is unknown"), "{error}");
}

#[test]
fn addresses_of_a_manifest_have_a_limit_in_sum() {
    // Each of 250 representations inherits a long base from its period, or resolves against it.
    let inherited = "<Representation bandwidth=\"1\"/>".repeat(250);
    let resolved = "<Representation bandwidth=\"1\"><BaseURL>a</BaseURL></Representation>".repeat(250);
    for (representations, periods) in [(inherited, 80), (resolved, 80)] {
        let period = format!(
            "<Period duration=\"PT1S\"><BaseURL>{}/</BaseURL><AdaptationSet contentType=\"video\">\
             <SegmentTemplate duration=\"1\" media=\"$Number$\" initialization=\"i\"/>{representations}\
             </AdaptationSet></Period>",
            "x".repeat(4_000)
        );
        let text = |periods| format!("<MPD>{}</MPD>", period.repeat(periods));
        assert!(read(&text(1)).is_ok());
        let error = read(&text(periods)).unwrap_err();
        assert!(error.ends_with("expected addresses of at most 64 MiB in all"), "{error}");
    }
}

/// An index of version 0 and timescale 1, of segments of one byte and one second.
fn sidx(count: u16) -> Vec<u8> {
    let mut bytes = (32 + 12 * u32::from(count)).to_be_bytes().to_vec();
    bytes.extend(b"sidx\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(count.to_be_bytes());
    bytes.extend(b"\0\0\0\x01\0\0\0\x01\x90\0\0\0".repeat(count.into()));
    bytes
}

#[test]
fn segments_of_files_have_a_limit_in_sum() {
    let files = |count: u64, inner: &str| {
        let one = |rate| format!("<Representation bandwidth=\"{rate}\">{inner}</Representation>");
        let set: String = (1..=count).map(one).collect();
        read(&mpd(&set).replace("PT10S", "PT200000S")).unwrap()
    };
    let index = "<SegmentBase indexRange=\"0-99\"/>";
    assert!(files(15, index).representations[14].index(&sidx(60_000)).is_ok());
    let error = files(250, index).representations[249].index(&sidx(60_000)).unwrap_err();
    assert_eq!(error, "expected at most 4000 segments of each bitrate, found 60000");
    assert!(files(10, "").representations[9].cut(u64::MAX).is_ok());
    let error = files(250, "").representations[249].cut(u64::MAX).unwrap_err();
    assert_eq!(error, "expected a length above zero, of at most 8000s, found 200000s");
}

#[test]
fn entries_of_inherited_lists_have_a_limit_in_sum() {
    let lists = |count: usize| {
        let urls = "<SegmentURL/>".repeat(90_000);
        let one = |rate| format!("<Representation bandwidth=\"{rate}\"/>");
        let representations: String = (1..=count).map(one).collect();
        read(&mpd(&format!("<SegmentList duration=\"10\">{urls}</SegmentList>{representations}")))
    };
    assert_eq!(addresses(&lists(11).unwrap(), 10).len(), 1);
    let error = lists(12).unwrap_err();
    assert!(error.ends_with("expected at most 1000000 list entries in all"), "{error}");
}

#[test]
fn segments_are_those_of_every_period() {
    let read = read(&mpd("<Representation bandwidth=\"900\"><SegmentList duration=\"5\">\
         <SegmentURL mediaRange=\"100-199\"/><SegmentURL media=\"two.mp4\"/></SegmentList></Representation>"))
    .unwrap();
    let ranges: Vec<_> = read.representations[0].segments().map(|segment| segment.range).collect();
    assert_eq!(ranges, [Some((100, 199)), None]);
    let read = self::read(&named_periods(&[
        ("duration=\"PT2S\"", [("a", 100), ("b", 200)]),
        ("duration=\"PT1S\"", [("c", 90), ("d", 250)]),
    ]))
    .unwrap();
    let segments = read.representations[1].segments();
    let found: Vec<(u64, u64)> =
        segments.map(|segment| (segment.length.as_millis(), segment.bandwidth.as_bps())).collect();
    assert_eq!(found, [(1_000, 200), (1_000, 200), (1_000, 250)]);
}
