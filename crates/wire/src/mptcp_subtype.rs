//! Kind and subtypes of the MPTCP option (RFC 8684, section 7).

/// Option kind (RFC 8684, section 7.1).
pub(crate) const KIND: u8 = 30;

pub(crate) const MP_CAPABLE: u8 = 0;
pub(crate) const MP_JOIN: u8 = 1;
pub(crate) const DSS: u8 = 2;
pub(crate) const ADD_ADDR: u8 = 3;
pub(crate) const REMOVE_ADDR: u8 = 4;
pub(crate) const MP_PRIO: u8 = 5;
pub(crate) const MP_FAIL: u8 = 6;
pub(crate) const MP_FASTCLOSE: u8 = 7;
pub(crate) const MP_TCPRST: u8 = 8;
/// Reserved for private use (RFC 8684, section 7.2).
pub(crate) const PRIVATE_USE: u8 = 0xf;
