/**
 * Linear QoE of adaptive streaming: the sum of R in Mbit/s, less μ for each second of stall, less λ for
 * each Mbit/s of change of R.
 *
 * Yin, Jindal, Sekar, Sinopoli, SIGCOMM 2015; with the weights of Mao, Netravali, Alizadeh, SIGCOMM 2017
 * (`QoE_lin` of Pensieve). The same as `crates/qoe/src/linear.rs`.
 *
 * @param chunks one bitrate in kbit/s for each segment that was played, in order
 * @param stalled the length of all stalls in seconds
 */
export function linear(chunks: readonly number[], stalled: number, weights: Weights = PENSIEVE): number {
  let score = -weights.stall * stalled;
  let before: number | undefined;
  for (const kbps of chunks) {
    score += kbps / 1000;
    if (before !== undefined) score -= (weights.change * Math.abs(kbps - before)) / 1000;
    before = kbps;
  }
  return score;
}

/** μ in Mbit/s for a second of stall, and λ. */
const PENSIEVE: Weights = { stall: 4.3, change: 1 };

export interface Weights {
  readonly stall: number;
  readonly change: number;
}
