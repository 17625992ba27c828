//! The congestion control at work on one subflow.

use super::receiver_driven::ReceiverDriven;
use super::{CongestionChoice, CongestionControl, CongestionSettings};
use units::Duration;

/// The subflow's algorithm, and in its place the receiver's rate while MPTCP-rec sets one.
#[derive(Debug, Clone)]
pub(crate) struct ActiveCongestion {
    own: Box<dyn CongestionControl>,
    receiver: Option<ReceiverDriven>,
    is_coupled: bool,
}

impl ActiveCongestion {
    pub(crate) fn new(choice: &CongestionChoice, settings: &CongestionSettings) -> Self {
        let own = choice.build(settings);
        Self { is_coupled: own.is_coupled(), own, receiver: None }
    }

    /// Returns the control in charge. Every call for the algorithm goes through here.
    pub(crate) fn inner(&self) -> &dyn CongestionControl {
        self.receiver.as_ref().map_or(&*self.own, |receiver| receiver)
    }

    /// As [`inner`](Self::inner), to change its state.
    pub(crate) fn inner_mut(&mut self) -> &mut dyn CongestionControl {
        match &mut self.receiver {
            Some(receiver) => receiver,
            None => &mut *self.own,
        }
    }

    /// Returns true if the control in charge reads [`Coupling`](super::Coupling).
    #[inline]
    pub(crate) fn is_coupled(&self) -> bool {
        self.is_coupled && self.receiver.is_none()
    }

    /// Returns the own algorithm's [shared value](CongestionControl::shared_value), whichever
    /// control is in charge.
    pub(crate) fn shared_value(&self, una: u64) -> u64 {
        self.own.shared_value(una)
    }

    /// Sets the rate wanted by the receiver, in bytes per second; `None` puts the own algorithm
    /// back in charge.
    pub(crate) fn set_receiver_rate(&mut self, rate: Option<u64>) {
        self.receiver = rate.map(ReceiverDriven::new);
    }

    pub(crate) fn is_receiver_driven(&self) -> bool {
        self.receiver.is_some()
    }

    /// Returns the window and the rate that the receiver wants, in bytes and bytes per second.
    pub(crate) fn receiver_target(&self, mss: u64, srtt: Duration) -> Option<(u64, u64)> {
        let receiver = self.receiver.as_ref()?;
        Some((receiver.window(mss, srtt), receiver.rate(mss, srtt)))
    }
}
