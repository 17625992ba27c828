//! The service of systemd.

/// A hardened unit, with the program at `program` and its file at `config`.
pub fn systemd_unit(program: &str, config: &str) -> String {
    include_str!("tandem-agent.service").replace("@program@", program).replace("@config@", config)
}
