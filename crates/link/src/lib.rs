//! Links (being written).
mod channel;
mod config;
mod trace;
pub use channel::ChannelModel;
pub use config::{CellConfig, CellKind, Delay, Fading, LinkConfig, Load, Loss, QueueLimit, Rate, StationConfig};
pub use trace::Trace;
