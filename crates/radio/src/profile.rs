//! What a radio interface draws, as data.

use crate::profile_toml;
use crate::{Direction, State, builtin};
use core::fmt;
use core::str::FromStr;
use schema::{Diagnostic, Fields, Problems};
use units::{Bitrate, Duration, Power};

/// The technology behind an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InterfaceKind {
    /// IEEE 802.11.
    Wifi,
    /// LTE, the fourth generation.
    Lte,
    /// UMTS and HSPA, and GSM before them.
    ThreeG,
    /// 5G New Radio.
    FiveG,
    /// Bluetooth.
    Bluetooth,
    /// Anything else.
    Other,
}

impl InterfaceKind {
    /// Every kind, in the order in which lists show them.
    pub const ALL: [Self; 6] =
        [Self::Wifi, Self::Lte, Self::ThreeG, Self::FiveG, Self::Bluetooth, Self::Other];

    /// The written name: `wifi`, `lte`, `3g`, `5g`, `bluetooth`, `other`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wifi => "wifi",
            Self::Lte => "lte",
            Self::ThreeG => "3g",
            Self::FiveG => "5g",
            Self::Bluetooth => "bluetooth",
            Self::Other => "other",
        }
    }

    /// True for what an operator runs and counts against an allowance.
    pub const fn is_cellular(self) -> bool {
        matches!(self, Self::Lte | Self::ThreeG | Self::FiveG)
    }
}

/// How the digits of a profile are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Read in the source that the profile names.
    Read,
    /// From the literature, the digits not checked against it again.
    Known,
    /// Derived from measurements or published figures.
    Fit,
    /// Taken for want of a figure; the profile's note says why that one.
    Assumed,
}

impl Origin {
    /// Every origin, the best known first.
    pub const ALL: [Self; 4] = [Self::Read, Self::Known, Self::Fit, Self::Assumed];

    /// The written name: `read`, `known`, `fit`, `assumed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Known => "known",
            Self::Fit => "fit",
            Self::Assumed => "assumed",
        }
    }
}

/// How each group of a profile's digits is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origins {
    /// [`Profile::up_per_mbps`] and [`Profile::down_per_mbps`].
    pub rate: Origin,
    /// [`Profile::active`].
    pub active: Origin,
    /// [`Profile::promotion`].
    pub promotion: Origin,
    /// [`Profile::inactivity`].
    pub inactivity: Origin,
    /// [`Profile::tail`].
    pub tail: Origin,
    /// [`Profile::idle`].
    pub idle: Origin,
}

impl Origins {
    /// The same for every group.
    pub const fn all(origin: Origin) -> Self {
        Self {
            rate: origin,
            active: origin,
            promotion: origin,
            inactivity: origin,
            tail: origin,
            idle: origin,
        }
    }
}

/// A power that comes back periodically: a paging occasion, a beacon, the on-duration of a DRX cycle.
///
/// The first pulse begins where the state begins, as the on-duration begins a DRX cycle (3GPP TS 36.321).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pulse {
    /// Drawn during a pulse *in place of* the base power of the state, not on top of it.
    pub power: Power,
    /// How long a pulse lasts; at most `period`.
    pub width: Duration,
    /// From the beginning of one pulse to the beginning of the next; not zero.
    pub period: Duration,
}

/// A state that lasts for a set time: a promotion, or one stage of a tail.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// What the source calls it: "DCH", "FACH", "long DRX".
    pub name: String,
    /// Drawn throughout, outside pulses.
    pub power: Power,
    /// How long it lasts if no packet ends it.
    pub duration: Duration,
    /// The DRX pulses inside it, where the profile has them.
    pub pulse: Option<Pulse>,
}

/// The interface at rest.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Idle {
    /// Drawn throughout, outside pulses.
    pub power: Power,
    /// Paging or beacons.
    pub pulse: Option<Pulse>,
}

/// The power model of one radio interface.
///
/// While it is active it draws `up_per_mbps * up + down_per_mbps * down + active`, the rates in Mbit/s
/// (Huang et al., MobiSys 2012, section 4). A power per Mbit/s is an energy per Mbit, 1 mW per Mbit/s
/// being 1 mJ per Mbit, so the rate-dependent part of the energy depends only on how much was carried
/// and not on how fast.
///
/// The first packet after idle begins the promotion; then the interface is active until nothing has
/// passed for `inactivity`, walks down the stages of its tail, and is idle again. A packet in the tail
/// makes it active at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The name it is asked for by: source and year, a dot, the technology.
    pub name: String,
    /// The technology.
    pub kind: InterfaceKind,
    /// Where the figures come from.
    pub source: String,
    /// What a reader of results has to know: what was subtracted, assumed or left out. May be empty.
    pub note: String,
    /// Power for each Mbit/s sent.
    pub up_per_mbps: Power,
    /// Power for each Mbit/s received.
    pub down_per_mbps: Power,
    /// Power while active whatever the rate, b.
    pub active: Power,
    /// From idle to active; `None` if that takes no time and no energy.
    pub promotion: Option<Stage>,
    /// How long it stays active after the last packet; [`Duration::MAX`] for ever.
    pub inactivity: Duration,
    /// After `inactivity`, the stages on the way to idle, in order.
    pub tail: Vec<Stage>,
    /// At rest.
    pub idle: Idle,
    /// How the digits of each group are known.
    pub origins: Origins,
}

