/**
 * MOS of HTTP video from its initial load time and its stalls.
 *
 * Mok, Chan, Chang: Measuring the Quality of Experience of HTTP Video Streaming, IM 2011. The same as
 * `crates/qoe/src/mok.rs`, and tested by the same tables.
 */

/** One viewing of a video. Times are in seconds. */
export interface Viewing {
  /** From the request until the first picture. No stall. */
  readonly initial: number;
  /** How many times it stalled after that. A stall still open at the end counts. */
  readonly stalls: number;
  /** For how long in all. */
  readonly stalled: number;
  /** How much of the video was played, stalls not counted. */
  readonly played: number;
}

/** 1 is the best. */
export type Level = 1 | 2 | 3;

/** The three levels of the model. */
export interface Levels {
  /** L_ti, of the initial load time. */
  readonly initial: Level;
  /** L_fr, of the rebuffering frequency. */
  readonly frequency: Level;
  /** L_tr, of the mean length of a stall. */
  readonly stall: Level;
}

/**
 * Level 1 is up to the first, 2 up to the second, 3 above: Table I of Kumar, Gupta, Franklin
 * (LTE-WLAN integration), in seconds, stalls a second, and seconds.
 */
export const THRESHOLDS = { initial: [1, 5], frequency: [0.02, 0.15], stall: [5, 10] } as const;

/** f_rebuf: stalls for each second of video played; infinite where it only stalled. */
export function stallFrequency(viewing: Viewing): number {
  return viewing.stalls === 0 ? 0 : viewing.stalls / viewing.played;
}

/** T_rebuf: the mean length of a stall; zero where there was none. */
export function meanStall(viewing: Viewing): number {
  return viewing.stalls === 0 ? 0 : viewing.stalled / viewing.stalls;
}

/** The levels of a viewing. */
export function levels(viewing: Viewing): Levels {
  const level = (value: number, [low, high]: readonly [number, number]): Level =>
    value <= low ? 1 : value <= high ? 2 : 3;
  return {
    initial: level(viewing.initial, THRESHOLDS.initial),
    frequency: level(stallFrequency(viewing), THRESHOLDS.frequency),
    stall: level(meanStall(viewing), THRESHOLDS.stall),
  };
}

/** MOS = 4.23 - 0.0672 L_ti - 0.742 L_fr - 0.106 L_tr, from 3.3148 down to 1.4844. */
export function mos({ initial, frequency, stall }: Levels): number {
  return 4.23 - 0.0672 * initial - 0.742 * frequency - 0.106 * stall;
}
