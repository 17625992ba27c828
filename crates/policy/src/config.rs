//! Policies by name.

use crate::emtcp::Emtcp;
use crate::nearest::nearest;
use crate::{
    Allowance, AtCap, None as NonePolicy, Only, Policy, Qoe, WhenNeeded, WhenNeededParameters, WifiFirst,
};
use core::fmt;
use core::str::FromStr;
use radio::InterfaceKind;
use thiserror::Error;
use units::{Duration, UnitError};

/// Which policy, with its parameters.
///
/// Written as its name, with parameters behind colons: `wifi-first`, `emtcp:mp-prio:0.4`,
/// `allowance:backup`, `when-needed:late=500ms:enough=8Mbps`. `Display` writes what `FromStr` reads.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum PolicyConfig {
    /// Plain MPTCP.
    #[default]
    None,
    /// Wi-Fi carries everything, other paths are closed.
    WifiOnly,
    /// LTE carries everything, other paths are closed.
    LteOnly,
    /// Cellular paths are backup while another path is up.
    WifiFirst,
    /// Cellular paths only while the others fall short of the demand seen.
    WhenNeeded(WhenNeededParameters),
    /// Cellular paths only when the others would miss what a player needs next.
    Qoe {
        /// What is to be left in the player's buffer when a segment comes.
        margin: Duration,
    },
    /// Uses paths with a data allowance no faster than what is left lasts.
    Allowance {
        /// What becomes of a path whose allowance is used up.
        at_cap: AtCap,
    },
    /// Moves a share of what the costly paths would carry to the cheap ones (Chen et al. 2013).
    Emtcp {
        /// Which part of the costly paths' data is moved, from 0 to 1; the paper's best is
        /// [`PolicyConfig::DEFAULT_SHARE`].
        share: f64,
        /// How it is moved.
        actuator: Actuator,
    },
}

/// How eMTCP moves data from one path to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Actuator {
    /// The sender splits the data exactly, as in the paper's model.
    #[default]
    Ideal,
    /// The device marks the costly path as backup and back, so that an unmodified sender uses it for
    /// part of the time.
    MpPrio,
}

impl PolicyConfig {
    /// The share at the peak of energy efficiency (Chen et al. 2013, Fig. 4).
    pub const DEFAULT_SHARE: f64 = 0.24;

    /// Every policy's name, and a line on what it does.
    pub const NAMES: [(&'static str, &'static str); 8] = [
        ("none", "plain MPTCP: every path, as the scheduler likes"),
        ("wifi-only", "close every path that is not Wi-Fi"),
        ("lte-only", "close every path that is not LTE"),
        ("wifi-first", "cellular paths are backup while another path is up"),
        (
            "when-needed",
            "cellular paths only while the others fall short of the demand seen: when-needed[:KEY=VALUE]...",
        ),
        ("qoe", "cellular paths only when the others would miss what a player needs next: qoe[:margin=TIME]"),
        (
            "allowance",
            "paths with a data allowance no faster than what is left lasts: allowance[:close|:backup]",
        ),
        ("emtcp", "move a share of the costly paths' data to the cheap ones: emtcp[:ideal|:mp-prio][:SHARE]"),
    ];

    /// eMTCP as in the paper: the share of Fig. 4, moved ideally.
    pub const fn emtcp() -> Self {
        Self::Emtcp { share: Self::DEFAULT_SHARE, actuator: Actuator::Ideal }
    }

