//! Power models of radio interfaces, as data.

use crate::profile_toml;
use crate::{Direction, State, builtin};
use schema::{Diagnostic, Fields, Problems};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use units::{Bitrate, Duration, Power};

/// Radio technology of an interface.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownName, parse_err_fn = UnknownName::new)]
pub enum InterfaceKind {
    /// IEEE 802.11.
    Wifi,
    /// LTE, the fourth generation.
    Lte,
    /// UMTS and HSPA, and GSM before them.
    #[strum(serialize = "3g")]
    ThreeG,
    /// 5G New Radio.
    #[strum(serialize = "5g")]
    FiveG,
    /// Bluetooth.
    Bluetooth,
    /// IEEE 802.3, and other networks by wire.
    Ethernet,
    /// A satellite network.
    Satellite,
    /// Anything else.
    Other,
}

impl InterfaceKind {
    /// Every kind, in the order in which lists show them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the name: `wifi`, `lte`, `3g`, `5g`, `bluetooth`, `ethernet`, `satellite`, `other`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true for networks of operators, whose data costs energy, money or an allowance:
    /// cellular and satellite networks.
    pub const fn is_costly(self) -> bool {
        matches!(self, Self::Lte | Self::ThreeG | Self::FiveG | Self::Satellite)
    }
}

/// Provenance of the figures of a profile.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownName, parse_err_fn = UnknownName::new)]
pub enum Origin {
    /// Read in the source that the profile names.
    Read,
    /// From the literature; not checked against the source again.
    Known,
    /// Derived from measurements or published figures.
    Fit,
    /// Assumed for lack of a published figure; the profile's note gives the reason.
    Assumed,
}

impl Origin {
    /// Every origin, the most reliable first.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the name: `read`, `known`, `fit`, `assumed`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Provenance of each group of a profile's figures.
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
    /// Sets the same origin for every group.
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

/// A periodic power pulse: a paging occasion, a beacon, the on-duration of a DRX cycle.
///
/// The first pulse begins with the state, as the on-duration begins a DRX cycle (3GPP TS 36.321).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pulse {
    /// Power during a pulse; it replaces the base power of the state.
    pub power: Power,
    /// Duration of a pulse; at most `period`.
    pub width: Duration,
    /// Time from the start of a pulse to the start of the next; above zero.
    pub period: Duration,
}

/// A state of fixed duration: a promotion, or one stage of a tail.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Name in the source: "DCH", "FACH", "long DRX".
    pub name: String,
    /// Power outside pulses.
    pub power: Power,
    /// Duration, unless a packet ends it.
    pub duration: Duration,
    /// DRX pulses, if the profile has any.
    pub pulse: Option<Pulse>,
}

/// Idle state of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Idle {
    /// Power outside pulses.
    pub power: Power,
    /// Paging or beacons.
    pub pulse: Option<Pulse>,
}

/// The power model of one radio interface.
///
/// An active interface draws `up_per_mbps * up + down_per_mbps * down + active`, with the rates in
/// Mbit/s (Huang et al., MobiSys 2012, section 4). A power per Mbit/s equals an energy per Mbit: 1
/// mW per Mbit/s is 1 mJ per Mbit. So this part of the energy depends on the amount of data and not
/// on the rate.
///
/// The first packet after idle starts the promotion. The interface is then active until no packet
/// has passed for `inactivity`, goes through the tail stages in order, and is idle again. A packet
/// in the tail makes it active at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Unique name: source and year, a dot, the technology.
    pub name: String,
    /// The technology.
    pub kind: InterfaceKind,
    /// Source of the figures.
    pub source: String,
    /// Remarks for readers of results: figures subtracted, assumed or left out. May be empty.
    pub note: String,
    /// Power for each Mbit/s sent.
    pub up_per_mbps: Power,
    /// Power for each Mbit/s received.
    pub down_per_mbps: Power,
    /// Base power while active, independent of the rate (b in the paper).
    pub active: Power,
    /// Transition from idle to active; `None` if it takes no time and no energy.
    pub promotion: Option<Stage>,
    /// Time for which it stays active after the last packet; [`Duration::MAX`] for ever.
    pub inactivity: Duration,
    /// Stages between `inactivity` and idle, in order.
    pub tail: Vec<Stage>,
    /// Idle state.
    pub idle: Idle,
    /// Provenance of the figures.
    pub origins: Origins,
}

