//! Fuzz targets: one function each.
//!
//! A target accepts any bytes. It panics if a parser panics, if a decoded value cannot be encoded
//! and decoded again, or if an endpoint or a decoded value violates an invariant. `fuzz/` runs the
//! targets with libFuzzer. The tests of this crate run thousands of seeded inputs with a stable
//! compiler.

mod agent;
mod captures;
mod dice;
mod kernel;
mod mutate;
mod packets;
mod proxy;
mod proxy_files;
mod scripts;
mod sequence;
mod stack;
mod texts;
mod video;

pub use agent::{agent_config, agent_players, agent_port, agent_state};
pub use captures::capture;
pub use dice::Dice;
pub use kernel::{diag, mib, netlink, pm, route};
pub use mutate::mutate;
pub use packets::{ipv4, ipv6, tcp};
pub use proxy::{proxy_chunks, proxy_config, proxy_convert, proxy_http, proxy_socks5, proxy_upstream};
pub use proxy_files::{proxy_credentials, proxy_tls, proxy_users};
pub use scripts::packetdrill;
pub use sequence::{sequence, sequence_of};
pub use stack::stack;
pub use texts::{calibration, names, policy_map, profile, scenario, score, trace, units};
pub use video::{cmcd, mpd, record, sidx, sizes};

/// Signature of a fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 38] = [
    ("tcp", tcp),
    ("ipv4", ipv4),
    ("ipv6", ipv6),
    ("trace", trace),
    ("profile", profile),
    ("policy_map", policy_map),
    ("scenario", scenario),
    ("calibration", calibration),
    ("units", units),
    ("names", names),
    ("score", score),
    ("sequence", sequence),
    ("stack", stack),
    ("netlink", netlink),
    ("route", route),
    ("pm", pm),
    ("diag", diag),
    ("mib", mib),
    ("agent_config", agent_config),
    ("agent_state", agent_state),
    ("agent_players", agent_players),
    ("agent_port", agent_port),
    ("capture", capture),
    ("proxy_config", proxy_config),
    ("proxy_http", proxy_http),
    ("proxy_upstream", proxy_upstream),
    ("proxy_chunks", proxy_chunks),
    ("proxy_socks5", proxy_socks5),
    ("proxy_convert", proxy_convert),
    ("proxy_users", proxy_users),
    ("proxy_credentials", proxy_credentials),
    ("proxy_tls", proxy_tls),
    ("mpd", mpd),
    ("cmcd", cmcd),
    ("sidx", sidx),
    ("sizes", sizes),
    ("record", record),
    ("packetdrill", packetdrill),
];
