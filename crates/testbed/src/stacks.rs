//! Choice of the Multipath TCP at both ends of a run.

use crate::Error;
use sim::{Experiment, Protocol};
use std::fmt;
use std::str::FromStr;

/// An implementation of Multipath TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackKind {
    /// The running Linux kernel.
    #[default]
    Linux,
    /// Tandem's endpoint, in user space.
    Tandem,
}

/// The implementations at the device and at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stacks {
    /// At the device.
    pub device: StackKind,
    /// At the server.
    pub server: StackKind,
}

impl StackKind {
    /// Name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Tandem => "tandem",
        }
    }
}

impl FromStr for StackKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "linux" => Ok(Self::Linux),
            "tandem" => Ok(Self::Tandem),
            other => Err(format!("unknown stack `{other}`: `linux` or `tandem`")),
        }
    }
}

impl Stacks {
    /// Tandem at both ends.
    pub const TANDEM: Self = Self { device: StackKind::Tandem, server: StackKind::Tandem };

    /// The stacks of a run: `chosen`, or those that the experiment needs.
    ///
    /// # Errors
    /// Fails if the experiment needs other stacks than the chosen ones.
    pub fn of(experiment: &Experiment, chosen: Option<Self>) -> Result<Self, Error> {
        let transport = &experiment.transport;
        let needs_tandem = transport.config.rec.is_some() && transport.protocol == Protocol::Mptcp;
        match chosen {
            Some(other) if needs_tandem && other != Self::TANDEM => Err(Error::Unsupported {
                reason: format!("`{other}`: Linux lacks MPTCP-rec, which both ends must have"),
                hint: format!("choose `{}`, or set `transport.protocol` to `mptcp`", Self::TANDEM),
            }),
            None if needs_tandem => Ok(Self::TANDEM),
            chosen => Ok(chosen.unwrap_or_default()),
        }
    }

    /// Both ends run on the kernel.
    pub fn is_linux(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device={},server={}", self.device.name(), self.server.name())
    }
}

impl FromStr for Stacks {
    type Err = String;

    /// Parses `device=STACK,server=STACK`. An end that is not named runs on Linux.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut device, mut server) = (None, None);
        for part in text.split(',') {
            let (end, name) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not of the form `device=STACK` or `server=STACK`"))?;
            let stack = name.trim().parse()?;
            let known = match end.trim() {
                "device" => &mut device,
                "server" => &mut server,
                other => return Err(format!("unknown end `{other}`: `device` or `server`")),
            };
            if known.replace(stack).is_some() {
                return Err(format!("`{}` is given twice", end.trim()));
            }
        }
        Ok(Self { device: device.unwrap_or_default(), server: server.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_of_both_ends_are_parsed_and_printed() {
        for text in ["device=linux,server=linux", "device=tandem,server=linux", "device=tandem,server=tandem"]
        {
            assert_eq!(text.parse::<Stacks>().map(|stacks| stacks.to_string()), Ok(text.to_owned()));
        }
        let one = "server=tandem".parse::<Stacks>().map(|stacks| stacks.to_string());
        assert_eq!(one, Ok("device=linux,server=tandem".to_owned()));
        for wrong in ["", "tandem", "device=bsd", "proxy=tandem", "device=linux,device=tandem"] {
            assert!(wrong.parse::<Stacks>().is_err(), "{wrong}");
        }
    }
}