    /// The name without parameters.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::WifiOnly => "wifi-only",
            Self::LteOnly => "lte-only",
            Self::WifiFirst => "wifi-first",
            Self::WhenNeeded(_) => "when-needed",
            Self::Qoe { .. } => "qoe",
            Self::Allowance { .. } => "allowance",
            Self::Emtcp { .. } => "emtcp",
        }
    }

    /// Whether a device with interfaces of these `kinds` can follow this policy.
    ///
    /// # Errors
    /// [`PolicyError::NoSuchInterface`] for `wifi-only` without Wi-Fi and `lte-only` without LTE;
    /// [`PolicyError::ShareOutOfRange`] for a share that is not from 0 to 1.
    pub fn check(&self, kinds: &[InterfaceKind]) -> Result<(), PolicyError> {
        let needs = |kind: InterfaceKind, interface| {
            if kinds.contains(&kind) {
                Ok(())
            } else {
                Err(PolicyError::NoSuchInterface { policy: self.name(), interface })
            }
        };
        match *self {
            Self::WifiOnly => needs(InterfaceKind::Wifi, "Wi-Fi"),
            Self::LteOnly => needs(InterfaceKind::Lte, "LTE"),
            Self::Emtcp { share, .. } if !(0.0..=1.0).contains(&share) => {
                Err(PolicyError::ShareOutOfRange { text: share.to_string() })
            }
            Self::None
            | Self::WifiFirst
            | Self::WhenNeeded(_)
            | Self::Qoe { .. }
            | Self::Allowance { .. }
            | Self::Emtcp { .. } => Ok(()),
        }
    }

    /// The policy for a device with interfaces of these `kinds`, one a path.
    ///
    /// Never fails: what [`check`](Self::check) refuses is built as what comes nearest (a share is
    /// clamped, and `wifi-only` without Wi-Fi closes nothing).
    pub fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        match *self {
            Self::None => Box::new(NonePolicy),
            Self::WifiOnly => Box::new(Only::new("wifi-only", InterfaceKind::Wifi, kinds)),
            Self::LteOnly => Box::new(Only::new("lte-only", InterfaceKind::Lte, kinds)),
            Self::WifiFirst => Box::new(WifiFirst::new(kinds)),
            Self::WhenNeeded(parameters) => Box::new(WhenNeeded::new(parameters, kinds)),
            Self::Qoe { margin } => Box::new(Qoe::new(margin, kinds)),
            Self::Allowance { at_cap } => Box::new(Allowance::new(at_cap)),
            Self::Emtcp { share, actuator } => Box::new(Emtcp::new(share, actuator, kinds)),
        }
    }
}

impl AtCap {
    /// Every choice's name, and a line on what it does.
    pub const NAMES: [(&'static str, &'static str); 2] = [
        ("close", "the path is closed until the allowance is renewed"),
        ("backup", "the path carries data where nothing else can"),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Backup => "backup",
        }
    }
}

impl Actuator {
    /// Every actuator's name, and a line on what it does.
    pub const NAMES: [(&'static str, &'static str); 2] = [
        ("ideal", "the sender splits the data exactly (the paper's model)"),
        ("mp-prio", "the device marks the costly path as backup and back (works with any sender)"),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ideal => "ideal",
            Self::MpPrio => "mp-prio",
        }
    }
}

/// What was wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error("there is no policy `{name}`{}", did_you_mean(*nearest))]
    UnknownPolicy {
        /// What was written.
        name: String,
        /// The name that comes nearest, if one does.
        nearest: Option<&'static str>,
    },
    /// No actuator has this name.
    #[error("there is no actuator `{name}`{}", did_you_mean(*nearest))]
    UnknownActuator {
        /// What was written.
        name: String,
        /// The name that comes nearest, if one does.
        nearest: Option<&'static str>,
    },
    /// Nothing of this name can happen at the cap.
    #[error("at the cap nothing is done that is called `{name}`{}", did_you_mean(*nearest))]
    UnknownAtCap {
        /// What was written.
        name: String,
        /// The name that comes nearest, if one does.
        nearest: Option<&'static str>,
    },
    /// `when-needed` has no parameter of this name.
    #[error("`when-needed` has no parameter `{name}`{}", did_you_mean(*nearest))]
    UnknownParameter {
        /// What was written.
        name: String,
        /// The name that comes nearest, if one does.
        nearest: Option<&'static str>,
    },
    /// The value of a parameter of `when-needed` is none.
    #[error("`{name}` of `when-needed`: {error}")]
    BadValue {
        /// The parameter.
        name: &'static str,
        /// What is wrong with its value.
        error: UnitError,
    },
    /// Something else than its margin stands behind `qoe`.
    #[error("`qoe` has no parameter `{text}`; did you mean `margin`?")]
    NotTheMargin {
        /// What was written.
        text: String,
    },
    /// The margin of `qoe` is none.
    #[error("`margin` of `qoe`: {error}")]
    BadMargin {
        /// What is wrong with it.
        error: UnitError,
    },
    /// The share is not a number from 0 to 1.
    #[error("a share of `{text}` is not from 0 to 1")]
    ShareOutOfRange {
        /// What was written.
        text: String,
    },
    /// Something stands behind the name of a policy that takes no parameters.
    #[error("`{policy}` takes no parameters, but `{text}` stands behind it")]
    NoParameters {
        /// The policy.
        policy: &'static str,
        /// What was written behind it.
        text: String,
    },
    /// The policy is about an interface that the device has not got.
    #[error("`{policy}` needs a path over {interface}, and there is none")]
    NoSuchInterface {
        /// The policy.
        policy: &'static str,
        /// What it needs.
        interface: &'static str,
    },
}

