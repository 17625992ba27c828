//! Keys of a scenario with several devices: `[[device]]` in double brackets.

mod place;

use super::device::{DEVICE, POLICIES};
use super::traffic::{MANIFEST, TRAFFIC};
use super::transport::TRANSPORT;
use place::{PATH, SHARED_CELL};
use quantities::{POSITIVE_TIME, TIME};
use schema::shape::{
    Key,
    Need::{Absent, Default, Required},
    Shape::{self, Integer, List, Name, Number, Or, Text, Tuple},
    Table,
};

pub(crate) static CROWD: Table = Table {
    name: "the scenario of several devices",
    doc: "A scenario with `[[device]]` in double brackets describes several devices that share \
          cells. Each kind of device has its own paths and traffic.",
    one_of: &[],
    keys: &[
        Key {
            name: "title",
            shape: Text,
            need: Absent("the name of the file"),
            doc: "One-line title of the scenario.",
            example: "\"A café\"",
        },
        Key {
            name: "description",
            shape: Text,
            need: Absent("none"),
            doc: "Longer description, shown in the report.",
            example: "\"\"\"Twenty phones share an access point.\"\"\"",
        },
        Key {
            name: "seed",
            shape: Integer { min: 0, max: i64::MAX },
            need: Default("1"),
            doc: "Seed of every random source. Each device has random streams of its own.",
            example: "1",
        },
        Key {
            name: "duration",
            shape: POSITIVE_TIME,
            need: Required,
            doc: "Simulated time of a run.",
            example: "\"60s\"",
        },
        Key {
            name: "sample",
            shape: POSITIVE_TIME,
            need: Default("\"1s\""),
            doc: "Interval between the samples of the cells' load, and of a device that is shown alone.",
            example: "\"1s\"",
        },
        Key {
            name: "cell",
            shape: Shape::Tables(&SHARED_CELL),
            need: Absent("no shared media"),
            doc: "A wireless medium that the devices share.",
            example: "[{ name = \"ap\", kind = \"wifi\", rate = \"20Mbps\" }]",
        },
        Key {
            name: "device",
            shape: Shape::Tables(&KIND_OF_DEVICE),
            need: Required,
            doc: "Devices of one kind.",
            example: "[{ name = \"phone\", count = 20, path = [{ name = \"wifi\", radio = \
                      \"huang2012.wifi\", down = { rate = \"5Mbps\" } }], traffic = [{ kind = \
                      \"bulk\" }] }]",
        },
        Key {
            name: "transport",
            shape: Shape::Table(&TRANSPORT),
            need: Default("{}"),
            doc: "Protocol and parameters of the connections of all devices.",
            example: "{ scheduler = \"min-rtt\" }",
        },
        Key {
            name: "adoption",
            shape: Shape::Table(&ADOPTION),
            need: Default("{}"),
            doc: "Share of the devices that have another policy than their own.",
            example: "{ qoe = 0.25 }",
        },
    ],
};

/// The keys of a device, then those of its kind.
static KIND_OF_DEVICE: Table = Table {
    name: "a kind of device",
    doc: "Devices of one kind, with the same paths, traffic and policy. Each device draws its own \
          values where a key gives several.",
    one_of: &[],
    keys: &KIND_KEYS,
};

static KIND_KEYS: [Key; DEVICE.keys.len() + 4] = with_keys(
    DEVICE.keys,
    &[
        Key {
            name: "name",
            shape: Name,
            need: Required,
            doc: "Name in results; each device has its number after it.",
            example: "\"phone\"",
        },
        Key {
            name: "count",
            shape: Integer { min: 1, max: 10_000 },
            need: Default("1"),
            doc: "Number of devices.",
            example: "20",
        },
        Key {
            name: "path",
            shape: Shape::Tables(&PATH),
            need: Required,
            doc: "A network path between each device and the server, over one of its radios.",
            example: "[{ name = \"wifi\", radio = \"huang2012.wifi\", down = { cell = \"ap\" } }]",
        },
        Key {
            name: "traffic",
            shape: Shape::Tables(&DRAWN_TRAFFIC),
            need: Required,
            doc: "An application of each device and its traffic.",
            example: "[{ kind = \"bulk\", start = { uniform = [\"0s\", \"5s\"] } }]",
        },
        Key {
            name: "transport",
            shape: Shape::Table(&TRANSPORT),
            need: Absent("the `[transport]` of the file"),
            doc: "Protocol and parameters of these devices' connections.",
            example: "{ protocol = \"tcp\", path = \"wifi\" }",
        },
    ],
);

