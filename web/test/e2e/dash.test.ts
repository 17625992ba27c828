/** Manifests and failures that dash.js handles in its own way, in Chromium. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { hasChromium, launch, play, postedSession, type Visit, visitPage } from './browser.ts';
import { hasFfmpeg, testVideo, type VideoOptions } from './test-video.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

const VIDEO: VideoOptions = { seconds: 12, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false };

const MANIFEST = '/video/manifest.mpd';

/** Returns a manifest with the first seconds of a manifest as two periods, with other ids in the second. */
function inTwoPeriods(manifest: string, seconds: number): string {
  const set = /<AdaptationSet.*<\/AdaptationSet>/s.exec(manifest)?.[0] ?? '';
  const timescale = Number(/timescale="(\d+)"/.exec(set)?.[1]);
  const second = set
    .replace(/<Representation id="(\d+)".*?<\/Representation>/gs, (representation, id: string) =>
      representation.replaceAll('$RepresentationID$', id).replace(`id="${id}"`, `id="second-${id}"`),
    )
    .replaceAll('startNumber="1"', `startNumber="${seconds + 1}" presentationTimeOffset="${seconds * timescale}"`);
  const period = (start: number, content: string) =>
    `<Period start="PT${start}S" duration="PT${seconds}S">${content}</Period>`;
  return manifest
    .replace(/mediaPresentationDuration="[^"]*"/, `mediaPresentationDuration="PT${2 * seconds}S"`)
    .replace(/<Period.*<\/Period>/s, period(0, set) + period(seconds, second));
}