impl PolicyError {
    /// What would have been right, as one phrase.
    pub fn hint(&self) -> String {
        let list = |names: &[(&str, &str)]| names.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
        match self {
            Self::UnknownPolicy { .. } => format!("policies: {}", list(&PolicyConfig::NAMES)),
            Self::UnknownActuator { .. } => format!("actuators: {}", list(&Actuator::NAMES)),
            Self::UnknownAtCap { .. } => format!("at the cap: {}", list(&AtCap::NAMES)),
            Self::UnknownParameter { .. } => {
                format!(
                    "parameters: {}; such as when-needed:late=500ms",
                    list(&WhenNeededParameters::NAMES)
                )
            }
            Self::NotTheMargin { .. } => "such as qoe:margin=12s".to_owned(),
            Self::BadValue { error, .. } | Self::BadMargin { error } => {
                error.expected().unwrap_or("a number with its unit, such as 250ms or 8Mbps").to_owned()
            }
            Self::ShareOutOfRange { .. } => {
                format!(
                    "a share such as {}: the part of the costly paths' data that is moved",
                    PolicyConfig::DEFAULT_SHARE
                )
            }
            Self::NoParameters { .. } => {
                "with parameters: emtcp[:ideal|:mp-prio][:SHARE], allowance[:close|:backup], when-needed[:KEY=VALUE]..., qoe[:margin=TIME]"
                    .to_owned()
            }
            Self::NoSuchInterface { interface, .. } => {
                format!("give one path a radio for {interface}, or take another policy")
            }
        }
    }
}

impl FromStr for PolicyConfig {
    type Err = PolicyError;
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, rest) = match text.trim().split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text.trim(), None),
        };
        let plain = match name {
            "none" => Self::None,
            "wifi-only" => Self::WifiOnly,
            "lte-only" => Self::LteOnly,
            "wifi-first" => Self::WifiFirst,
            "when-needed" => return read_when_needed(rest),
            "qoe" => return read_qoe(rest),
            "allowance" => {
                let at_cap = rest.map_or(Ok(AtCap::default()), str::parse)?;
                return Ok(Self::Allowance { at_cap });
            }
            "emtcp" => return read_emtcp(rest),
            _ => {
                let nearest = nearest(name, Self::NAMES.iter().map(|(n, _)| *n));
                return Err(PolicyError::UnknownPolicy { name: name.to_owned(), nearest });
            }
        };
        match rest {
            Some(rest) => Err(PolicyError::NoParameters { policy: plain.name(), text: rest.to_owned() }),
            None => Ok(plain),
        }
    }
}

impl FromStr for Actuator {
    type Err = PolicyError;
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text.trim() {
            "ideal" => Ok(Self::Ideal),
            "mp-prio" => Ok(Self::MpPrio),
            name => {
                let nearest = nearest(name, Self::NAMES.iter().map(|(n, _)| *n));
                Err(PolicyError::UnknownActuator { name: name.to_owned(), nearest })
            }
        }
    }
}

impl FromStr for AtCap {
    type Err = PolicyError;
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text.trim() {
            "close" => Ok(Self::Close),
            "backup" => Ok(Self::Backup),
            name => {
                let nearest = nearest(name, Self::NAMES.iter().map(|(n, _)| *n));
                Err(PolicyError::UnknownAtCap { name: name.to_owned(), nearest })
            }
        }
    }
}

impl fmt::Display for PolicyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Emtcp { share, actuator } => {
                if *actuator != Actuator::default() {
                    write!(f, ":{actuator}")?;
                }
                if *share != Self::DEFAULT_SHARE {
                    write!(f, ":{share}")?;
                }
            }
            Self::Allowance { at_cap } if *at_cap != AtCap::default() => write!(f, ":{at_cap}")?,
            Self::WhenNeeded(parameters) => parameters.write(f)?,
            Self::Qoe { margin } if *margin != Qoe::MARGIN => write!(f, ":margin={margin}")?,
            _ => {}
        }
        Ok(())
    }
}

impl fmt::Display for AtCap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Actuator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn read_emtcp(parameters: Option<&str>) -> Result<PolicyConfig, PolicyError> {
    let (mut share, mut actuator) = (PolicyConfig::DEFAULT_SHARE, Actuator::default());
    for part in parameters.into_iter().flat_map(|rest| rest.split(':')) {
        match part.trim().parse::<f64>() {
            Ok(number) if (0.0..=1.0).contains(&number) => share = number,
            Ok(_) => return Err(PolicyError::ShareOutOfRange { text: part.to_owned() }),
            Err(_) => actuator = part.parse()?,
        }
    }
    Ok(PolicyConfig::Emtcp { share, actuator })
}

