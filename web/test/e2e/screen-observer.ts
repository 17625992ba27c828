/**
 * Ground truth for the page's KPIs: hashes the pixels of the video at every refresh of the screen,
 * without events of the player, the clock of the video or frame callbacks. The time of a change is
 * known to lie between two samples, so results are intervals.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Stall } from '../../src/measure/record.ts';

/** Pixels at one refresh. */
interface ScreenSample {
  /** Milliseconds of the page's `performance.now()`. */
  readonly at: number;
  /** Hash of the pixels; 0 without a video. */
  readonly hash: number;
  /** Position of the video's clock, for the analysis of failures only. */
  readonly position: number;
}

export interface Observation {
  readonly samples: readonly ScreenSample[];
  /** Time stamp of the submit event: the start of the session. */
  readonly pressed: number;
  readonly origin: number;
}

/** An instant after the first of these times and not after the second (ms since the start). */
export type Interval = readonly [number, number];

/** Observes every page opened from now on; the returned function reads the observation. */
export async function observeScreen(page: Page): Promise<() => Promise<Observation>> {
  await page.addInitScript(() => {
    const observation = { samples: [] as object[], pressed: 0, origin: performance.timeOrigin };
    Object.assign(window, { observation });
    addEventListener('submit', (event) => Object.assign(observation, { pressed: event.timeStamp }), true);
    const canvas = document.createElement('canvas');
    canvas.width = 64;
    canvas.height = 36;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    document.addEventListener('DOMContentLoaded', () => {
      if (context === null) throw new Error('no 2D canvas context');
      requestAnimationFrame(function sample() {
        const media = document.querySelector<HTMLVideoElement>('#youtube video') ?? document.querySelector('video');
        let hash = 0;
        if (media !== null && media.videoWidth > 0) {
          context.drawImage(media, 0, 0, canvas.width, canvas.height);
          for (const byte of context.getImageData(0, 0, canvas.width, canvas.height).data)
            hash = (Math.imul(hash, 31) + byte) | 0;
        }
        observation.samples.push({ at: performance.now(), hash, position: media?.currentTime ?? 0 });
        requestAnimationFrame(sample);
      });
    });
  });
  return () => page.evaluate(() => (window as unknown as { observation: Observation }).observation);
}

/** A freeze: an interval without a change of the pixels, longer than a frame's display time. */
export interface Freeze {
  /** End of the last frame's display time. */
  readonly start: Interval;
  /** Presentation of the next frame. */
  readonly end: Interval;
  /** Position of the video's clock at the end of the freeze. */
  readonly position: number;
}

/** Minimum length of a freeze (ms). Shorter ones are dropped frames. */
const MIN_FREEZE_MS = 100;

/**
 * Returns the freezes with a maximum length above `minMs`. A single frame between two freezes
 * does not merge them.
 *
 * @param frameMs display time of a frame
 */
function possibleFreezes({ samples, pressed }: Observation, frameMs: number, minMs: number): Freeze[] {
  const freezes: Freeze[] = [];
  const since = (index: number) => (samples[index]?.at ?? Number.NaN) - pressed;
  let first = samples.findIndex(({ hash }) => hash !== blankHash(samples));
  for (let next = first + 1; next < samples.length; next++) {
    if (samples[next]?.hash === samples[first]?.hash) continue;
    const start: Interval = [since(first - 1) + frameMs, since(first) + frameMs];
    const end: Interval = [since(next - 1), since(next)];
    const position = samples[next - 1]?.position ?? Number.NaN;
    if (lengthBetween(start, end)[1] > minMs) freezes.push({ start, end, position });
    first = next;
  }
  return freezes;
}

/** Returns the freezes with a minimum length above `minMs`; adjacent ones are merged. */
export function certainFreezes(observation: Observation, frameMs: number, minMs = MIN_FREEZE_MS): Freeze[] {
  const freezes: Freeze[] = [];
  for (const freeze of possibleFreezes(observation, frameMs, minMs)) {
    if (lengthBetween(freeze.start, freeze.end)[0] <= minMs) continue;
    const last = freezes.at(-1);
    if (last !== undefined && freeze.start[0] <= last.end[1])
      freezes[freezes.length - 1] = { ...last, end: freeze.end };
    else freezes.push(freeze);
  }
  return freezes;
}

/**
 * Difference between page and pixels on the length of a short freeze (ms). The compositor reports
 * frames to the page, the main thread reads the pixels: on a busy machine one of them may be a
 * refresh earlier, at either end.
 */
const TWO_REFRESHES_MS = 2000 / 60;

/**
 * Maximum interval between samples (ms): a machine that exceeds it cannot play video in real time.
 */
const MAX_SAMPLE_INTERVAL_MS = 3000;

/** Returns the reason to discard an observation: the machine was too busy. */
export function discardReason({ samples }: Observation): string | undefined {
  const longest = samples.reduce((longest, { at }, index) => Math.max(longest, at - (samples[index - 1]?.at ?? at)), 0);
  return longest > MAX_SAMPLE_INTERVAL_MS
    ? `machine too busy: no screen sample for ${longest.toFixed(0)} ms`
    : undefined;
}

