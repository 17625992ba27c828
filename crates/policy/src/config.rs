//! Policies by name.

use crate::emtcp::Emtcp;
use crate::nearest::nearest;
use crate::{None as NonePolicy, Only, Policy, WifiFirst};
use core::fmt;
use core::str::FromStr;
use radio::InterfaceKind;
use thiserror::Error;

/// Which policy, with its parameters.
///
/// Written `none`, `wifi-only`, `lte-only`, `wifi-first` or `emtcp`; the last takes an actuator and
/// a share behind colons: `emtcp:mp-prio:0.4`. `Display` writes what `FromStr` reads.
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
    pub const NAMES: [(&'static str, &'static str); 5] = [
        ("none", "plain MPTCP: every path, as the scheduler likes"),
        ("wifi-only", "close every path that is not Wi-Fi"),
        ("lte-only", "close every path that is not LTE"),
        ("wifi-first", "cellular paths are backup while another path is up"),
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
            Self::None | Self::WifiFirst | Self::Emtcp { .. } => Ok(()),
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
            Self::Emtcp { share, actuator } => Box::new(Emtcp::new(share, actuator, kinds)),
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
            Self::ShareOutOfRange { .. } => {
                format!(
                    "a share such as {}: the part of the costly paths' data that is moved",
                    PolicyConfig::DEFAULT_SHARE
                )
            }
            Self::NoParameters { .. } => {
                "only `emtcp` takes parameters: emtcp[:ideal|:mp-prio][:SHARE]".to_owned()
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

impl fmt::Display for PolicyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if let Self::Emtcp { share, actuator } = self {
            if *actuator != Actuator::default() {
                write!(f, ":{actuator}")?;
            }
            if *share != Self::DEFAULT_SHARE {
                write!(f, ":{share}")?;
            }
        }
        Ok(())
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