fn read_qoe(parameters: Option<&str>) -> Result<PolicyConfig, PolicyError> {
    let mut margin = Qoe::MARGIN;
    for part in parameters.into_iter().flat_map(|rest| rest.split(':')) {
        match part.split_once('=').map(|(name, value)| (name.trim(), value)) {
            Some(("margin", value)) => {
                let bad = |error| PolicyError::BadMargin { error };
                margin = value.parse().map_err(bad)?;
            }
            _ => return Err(PolicyError::NotTheMargin { text: part.to_owned() }),
        }
    }
    Ok(PolicyConfig::Qoe { margin })
}

fn read_when_needed(parameters: Option<&str>) -> Result<PolicyConfig, PolicyError> {
    let mut read = WhenNeededParameters::DEFAULT;
    for part in parameters.into_iter().flat_map(|rest| rest.split(':')) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        read.set(name.trim(), value)?;
    }
    Ok(PolicyConfig::WhenNeeded(read))
}

impl WhenNeededParameters {
    /// Every parameter's name, and a line on what it is.
    pub const NAMES: [(&'static str, &'static str); 8] = [
        ("late", "how far behind what comes may fall before cellular paths help"),
        ("hold", "how long they stay on at least"),
        ("longest-hold", "how long they stay on at most without a probe"),
        ("memory", "how fast a demand that is no longer seen is forgotten"),
        ("queueing", "how much longer than its least a round trip is that shows a full link"),
        ("silent", "how long others may be silent when they are on, until their subflows are made anew"),
        (
            "standby",
            "how long those that have carried too much stay backups when idle, until they are closed",
        ),
        ("enough", "more than this is not asked for, whatever is seen"),
    ];

    fn span(&mut self, name: &str) -> Option<(&'static str, &mut Duration)> {
        Some(match name {
            "late" => ("late", &mut self.late),
            "hold" => ("hold", &mut self.hold),
            "longest-hold" => ("longest-hold", &mut self.longest_hold),
            "memory" => ("memory", &mut self.memory),
            "queueing" => ("queueing", &mut self.queueing),
            "silent" => ("silent", &mut self.silent),
            "standby" => ("standby", &mut self.standby),
            _ => return None,
        })
    }

    /// Reads a parameter as it is written: `late`, `500ms`.
    fn set(&mut self, name: &str, value: &str) -> Result<(), PolicyError> {
        if name == "enough" {
            let rate = value.parse().map_err(|error| PolicyError::BadValue { name: "enough", error })?;
            self.enough = Some(rate);
            return Ok(());
        }
        let Some((name, span)) = self.span(name) else {
            let nearest = nearest(name, Self::NAMES.iter().map(|(n, _)| *n));
            return Err(PolicyError::UnknownParameter { name: name.to_owned(), nearest });
        };
        *span = value.parse().map_err(|error| PolicyError::BadValue { name, error })?;
        Ok(())
    }

    /// Writes what is not as by default, as it is read.
    fn write(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut this, mut default) = (self, Self::DEFAULT);
        for (name, _) in Self::NAMES {
            if let (Some((_, span)), Some((_, default))) = (this.span(name), default.span(name))
                && span != default
            {
                write!(f, ":{name}={span}")?;
            }
        }
        self.enough.map_or(Ok(()), |rate| write!(f, ":enough={rate}"))
    }
}