static DRAWN_TRAFFIC: Table = Table {
    name: "a traffic source of each device",
    doc: "An application of each device. Its start and its video may differ between devices.",
    one_of: &[],
    keys: &DRAWN_TRAFFIC_KEYS,
};

static DRAWN_TRAFFIC_KEYS: [Key; TRAFFIC.keys.len()] = with_keys(
    TRAFFIC.keys,
    &[
        Key {
            name: "start",
            shape: Or(&TIME, &Or(&List { of: &TIME, min: 1, max: 1000 }, &Shape::Table(&UNIFORM_TIME))),
            need: Default("\"0s\""),
            doc: "Start time; each device draws one of a list, or from a range.",
            example: "{ uniform = [\"0s\", \"30s\"] }",
        },
        Key {
            name: "manifest",
            shape: Or(&ONE_MANIFEST, &List { of: &ONE_MANIFEST, min: 1, max: 100 }),
            need: Absent("`video` needs it"),
            doc: "`video`: the video to play, as in a scenario of one device; each device draws one \
                  of a list.",
            example: "[\"film.json\", { bitrates = \"2Mbps\", duration = \"60s\" }]",
        },
    ],
);

static ONE_MANIFEST: Shape = Or(&Shape::File, &Shape::Table(&MANIFEST));

static UNIFORM_TIME: Table = Table {
    name: "a drawn time",
    doc: "A time that each device draws.",
    one_of: &[],
    keys: &[Key {
        name: "uniform",
        shape: Tuple(&[("from", TIME), ("to", TIME)]),
        need: Required,
        doc: "Bounds of a uniform distribution.",
        example: "[\"0s\", \"30s\"]",
    }],
};

static UNIFORM_NUMBER: Table = Table {
    name: "a drawn number",
    doc: "A number that each device draws.",
    one_of: &[],
    keys: &[Key {
        name: "uniform",
        shape: Tuple(&[("from", DECIBELS), ("to", DECIBELS)]),
        need: Required,
        doc: "Bounds of a uniform distribution.",
        example: "[3, 25]",
    }],
};

const DECIBELS: Shape = Number { min: -50.0, max: 60.0 };

static ADOPTION: Table = Table {
    name: "the adoption",
    doc: "Share of the devices of each kind that have a policy in place of their own, from 0 to 1. \
          The shares of all policies sum to at most 1. Who has the only adopted policy at one share has \
          it at every larger one; of several policies, those before keep their devices while their \
          own shares stay. The devices of each cell adopt in equal shares.",
    one_of: &[],
    keys: &ADOPTION_KEYS,
};

static ADOPTION_KEYS: [Key; POLICIES.len()] = {
    const NONE: Key = Key {
        name: "",
        shape: Shape::Probability,
        need: Absent("0"),
        doc: "Share of the devices with this policy.",
        example: "0.25",
    };
    let mut keys = [NONE; POLICIES.len()];
    let mut i = 0;
    while i < POLICIES.len() {
        keys[i] = Key { name: POLICIES[i].name, ..NONE };
        i += 1;
    }
    keys
};

/// The keys of another table, those of `own` in place of theirs or at the end. Evaluated by the
/// compiler, which rejects a wrong `N`.
const fn with_keys<const N: usize>(base: &[Key], own: &[Key]) -> [Key; N] {
    let mut keys = [own[0]; N];
    let (mut i, mut count) = (0, base.len());
    while i < base.len() {
        keys[i] = base[i];
        i += 1;
    }
    i = 0;
    while i < own.len() {
        let mut at = 0;
        while at < base.len() && !is_equal(base[at].name, own[i].name) {
            at += 1;
        }
        if at == base.len() {
            at = count;
            count += 1;
        }
        keys[at] = own[i];
        i += 1;
    }
    assert!(count == N);
    keys
}

const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
