/**
 * eMOS: MOS of adaptive video from quality levels and freezes, by Claeys, Latré, Famaey, De Turck
 * ("Design and Evaluation of a Self-Learning HTTP Adaptive Video Streaming Client", IEEE
 * Communications Letters 18(4), 2014). The Rust crate `qoe` implements the same model, and both are
 * tested with `crates/qoe/tests/emos.json`.
 */

import { meanStall, stallFrequency, type Viewing } from './mos.ts';

/** Highest eMOS: the highest level throughout, without freezes. The lowest is 0. */
export const EMOS_MAX = 5.67 + 0.17;

/**
 * Returns 5.67 μ - 6.72 σ - 4.95 φ + 0.17, at least 0; `null` if nothing was played, or with fewer
 * than two levels. μ and σ are mean and sample standard deviation of level / number of levels,
 * counted from 1; φ is the impairment by freezes.
 *
 * @param levels level of each played segment, in order, from 0
 * @param count number of levels of the video
 */
export function emos(levels: readonly number[], count: number, viewing: Omit<Viewing, 'initial'>): number | null {
  if (levels.length === 0 || count < 2) return null;
  const qualities = levels.map((level) => Math.min(level + 1, count) / count);
  const mean = qualities.reduce((sum, quality) => sum + quality, 0) / qualities.length;
  const squares = qualities.reduce((sum, quality) => sum + (quality - mean) ** 2, 0);
  const deviation = qualities.length > 1 ? Math.sqrt(squares / (qualities.length - 1)) : 0;
  return Math.max(5.67 * mean - 6.72 * deviation - 4.95 * freezes(viewing) + 0.17, 0);
}

/** φ: 7/8 of the frequency's term and 1/8 of the mean length's; 0 without freezes. */
function freezes(viewing: Omit<Viewing, 'initial'>): number {
  if (viewing.stalls === 0) return 0;
  const complete = { initial: 0, ...viewing };
  const frequency = Math.max(Math.log(stallFrequency(complete)) / 6 + 1, 0);
  return (7 / 8) * frequency + Math.min(meanStall(complete), 15) / 15 / 8;
}
