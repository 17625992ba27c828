//! Which packets are lost.

use crate::config::{Loss, bad_share};
use units::{Instant, Probability, Rng, Seed};

/// A [`Loss`] at work. Asked once for each packet, in order.
#[derive(Debug, Clone)]
pub(crate) struct LossModel {
    loss: Loss,
    bad: bool,
    rng: Rng,
}

impl LossModel {
    pub(crate) fn new(loss: Loss, seed: Seed) -> Self {
        let mut rng = seed.rng("loss");
        let bad = match loss {
            Loss::GilbertElliott { p, r, .. } => {
                rng.chance(Probability::new(bad_share(p, r)).unwrap_or_default())
            }
            Loss::None | Loss::Uniform(_) => false,
        };
        Self { loss, bad, rng }
    }

    #[inline]
    pub(crate) fn loses(&mut self) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Uniform(p) => self.rng.chance(p),
            Loss::GilbertElliott { p, r, loss_good, loss_bad } => {
                self.bad ^= self.rng.chance(if self.bad { r } else { p });
                self.rng.chance(if self.bad { loss_bad } else { loss_good })
            }
        }
    }
}

/// Spans in which everything is lost. Asked with spans whose beginnings never go back.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    /// In order, apart from each other, none empty.
    spans: Vec<(Instant, Instant)>,
    next: usize,
}

impl Outages {
    pub(crate) fn new(spans: &[(Instant, Instant)]) -> Self {
        let mut sorted = spans.to_vec();
        sorted.retain(|(from, to)| from < to);
        sorted.sort_unstable();
        let mut spans: Vec<(Instant, Instant)> = Vec::with_capacity(sorted.len());
        for (from, to) in sorted {
            match spans.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => spans.push((from, to)),
            }
        }
        Self { spans, next: 0 }
    }

    /// True where some of `[begin, end)`, or `begin` itself, lies in an outage.
    #[inline]
    pub(crate) fn hit(&mut self, begin: Instant, end: Instant) -> bool {
        while let Some(&(from, to)) = self.spans.get(self.next) {
            if to <= begin {
                self.next += 1;
            } else {
                return from <= begin || from < end;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(p: f64) -> Probability {
        Probability::new(p).unwrap()
    }

    fn lost(loss: Loss, n: usize) -> Vec<bool> {
        let mut model = LossModel::new(loss, Seed::new(3));
        (0..n).map(|_| model.loses()).collect()
    }

    #[test]
    fn uniform_loss_is_as_frequent_as_said() {
        let n = 200_000;
        let share = lost(Loss::Uniform(p(0.03)), n).iter().filter(|l| **l).count() as f64 / n as f64;
        assert!((share - 0.03).abs() < 0.002, "{share}");
        assert!(lost(Loss::None, 100).iter().all(|l| !l));
        assert!(lost(Loss::Uniform(p(1.0)), 100).iter().all(|l| *l));
    }

    #[test]
    fn gilbert_loss_has_its_stationary_share_and_mean_burst() {
        let (n, loss) = (1_000_000, Loss::gilbert(p(0.02), p(0.25)));
        let lost = lost(loss, n);
        let count = lost.iter().filter(|l| **l).count() as f64;
        let bursts = lost.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        // p / (p + r) = 0.0741, 1 / r = 4.
        assert!((count / n as f64 - loss.mean()).abs() < 0.003, "{}", count / n as f64);
        assert!((loss.mean() - 0.02 / 0.27).abs() < 1e-12);
        assert!((count / bursts - 4.0).abs() < 0.1, "{}", count / bursts);
    }

    #[test]
    fn elliott_loses_in_both_states() {
        let loss = Loss::GilbertElliott { p: p(0.1), r: p(0.3), loss_good: p(0.01), loss_bad: p(0.5) };
        let n = 500_000;
        let share = lost(loss, n).iter().filter(|l| **l).count() as f64 / n as f64;
        assert!((loss.mean() - (0.75 * 0.01 + 0.25 * 0.5)).abs() < 1e-12);
        assert!((share - loss.mean()).abs() < 0.005, "{share}");
    }

    #[test]
    fn an_outage_hits_what_overlaps_it() {
        let ms = Instant::from_millis;
        // Out of order, overlapping, one empty.
        let mut outages =
            Outages::new(&[(ms(30), ms(40)), (ms(10), ms(15)), (ms(14), ms(20)), (ms(5), ms(5))]);
        let mut hit = |a, b| outages.hit(ms(a), ms(b));
        assert!(!hit(0, 10));
        assert!(hit(9, 11) && hit(10, 10) && hit(15, 16) && hit(19, 25));
        assert!(!hit(20, 30));
        assert!(hit(25, 50));
        assert!(!hit(40, 50));
    }
}
