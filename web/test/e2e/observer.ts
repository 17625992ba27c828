/**
 * Watches a video without the page's knowing, as a person would: at every refresh of the screen it looks at the
 * picture itself, by its pixels. No event of the player, no clock of the video and no word of the compositor is
 * asked. Between two looks nobody knows, so what it tells are intervals.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Stall } from '../../src/measure/record.ts';

/** What was seen at a refresh. */
interface Look {
  /** Milliseconds of the page's `performance.now()`. */
  readonly at: number;
  /** A hash of the pixels; 0 where there is no picture. */
  readonly picture: number;
  /** What the video's clock showed; not asked, but of use to who reads a failure. */
  readonly position: number;
}

export interface Watched {
  readonly looks: readonly Look[];
  /** When the button was pressed, as the event has it. */
  readonly pressed: number;
  readonly origin: number;
}

/** After the first of these times and not after the second (ms since the button was pressed). */
export type Interval = readonly [number, number];

/** Watches from now on; to be called before the page is opened. What it returns stops and tells. */
export async function observe(page: Page): Promise<() => Promise<Watched>> {
  await page.addInitScript(() => {
    const watched = { looks: [] as object[], pressed: 0, origin: performance.timeOrigin };
    Object.assign(window, { watched });
    addEventListener('submit', (event) => Object.assign(watched, { pressed: event.timeStamp }), true);
    const canvas = document.createElement('canvas');
    canvas.width = 64;
    canvas.height = 36;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    document.addEventListener('DOMContentLoaded', () => {
      if (context === null) throw new Error('there is nothing to look with');
      requestAnimationFrame(function look() {
        // That of another player, where there is one.
        const media = document.querySelector<HTMLVideoElement>('#youtube video') ?? document.querySelector('video');
        let hash = 0;
        if (media !== null && media.videoWidth > 0) {
          context.drawImage(media, 0, 0, canvas.width, canvas.height);
          for (const byte of context.getImageData(0, 0, canvas.width, canvas.height).data)
            hash = (Math.imul(hash, 31) + byte) | 0;
        }
        watched.looks.push({ at: performance.now(), picture: hash, position: media?.currentTime ?? 0 });
        requestAnimationFrame(look);
      });
    });
  });
  return () => page.evaluate(() => (window as unknown as { watched: Watched }).watched);
}

/** A time in which the picture stood, or may have: nobody looks between two looks. */
export interface Standstill {
  /** When the last picture had had its time. */
  readonly start: Interval;
  /** When the next one came. */
  readonly end: Interval;
  /** What the clock showed meanwhile, at last. */
  readonly position: number;
}

/** A picture that stays this much longer than it should stands (ms); what is shorter is some dropped pictures. */
const LEAST_MS = 100;

/**
 * Where the picture may have stood for so long (ms), however short it did for certain. One picture in between is no
 * playing on.
 *
 * @param staysMs how long a picture stays when the video plays
 */
function perhaps({ looks, pressed }: Watched, staysMs: number, leastMs: number): Standstill[] {
  const found: Standstill[] = [];
  const since = (index: number) => (looks[index]?.at ?? Number.NaN) - pressed;
  let first = looks.findIndex(({ picture }) => picture !== blank(looks));
  for (let next = first + 1; next < looks.length; next++) {
    if (looks[next]?.picture === looks[first]?.picture) continue;
    const start: Interval = [since(first - 1) + staysMs, since(first) + staysMs];
    const end: Interval = [since(next - 1), since(next)];
    if (between(start, end)[1] > leastMs) found.push({ start, end, position: looks[next - 1]?.position ?? Number.NaN });
    first = next;
  }
  return found;
}

/** Times in which the picture stood for certain. */
export function standstills(watched: Watched, staysMs: number, leastMs = LEAST_MS): Standstill[] {
  const found: Standstill[] = [];
  for (const one of perhaps(watched, staysMs, leastMs)) {
    if (between(one.start, one.end)[0] <= leastMs) continue;
    const last = found.at(-1);
    if (last !== undefined && one.start[0] <= last.end[1]) found[found.length - 1] = { ...last, end: one.end };
    else found.push(one);
  }
  return found;
}

/**
 * How far apart the page and the pixels may be on whether a hiccup was a stall (ms): the page is told of a picture by
 * the compositor, the pixels are read by the main thread, and on a machine that is late one of the two may have it a
 * refresh of the screen before the other, at either end.
 */
const TWO_REFRESHES_MS = 2000 / 60;

/** A machine on which nobody could look for longer than this (ms) was not one that plays video. */
const BLIND_MS = 3000;

