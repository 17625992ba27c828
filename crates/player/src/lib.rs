//! The adaptive player over real sockets, and a content server.
//!
//! [`play()`] drives [`abr::Player`] in the calling thread and its namespaces, so that a player
//! can run on a device of an emulated network. [`content::spawn`] serves content from a thread
//! that inherits the caller's namespaces.

pub mod content;
pub mod serve;

mod address;
mod cmcd;
mod config;
mod error;
mod fetch;
mod http;
mod play;
mod post;
mod source;
mod text;

pub use address::without_login;
pub use config::{Config, Source};
pub use error::PlayError;
pub use http::{Client, HttpError, Network, Proxy};
pub use play::{Played, Progress, play};
pub use post::{PostError, post};
pub use text::{rfc3339, time_zone, uuid};
