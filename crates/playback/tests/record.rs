//! The example of `docs/reference/session.md`, the schema and the types agree.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use abr::{Manifest, PlayerConfig, THROUGHPUT};
use serde_json::{Value, json};
use tandem_playback::{
    Kind, MAX_RECORD_BYTES, Metadata, Player, Reason, ReasonKind, Record, RecordError, SCHEMA, Settings,
    State, Summary, Video,
};
use units::{Bitrate, Bytes, Duration, Instant};

/// The example in the documentation.
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

/// The example with the value at a JSON pointer replaced or removed.
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
fn documented_example_round_trips() {
    let document = example();
    assert!(schema().is_valid(&document));
    let record = read(&document).unwrap();
    assert!(record.has_known_format());
    assert!(schema().is_valid(&record.to_json()));
    assert_eq!(read(&record.to_json()), Ok(record));
}

#[test]
fn reader_refuses_documents_that_the_schema_refuses() {
    let long = |n: usize| json!("x".repeat(n));
    let table = [
        ("/format", Some(json!("tandem-session/3"))),
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
        ("/kpis/mok/mos_max", Some(json!(0))),
        ("/kpis/emos", Some(json!(6))),
        ("/state", Some(json!("gone"))),
        ("/reason", Some(json!({"kind": "weather", "message": ""}))),
        ("/device", Some(long(129))),
        ("/zone", Some(long(65))),
        ("/stalls/0/start_s", Some(json!(-1))),
        ("/stalls/0/length", Some(json!(1))),
        ("/switches/0/to_level", Some(json!(256))),
        ("/segments/0/size_bytes", Some(json!(-5))),
        ("/segments/0/size_bytes", Some(json!(1_u64 << 53))),
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
        assert!(!schema.is_valid(&document), "the schema accepts {pointer} = {value:?}");
        assert!(read(&document).is_err(), "the reader accepts {pointer} = {value:?}");
    }
}

#[test]
fn optional_members_can_be_omitted_or_null() {
    let schema = schema();
    let optional = [
        "/label",
        "/device",
        "/zone",
        "/reason",
        "/kpis/emos",
        "/kpis/mok/mos_max",
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
            // The example has no reason, because its session did not fail.
            if pointer == "/reason" && value.is_none() {
                continue;
            }
            let document = with(pointer, value);
            assert!(schema.is_valid(&document), "the schema requires {pointer}");
            read(&document).unwrap_or_else(|error| panic!("the reader requires {pointer}: {error}"));
        }
    }
}

