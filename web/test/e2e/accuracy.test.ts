/**
 * KPIs of the page in Chromium against ground truth: the pixels on the screen, and the log of a
 * server that delays, throttles and cuts its responses.
 */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium, launch, open, play, postedSession } from './browser.ts';
import { acquireLoadingLock } from './loading-lock.ts';
import {
  assertStallBounds,
  assertWithin,
  certainFreezes,
  discardReason,
  type Freeze,
  firstFrame,
  matchStalls,
  meanLength,
  observeScreen,
  type StallMatch,
  withoutHiccups,
} from './screen-observer.ts';
import { type ResponseProfile, TestServer } from './test-server.ts';
import { hasFfmpeg, testVideo, type VideoOptions } from './test-video.ts';
import { timedTrial } from './timed-trial.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

/** Maximum error of a KPI (ms). */
const TOLERANCE_MS = 20;

/**
 * The video is small, so that a busy machine decodes it in time. It has a single bitrate: when
 * dash.js switches up after the last segment, it reloads earlier segments and stalls at the very
 * end, where no further frame follows.
 */
const VIDEO: VideoOptions = { seconds: 20, segmentSeconds: 1, fps: 25, kbps: [600], audio: false, size: '160x90' };

/** Profiles of responses by segment number, from 1. */
interface SegmentProfiles {
  readonly [segment: number]: ResponseProfile;
}

/**
 * Profiles of first requests: an outage, a throttled segment, and a connection cut within a
 * segment.
 */
const firstRequests = (throttledKbps: number): SegmentProfiles => ({
  6: { delayMs: 7500 },
  11: { kbps: throttledKbps },
  15: { cutAt: 0.5, kbps: 100 },
});

/** Rates at which a segment completes, and at which dash.js abandons it after 20 s. */
const [SLOW_KBPS, ABANDONED_KBPS] = [65, 25];

/** Profiles of repeated requests: only the segment that was cut is delayed. */
const REPEATED_REQUESTS: SegmentProfiles = { 15: { delayMs: 5500 } };

describe('accuracy', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  // The longer test starts first.
  for (const audio of [true, false]) {
    const content = audio ? 'video with audio' : 'video without audio';
    test(`KPIs of ${content} are within 20 ms of the screen under throttling and cuts`, async (t) => {
      const folder = await testVideo({ ...VIDEO, audio });
      await timedTrial(t, async () => {
        const releaseLock = await acquireLoadingLock();
        t.after(releaseLock);
        const server = await TestServer.start({ '/video/': folder, '/': 'dist' });
        const first = firstRequests(audio ? ABANDONED_KBPS : SLOW_KBPS);
        server.profile = (path, previousRequests) => {
          if (path.endsWith('.mpd')) return { delayMs: 400 };
          const segment = Number(/stream[01]-(\d+)/.exec(path)?.[1] ?? 0);
          if (segment === 3) releaseLock();
          const profiles = previousRequests === 0 ? first : REPEATED_REQUESTS;
          return profiles[segment] ?? (segment > 0 ? { kbps: 2000 } : {});
        };
        const { page, context, errors } = await open(browser);
        const readObservation = await observeScreen(page);
        await play(page, server, '/video/manifest.mpd', { maxBuffer: '4' });
        const session = await postedSession(page, server);
        const truth = await readObservation();
        await context.close();
        await server.stop();
        const frameMs = 1000 / VIDEO.fps;
        // For the analysis of failures.
        const freezes = certainFreezes(truth, frameMs);
        const details = JSON.stringify({ session, freezes, truth, responses: server.responses });
        await writeFile(`.cache/accuracy-${audio ? 'audio' : 'video'}.json`, details);

        assert.deepEqual(errors, []);
        assert.equal(session.complete, true);
        assert.equal(discardReason(truth), undefined);
        assertWithin(session.kpis.initial_load_s, firstFrame(truth), TOLERANCE_MS, 'T_init');
        const started = truth.origin + truth.pressed;
        const hadData = ({ position, start }: Freeze) =>
          sentTimes(server, position).every((sent) => sent - started < start[0]);
        const matches = matchStalls(session.stalls, truth, { frameMs, toleranceMs: TOLERANCE_MS }, hadData);
        const stalls = withoutHiccups(matches, hadData);
        assert.ok(stalls.length >= 3, `only ${stalls.length} stalls`);
        assertStallBounds(stalls, TOLERANCE_MS);
        const meanFreeze = meanLength(matches.map(({ freeze }) => freeze));
        assertWithin(session.kpis.mean_stall_s, meanFreeze, TOLERANCE_MS, 'T_rebuf');
        assert.equal(session.kpis.stalls_per_s, session.stalls.length / session.played_s, 'f_rebuf');
        assertPhasesCoverSession(session);
        assertStallsMatchBytes(stalls, server, started);
      });
    });
  }
});

/** Fails unless the lengths of all phases add up to the length of the session. */
function assertPhasesCoverSession(session: Session): void {
  const actions = [...session.pauses, ...session.seeks].reduce((sum, { start_s, end_s }) => sum + end_s - start_s, 0);
  const sum = session.kpis.initial_load_s + session.kpis.stalled_s + session.played_s + actions;
  assert.ok(Math.abs(sum - session.duration_s) < 1e-4, `phases: ${sum} s, session: ${session.duration_s} s`);
}

/**
 * Returns the times at which the server had sent the segments required after a position, one of
 * the video and one of the audio; empty at the end of the video.
 */
function sentTimes(server: TestServer, position: number): number[] {
  // The clock may stop 0.1 s before the end of the buffer: the decoder holds these frames.
  const required = Math.floor(position + 0.1) + 1;
  const sentTime = (stream: number) => {
    const name = new RegExp(`stream${stream}-0*${required}\\.m4s$`);
    const complete = server.responses.filter((response) => response.complete && name.test(response.path));
    return Math.min(...complete.map(({ parts }) => parts.at(-1)?.at ?? Number.NaN));
  };
  return required > VIDEO.seconds ? [] : [0, 1].map(sentTime).filter(Number.isFinite);
}

/** Maximum time from the last byte of a segment to its playback on a busy machine (ms). */
const MAX_DECODE_DELAY_MS = 500;

/**
 * Fails unless the server's log explains each stall: a required segment was complete only after
 * the freeze began, or too shortly before it to be played, and before the freeze ended.
 *
 * @param started start of the session on the server's clock
 */
function assertStallsMatchBytes(stalls: readonly StallMatch[], server: TestServer, started: number): void {
  for (const [index, { stall, freeze }] of stalls.entries()) {
    const { start, end, position } = freeze;
    // With running audio the clock is ahead of the frames, so either position may lack data.
    const sent = [stall.position_s, position].flatMap((at) => sentTimes(server, at)).map((time) => time - started);
    assert.ok(
      sent.some((at) => at > start[0] - MAX_DECODE_DELAY_MS && at < end[1]),
      `stall ${index + 1}, ${start[0]} to ${end[1]} ms: segments at ${position} s were sent at ${sent} ms`,
    );
  }
}