/** Why what was seen says nothing, if so: the machine had no time to look, and none to play. */
export function blind({ looks }: Watched): string | undefined {
  const longest = looks.reduce((most, { at }, index) => Math.max(most, at - (looks[index - 1]?.at ?? at)), 0);
  return longest > BLIND_MS ? `the machine was too busy to look at the screen for ${longest.toFixed(0)} ms` : undefined;
}

/** When there was a picture for the first time. */
export function firstPicture({ looks, pressed }: Watched): Interval {
  const first = looks.findIndex(({ picture }) => picture !== blank(looks));
  return [(looks[first - 1]?.at ?? Number.NaN) - pressed, (looks[first]?.at ?? Number.NaN) - pressed];
}

function blank(looks: readonly Look[]): number {
  return looks[0]?.picture ?? 0;
}

/** How long something took that began and ended within these. */
export function between(start: Interval, end: Interval): Interval {
  return [end[0] - start[1], end[1] - start[0]];
}

/** A stall of the page and the standstill that it tells of. */
export interface Pair {
  readonly stall: Stall;
  readonly stood: Standstill;
}

/**
 * Stalls with their standstills: of the page's own doing there is none of either alone. Each stall is one in which the
 * picture may have stood as long as a stall is at least, as far as one can know between two looks, and each time in
 * which it stood so long for certain is a stall.
 *
 * @param staysMs how long a picture stays when the video plays
 * @param toleranceMs how far from the truth the page may be
 * @param had says that the player had the pictures that were due then: a machine that is too busy to show them drops
 *   them, and that is no stall
 */
export function pairs(
  stalls: readonly Stall[],
  watched: Watched,
  staysMs: number,
  toleranceMs: number,
  had: (stood: Standstill) => boolean = () => false,
): Pair[] {
  const apartMs = Math.max(toleranceMs, TWO_REFRESHES_MS);
  const certain = standstills(watched, staysMs, LEAST_MS + apartMs);
  // Whether one picture in between was playing on, one may see in either way.
  const possible = [...standstills(watched, staysMs), ...perhaps(watched, staysMs, LEAST_MS - apartMs)];
  const found: Pair[] = [];
  const alone: (Stall | Standstill)[] = [];
  const overlap = (stall: Stall, { start, end }: Standstill) =>
    Math.min(stall.end_s * 1000, end[1]) - Math.max(stall.start_s * 1000, start[0]);
  for (const stall of stalls) {
    // Of two that cover it alike, the first one: that is known for certain.
    const overlapping = possible.filter((stood) => overlap(stall, stood) > 0);
    const [stood] = overlapping.toSorted((a, b) => apart(stall, a) - apart(stall, b));
    if (stood === undefined) alone.push(stall);
    else found.push({ stall, stood });
  }
  for (const stood of certain) if (!stalls.some((stall) => overlap(stall, stood) > 0) && !had(stood)) alone.push(stood);
  assert.deepEqual(alone, [], 'each stall is a standstill of the picture, and each standstill a stall');
  return found;
}

/**
 * A stall of the machine's own making is shorter than this (ms): pictures that were there came late to the screen. What
 * a server makes its viewers wait for in these tests takes seconds.
 */
export const HICCUP_MS = 500;

/**
 * Those that are not of the machine's own making: of a hiccup the tests ask only that page and picture both tell.
 *
 * @param had says that the player had the pictures that were due then
 */
export function waited(all: readonly Pair[], had: (stood: Standstill) => boolean = () => true): Pair[] {
  return all.filter(({ stood }) => between(stood.start, stood.end)[1] > HICCUP_MS || !had(stood));
}

/** How far a stall is from a standstill, at both of its ends together (ms). */
function apart(stall: Stall, { start, end }: Standstill): number {
  const outside = (at: number, [low, high]: Interval) => Math.max(low - at, at - high, 0);
  return outside(stall.start_s * 1000, start) + outside(stall.end_s * 1000, end);
}

/** The mean length of all of them. */
export function meanLength(stood: readonly Standstill[]): Interval {
  const lengths = stood.map(({ start, end }) => between(start, end));
  const mean = (side: 0 | 1) => lengths.reduce((sum, one) => sum + one[side], 0) / lengths.length;
  return [mean(0), mean(1)];
}

/** Fails where this is further from the interval (ms). */
export function within(seconds: number, [low, high]: Interval, tolerance: number, what: string): void {
  const found = seconds * 1000;
  const ok = found >= low - tolerance && found <= high + tolerance;
  assert.ok(ok, `${what}: ${found.toFixed(1)} ms and not ${low.toFixed(1)} to ${high.toFixed(1)}`);
}