/** Returns the time of the first frame. */
export function firstFrame({ samples, pressed }: Observation): Interval {
  const first = samples.findIndex(({ hash }) => hash !== blankHash(samples));
  return [(samples[first - 1]?.at ?? Number.NaN) - pressed, (samples[first]?.at ?? Number.NaN) - pressed];
}

function blankHash(samples: readonly ScreenSample[]): number {
  return samples[0]?.hash ?? 0;
}

/** Returns the minimum and maximum time between two instants. */
export function lengthBetween(start: Interval, end: Interval): Interval {
  return [end[0] - start[1], end[1] - start[0]];
}

/** A stall reported by the page, and the freeze of the pixels that it matches. */
export interface StallMatch {
  readonly stall: Stall;
  readonly freeze: Freeze;
}

/** Tolerances of a comparison between stalls and freezes. */
export interface Tolerances {
  /** Display time of a frame. */
  readonly frameMs: number;
  readonly toleranceMs: number;
}

/** Returns whether the player had the data for a freeze: then the machine dropped frames. */
export type HadData = (freeze: Freeze) => boolean;

/**
 * Matches stalls to freezes. Fails if a stall matches no possible freeze, or a certain freeze
 * without `hadData` no stall.
 */
export function matchStalls(
  stalls: readonly Stall[],
  observation: Observation,
  { frameMs, toleranceMs }: Tolerances,
  hadData: HadData = () => false,
): StallMatch[] {
  const slackMs = Math.max(toleranceMs, TWO_REFRESHES_MS);
  const certain = certainFreezes(observation, frameMs, MIN_FREEZE_MS + slackMs);
  // A single frame may end a freeze or not, so accept both the merged and the separate freezes.
  const possible = [
    ...certainFreezes(observation, frameMs),
    ...possibleFreezes(observation, frameMs, MIN_FREEZE_MS - slackMs),
  ];
  const matches: StallMatch[] = [];
  const unmatched: (Stall | Freeze)[] = [];
  const overlap = (stall: Stall, { start, end }: Freeze) =>
    Math.min(stall.end_s * 1000, end[1]) - Math.max(stall.start_s * 1000, start[0]);
  for (const stall of stalls) {
    // The sort is stable: of equal candidates the certain freeze is first.
    const overlapping = possible.filter((freeze) => overlap(stall, freeze) > 0);
    const [freeze] = overlapping.toSorted((a, b) => distance(stall, a) - distance(stall, b));
    if (freeze === undefined) unmatched.push(stall);
    else matches.push({ stall, freeze });
  }
  for (const freeze of certain)
    if (!stalls.some((stall) => overlap(stall, freeze) > 0) && !hadData(freeze)) unmatched.push(freeze);
  assert.deepEqual(unmatched, [], 'each stall matches a freeze, and each freeze a stall');
  return matches;
}

/**
 * Maximum length of a hiccup, a freeze caused by a busy machine (ms). The waits caused by the
 * server in these tests take seconds.
 */
export const MAX_HICCUP_MS = 500;

/** Removes hiccups, for which the tests require only that page and pixels agree. */
export function withoutHiccups(all: readonly StallMatch[], hadData: HadData = () => true): StallMatch[] {
  return all.filter(({ freeze }) => lengthBetween(freeze.start, freeze.end)[1] > MAX_HICCUP_MS || !hadData(freeze));
}

/** Returns the sum of the distances between stall and freeze at both ends (ms). */
function distance(stall: Stall, { start, end }: Freeze): number {
  const outside = (at: number, [low, high]: Interval) => Math.max(low - at, at - high, 0);
  return outside(stall.start_s * 1000, start) + outside(stall.end_s * 1000, end);
}

export function meanLength(freezes: readonly Freeze[]): Interval {
  const lengths = freezes.map(({ start, end }) => lengthBetween(start, end));
  const mean = (side: 0 | 1) => lengths.reduce((sum, length) => sum + length[side], 0) / lengths.length;
  return [mean(0), mean(1)];
}

/** Fails if a time is outside the interval by more than the tolerance (ms). */
export function assertWithin(seconds: number, [low, high]: Interval, tolerance: number, name: string): void {
  const ms = seconds * 1000;
  const isWithin = ms >= low - tolerance && ms <= high + tolerance;
  assert.ok(isWithin, `${name}: ${ms.toFixed(1)} ms, expected ${low.toFixed(1)} to ${high.toFixed(1)}`);
}

/** Fails unless start, end and length of each stall match its freeze. */
export function assertStallBounds(matches: readonly StallMatch[], toleranceMs: number): void {
  for (const [index, { stall, freeze }] of matches.entries()) {
    assertWithin(stall.start_s, freeze.start, toleranceMs, `start of stall ${index + 1}`);
    assertWithin(stall.end_s, freeze.end, toleranceMs, `end of stall ${index + 1}`);
    const length = lengthBetween(freeze.start, freeze.end);
    assertWithin(stall.end_s - stall.start_s, length, toleranceMs, `length of stall ${index + 1}`);
  }
}
