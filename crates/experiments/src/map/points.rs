//! The points of a map: pairs of radios, kinds of traffic, rates.
//!
//! Each point is a scenario that can be written and run by itself. Rates are shares of the cheap
//! link's: a tenth leaves it nearly idle, 1.4 is more than it carries. Links have constant rates, so
//! that the best policy of a point does not depend on how fast it notices a change.

use policy::InterfaceKind;
use scenario::Scenario;
use std::fmt::Write as _;

/// Shares of the cheap link's rate of the points of a map.
const MAP_LOADS: [f64; 3] = [0.1, 0.6, 1.4];
/// Shares of the held-out points, and the factors of their links' rates.
const HELD_OUT_LOADS: [f64; 2] = [0.3, 1.0];
const HELD_OUT_LINKS: [f64; 2] = [0.5, 1.5];
/// Time with traffic; each run goes on until tails are over.
const TRAFFIC_S: f64 = 60.0;
const RUN_S: f64 = 75.0;

/// A link and the radio at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Radio {
    name: &'static str,
    kind: InterfaceKind,
    /// The value of `radio` in a scenario.
    profile: &'static str,
    down_mbps: f64,
    up_mbps: f64,
    delay_ms: f64,
}

/// A cheap and a costly radio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// Name, such as `Wi-Fi + LTE`.
    pub name: &'static str,
    /// Both radios draw the power of the eMTCP paper's, by the fit to it.
    pub is_of_paper: bool,
    preferred: Radio,
    costly: Radio,
}

const WIFI: Radio = Radio {
    name: "wifi",
    kind: InterfaceKind::Wifi,
    profile: "\"huang2012.wifi\"",
    down_mbps: 20.0,
    up_mbps: 10.0,
    delay_ms: 10.0,
};
const BLUETOOTH: Radio = Radio {
    name: "bluetooth",
    kind: InterfaceKind::Bluetooth,
    profile: "\"aro.bluetooth\"",
    down_mbps: 1.5,
    up_mbps: 0.5,
    delay_ms: 30.0,
};
const LTE: Radio = Radio {
    name: "lte",
    kind: InterfaceKind::Lte,
    profile: "\"huang2012.lte\"",
    down_mbps: 12.0,
    up_mbps: 5.0,
    delay_ms: 35.0,
};
const THREE_G: Radio = Radio {
    name: "3g",
    kind: InterfaceKind::ThreeG,
    profile: "\"huang2012.3g\"",
    down_mbps: 3.0,
    up_mbps: 0.4,
    delay_ms: 75.0,
};
const FIVE_G_LOW: Radio = Radio {
    name: "5g-low",
    kind: InterfaceKind::FiveG,
    profile: "\"narayanan2021.5g-low\"",
    down_mbps: 40.0,
    up_mbps: 15.0,
    delay_ms: 20.0,
};
const FIVE_G_MMWAVE: Radio = Radio {
    name: "5g-mmwave",
    kind: InterfaceKind::FiveG,
    profile: "\"narayanan2021.5g-mmwave\"",
    down_mbps: 150.0,
    up_mbps: 30.0,
    delay_ms: 10.0,
};
/// Fitted to cases 1 and 2 of the eMTCP paper (docs/background/emtcp.md).
const PAPER_WIFI: Radio = Radio {
    profile: "{ name = \"chen2013.wifi\", kind = \"wifi\", origin = \"fit\", up_per_mbps = \"0mW\", \
              down_per_mbps = \"27.875mW\", active = \"27.144mW\", inactivity = \"endless\" }",
    ..WIFI
};
const PAPER_LTE: Radio = Radio {
    profile: "{ name = \"chen2013.lte\", kind = \"lte\", origin = \"fit\", up_per_mbps = \"0mW\", \
              down_per_mbps = \"246.089mW\", active = \"263.61mW\", inactivity = \"endless\" }",
    ..LTE
};

/// The pairs of radios.
pub const PAIRS: [Pair; 7] = [
    Pair { name: "Wi-Fi + LTE", is_of_paper: false, preferred: WIFI, costly: LTE },
    Pair { name: "Wi-Fi + 3G", is_of_paper: false, preferred: WIFI, costly: THREE_G },
    Pair { name: "Wi-Fi + 5G low", is_of_paper: false, preferred: WIFI, costly: FIVE_G_LOW },
    Pair { name: "Wi-Fi + 5G mmWave", is_of_paper: false, preferred: WIFI, costly: FIVE_G_MMWAVE },
    Pair { name: "Bluetooth + 3G", is_of_paper: false, preferred: BLUETOOTH, costly: THREE_G },
    Pair { name: "Bluetooth + LTE", is_of_paper: false, preferred: BLUETOOTH, costly: LTE },
    Pair { name: "Wi-Fi + LTE (paper)", is_of_paper: true, preferred: PAPER_WIFI, costly: PAPER_LTE },
];

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// One file.
    Bulk,
    /// A live stream: data beyond the network's rate is dropped.
    Stream,
    /// Two seconds of sending after pauses of eight, both drawn from exponential distributions.
    OnOff,
    /// A file every six seconds, each over a connection of its own.
    ShortFiles,
    /// Adaptive video of a minute.
    Video,
}

