//! The meter.

use crate::Profile;
use std::sync::Arc;
use units::{Energy, Power, Time};

/// Which way a packet goes, seen from the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The device sends.
    Up,
    /// The device receives.
    Down,
}

/// Where an interface is in its state machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// At rest.
    Idle,
    /// On the way from idle to active.
    Promotion,
    /// Transferring, or it was a moment ago.
    Active,
    /// In the stage of the tail with this index.
    Tail(usize),
}

/// Measures the energy of one interface.
#[derive(Debug, Clone)]
pub struct Meter {
    profile: Arc<Profile>,
}

impl Meter {
    /// An interface that is idle at time 0.
    pub fn new(profile: impl Into<Arc<Profile>>) -> Self {
        Self { profile: profile.into() }
    }
    /// The power model.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }
    /// A packet of `bytes` on the wire passes.
    pub fn on_packet(&mut self, _now: Time, _direction: Direction, _bytes: u32) {}
    /// Time passes.
    pub fn advance(&mut self, _now: Time) {}
    /// Energy drawn from time 0 to the last call that gave a time.
    pub fn energy(&self) -> Energy {
        Energy::ZERO
    }
    /// The power of the state, without the rate-dependent part.
    pub fn power(&self) -> Power {
        Power::ZERO
    }
    /// The state.
    pub fn state(&self) -> State {
        State::Idle
    }
    /// The timeline.
    pub fn timeline(&self) -> &[(Time, State)] {
        &[]
    }
}