#[test]
fn all_contradictions_are_reported() {
    let table = [
        ("/stalls/0/end_s", json!(3.0), "stalls[0]: ends at 3 s, before its start at 3.25 s"),
        ("/stalls/0/end_s", json!(8.0), "stalls[0]: at 8 s, after the session's end at 7.25 s"),
        (
            "/stalls/0/open",
            json!(true),
            "stalls[0]: only the last stall of an incomplete session can be open",
        ),
        ("/kpis/stalls", json!(2), "kpis.stalls: is 2, but the list has 1"),
        ("/kpis/switches", json!(0), "kpis.switches: is 0, but the list has 1"),
        ("/kpis/stalled_s", json!(1.01), "kpis.stalled_s: is 1.01, but the lists give 1"),
        ("/kpis/mean_stall_s", json!(0.5), "kpis.mean_stall_s: is 0.5, but the lists give 1"),
        (
            "/kpis/stalls_per_s",
            json!(0.2),
            "kpis.stalls_per_s: is 0.2, but the lists give 0.16666666666666666",
        ),
        ("/kpis/stalls_per_s", json!(null), "kpis.stalls_per_s: expected a number, found null"),
        ("/played_s", json!(0.0), "kpis.stalls_per_s: expected null, found 0.16666666666666666"),
        ("/played_s", json!(600.0), "duration_s: is 7.25, but its parts add up to 601.25"),
        ("/duration_s", json!(1e9), "duration_s: is 1000000000, but its parts add up to 7.25"),
        (
            "/pauses",
            json!([{ "start_s": 3.5, "end_s": 4.0 }]),
            "duration_s: is 7.25, but its parts add up to 7.75",
        ),
        (
            "/kpis/mean_bitrate_kbps",
            json!(1e308),
            "kpis.mean_bitrate_kbps: expected a number of at most 9007199254740991, found 1e308",
        ),
        (
            "/kpis/linear",
            json!(-1e16),
            "kpis.linear: expected a number of at most 9007199254740991, found 1e16",
        ),
        ("/samples/0/at_s", json!(8.0), "samples: at 8 s, after the session's end at 7.25 s"),
        ("/samples/0/at_s", json!(-5.0), "samples: expected a number of at least 0, found -5"),
        (
            "/kpis/initial_load_s",
            json!(9.0),
            "kpis.initial_load_s: at 9 s, after the session's end at 7.25 s",
        ),
        ("/kpis/mok/mos", json!(3.3148), "kpis.mok.mos: is 3.3148, but its levels give 1.8308"),
        (
            "/kpis/mok/mos",
            json!(null),
            "kpis.mok.mos: expected null without a picture, and a number otherwise",
        ),
        (
            "/kpis/initial_load_open",
            json!(true),
            "kpis.mok.mos: expected null without a picture, and a number otherwise",
        ),
        ("/kpis/mok/mos_max", json!(5), "kpis.mok.mos_max: expected 3.3148"),
        ("/state", json!("left"), "state: is `left`, but complete is true"),
        ("/state", json!(null), "state: expected `finished`, `left` or `failed`, found nothing"),
        ("/complete", json!(false), "state: is `finished`, but complete is false"),
        ("/state", json!("failed"), "reason: expected one for the state `failed`"),
        (
            "/reason",
            json!({"kind": "http", "message": "HTTP 404"}),
            "reason: expected none for the state `finished`",
        ),
        ("/segments/1/level", json!(3), "segments[1]: level 3, but the video has 3 levels"),
        ("/segments/1/first_byte_s", json!(5.0), "segments[1]: times are not in order: 5 s precedes 4.25 s"),
        ("/segments/0/arrived_s", json!(5.0), "segments: times are not in order: 5 s precedes 4.25 s"),
        (
            "/video/levels/0/bitrate_kbps",
            json!(3000.0),
            "video.levels: 0 has a higher bitrate than the next level",
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
        let Err(RecordError::Wrong(problems)) = read(&document) else { panic!("{pointer} is accepted") };
        assert!(problems.iter().any(|found| found == problem), "{pointer}: {problems:#?}");
    }
    // Half a millisecond is within the tolerance for clocks.
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
fn oversized_document_is_refused_before_parsing() {
    assert_eq!(
        Record::parse(&vec![b' '; MAX_RECORD_BYTES + 1]),
        Err(RecordError::TooLarge(MAX_RECORD_BYTES + 1))
    );
    assert!(matches!(Record::parse(b"{"), Err(RecordError::Malformed(_))));
}

#[test]
fn record_of_a_session_is_valid_and_contains_all_members_of_the_session() {
    let rates = [1.0, 2.5].map(Bitrate::from_mbps).to_vec();
    let row = vec![Bytes::new(375_000), Bytes::new(937_500)];
    let manifest = Manifest::new(Duration::from_secs(3), rates, vec![row; 4]).unwrap();
    let mut player = abr::Player::new(manifest, PlayerConfig::new(THROUGHPUT), Instant::from_secs(7));
    // Responses take 0.25 s, the third 5 s, which causes a stall. Then the viewer leaves.
    for (asked, took) in [(7.0, 0.25), (7.25, 0.25), (7.5, 5.0)] {
        let at = |s: f64| Instant::ZERO + Duration::from_secs_f64(s);
        let request = player.poll_request(at(asked)).unwrap();
        player.receive(at(asked + 0.1), Bytes::ZERO);
        assert!(player.receive(at(asked + took), request.size));
    }
    let session = player.finish(Instant::from_secs(20));
    let metadata = Metadata {
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
        device: None,
        zone: None,
        versions: std::collections::BTreeMap::new(),
        samples: None,
        errors: None,
        reason: None,
    };
    let record = Record::new(metadata, &session);
    assert_eq!(record.problems(), Vec::<String>::new());
    assert!(schema().is_valid(&record.to_json()));
    // Three segments play from 7.25 s on; then the session stalls until its end.
    assert_eq!(
        record.stalls.iter().map(|stall| (stall.start_s, stall.end_s, stall.open)).collect::<Vec<_>>(),
        [(9.25, 13.0, true)]
    );
    // The record contains all members of the session's JSON at the same place.
    let (record, session) = (record.to_json(), session.to_json());
    for (member, value) in session.as_object().unwrap() {
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

/// The example as a document of the former format, with the given member changed.
fn former(pointer: &str, value: Value) -> Value {
    let mut document = with(pointer, Some(value));
    document["format"] = json!("tandem-session/1");
    for member in ["state", "device", "zone"] {
        document.as_object_mut().unwrap().remove(member);
    }
    let kpis = document["kpis"].as_object_mut().unwrap();
    kpis.remove("emos");
    kpis["mok"].as_object_mut().unwrap().remove("mos_max");
    document
}

#[test]
fn documents_of_the_former_format_are_read_and_get_a_state() {
    let state = |document: &Value| {
        assert!(schema().is_valid(document));
        read(document).unwrap().outcome()
    };
    assert_eq!(state(&former("/complete", json!(true))), (State::Finished, None));
    assert_eq!(state(&former("/complete", json!(false))), (State::Left, None));
    let mut failed = former("/complete", json!(false));
    failed["errors"] = json!([{"at_s": 0.5, "message": "status 404", "status": 404, "fatal": true}]);
    let reason = Reason { kind: ReasonKind::Http, message: "status 404".into() };
    assert_eq!(state(&failed), (State::Failed, Some(reason)));
    // It scored a session without a picture: 3.18 for a load time that never ended.
    let mut never = failed.clone();
    never["played_s"] = json!(0);
    never["kpis"] = json!({
        "initial_load_s": 7.25, "initial_load_open": true, "stalls_per_s": 0, "mean_stall_s": 0, "stalls": 0,
        "stalled_s": 0, "switches": 0,
        "mok": {"initial_level": 3, "frequency_level": 1, "stall_level": 1, "mos": 3.1804}
    });
    never["stalls"] = json!([]);
    never["switches"] = json!([]);
    assert_eq!(read(&never).unwrap().summary().kpis.mok.mos, None);
}

#[test]
fn failed_session_and_session_without_picture_enter_no_mean() {
    let good = read(&example()).unwrap().summary();
    let mut failed = good.clone();
    failed.state = State::Failed;
    failed.kpis.mok.mos = Some(3.3148);
    let mut never = good.clone();
    never.state = State::Left;
    never.kpis.initial_load_open = true;
    never.kpis.mok.mos = None;
    let json = tandem_playback::summary::comparison(&[good.clone(), failed, never, good]);
    let label = &json["labels"][0];
    let counts = ["sessions", "finished", "left", "failed"].map(|key| label[key].as_u64().unwrap());
    assert_eq!(counts, [4, 2, 1, 1]);
    assert_eq!(label["kpis"]["mos"]["n"], 2);
    assert!((label["kpis"]["mos"]["mean"].as_f64().unwrap() - 1.8308).abs() < 1e-9, "{label}");
    assert_eq!(label["kpis"]["initial_load_s"]["mean"], 0.25);
    assert_eq!(json["mos_max"].as_f64(), Some(qoe::Mok::default().max_mos()));
}

#[test]
fn uncertain_means_are_remarked() {
    let with = |mos: f64, stalled: f64| {
        let mut session = read(&example()).unwrap().summary();
        session.kpis.mok.mos = Some(mos);
        session.kpis.stalled_s = stalled;
        session
    };
    let remark =
        |sessions: &[Summary]| tandem_playback::summary::comparison(sessions)["labels"][0]["remark"].clone();
    assert_eq!(remark(&[with(3.0, 1.0), with(3.0, 1.0), with(3.0, 1.0)]), Value::Null);
    assert_eq!(
        remark(&[with(3.0, 1.0), with(3.0, 5.0), with(3.1, 1.0)]),
        "bus, both radios: too few sessions (3); the interval exceeds a third of the mean of stalled."
    );
    assert_eq!(
        remark(&[with(3.0, 1.0)]),
        "bus, both radios: too few sessions; a single one has no interval."
    );
}

#[test]
fn record_is_exported_to_p1203_csv_and_html() {
    let record = read(&example()).unwrap();
    let p1203 = record.p1203().unwrap();
    assert_eq!(p1203["I23"]["stalling"], json!([[0.0, 0.25], [3.0, 1.0]]));
    assert_eq!(p1203["I13"]["segments"][1]["resolution"], "1280x720");
    assert_eq!(p1203["I13"]["segments"][1]["bitrate"], 2500.0);
    assert_eq!(p1203["I13"]["segments"][1]["start"], 3.0);
    assert!(record.segments().to_csv().contains("0,0,1000,375000,3,0,0.05,0.25,3"));
    let html = record.page().to_html();
    for part in ["bus, both radios", "stalled", "connection reset", "1.8308"] {
        assert!(html.contains(part), "{part}");
    }
    // Untrusted text is escaped.
    let hostile = read(&with("/label", Some(json!("<script>alert(1)</script>")))).unwrap();
    assert!(!hostile.page().to_html().contains("<script>alert"));
}

#[test]
fn pauses_and_seeks_are_not_playing() {
    // The example plays from 0.25 to 3.25 s and from 4.25 s on.
    let mut document = with("/pauses", Some(json!([{ "start_s": 5.0, "end_s": 5.5 }])));
    document["seeks"] = json!([{ "start_s": 1.0, "end_s": 1.25, "from_s": 0.75, "to_s": 2.0 }]);
    document["duration_s"] = json!(8.0);
    let report::Chart::Timeline(timeline) = read(&document).unwrap().chart() else { panic!("no timeline") };
    let report::Track::Lane(lane) = &timeline.tracks[0] else { panic!("no lane") };
    let spans: Vec<(&str, f64, f64)> =
        lane.spans.iter().map(|span| (span.label.as_str(), span.from, span.to)).collect();
    let expected = [
        ("loading", 0.0, 0.25),
        ("playing", 0.25, 1.0),
        ("seeking", 1.0, 1.25),
        ("playing", 1.25, 3.25),
        ("stalled", 3.25, 4.25),
        ("playing", 4.25, 5.0),
        ("paused", 5.0, 5.5),
        ("playing", 5.5, 8.0),
    ];
    assert_eq!(spans, expected);
}

#[test]
fn session_with_seeks_is_no_input_of_p1203() {
    let seek = json!([{ "start_s": 1.0, "end_s": 1.25, "from_s": 0.75, "to_s": 2.0 }]);
    let mut document = with("/seeks", Some(seek));
    document["duration_s"] = json!(7.5);
    let error = read(&document).unwrap().p1203().unwrap_err();
    assert!(error.starts_with("expected a session without seeks"), "{error}");
}

#[test]
fn of_a_segment_in_several_bitrates_p1203_has_the_copy_that_was_played() {
    // The example plays segment 0 from 0.25 s and, after a stall, segment 1 from 4.25 s on.
    let copies = [(1, 1, 0.1), (0, 0, 0.25), (0, 2, 2.0), (1, 2, 4.2), (1, 0, 5.0)];
    let segments: Vec<Value> = copies
        .iter()
        .map(|(segment, level, arrived_s)| {
            json!({ "segment": segment, "level": level, "bitrate_kbps": 1000 + level, "size_bytes": 0,
                    "asked_s": 0, "first_byte_s": 0, "arrived_s": arrived_s, "buffer_s": 3 })
        })
        .collect();
    let p1203 = read(&with("/segments", Some(json!(segments)))).unwrap().p1203().unwrap();
    let shown: Vec<[f64; 3]> = p1203["I13"]["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| ["start", "duration", "bitrate"].map(|key| part[key].as_f64().unwrap()))
        .collect();
    assert_eq!(shown, [[0.0, 3.0, 1000.0], [3.0, 3.0, 1002.0]]);
}

#[test]
fn p1203_has_the_segments_of_all_periods_with_the_same_numbers() {
    let mut document = example();
    document["segments"][1]["segment"] = json!(0);
    let p1203 = read(&document).unwrap().p1203().unwrap();
    assert_eq!(p1203["I13"]["segments"][0]["bitrate"], 1000.0);
    assert_eq!(p1203["I13"]["segments"][1]["bitrate"], 2500.0);
}

/// The buffer is full of further segments when the viewer leaves.
#[test]
fn p1203_has_the_segments_of_all_periods_of_a_session_that_is_left() {
    let mut document = example();
    let first = document["segments"][0].clone();
    let (mut second, mut third) = (document["segments"][1].clone(), first.clone());
    // A period of one segment, then three segments of the next one; 3 s each.
    second["segment"] = json!(0);
    third["segment"] = json!(1);
    third["arrived_s"] = json!(5.0);
    third["buffer_s"] = json!(5.25);
    let mut fourth = third.clone();
    fourth["segment"] = json!(2);
    fourth["arrived_s"] = json!(5.5);
    fourth["buffer_s"] = json!(7.75);
    document["segments"] = json!([first, second, third, fourth]);
    let p1203 = read(&document).unwrap().p1203().unwrap();
    let rates: Vec<f64> = p1203["I13"]["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["bitrate"].as_f64().unwrap())
        .collect();
    assert_eq!(rates, [1000.0, 2500.0]);
}

#[test]
fn audio_of_p1203_ends_with_the_played_time() {
    let piece = json!({ "duration_s": 4, "bitrate_kbps": 128, "codec": "aaclc" });
    let p1203 = read(&with("/audio", Some(json!(vec![piece; 5])))).unwrap().p1203().unwrap();
    let pieces = p1203["I11"]["segments"].as_array().unwrap();
    let durations: Vec<f64> = pieces.iter().map(|piece| piece["duration"].as_f64().unwrap()).collect();
    assert_eq!(durations, [4.0, 2.0]);
}

#[test]
fn bitrate_chart_is_in_order_of_requests() {
    let mut document = with("/segments/1/asked_s", Some(json!(0.1)));
    document["segments"][0]["asked_s"] = json!(0.2);
    document["segments"][0]["first_byte_s"] = json!(0.2);
    let report::Chart::Timeline(timeline) = read(&document).unwrap().chart() else { panic!("no timeline") };
    let report::Track::Panel(panel) = &timeline.tracks[2] else { panic!("no panel") };
    assert_eq!(panel.lines[0].name, "bitrate");
    assert_eq!(panel.lines[0].x, [0.1, 0.2, 7.25]);
    assert_eq!(panel.lines[0].y, [2.5, 1.0, 1.0]);
}

#[test]
fn page_of_a_session_with_an_empty_label_has_a_title() {
    let html = read(&with("/label", Some(json!("")))).unwrap().page().to_html();
    assert!(html.contains("<title>Session</title>"), "{html}");
    assert!(!html.contains("<dt>label"), "{html}");
}

#[test]
fn labels_are_compared_by_means_of_their_sessions() {
    let with = |label: &str, mos_levels: [u8; 3]| {
        let mut record = read(&example()).unwrap();
        record.label = Some(label.into());
        let [initial, frequency, stall] = mos_levels;
        record.kpis.mok.mos = Some(qoe::Levels { initial, frequency, stall }.mos());
        record.summary()
    };
    let sessions = [with("a", [1, 1, 1]), with("b", [1, 3, 1]), with("a", [1, 2, 1])];
    let groups = tandem_playback::summary::groups(&sessions);
    assert_eq!(groups.iter().map(|group| group.sessions.len()).collect::<Vec<_>>(), [2, 1]);
    let json = tandem_playback::summary::comparison(&sessions);
    // Mean of 3.3148 and 2.5728, and 12.706 times their standard error of 0.371.
    let mos = &json["labels"][0]["kpis"]["mos"];
    assert!((mos["mean"].as_f64().unwrap() - 2.9438).abs() < 1e-9, "{mos}");
    assert!((mos["ci95"].as_f64().unwrap() - 12.706 * 0.371).abs() < 1e-9, "{mos}");
    assert_eq!(json["labels"][1]["kpis"]["mos"]["ci95"], Value::Null, "a single session has no interval");
    let text = tandem_playback::summary::means(&groups).to_text(report::TextStyle::PLAIN);
    assert!(text.contains("2.9438"), "{text}");
    assert!(tandem_playback::summary::table(&sessions, true).to_html().contains("href=\"/sessions/0193a6f2"));
}