fn did_you_mean(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_read_and_written_back() {
        for (name, _) in PolicyConfig::NAMES {
            let config: PolicyConfig = name.parse().unwrap();
            assert_eq!(config.to_string(), name);
            assert_eq!(config.name(), name);
            assert_eq!(config.build(&[InterfaceKind::Wifi, InterfaceKind::Lte]).name(), name);
        }
        for (name, _) in Actuator::NAMES {
            assert_eq!(name.parse::<Actuator>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn emtcp_takes_its_parameters_in_any_order() {
        let wanted = PolicyConfig::Emtcp { share: 0.4, actuator: Actuator::MpPrio };
        assert_eq!("emtcp:mp-prio:0.4".parse(), Ok(wanted));
        assert_eq!("emtcp:0.4:mp-prio".parse(), Ok(wanted));
        assert_eq!(wanted.to_string(), "emtcp:mp-prio:0.4");
        assert_eq!("emtcp".parse(), Ok(PolicyConfig::emtcp()));
        assert_eq!("emtcp:0.24".parse(), Ok(PolicyConfig::emtcp()));
    }

    #[test]
    fn when_needed_takes_its_parameters_by_name() {
        let text = "when-needed:late=500ms:longest-hold=10s:enough=8Mbps";
        let config: PolicyConfig = text.parse().unwrap();
        let PolicyConfig::WhenNeeded(parameters) = config else { panic!("{config:?}") };
        assert_eq!(parameters.late, Duration::from_millis(500));
        assert_eq!(parameters.hold, WhenNeededParameters::DEFAULT.hold);
        assert_eq!(parameters.enough, Some(units::Bitrate::from_mbps(8.0)));
        assert_eq!(config.to_string(), text);
        assert_eq!("when-needed:hold=500ms".parse::<PolicyConfig>().unwrap().to_string(), "when-needed");
        for (name, _) in WhenNeededParameters::NAMES {
            let value = if name == "enough" { "3Mbps" } else { "7s" };
            let text = format!("when-needed:{name}={value}");
            assert_eq!(text.parse::<PolicyConfig>().unwrap().to_string(), text);
        }
        for (name, _) in AtCap::NAMES {
            assert_eq!(name.parse::<AtCap>().unwrap().to_string(), name);
        }
        assert_eq!("allowance:backup".parse::<PolicyConfig>().unwrap().to_string(), "allowance:backup");
        assert_eq!("qoe:margin=6s".parse::<PolicyConfig>().unwrap().to_string(), "qoe:margin=6s");
        assert_eq!("qoe:margin=8s".parse::<PolicyConfig>().unwrap().to_string(), "qoe");
        assert_eq!("allowance:close".parse::<PolicyConfig>().unwrap().to_string(), "allowance");
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest_one() {
        let cases = [
            ("wifi-onyl", "there is no policy `wifi-onyl`; did you mean `wifi-only`?"),
            ("emptcp", "there is no policy `emptcp`; did you mean `emtcp`?"),
            ("WiFi-First", "there is no policy `WiFi-First`; did you mean `wifi-first`?"),
            ("quantum", "there is no policy `quantum`"),
            ("", "there is no policy ``"),
            ("emtcp:mpprio", "there is no actuator `mpprio`; did you mean `mp-prio`?"),
            ("emtcp:1.4", "a share of `1.4` is not from 0 to 1"),
            ("emtcp:nan", "a share of `nan` is not from 0 to 1"),
            ("when-neded", "there is no policy `when-neded`; did you mean `when-needed`?"),
            ("when-needed:lat=1s", "`when-needed` has no parameter `lat`; did you mean `late`?"),
            ("when-needed:0.4", "`when-needed` has no parameter `0.4`"),
            ("when-needed:late=4", "`late` of `when-needed`: `4` has no unit"),
            ("when-needed:enough", "`enough` of `when-needed`: `` is not a number with a unit"),
            ("allowance:clos", "at the cap nothing is done that is called `clos`; did you mean `close`?"),
            ("qoe:4s", "`qoe` has no parameter `4s`; did you mean `margin`?"),
            ("qoe:margin=4", "`margin` of `qoe`: `4` has no unit"),
            ("none:0.2", "`none` takes no parameters, but `0.2` stands behind it"),
        ];
        for (text, message) in cases {
            let error = text.parse::<PolicyConfig>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert!(!error.hint().is_empty());
        }
        assert!("x".parse::<PolicyConfig>().unwrap_err().hint().contains("wifi-first"));
    }

    #[test]
    fn a_policy_for_a_missing_interface_is_refused() {
        use InterfaceKind::{Bluetooth, Lte, ThreeG, Wifi};
        assert_eq!(PolicyConfig::WifiOnly.check(&[Wifi, Lte]), Ok(()));
        assert_eq!(
            PolicyConfig::LteOnly.check(&[Wifi, ThreeG]).unwrap_err().to_string(),
            "`lte-only` needs a path over LTE, and there is none"
        );
        assert!(PolicyConfig::WifiOnly.check(&[Bluetooth, ThreeG]).is_err());
        assert_eq!(PolicyConfig::WifiFirst.check(&[Bluetooth, ThreeG]), Ok(()));
        let share = |share| PolicyConfig::Emtcp { share, actuator: Actuator::Ideal }.check(&[Wifi, Lte]);
        assert_eq!(share(1.0), Ok(()));
        assert!(share(1.4).is_err() && share(f64::NAN).is_err() && share(-0.1).is_err());
    }
}
