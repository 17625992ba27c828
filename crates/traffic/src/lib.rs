//! Sans-IO applications that write into a stream: bulk, constant rate, on/off, file, mixes of
//! packet sizes, and the server side of adaptive video. [`Packets`] is the same mix as datagrams.
//!
//! A [`TrafficConfig`] configures an application, an [`App`] runs it. The driver
//!
//! 1. waits until [`App::next`], or until the send buffer has room again;
//! 2. calls [`App::write`] with that room and writes the returned number of bytes; or calls
//!    [`App::poll`], writes, and reports with [`App::wrote`] how much the stream accepted;
//! 3. closes the stream once [`App::done`]. [`App::take_message`] says when a message was written.

mod app;
mod clock;
mod config;
mod messages;
mod vbr;

pub use app::App;
pub use config::{Direction, Kind, OnFull, TrafficConfig, WordError};
pub use messages::{BLOCK_BYTES, Message};
pub use vbr::{Bursts, Mix, Packets, Vbr};
