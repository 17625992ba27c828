//! The player over one link without a transport: what a fit of many thousand sessions can afford.

use abr::{Player, Session, Video};
use units::{Bitrate, Bytes, Duration, Instant};

/// Of what a link carries, the part that is video: the rest are headers, acknowledged losses, and the moments in
/// which a congestion window has not caught up with the rate. Held against the simulation, it is the part that a
/// bulk transfer gets of the same links.
pub(super) const EFFICIENCY: f64 = 0.93;

/// A session over a link of these `steps`: each segment comes `latency` after its request, at the link's rate.
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

/// When so much has come that began to at `from`; never before it.
fn arrival(steps: &[(Instant, Bitrate)], from: Instant, size: Bytes) -> Instant {
    let mut left = size.bits() as f64 / EFFICIENCY;
    let mut at = from;
    let first = steps.partition_point(|&(start, _)| start <= from).saturating_sub(1);
    for (i, &(_, rate)) in steps.iter().enumerate().skip(first) {
        let bps = rate.as_bps() as f64;
        let until = steps.get(i + 1).map_or(Instant::MAX, |&(next, _)| next);
        let carries = bps * until.since(at).as_secs_f64();
        if carries >= left {
            return at + Duration::from_secs_f64(left / bps);
        }
        left -= carries;
        at = until;
    }
    Instant::MAX
}
