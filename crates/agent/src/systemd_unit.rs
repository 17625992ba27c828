//! systemd service unit.

/// Hardened unit for the executable `program` with the configuration file `config`.
pub fn systemd_unit(program: &str, config: &str) -> String {
    include_str!("tandem-agent.service").replace("@program@", program).replace("@config@", config)
}
