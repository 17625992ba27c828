//! Needs of a script that an endpoint lacks.

use crate::options::Options;
use crate::script::{Action, Call, Packet, Script, Value};

/// Why the script does not apply to an endpoint.
pub(crate) fn obstacle(script: &Script) -> Option<String> {
    script.steps.iter().find_map(|step| match &step.action {
        Action::Call(call) => missing_in_call(call).map(str::to_owned),
        Action::Inbound(packet) | Action::Outbound(packet) => missing_in_packet(packet),
        Action::Shell(command) => missing_in_shell(command).map(str::to_owned),
    })
}

fn missing_in_call(call: &Call) -> Option<&'static str> {
    let words = call.arguments.iter().filter_map(Value::word);
    words.flat_map(|word| word.split('|')).find_map(|word| match word {
        _ if word.contains("FASTOPEN") => Some("TCP Fast Open"),
        "TCP_CORK" => Some("TCP_CORK"),
        "IP_TTL" | "IP_TOS" | "IPV6_UNICAST_HOPS" | "IPV6_TCLASS" => Some("fields of the IP header"),
        "SO_REUSEPORT" => Some("migration of requests between listeners"),
        _ => None,
    })
}

fn missing_in_packet(packet: &Packet) -> Option<String> {
    if packet.options.iter().any(|option| option.first().and_then(Value::word) == Some("FO")) {
        return Some("TCP Fast Open".to_owned());
    }
    if packet.ip_field.is_some() {
        return Some("fields of the IP header".to_owned());
    }
    Options::read(&packet.options).err()
}

fn missing_in_shell(command: &str) -> Option<&'static str> {
    let blackholes = command.contains("Blackhole") && command.contains("-eq 1");
    let records = blackholes || command.contains("blackhole_timeout");
    records.then_some("the host's record of paths that drop MP_CAPABLE")
}
