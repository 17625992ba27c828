//! Limits of values that would make a simulation endless, or that no kernel accepts.

use super::Builder;
use quantities::Quantities as _;
use schema::node::Fields;
use traffic::{Kind, Vbr};
use units::{Bitrate, Bytes, Duration};

/// Largest window of TCP (RFC 7323, section 2.2: 2^30 bytes).
const MAX_BUFFER: Bytes = Bytes::new(1 << 30);
/// Shortest time of a keepalive timer. Linux counts in seconds.
const MIN_KEEPALIVE: Duration = Duration::from_millis(1);
/// Most packets or writes per second of one source. A million take about a second to simulate.
pub(super) const MAX_PACKETS_PER_SECOND: u64 = 1_000_000;
/// Shortest mean time between two draws of a source: of a rate, or of an on and an off period.
const MIN_DRAW_INTERVAL: Duration = Duration::from_millis(1);

impl Builder<'_, '_> {
    pub(super) fn check_buffer_limits(&mut self, fields: &Fields) {
        for key in ["send_buffer", "recv_buffer", "subflow_buffer", "autotune"] {
            if let Some(size) = fields.size(key).filter(|size| *size > MAX_BUFFER) {
                self.problems
                    .add(fields.span(key), format!("`{key}` of {size} is above the largest window of TCP"))
                    .expected("at most `1GiB` (RFC 7323)")
                    .hint("twice the rates of all paths times the longest RTT suffice: `eq1` computes it");
            }
        }
    }

    pub(super) fn check_keepalive(&mut self, fields: &Fields) {
        for key in ["idle", "interval"] {
            if let Some(time) = fields.time(key).filter(|time| *time < MIN_KEEPALIVE) {
                self.problems
                    .add(fields.span(key), format!("`{key}` of {time} is too short for a keepalive timer"))
                    .expected(format!("at least {MIN_KEEPALIVE}"))
                    .hint("Linux counts these times in seconds");
            }
        }
    }

    /// Checks how many packets of the size `packet` several sources send per second at `rate` each.
    pub(super) fn check_packet_rate(&mut self, fields: &Fields, sources: u64, rate: Bitrate, packet: Bytes) {
        let bytes_per_second = u128::from(rate.as_bps() / 8) * u128::from(sources);
        let packets = bytes_per_second / u128::from(packet.get().max(1));
        if packets > u128::from(MAX_PACKETS_PER_SECOND) {
            let least = bytes_per_second.div_ceil(u128::from(MAX_PACKETS_PER_SECOND));
            let key = if fields.given("packet") { "packet" } else { "rate" };
            self.problems
                .add(fields.span(key), format!("packets of {packet} at this rate: {packets} per second"))
                .expected(format!(
                    "at most {MAX_PACKETS_PER_SECOND} per second, thus `packet` of at least {least}B"
                ))
                .hint("Ethernet carries up to 1500 bytes in a packet");
        }
    }

    /// Checks how often a source sends packets, and draws rates and periods.
    pub(super) fn check_draws(&mut self, fields: &Fields, kind: &Kind) {
        let periods = match kind {
            Kind::Vbr(vbr) => {
                self.check_vbr(fields, vbr);
                vbr.bursts.map(|bursts| (bursts.on, bursts.off))
            }
            Kind::OnOff { on, off, exponential: true, .. } => Some((*on, *off)),
            _ => None,
        };
        if let Some((on, off)) = periods.filter(|(on, off)| *on + *off < MIN_DRAW_INTERVAL) {
            let key = if fields.given("on") { "on" } else { "off" };
            self.problems
                .add(fields.span(key), format!("drawn periods of {on} and {off} are too short"))
                .expected(format!("at least {MIN_DRAW_INTERVAL} together"))
                .hint("`cbr` sends at the mean rate without periods");
        }
    }

    fn check_vbr(&mut self, fields: &Fields, vbr: &Vbr) {
        if !vbr.every.is_zero() && vbr.every < MIN_DRAW_INTERVAL {
            self.problems
                .add(fields.span("every"), format!("`every` of {} is too short", vbr.every))
                .expected(format!("at least {MIN_DRAW_INTERVAL}"))
                .hint("packets are drawn one by one in any case");
        }
        let packets = vbr.peak_packets_per_second();
        if packets > MAX_PACKETS_PER_SECOND as f64 {
            self.problems
                .add(fields.span("rate"), format!("packets at this rate: up to {packets:.0} per second"))
                .expected(format!("at most {MAX_PACKETS_PER_SECOND} per second"))
                .hint("choose a lower `rate`, larger packets in `mix`, or longer `on` periods");
        }
    }
}
