//! Quality of experience: scores of a viewing session, as pure functions of their arguments.
//!
//! | Score | From | Source |
//! |---|---|---|
//! | [`psnr`], [`PsnrSeries`], [`Level`] | throughput | Lee et al. 2009; Chen et al. 2013 |
//! | [`Mok`] | initial load time and stalls | Mok, Chan, Chang 2011 |
//! | [`emos()`] | quality levels and stalls | Claeys et al. 2014 |
//! | [`Linear`] | bitrates, stalls, bitrate changes | Yin et al. 2015; Mao et al. 2017 (Pensieve) |
//!
//! [`P1203`] writes a session as the input of an implementation of ITU-T P.1203.

mod emos;
mod linear;
mod mok;
mod p1203;
mod psnr;

pub use emos::{EMOS_MAX, EMOS_UNIT, emos};
pub use linear::Linear;
pub use mok::{Levels, MOS_UNIT, Mok, Viewing};
pub use p1203::{AudioSegment, Display, P1203, Stalling, VideoSegment};
pub use psnr::{Level, PSNR_CLAMP_DB, PsnrSeries, psnr};