impl Traffic {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Bulk, Self::Stream, Self::OnOff, Self::ShortFiles, Self::Video];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Stream => "stream",
            Self::OnOff => "on/off",
            Self::ShortFiles => "short files",
            Self::Video => "video",
        }
    }

    /// Tables `[[traffic]]` for a rate in Mbit/s. A file's size is that rate times its time.
    fn tables(self, mbps: f64) -> String {
        let bps = (mbps * 1e6) as u64;
        let bytes = |seconds: f64| (mbps * seconds * 125_000.0) as u64;
        let stop = format!("stop = \"{TRAFFIC_S}s\"");
        match self {
            Self::Bulk => format!("[[traffic]]\nkind = \"file\"\nsize = \"{}B\"\n{stop}\n", bytes(TRAFFIC_S)),
            Self::Stream => {
                format!("[[traffic]]\nkind = \"cbr\"\nrate = \"{bps}bps\"\non_full = \"drop\"\n{stop}\n")
            }
            Self::OnOff => format!(
                "[[traffic]]\nkind = \"on-off\"\nrate = \"{bps}bps\"\non = \"2s\"\noff = \"8s\"\n\
                 exponential = true\non_full = \"drop\"\n{stop}\n"
            ),
            Self::ShortFiles => (0..10).fold(String::new(), |mut text, nth| {
                let start = 1 + 6 * nth;
                let size = bytes(6.0);
                let _ = write!(
                    text,
                    "[[traffic]]\nkind = \"file\"\nsize = \"{size}B\"\nstart = \"{start}s\"\n{stop}\n"
                );
                text
            }),
            Self::Video => {
                let rates: Vec<String> = [0.1, 0.25, 0.5, 1.0]
                    .iter()
                    .map(|part| format!("\"{}bps\"", (part * mbps * 1e6) as u64))
                    .collect();
                format!(
                    "[[traffic]]\nkind = \"video\"\nmanifest = {{ bitrates = [{}], duration = \"60s\", segment = \"2s\" }}\n\
                     buffer = \"20s\"\nstartup = \"2s\"\n",
                    rates.join(", ")
                )
            }
        }
    }
}

/// A point of the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The radios.
    pub pair: Pair,
    /// The traffic.
    pub traffic: Traffic,
    /// Offered rate as a share of the cheap link's.
    pub load: f64,
    /// Factor of the links' rates.
    links: f64,
}

/// The points from which the map is made.
pub fn of_map() -> Vec<Point> {
    grid(&PAIRS, &MAP_LOADS, 1.0)
}

/// The points that judge the map: other loads, slower and faster links.
pub fn held_out() -> Vec<Point> {
    let pairs: Vec<Pair> = PAIRS.into_iter().filter(|pair| !pair.is_of_paper).collect();
    HELD_OUT_LINKS.iter().flat_map(|links| grid(&pairs, &HELD_OUT_LOADS, *links)).collect()
}

fn grid(pairs: &[Pair], loads: &[f64], links: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for pair in pairs {
        for traffic in Traffic::ALL {
            points.extend(loads.iter().map(|load| Point { pair: *pair, traffic, load: *load, links }));
        }
    }
    points
}

impl Point {
    /// Kinds of the cheap and the costly radio.
    pub const fn kinds(&self) -> (InterfaceKind, InterfaceKind) {
        (self.pair.preferred.kind, self.pair.costly.kind)
    }

    /// Offered rate, in Mbit/s.
    pub fn mbps(&self) -> f64 {
        self.load * self.links * self.pair.preferred.down_mbps
    }

    /// The point as a scenario file.
    pub fn to_toml(&self) -> String {
        let path = |radio: &Radio| {
            let rate = |mbps: f64| format!("\"{}bps\"", (mbps * self.links * 1e6) as u64);
            format!(
                "[[path]]\nname = \"{}\"\nradio = {}\n\
                 down = {{ rate = {}, delay = \"{delay}ms\", queue = \"100ms\", loss = 0.0005 }}\n\
                 up = {{ rate = {}, delay = \"{delay}ms\" }}\n\n",
                radio.name,
                radio.profile,
                rate(radio.down_mbps),
                rate(radio.up_mbps),
                delay = radio.delay_ms,
            )
        };
        format!(
            "title = \"{}, {} at {} of the cheap link\"\nduration = \"{RUN_S}s\"\n\n{}{}\
             [transport]\nprotocol = \"mptcp\"\n\n{}",
            self.pair.name,
            self.traffic.name(),
            self.load,
            path(&self.pair.preferred),
            path(&self.pair.costly),
            self.traffic.tables(self.mbps())
        )
    }

    /// The scenario.
    pub fn scenario(&self) -> Scenario {
        let no_files = |_: &str| -> Result<String, String> { Err("a point names no file".to_owned()) };
        match Scenario::parse("point.toml", &self.to_toml(), &no_files) {
            Ok(scenario) => scenario,
            Err(problems) => unreachable!("a point is a valid scenario: {problems:?}"),
        }
    }
}
