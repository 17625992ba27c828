//! Applications that write, sans-IO: bulk, constant rate, on/off, finite file, a mix of packets; and
//! [`Packets`] of such a mix that nobody acknowledges.
//!
//! A [`TrafficConfig`] says what an application does; an [`App`] does it. The driver's part:
//!
//! 1. Wait until [`App::next`], or until the send buffer has room again.
//! 2. Call [`App::write`] with the room there is and write as many bytes as it says; or, where what
//!    fits is not known beforehand, [`App::poll`], the write, then [`App::wrote`].
//! 3. When [`App::done`], close the stream.
//!
//! A [`Player`] is an application that asks and is answered: adaptive video, by one of the rules of [`Rule`],
//! from a [`Manifest`]; its [`Session`] is what the viewer got. A [`Viewer`] is one at its end of a connection.

mod app;
mod clock;
mod config;
mod player;
mod vbr;

pub use app::App;
pub use config::{Direction, Kind, OnFull, TrafficConfig, WordError};
pub use player::{
    Abandoned, Encoding, Estimate, Fetched, Kpis, Manifest, ManifestError, Player, PlayerConfig, Request,
    Rule, RuleError, Server, Session, Sight, Stall, Video, Viewer, Wait,
};
pub use vbr::{Bursts, Mix, Packets, Vbr};
