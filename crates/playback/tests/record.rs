//! The document in `docs/reference/session.md`, the schema and the type say the same.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use abr::{Manifest, PlayerConfig, THROUGHPUT};
use serde_json::{Value, json};
use tandem_playback::{About, Kind, LARGEST, Player, Record, RecordError, SCHEMA, Settings, Video};
use units::{Bitrate, Bytes, Duration, Instant};

/// The example of the documentation.
fn example() -> Value {
    let text = include_str!("../../../docs/reference/session.md");
    let from = text.find("```json\n").unwrap() + 8;
    serde_json::from_str(&text[from..from + text[from..].find("```").unwrap()]).unwrap()
}

fn read(document: &Value) -> Result<Record, RecordError> {
    Record::parse(document.to_string().as_bytes())
}

fn schema() -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap()
}

/// The example with the value at a JSON pointer replaced, or taken away.
fn with(pointer: &str, value: Option<Value>) -> Value {
    let mut document = example();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let parent = document.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(object), Some(value)) => drop(object.insert(member.to_owned(), value)),
        (Value::Object(object), None) => assert!(object.remove(member).is_some(), "{pointer}"),
        (Value::Array(array), Some(value)) => array[member.parse::<usize>().unwrap()] = value,
        (parent, _) => panic!("{pointer}: {parent}"),
    }
    document
}

#[test]
fn the_documented_example_is_a_record_and_written_as_it_was_read() {
    let document = example();
    assert!(schema().is_valid(&document));
    let record = read(&document).unwrap();
    assert!(record.known());
    assert!(schema().is_valid(&record.to_json()));
    assert_eq!(read(&record.to_json()), Ok(record));
}

#[test]
fn what_the_schema_refuses_the_reader_refuses_too() {
    let long = |n: usize| json!("x".repeat(n));
    let table = [
        ("/format", Some(json!("tandem-session/2"))),
        ("/id", Some(json!("short"))),
        ("/id", Some(json!("../../../etc/passwd"))),
        ("/started_at", Some(json!("yesterday"))),
        ("/player/name", Some(long(65))),
        ("/player/nmae", Some(json!("x"))),
        ("/video/kind", Some(json!("hls"))),
        ("/video/levels", None),
        ("/video/levels/0/width", Some(json!(0))),
        ("/video/levels/0/bitrate_kbps", Some(json!(-1))),
        ("/settings/cmcd", Some(json!("json"))),
        ("/settings/max_buffer_s", Some(json!("25"))),
        ("/versions", Some(json!({"linux": 6}))),
        ("/viewing/distance_cm", Some(json!(0))),
        ("/label", Some(long(201))),
        ("/rule", None),
        ("/rule", Some(long(65))),
        ("/duration_s", Some(json!(null))),
        ("/played_s", Some(json!(-0.1))),
        ("/kpis/stalls_per_s", None),
        ("/kpis/stalls", Some(json!(1.5))),
        ("/kpis/mok/stall_level", Some(json!(0))),
        ("/kpis/mok/mos", Some(json!(0))),
        ("/stalls/0/start_s", Some(json!(-1))),
        ("/stalls/0/length", Some(json!(1))),
        ("/switches/0/to_level", Some(json!(256))),
        ("/segments/0/size_bytes", Some(json!(-5))),
        ("/segments/0/asked_s", None),
        ("/abandoned/0/at_s", None),
        ("/errors/0/status", Some(json!(99))),
        ("/errors/0/message", Some(long(1001))),
        ("/extra", Some(json!([]))),
        ("/unknown", Some(json!(1))),
    ];
    let schema = schema();
    for (pointer, value) in table {
        let document = with(pointer, value.clone());
        assert!(!schema.is_valid(&document), "the schema lets {pointer} = {value:?} pass");
        assert!(read(&document).is_err(), "the reader lets {pointer} = {value:?} pass");
    }
}

#[test]
fn what_may_be_left_out_may() {
    let schema = schema();
    let optional = [
        "/label",
        "/viewing",
        "/pauses",
        "/seeks",
        "/samples",
        "/errors",
        "/extra",
        "/player/engine",
        "/player/user_agent",
        "/video/url",
        "/video/content_id",
        "/video/title",
        "/video/duration_s",
        "/video/segment_duration_s",
        "/video/levels/0/codec",
        "/video/levels/0/fps",
        "/video/levels/0/width",
        "/video/levels/0/height",
        "/settings/max_buffer_s",
        "/settings/startup_s",
        "/settings/resume_s",
        "/settings/abandon",
        "/settings/cmcd",
        "/settings/proxy",
        "/settings/mptcp",
        "/kpis/mean_bitrate_kbps",
        "/kpis/linear",
        "/switches/0/segment",
        "/switches/0/position_s",
        "/segments/0/duration_s",
        "/samples/0/throughput_kbps",
        "/samples/0/position_s",
        "/samples/0/level",
        "/errors/0/segment",
        "/errors/0/status",
    ];
    for pointer in optional {
        for value in [None, Some(Value::Null)] {
            let document = with(pointer, value);
            assert!(schema.is_valid(&document), "the schema wants {pointer}");
            read(&document).unwrap_or_else(|error| panic!("the reader wants {pointer}: {error}"));
        }
    }
}