describe('dash.js', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  let folder: string;
  before(async () => {
    folder = await testVideo(VIDEO);
    browser = await launch();
  });
  after(() => browser?.close());

  const visit = (act: Visit) => visitPage(browser, { '/video/': folder, '/': 'dist' }, act);

  test('video of two periods with other ids is recorded whole', async () => {
    await visit(async (page, server) => {
      const manifest = await readFile(join(folder, 'manifest.mpd'), 'utf8');
      server.put('/video/periods.mpd', 'application/dash+xml', inTwoPeriods(manifest, 4));
      await play(page, server, '/video/periods.mpd');
      const session = await postedSession(page, server);
      assert.deepEqual([session.state, session.seeks, session.video.levels.length], ['finished', [], 2]);
      // Numbers begin anew in the second period.
      for (const number of [0, 1, 2, 3]) {
        const copies = session.segments.filter(({ segment }) => segment === number);
        assert.ok(copies.length >= 2, `segment ${number} is recorded in both periods`);
      }
    });
  });

  for (const [when, name, segment, playedS] of [
    ['before the video, with its initialization', 'init-stream\\d', null, 0],
    ['before the first picture', 'chunk-stream\\d-00001', 0, 0],
    ['once the buffer is dry', 'chunk-stream\\d-00008', 7, 7],
  ] as const) {
    test(`missing segment ends the session as failed ${when}`, async () => {
      await visit(async (page, server) => {
        // Requests also name the next segment, in their query.
        await page.route(new RegExp(`${name}\\.m4s\\?`), (route) => route.fulfill({ status: 404 }));
        await play(page, server, MANIFEST);
        const session = await postedSession(page, server);
        assert.deepEqual([session.state, session.reason?.kind], ['failed', 'http']);
        assert.match(session.reason?.message ?? '', new RegExp(`${name}\\.m4s is not available$`));
        const errors = session.errors.map(({ segment, status, fatal }) => [segment, status, fatal]);
        assert.deepEqual(errors, [
          [segment, 404, false],
          [segment, 404, true],
        ]);
        assert.equal(session.stalls.length, playedS > 0 ? 1 : 0);
        assert.ok(Math.abs(session.played_s - playedS) < 0.9, `${session.played_s} of ${playedS} s`);
        assert.match(await page.getByRole('alert').innerText(), /Playback failed/);
      });
    });
  }

  test('missing segment index of a level that is not played does not end the session', async () => {
    await visit(async (page, server) => {
      const manifest = await readFile(join(folder, 'manifest.mpd'), 'utf8');
      const level = `<Representation id="2" mimeType="video/mp4" codecs="avc1.42c01e" bandwidth="${Number.MAX_SAFE_INTEGER}">
        <BaseURL>gone.mp4</BaseURL>
        <SegmentBase indexRange="800-999"><Initialization range="0-799"/></SegmentBase>
      </Representation>`;
      const short = manifest.replace('"PT12.0S"', '"PT3S"').replace('</AdaptationSet>', `${level}$&`);
      server.put('/video/indexed.mpd', 'application/dash+xml', short);
      await play(page, server, '/video/indexed.mpd', { rule: 'throughput' });
      const session = await postedSession(page, server);
      assert.deepEqual([session.state, session.errors.length], ['finished', 1]);
      assert.match(session.errors[0]?.message ?? '', /gone\.mp4 is not available$/);
    });
  });

  test('video whose manifest claims a rest without video is finished', async () => {
    await visit(async (page, server) => {
      const manifest = await readFile(join(folder, 'manifest.mpd'), 'utf8');
      server.put('/video/rest.mpd', 'application/dash+xml', manifest.replace('"PT12.0S"', '"PT4.06S"'));
      await page.route(/chunk-stream\d-00005\.m4s\?/, (route) => route.fulfill({ status: 404 }));
      await play(page, server, '/video/rest.mpd');
      const session = await postedSession(page, server);
      assert.deepEqual([session.state, session.seeks], ['finished', []]);
      assert.deepEqual(
        session.errors.map(({ segment, status, fatal }) => [segment, status, fatal]),
        [[4, 404, false]],
      );
      assert.ok(Math.abs(session.played_s - 4) < 0.9, `${session.played_s} s`);
    });
  });

  test('jump to the end of the video over a late last segment is no seek of the viewer', async () => {
    await visit(async (page, server) => {
      const manifest = await readFile(join(folder, 'manifest.mpd'), 'utf8');
      const short = manifest.replace('"PT12.0S"', '"PT4S"');
      assert.notEqual(short, manifest);
      server.put('/video/short.mpd', 'application/dash+xml', short);
      server.profile = (path) => (/-00004\.m4s$/.test(path) ? { delayMs: 8000 } : {});
      await play(page, server, '/video/short.mpd');
      const session = await postedSession(page, server);
      assert.deepEqual([session.state, session.seeks], ['finished', []]);
      assert.ok(session.stalls.length >= 1);
      // The jump leads over half of the last segment.
      assert.ok(session.played_s < 3.8, `${session.played_s} s`);
    });
  });

  test('audio of a session that is left is as long as what was played', async () => {
    const withAudio = await testVideo({ ...VIDEO, audio: true });
    await visitPage(browser, { '/video/': withAudio, '/': 'dist' }, async (page, server) => {
      await play(page, server, MANIFEST);
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 2);
      await page.getByRole('button', { name: 'End session' }).click();
      const session = await postedSession(page, server);
      const seconds = session.audio.reduce((sum, { duration_s }) => sum + duration_s, 0);
      assert.ok(Math.abs(seconds - session.played_s) < 1, `${seconds} of ${session.played_s} s`);
    });
  });

  test('video that another server has does not end the session', async () => {
    await visit(async (page, server) => {
      const manifest = await readFile(join(folder, 'manifest.mpd'), 'utf8');
      const [gone, video] = ['gone', 'video'].map((name) => `<BaseURL>${server.origin}/${name}/</BaseURL>`);
      server.put('/video/servers.mpd', 'application/dash+xml', manifest.replace('<Period', `${gone}${video}$&`));
      await play(page, server, '/video/servers.mpd');
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 1);
      await page.getByRole('button', { name: 'End session' }).click();
      assert.equal((await postedSession(page, server)).state, 'left');
    });
  });
});
