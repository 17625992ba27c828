/**
 * MOS model for HTTP video by Mok, Chan and Chang ("Measuring the Quality of Experience of HTTP
 * Video Streaming", IM 2011), from initial load time and stalls. The Rust crate `qoe` implements
 * the same model, and both are tested with the same tables.
 */

/** Statistics of one viewing. Times are in seconds. */
export interface Viewing {
  /** Initial load time: from the request to the first frame. It is not a stall. */
  readonly initial: number;
  /** Number of stalls after the first frame, including an open one. */
  readonly stalls: number;
  /** Total length of the stalls. */
  readonly stalled: number;
  /** Time played, without stalls. */
  readonly played: number;
}

/** Level of an impairment; 1 is the best. */
export type Level = 1 | 2 | 3;

export interface Levels {
  /** L_ti, of the initial load time. */
  readonly initial: Level;
  /** L_fr, of the rebuffering frequency. */
  readonly frequency: Level;
  /** L_tr, of the mean length of a stall. */
  readonly stall: Level;
}

/**
 * Upper bounds of levels 1 and 2, by Table I of Kumar, Gupta, Franklin (LTE-WLAN integration): in
 * seconds, stalls per second, and seconds.
 */
export const THRESHOLDS = { initial: [1, 5], frequency: [0.02, 0.15], stall: [5, 10] } as const;

/** f_rebuf: stalls per second of video played; infinite if none was played. */
export function stallFrequency(viewing: Viewing): number {
  return viewing.stalls === 0 ? 0 : viewing.stalls / viewing.played;
}

/** T_rebuf: mean length of a stall; zero without stalls. */
export function meanStall(viewing: Viewing): number {
  return viewing.stalls === 0 ? 0 : viewing.stalled / viewing.stalls;
}

export function levels(viewing: Viewing): Levels {
  const level = (value: number, [low, high]: readonly [number, number]): Level =>
    value <= low ? 1 : value <= high ? 2 : 3;
  return {
    initial: level(viewing.initial, THRESHOLDS.initial),
    frequency: level(stallFrequency(viewing), THRESHOLDS.frequency),
    stall: level(meanStall(viewing), THRESHOLDS.stall),
  };
}

/** Highest MOS of the model: level 1 of everything. */
export const MOS_MAX = mos({ initial: 1, frequency: 1, stall: 1 });

/** MOS = 4.23 - 0.0672 L_ti - 0.742 L_fr - 0.106 L_tr, from 1.4844 to 3.3148. */
export function mos({ initial, frequency, stall }: Levels): number {
  return 4.23 - 0.0672 * initial - 0.742 * frequency - 0.106 * stall;
}