#[test]
fn contradictions_are_told_all_at_once() {
    let table = [
        ("/stalls/0/end_s", json!(3.0), "stalls[0]: ends at 3 s, before it starts at 3.25 s"),
        ("/stalls/0/end_s", json!(8.0), "stalls[0]: at 8 s, after the session's end at 7.25 s"),
        (
            "/stalls/0/open",
            json!(true),
            "stalls[0]: is open, but the play went on, or the video was played to its end",
        ),
        ("/kpis/stalls", json!(2), "kpis.stalls: says 2, and the list has 1"),
        ("/kpis/switches", json!(0), "kpis.switches: says 0, and the list has 1"),
        ("/kpis/stalled_s", json!(1.01), "kpis.stalled_s: says 1.01, and from the lists follows 1"),
        ("/kpis/mean_stall_s", json!(0.5), "kpis.mean_stall_s: says 0.5, and from the lists follows 1"),
        (
            "/kpis/stalls_per_s",
            json!(0.2),
            "kpis.stalls_per_s: says 0.2, and from the lists follows 0.16666666666666666",
        ),
        ("/kpis/stalls_per_s", json!(null), "kpis.stalls_per_s: null, and it is a number"),
        (
            "/kpis/initial_load_s",
            json!(9.0),
            "kpis.initial_load_s: at 9 s, after the session's end at 7.25 s",
        ),
        ("/kpis/mok/mos", json!(3.3148), "kpis.mok.mos: says 3.3148, and from its levels follows 1.8308"),
        ("/segments/1/level", json!(3), "segments[1]: level 3, and the video has 3"),
        ("/segments/1/first_byte_s", json!(5.0), "segments[1]: 5 s comes before 4.25 s"),
        ("/segments/0/arrived_s", json!(5.0), "segments: 5 s comes before 4.25 s"),
        (
            "/video/levels/0/bitrate_kbps",
            json!(3000.0),
            "video.levels: 0 has a higher bitrate than the one after it",
        ),
        ("/errors/0/at_s", json!(7.5), "errors[0]: at 7.5 s, after the session's end at 7.25 s"),
        (
            "/extra",
            json!({"x": "y".repeat(65_536)}),
            "extra: expected at most 65536 bytes of text, found 65544",
        ),
    ];
    for (pointer, value, problem) in table {
        let document = with(pointer, Some(value));
        let Err(RecordError::Wrong(problems)) = read(&document) else { panic!("{pointer} passes") };
        assert!(problems.iter().any(|found| found == problem), "{pointer}: {problems:#?}");
    }
    // A clock that is a millisecond off contradicts nothing.
    assert!(read(&with("/stalls/0/end_s", Some(json!(4.2505)))).is_ok());
    let all = read(&with(
        "/kpis",
        Some(json!({
            "initial_load_s": 0.25, "initial_load_open": false, "stalls_per_s": 0, "mean_stall_s": 0, "stalls": 0,
            "stalled_s": 0, "switches": 1, "mok": {"initial_level": 1, "frequency_level": 1, "stall_level": 1, "mos": 3.3148}
        })),
    ));
    assert!(matches!(all, Err(RecordError::Wrong(problems)) if problems.len() == 4));
}

#[test]
fn what_is_too_large_is_not_even_read() {
    assert_eq!(Record::parse(&vec![b' '; LARGEST + 1]), Err(RecordError::TooLarge(LARGEST + 1)));
    assert!(matches!(Record::parse(b"{"), Err(RecordError::Malformed(_))));
}