impl Profile {
    /// Creates a profile that draws no power, as a base for others.
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

    /// Returns the built-in profile of that name. [`builtin::profiles`] lists them.
    pub fn named(name: &str) -> Option<Self> {
        builtin::profiles().into_iter().find(|profile| profile.name == name)
    }

    /// Reads a profile from TOML.
    ///
    /// `name` is the name of the text in errors, and of the profile if the text has none.
    ///
    /// ```
    /// # use tandem_radio::Profile;
    /// let text = r#"
    /// kind = "lte"                  # wifi, lte, 3g, 5g, bluetooth, ethernet, satellite, other
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

    /// Builds the profile from keys that match [`PROFILE`](crate::PROFILE), called `name` if it has
    /// no name of its own. Adds problems that involve several keys to `problems`.
    pub fn from_fields(fields: &Fields, name: &str, problems: &mut Problems<'_>) -> Self {
        profile_toml::from_fields(fields, name, problems)
    }

    /// Writes the profile as TOML, which [`Profile::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        profile_toml::to_toml(self)
    }

    /// Returns the first problem of a profile built by hand, as a sentence; `None` if it is valid.
    ///
    /// Built-in profiles and profiles read from TOML are valid.
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
        if self.promotion.as_ref().is_some_and(|stage| stage.duration == Duration::MAX) {
            return Some("promotion: it must end".to_owned());
        }
        let unsound = |power: &Power| !power.as_watts().is_finite() || power.as_watts() < 0.0;
        let (name, power) = powers.into_iter().find(|(_, power)| unsound(power))?;
        Some(format!("{name}: {power} is not a power that can be drawn"))
    }

    /// Returns the power of the active interface at these rates.
    pub fn active_power(&self, up: Bitrate, down: Bitrate) -> Power {
        self.active + self.up_per_mbps * up.as_mbps() + self.down_per_mbps * down.as_mbps()
    }

    /// Returns the energy per Mbit, in joules, at these rates: the power over their sum; `None`
    /// without traffic.
    pub fn energy_per_mbit_carried(&self, up: Bitrate, down: Bitrate) -> Option<f64> {
        let carried = up.as_mbps() + down.as_mbps();
        (carried > 0.0).then(|| self.active_power(up, down).as_watts() / carried)
    }

    /// Returns the energy per Mbit in one direction at a steady `rate`, in joules: a + b / rate.
    ///
    /// At rate zero the result is infinite if there is a base power.
    pub fn energy_per_mbit_in(&self, direction: Direction, rate: Bitrate) -> f64 {
        let marginal = self.marginal(direction).as_watts();
        let base = self.active.as_watts();
        if base == 0.0 { marginal } else { marginal + base / rate.as_mbps() }
    }

    /// Returns the marginal cost of a Mbit while the interface is active: 1 W here is 1 J per Mbit.
    pub fn marginal(&self, direction: Direction) -> Power {
        match direction {
            Direction::Up => self.up_per_mbps,
            Direction::Down => self.down_per_mbps,
        }
    }

    /// Returns the time from the last packet to idle: inactivity time and all tail stages.
    pub fn tail_time(&self) -> Duration {
        self.tail.iter().fold(self.inactivity, |sum, stage| sum + stage.duration)
    }

    /// Returns the name of a state: `idle`, `active`, or the stage's own name.
    pub fn state_name(&self, state: State) -> &str {
        match state {
            State::Idle => "idle",
            State::Promotion => self.promotion.as_ref().map_or("promotion", |stage| stage.name.as_str()),
            State::Active => "active",
            State::Tail(index) => self.tail.get(index).map_or("tail", |stage| stage.name.as_str()),
        }
    }
}

/// The name is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not known here")]
pub struct UnknownName(pub String);

impl UnknownName {
    fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}