impl Profile {
    /// A profile that draws nothing: the ground on which others are built.
    pub fn silent(name: &str, kind: InterfaceKind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            source: String::new(),
            note: String::new(),
            up_per_mbps: Power::ZERO,
            down_per_mbps: Power::ZERO,
            active: Power::ZERO,
            promotion: None,
            inactivity: Duration::ZERO,
            tail: Vec::new(),
            idle: Idle::default(),
            origins: Origins::all(Origin::Assumed),
        }
    }

    /// The built-in profile of that name. [`builtin::profiles`] lists them.
    pub fn named(name: &str) -> Option<Self> {
        builtin::profiles().into_iter().find(|profile| profile.name == name)
    }

    /// Reads a profile from TOML.
    ///
    /// `name` is what errors call the text, and the profile's name where the text does not give one.
    ///
    /// ```
    /// # use tandem_radio::Profile;
    /// let text = r#"
    /// kind = "lte"                  # wifi, lte, 3g, 5g, bluetooth, other
    /// source = "my own bench"       # optional, as are note and origin
    /// origin = "read"               # or a table: { rate = "fit", tail = "read" }
    /// up_per_mbps = "438.39mW"
    /// down_per_mbps = "51.97mW"
    /// active = "1288.04mW"
    /// inactivity = "100ms"          # or "endless"
    /// promotion = { power = "1210.7mW", duration = "260.1ms" }                   # optional
    /// idle = { power = "0mW", pulse = { power = "594mW", width = "43ms", period = "1.28s" } }
    ///
    /// [[tail]]                      # none, or one for each stage
    /// name = "long DRX"
    /// power = "1060mW"
    /// duration = "11s"
    /// pulse = { power = "1680mW", width = "2ms", period = "40ms" }               # optional
    /// "#;
    /// let profile = Profile::from_toml("mine.lte", text)?;
    /// assert_eq!(profile.name, "mine.lte");
    /// # Ok::<(), Vec<schema::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    /// Every problem of the text.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        profile_toml::from_toml(name, text)
    }

    /// The profile with keys that were read against [`PROFILE`](crate::PROFILE), called `name` if it
    /// has no name of its own. Problems that need several keys are added to `problems`.
    pub fn from_fields(fields: &Fields, name: &str, problems: &mut Problems<'_>) -> Self {
        profile_toml::from_fields(fields, name, problems)
    }

    /// The profile as a TOML document that [`Profile::from_toml`] reads back to the same.
    pub fn to_toml(&self) -> String {
        profile_toml::to_toml(self)
    }

    /// What cannot be about a profile that was put together by hand, as a sentence; `None` if it can be.
    ///
    /// Those built in and those read from TOML are sound.
    pub fn problem(&self) -> Option<String> {
        let idle = ("idle", self.idle.power, self.idle.pulse);
        let stages = self.promotion.iter().chain(&self.tail);
        let states = stages.map(|stage| (stage.name.as_str(), stage.power, stage.pulse)).chain([idle]);
        let mut powers = vec![
            ("up_per_mbps", self.up_per_mbps),
            ("down_per_mbps", self.down_per_mbps),
            ("active", self.active),
        ];
        for (name, power, pulse) in states {
            powers.push((name, power));
            if let Some(pulse) = pulse {
                powers.push((name, pulse.power));
                if pulse.period.is_zero() || pulse.width > pulse.period {
                    return Some(format!("{name}: a pulse must fit into its period"));
                }
            }
        }
        let unsound = |power: &Power| !power.as_watts().is_finite() || power.as_watts() < 0.0;
        let (name, power) = powers.into_iter().find(|(_, power)| unsound(power))?;
        Some(format!("{name}: {power} is not a power that can be drawn"))
    }

    /// What the interface draws, while active, at these rates.
    pub fn active_power(&self, up: Bitrate, down: Bitrate) -> Power {
        self.active + self.up_per_mbps * up.as_mbps() + self.down_per_mbps * down.as_mbps()
    }

    /// J per Mbit received at a steady `rate`: the marginal cost and the base power's share, a_d + b / rate.
    ///
    /// At no rate at all this is infinite where there is a base power.
    pub fn energy_per_mbit(&self, rate: Bitrate) -> f64 {
        self.energy_per_mbit_in(Direction::Down, rate)
    }

    /// [`energy_per_mbit`](Self::energy_per_mbit) for either direction.
    pub fn energy_per_mbit_in(&self, direction: Direction, rate: Bitrate) -> f64 {
        let marginal = self.marginal(direction).as_watts();
        let base = self.active.as_watts();
        if base == 0.0 { marginal } else { marginal + base / rate.as_mbps() }
    }

    /// What one more Mbit costs while the interface is active anyway: 1 W here is 1 J per Mbit.
    pub fn marginal(&self, direction: Direction) -> Power {
        match direction {
            Direction::Up => self.up_per_mbps,
            Direction::Down => self.down_per_mbps,
        }
    }

    /// From the last packet to idle: the inactivity timer and every stage of the tail.
    pub fn tail_time(&self) -> Duration {
        self.tail.iter().fold(self.inactivity, |sum, stage| sum + stage.duration)
    }

    /// What the profile calls a state: `idle`, `active`, or the stage's own name.
    pub fn state_name(&self, state: State) -> &str {
        match state {
            State::Idle => "idle",
            State::Promotion => self.promotion.as_ref().map_or("promotion", |stage| stage.name.as_str()),
            State::Active => "active",
            State::Tail(index) => self.tail.get(index).map_or("tail", |stage| stage.name.as_str()),
        }
    }
}

impl fmt::Display for InterfaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InterfaceKind {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.as_str() == text).ok_or_else(|| UnknownName(text.to_owned()))
    }
}
impl FromStr for Origin {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let mut all = Self::ALL.into_iter();
        all.find(|origin| origin.as_str() == text).ok_or_else(|| UnknownName(text.to_owned()))
    }
}

/// A word that is none of the names it may be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not known here")]
pub struct UnknownName(pub String);
