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
import {
  between,
  blind,
  firstPicture,
  meanLength,
  observe,
  type Pair,
  pairs,
  type Standstill,
  standstills,
  waited,
  within,
} from './observer.ts';
import { type Manner, TestServer } from './server.ts';
import { turn } from './turn.ts';
import { hasFfmpeg, type Recipe, video } from './video.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

/** How far a KPI may be from the truth (ms). */
const TOLERANCE_MS = 20;

/**
 * Small, so that a busy machine decodes and draws it in time; and of one bitrate: dash.js asks for a segment of the
 * middle again where it climbs after the last one, and then stalls at the very end, where no other picture follows.
 */
const RECIPE: Recipe = { seconds: 20, segmentSeconds: 1, fps: 25, kbps: [600], audio: false, size: '160x90' };

/** How segments are sent, by their number from 1, the first time that they are asked for. */
interface Trouble {
  readonly [segment: number]: Manner;
}

/** The link is gone for a while, then it trickles, and at last the connection breaks in mid-segment. */
const trouble = (trickleKbps: number): Trouble => ({
  6: { hold: 7500 },
  11: { kbps: trickleKbps },
  15: { cutAt: 0.5, kbps: 100 },
});

/** What trickles comes whole at last, or so slowly that dash.js gives it up after 20 s and asks again. */
const [SLOW_KBPS, TOO_SLOW_KBPS] = [65, 25];

/** What is asked for again comes at once, but for what was cut: that waits. */
const AGAIN: Trouble = { 15: { hold: 5500 } };

describe('accuracy', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  // That which takes longer begins first.
  for (const audio of [true, false]) {
    const what = audio ? 'picture and sound' : 'a picture alone';
    test(`KPIs of ${what} are within 20 ms of what was on the screen, throttled and cut in mid-play`, async (t) => {
      const folder = await video({ ...RECIPE, audio });
      const plays = await turn();
      t.after(plays);
      const server = await TestServer.start({ '/video/': folder, '/': 'dist' });
      const first = trouble(audio ? TOO_SLOW_KBPS : SLOW_KBPS);
      server.manner = (path, before) => {
        if (path.endsWith('.mpd')) return { hold: 400 };
        const segment = Number(/stream[01]-(\d+)/.exec(path)?.[1] ?? 0);
        if (segment === 3) plays();
        return (before === 0 ? first : AGAIN)[segment] ?? (segment > 0 ? { kbps: 2000 } : {});
      };
      const { page, context, errors } = await open(browser);
      const watched = await observe(page);
      await play(page, server, '/video/manifest.mpd', { maxBuffer: '4' });
      const session = await posted(page, server);
      const truth = await watched();
      await context.close();
      await server.stop();
      const staysMs = 1000 / RECIPE.fps;
      // For who wants to know why it fails.
      const stood = standstills(truth, staysMs);
      const seen = JSON.stringify({ session, stood, truth, answers: server.answers });
      await writeFile(`.cache/accuracy-${audio ? 'sound' : 'picture'}.json`, seen);

      assert.deepEqual(errors, []);
      assert.equal(session.complete, true);
      const why = blind(truth);
      if (why !== undefined) {
        t.skip(why);
        return;
      }
      within(session.kpis.initial_load_s, firstPicture(truth), TOLERANCE_MS, 'T_init');
      const pressed = truth.origin + truth.pressed;
      const had = ({ position, start }: Standstill) => due(server, position).every((sent) => sent - pressed < start[0]);
      const all = pairs(session.stalls, truth, staysMs, TOLERANCE_MS, had);
      const found = waited(all, had);
      assert.ok(found.length >= 3, `${found.length} stalls: the trouble was not felt`);
      for (const [index, { stall, stood }] of found.entries()) {
        within(stall.start_s, stood.start, TOLERANCE_MS, `the start of stall ${index + 1}`);
        within(stall.end_s, stood.end, TOLERANCE_MS, `the end of stall ${index + 1}`);
        within(
          stall.end_s - stall.start_s,
          between(stood.start, stood.end),
          TOLERANCE_MS,
          `the length of stall ${index + 1}`,
        );
      }
      within(session.kpis.mean_stall_s, meanLength(all.map(({ stood }) => stood)), TOLERANCE_MS, 'T_rebuf');
      assert.equal(session.kpis.stalls_per_s, session.stalls.length / session.played_s, 'f_rebuf');
      adds(session);
      agreesWithBytes(found, server, pressed);
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
 * When the server had sent the whole of what has to be there for the video to go on from here, a segment of the picture
 * and one of the sound, by its own clock; nothing where it is the end of the video.
 */
function due(server: TestServer, position: number): number[] {
  // The clock of a video may stop a tenth of a second before the end of what is there: the decoder holds that.
  const missing = Math.floor(position + 0.1) + 1;
  const whole = (stream: number) => {
    const name = new RegExp(`stream${stream}-0*${missing}\\.m4s$`);
    const wanted = server.answers.filter((answer) => answer.whole && name.test(answer.path));
    return Math.min(...wanted.map(({ parts }) => parts.at(-1)?.at ?? Number.NaN));
  };
  return missing > RECIPE.seconds ? [] : [0, 1].map(whole).filter(Number.isFinite);
}

/** So long a busy machine may take from the last byte of a segment until it can be played (ms). */
const TAKEN_MS = 500;

/**
 * What the server sent says why: something that was due was whole only when the picture stood already, or so shortly
 * before that it could not be played, and before the next picture.
 *
 * @param pressed when the button was pressed, by the clock of the server
 */
function agreesWithBytes(found: readonly Pair[], server: TestServer, pressed: number): void {
  for (const [index, { stall, stood }] of found.entries()) {
    const { start, end, position } = stood;
    // Where the sound goes on, the clock is ahead of the picture: either may lack something.
    const came = [stall.position_s, position].flatMap((at) => due(server, at)).map((sent) => sent - pressed);
    assert.ok(
      came.some((at) => at > start[0] - TAKEN_MS && at < end[1]),
      `stall ${index + 1}, ${start[0]} to ${end[1]} ms: what was due at ${position} s came at ${came} ms`,
    );
  }
}
