/**
 * The KPIs of the page against what really happened: a server that throttles, holds and cuts its answers at
 * known instants and notes every byte, and an observer of the picture itself. In real Chromium.
 */

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium, launch, open, play, posted } from './browser.ts';
import { between, firstPicture, meanLength, observe, type Pair, pairs, standstills, within } from './observer.ts';
import { type Manner, TestServer } from './server.ts';
import { hasFfmpeg, type Recipe, video } from './video.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

/** How far a KPI may be from the truth (ms). */
const TOLERANCE_MS = 20;

const RECIPE: Recipe = { seconds: 20, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false };

/** How segments of the picture are sent, by their number from 1, the first time that they are asked for. */
const TROUBLE: { readonly [segment: number]: Manner } = {
  // The link is gone for a while.
  6: { hold: 7500 },
  // It trickles.
  11: { kbps: 25 },
  // The connection breaks in mid-segment.
  15: { cutAt: 0.5, kbps: 100 },
};

/** What is asked for again comes at once, but for what was cut: that waits. */
const AGAIN: { readonly [segment: number]: Manner } = { 15: { hold: 5500 } };

describe('accuracy', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  for (const audio of [false, true]) {
    const what = audio ? 'picture and sound' : 'a picture alone';
    test(`KPIs of ${what} are within 20 ms of what was on the screen, throttled and cut in mid-play`, async () => {
      const folder = await video({ ...RECIPE, audio });
      const server = await TestServer.start({ '/video/': folder, '/': 'dist' });
      server.manner = (path, before) => {
        if (path.endsWith('.mpd')) return { hold: 400 };
        const segment = Number(/stream[01]-(\d+)/.exec(path)?.[1] ?? 0);
        return (before === 0 ? TROUBLE : AGAIN)[segment] ?? (segment > 0 ? { kbps: 2000 } : {});
      };
      const { page, context, errors } = await open(browser);
      const watched = await observe(page);
      await play(page, server, '/video/manifest.mpd', { maxBuffer: '4' });
      const session = await posted(page, server);
      const truth = await watched();
      await context.close();
      await server.stop();
      const stood = standstills(truth, 1000 / RECIPE.fps);
      // For who wants to know why it fails.
      const seen = JSON.stringify({ session, stood, truth, answers: server.answers });
      await writeFile(`.cache/accuracy-${audio ? 'sound' : 'picture'}.json`, seen);

      assert.deepEqual(errors, []);
      assert.equal(session.complete, true);
      within(session.kpis.initial_load_s, firstPicture(truth), TOLERANCE_MS, 'T_init');
      const found = pairs(session.stalls, stood, truth);
      assert.ok(found.length >= 3, `${found.length} stalls: the trouble was not felt`);
      for (const [index, { stall, stood }] of found.entries()) {
        // dash.js may stall once more at the very end, and then shows the last picture again: pixels do not tell that.
        if (stood.position > RECIPE.seconds - 0.1) continue;
        within(stall.start_s, stood.start, TOLERANCE_MS, `the start of stall ${index + 1}`);
        within(stall.end_s, stood.end, TOLERANCE_MS, `the end of stall ${index + 1}`);
        within(
          stall.end_s - stall.start_s,
          between(stood.start, stood.end),
          TOLERANCE_MS,
          `the length of stall ${index + 1}`,
        );
      }
      if (stood.length === session.stalls.length)
        within(session.kpis.mean_stall_s, meanLength(stood), TOLERANCE_MS, 'T_rebuf');
      assert.equal(session.kpis.stalls_per_s, session.stalls.length / session.played_s, 'f_rebuf');
      adds(session);
      agreesWithBytes(found, server, truth.origin + truth.pressed);
    });
  }
});

/** The whole of the session is told: what it was adds up to how long it took. */
function adds(session: Session): void {
  const spans = [...session.pauses, ...session.seeks].reduce((sum, { start_s, end_s }) => sum + end_s - start_s, 0);
  const sum = session.kpis.initial_load_s + session.kpis.stalled_s + session.played_s + spans;
  assert.ok(Math.abs(sum - session.duration_s) < 1e-4, `${sum} and not ${session.duration_s}`);
}

/**
 * What the server sent says why: when a stall began, it had not yet sent the whole of the segment that comes next,
 * and when it ended it had.
 *
 * @param pressed when the button was pressed, by the clock of the server
 */
function agreesWithBytes(found: readonly Pair[], server: TestServer, pressed: number): void {
  let checked = 0;
  for (const [index, { stall, stood }] of found.entries()) {
    // The clock of a video may stop a tenth of a second before the end of what is there: the decoder holds that.
    const missing = Math.floor(stood.position + 0.1) + 1;
    // Where dash.js climbs after the last segment, it asks for one of the middle again, and the end stalls; and on a
    // busy machine a decoder may stall for a moment by itself. The server has nothing to do with these.
    if (missing > RECIPE.seconds || stall.end_s - stall.start_s < 1) continue;
    checked++;
    const wanted = server.answers.filter(({ path }) => new RegExp(`stream[01]-0*${missing}\\.m4s$`).test(path));
    const came = wanted.filter(({ whole }) => whole).map(({ parts }) => (parts.at(-1)?.at ?? 0) - pressed);
    const first = Math.min(...came);
    assert.ok(first > stall.start_s * 1000, `stall ${index + 1}: segment ${missing} was there when it began`);
    assert.ok(first < stall.end_s * 1000, `stall ${index + 1}: segment ${missing} was not there when it ended`);
  }
  assert.ok(checked >= 3, `${checked} stalls of the server's doing: ${JSON.stringify(found)}`);
}
