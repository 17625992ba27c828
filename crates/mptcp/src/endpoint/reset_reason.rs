//! Reason codes of MP_TCPRST (RFC 8684, section 3.6).

use super::event::ResetReason;
use wire::MptcpSignal;

pub(super) const UNSPECIFIED: u8 = 0;
pub(super) const MPTCP_ERROR: u8 = 1;
pub(super) const LACK_OF_RESOURCES: u8 = 2;
pub(super) const PROHIBITED: u8 = 3;
pub(super) const UNACCEPTABLE_PERFORMANCE: u8 = 5;
pub(super) const MIDDLEBOX_INTERFERENCE: u8 = 6;

/// Returns the reason that a received reset carries, if any.
pub(super) fn reset_reason(signal: Option<MptcpSignal>) -> Option<ResetReason> {
    match signal {
        Some(MptcpSignal::Reset { transient, reason }) => Some(ResetReason { code: reason, transient }),
        _ => None,
    }
}