#[test]
fn a_session_of_the_player_is_a_record_with_every_figure_of_its_own() {
    let rates = [1.0, 2.5].map(Bitrate::from_mbps).to_vec();
    let row = vec![Bytes::new(375_000), Bytes::new(937_500)];
    let manifest = Manifest::new(Duration::from_secs(3), rates, vec![row; 4]).unwrap();
    let mut player = abr::Player::new(manifest, PlayerConfig::new(THROUGHPUT), Instant::from_secs(7));
    // Answers take 0.25 s, the third 5 s: it stalls. Then the viewer goes.
    for (asked, took) in [(7.0, 0.25), (7.25, 0.25), (7.5, 5.0)] {
        let at = |s: f64| Instant::ZERO + Duration::from_secs_f64(s);
        let request = player.poll_request(at(asked)).unwrap();
        player.receive(at(asked + 0.1), Bytes::ZERO);
        assert!(player.receive(at(asked + took), request.size));
    }
    let session = player.finish(Instant::from_secs(20));
    let about = About {
        id: "0123456789abcdef".into(),
        started_at: "2026-11-22T08:25:04.123Z".into(),
        player: Player { name: "test".into(), version: "1".into(), engine: None, user_agent: None },
        video: Video {
            url: None,
            kind: Kind::Simulated,
            content_id: None,
            title: None,
            duration_s: None,
            segment_duration_s: None,
            levels: Vec::new(),
        },
        settings: Settings::default(),
        viewing: None,
        label: None,
        versions: std::collections::BTreeMap::new(),
        samples: None,
        errors: None,
    };
    let record = Record::new(about, &session);
    assert_eq!(record.problems(), Vec::<String>::new());
    assert!(schema().is_valid(&record.to_json()));
    // Three segments from 7.25 s on, and nothing after it.
    assert_eq!(
        record.stalls.iter().map(|stall| (stall.start_s, stall.end_s, stall.open)).collect::<Vec<_>>(),
        [(9.25, 13.0, true)]
    );
    // Whatever the session itself writes is in the record, at the same place.
    let (record, own) = (record.to_json(), session.to_json());
    for (member, value) in own.as_object().unwrap() {
        let recorded = &record[member];
        match (recorded, value) {
            (Value::Array(recorded), Value::Array(value)) => {
                assert_eq!(recorded.len(), value.len(), "{member}");
                for (recorded, value) in recorded.iter().zip(value) {
                    for (key, value) in value.as_object().unwrap() {
                        assert_eq!(&recorded[key], value, "{member}.{key}");
                    }
                }
            }
            _ => assert_eq!(recorded, value, "{member}"),
        }
    }
}

#[test]
fn it_is_exported_and_shown() {
    let record = read(&example()).unwrap();
    let p1203 = record.p1203();
    assert_eq!(p1203["I23"]["stalling"], json!([[0.0, 0.25], [3.0, 1.0]]));
    assert_eq!(p1203["I13"]["segments"][1]["resolution"], "1280x720");
    assert_eq!(p1203["I13"]["segments"][1]["bitrate"], 2500.0);
    assert_eq!(p1203["I13"]["segments"][1]["start"], 3.0);
    assert!(record.segments().to_csv().contains("0,0,1000,375000,3,0,0.05,0.25,3"));
    let html = record.page().to_html();
    for part in ["bus, both radios", "stalled", "connection reset", "1.8308"] {
        assert!(html.contains(part), "{part}");
    }
    // What somebody sent stays text.
    let hostile = read(&with("/label", Some(json!("<script>alert(1)</script>")))).unwrap();
    assert!(!hostile.page().to_html().contains("<script>alert"));
}

#[test]
fn labels_are_compared_by_the_means_of_their_sessions() {
    let with = |label: &str, mos_levels: [u8; 3]| {
        let mut record = read(&example()).unwrap();
        record.label = Some(label.into());
        let [initial, frequency, stall] = mos_levels;
        record.kpis.mok.mos = qoe::Levels { initial, frequency, stall }.mos();
        record.summary()
    };
    let sessions = [with("a", [1, 1, 1]), with("b", [1, 3, 1]), with("a", [1, 2, 1])];
    let groups = tandem_playback::summary::groups(&sessions);
    assert_eq!(groups.iter().map(|group| group.sessions.len()).collect::<Vec<_>>(), [2, 1]);
    let json = tandem_playback::summary::comparison(&sessions);
    // 3.3148 and 2.5728: their mean, and 12.706 times their standard error of 0.371.
    let mos = &json["labels"][0]["kpis"]["mos"];
    assert!((mos["mean"].as_f64().unwrap() - 2.9438).abs() < 1e-9, "{mos}");
    assert!((mos["ci95"].as_f64().unwrap() - 12.706 * 0.371).abs() < 1e-9, "{mos}");
    assert_eq!(json["labels"][1]["kpis"]["mos"]["ci95"], Value::Null, "one has no interval");
    let text = tandem_playback::summary::means(&groups).to_text(report::TextStyle::PLAIN);
    assert!(text.contains("2.9438"), "{text}");
    assert!(tandem_playback::summary::table(&sessions, true).to_html().contains("href=\"/sessions/0193a6f2"));
}
