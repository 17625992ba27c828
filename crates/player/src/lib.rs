//! The adaptive player over real sockets, and a content server.
//!
//! [`play()`] drives [`abr::Player`] in the calling thread and its namespaces, so that a player
//! can run on a device of an emulated network. [`content::spawn`] serves content from a thread
//! that inherits the caller's namespaces.
//!
//! ```no_run
//! # use tandem_player::{Config, Source, content, play};
//! # use abr::{BOLA, Manifest, PlayerConfig};
//! # use std::{net::TcpListener, ops::ControlFlow};
//! # fn example(manifest: Manifest) -> Result<(), Box<dyn std::error::Error>> {
//! let content = content::Content { seed: 1, ..content::Content::default() };
//! let server = content::spawn(TcpListener::bind("127.0.0.1:0")?, content, None)?;
//! let source = Source::Sizes {
//!     name: "example".to_owned(),
//!     manifest,
//!     server: format!("http://{}/", server.address()).parse()?,
//! };
//! let played = play(&Config::new(source, PlayerConfig::new(BOLA)), &mut |_| ControlFlow::Continue(()))?;
//! println!("{}", played.record.to_text());
//! # Ok(())
//! # }
//! ```

pub mod content;
pub mod serve;

mod cmcd;
mod config;
mod fetch;
mod http;
mod play;
mod post;
mod source;
mod text;

pub use config::{Config, Network, Source};
pub use http::{Client, HttpError, Proxy};
pub use play::{Glance, PlayError, Played, play};
pub use post::{PostError, post};
pub use text::{base64, rfc3339, uuid};
