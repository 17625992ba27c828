//! Fluid model of a session: the player over one link without a transport protocol. It is fast
//! enough for a fit over many thousand sessions.

use abr::{Player, Session, Video};
use units::{Bitrate, Bytes, Duration, Instant};

/// Share of a link's rate that carries video. Headers, retransmissions and a congestion window
/// below the rate take the rest. It is the goodput share of a bulk transfer over the simulated
/// links.
pub(super) const EFFICIENCY: f64 = 0.93;

/// A session over a link with these rates. The first byte of a segment arrives `latency` after its
/// request, the others at the link's rate.
pub(super) fn session(
    video: &Video,
    steps: &[(Instant, Bitrate)],
    latency: Duration,
    end: Instant,
) -> Session {
    let mut player = Player::new(video.manifest.clone(), video.player.clone(), Instant::ZERO);
    let mut now = Instant::ZERO;
    loop {
        if let Some(request) = player.poll_request(now) {
            let first = now + latency;
            now = arrival(steps, first, request.size);
            if now >= end {
                return player.finish(end);
            }
            player.receive(first, Bytes::ZERO);
            player.receive(now, request.size);
            continue;
        }
        match player.next().filter(|&next| next < end) {
            Some(next) => now = next,
            None => return player.finish(end),
        }
        if player.ended().is_some() {
            return player.finish(end);
        }
    }
}

/// Time at which `size` bytes have arrived that start to arrive at `from`.
fn arrival(steps: &[(Instant, Bitrate)], from: Instant, size: Bytes) -> Instant {
    let mut left = size.bits() as f64 / EFFICIENCY;
    let mut at = from;
    let first = steps.partition_point(|&(start, _)| start <= from).saturating_sub(1);
    for (i, &(_, rate)) in steps.iter().enumerate().skip(first) {
        let bps = rate.as_bps() as f64;
        let until = steps.get(i + 1).map_or(Instant::MAX, |&(next, _)| next);
        let capacity = bps * until.since(at).as_secs_f64();
        if capacity >= left {
            return at + Duration::from_secs_f64(left / bps);
        }
        left -= capacity;
        at = until;
    }
    Instant::MAX
}
