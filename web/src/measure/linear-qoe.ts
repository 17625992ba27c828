/**
 * Linear QoE of adaptive streaming: the sum of the bitrates R in Mbit/s, minus μ per second of
 * stall, minus λ per Mbit/s of change of R.
 *
 * Yin, Jindal, Sekar, Sinopoli, SIGCOMM 2015; with the weights of Mao, Netravali, Alizadeh,
 * SIGCOMM 2017 (`QoE_lin` of Pensieve). The Rust crate `qoe` implements the same model.
 *
 * @param bitratesKbps one bitrate per segment played, in order
 * @param stalled total length of the stalls in seconds
 */
export function linearQoe(bitratesKbps: readonly number[], stalled: number, weights: Weights = PENSIEVE): number {
  let score = -weights.stall * stalled;
  let previous: number | undefined;
  for (const kbps of bitratesKbps) {
    score += kbps / 1000;
    if (previous !== undefined) score -= (weights.change * Math.abs(kbps - previous)) / 1000;
    previous = kbps;
  }
  return score;
}

export interface Weights {
  /** μ, in Mbit/s per second of stall. */
  readonly stall: number;
  /** λ. */
  readonly change: number;
}

const PENSIEVE: Weights = { stall: 4.3, change: 1 };
