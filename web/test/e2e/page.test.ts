/** Actions of a viewer on the page, in Chromium. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { P1203 } from '../../src/measure/p1203.ts';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium, launch, play, postedSession, type Visit, visitPage } from './browser.ts';
import {
  assertWithin,
  certainFreezes,
  type Freeze,
  lengthBetween,
  MAX_HICCUP_MS,
  matchStalls,
  type Observation,
  observeScreen,
  withoutHiccups,
} from './screen-observer.ts';
import type { TestServer } from './test-server.ts';
import { hasFfmpeg, testVideo, type VideoOptions } from './test-video.ts';
import { timedTrial } from './timed-trial.ts';
import { DELAY_MS, mockApiScript, STEP_MS } from './youtube-mock.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

const VIDEO: VideoOptions = { seconds: 12, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false };
const API_URL = 'https://www.youtube.com/iframe_api';
const MANIFEST = '/video/manifest.mpd';

/** Sends a file slightly faster than it plays, with two interruptions. */
const INTERRUPTED = {
  kbps: 900,
  interruptions: [
    { at: 0.3, ms: 6000 },
    { at: 0.7, ms: 5000 },
  ],
};

describe('the page', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  let folder: string;
  before(async () => {
    folder = await testVideo(VIDEO);
    browser = await launch();
  });
  after(() => browser?.close());

  const visit = (act: Visit, options = {}) => visitPage(browser, { '/video/': folder, '/': 'dist' }, act, options);

  test('stall open at the end of the session ends there and is marked open', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        server.profile = (path) => (/-0*4\.m4s$/.test(path) ? { delayMs: 60_000 } : {});
        await play(page, server, MANIFEST);
        // A busy machine may also stall for a moment before that segment.
        await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 2.9);
        await page.locator('#phase[data-phase=stalled]').waitFor();
        await page.waitForTimeout(700);
        await page.getByRole('button', { name: 'End session' }).click();
        const session = await postedSession(page, server);
        const stall = session.stalls.at(-1);
        assert.equal(stall?.open, true);
        assert.equal(stall?.end_s, session.duration_s);
        assert.ok(Math.abs((stall?.position_s ?? 0) - 3) < 0.05, `at ${stall?.position_s} of 3 s`);
        assert.ok(session.kpis.stalled_s >= 0.7);
        assert.equal(session.complete, false);
        assert.equal(session.kpis.initial_load_open, false);
      }),
    );
  });

  test('session without a frame consists of initial load time', async () => {
    await visit(async (page, server) => {
      await play(page, server, '/video/none.mpd');
      const session = await postedSession(page, server);
      assert.equal(session.kpis.initial_load_open, true);
      assert.equal(session.kpis.initial_load_s, session.duration_s);
      assert.equal(session.kpis.stalls, 0);
      assert.equal(session.errors.at(-1)?.fatal, true);
      assert.match(await page.getByRole('alert').innerText(), /Playback failed/);
      assert.deepEqual([session.state, session.reason?.kind, session.kpis.mok.mos], ['failed', 'http', null]);
      // No score beside the scale.
      assert.match(await page.locator('#kpis').innerText(), /MOS, Mok et al. 2011\s*–\s*1.48 to 3.31/);
    });
  });

  test('jump over a gap in the video is no seek of the viewer', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        // The fourth segment has the content of the fifth: the buffer lacks the second from 3 to 4 s.
        await page.route(/-00004\.m4s/, (route) =>
          route.continue({ url: route.request().url().replace('-00004.m4s', '-00005.m4s') }),
        );
        await play(page, server, MANIFEST);
        await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 5);
        await page.getByRole('button', { name: 'End session' }).click();
        const session = await postedSession(page, server);
        assert.deepEqual(session.seeks, []);
        // From before the gap to after it without playing the missing second.
        const position = (await page.evaluate("document.querySelector('video').currentTime")) as number;
        assert.ok(session.played_s < 5 && session.stalls.length <= 1, JSON.stringify({ position, session }));
        assert.equal(session.state, 'left');
      }),
    );
  });

  test('pause and seek are recorded and are not stalls', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        server.profile = (path) => (/-0*11\.m4s$/.test(path) ? { delayMs: 900 } : {});
        const readObservation = await observeScreen(page);
        await play(page, server, MANIFEST, { maxBuffer: '4' });
        const media = (act: string) => page.evaluate(`document.querySelector('video').${act}`);
        await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 1.5);
        await media('pause()');
        await page.waitForTimeout(1000);
        await media('play()');
        await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 3);
        const left = (await page.evaluate(
          "(({ currentTime }, media) => { media.currentTime = 10.2; return currentTime; })(...Array(2).fill(document.querySelector('video')))",
        )) as number;
        // The player may move the target of a seek that has not ended, past data that is late.
        await page.evaluate(
          "globalThis.targets = [10.2]; document.querySelector('video').addEventListener('seeking', (event) => targets.push(event.target.currentTime))",
        );
        const session = await postedSession(page, server);
        const targets = (await page.evaluate('globalThis.targets')) as number[];
        const freezes = certainFreezes(await readObservation(), 1000 / VIDEO.fps);

        // A late player may seek once more by itself.
        assert.ok(session.pauses.length >= 1 && session.seeks.length >= 1, JSON.stringify(session.seeks));
        const [pauseRecord] = session.pauses;
        const [seekRecord] = session.seeks;
        assertNoStallNear(session);
        assert.ok(pauseRecord !== undefined && seekRecord !== undefined);
        const during = ({ start_s, end_s }: { start_s: number; end_s: number }) =>
          freezes.find(({ start, end }) => start[0] < end_s * 1000 && end[1] > start_s * 1000);
        const [pause, seek] = [during(pauseRecord), during(seekRecord)];
        assert.ok(pause !== undefined && seek !== undefined);
        // The clock measures pauses and seeks; it stops before the end of the last frame's display
        // time.
        assertWithin(pauseRecord.end_s - pauseRecord.start_s, lengthBetween(pause.start, pause.end), 60, 'pause');
        assertWithin(seekRecord.end_s - seekRecord.start_s, lengthBetween(seek.start, seek.end), 60, 'seek');
        assert.ok(
          Math.abs(seekRecord.from_s - left) < 0.1 &&
            targets.some((target) => Math.abs(seekRecord.to_s - target) < 0.01),
          JSON.stringify({ seekRecord, targets }),
        );
        assert.equal(session.complete, true);
      }),
    );
  });

  test('requests carry CMCD with the session id, and the record matches the log of the server', async () => {
    await visit(async (page, server) => {
      server.profile = (path) => (path.includes('chunk-') ? { kbps: 3000 } : {});
      await play(page, server, MANIFEST, { label: 'a test', rule: 'throughput' });
      const session = await postedSession(page, server);
      const media = server.responses.filter(({ path }) => path.includes('chunk-'));
      for (const { query } of media) {
        const cmcd = new URLSearchParams(query).get('CMCD') ?? '';
        assert.match(cmcd, new RegExp(`sid="${session.id}"`));
        assert.match(cmcd, /br=(200|600)/);
        assert.match(cmcd, /bl=\d+/);
      }
      assert.equal(session.label, 'a test');
      assert.equal(session.rule, 'throughput');
      assert.equal(session.video.duration_s, VIDEO.seconds);
      assert.deepEqual(
        session.video.levels.map(({ bitrate_kbps, codec, fps, height }) => [bitrate_kbps, codec, fps, height]),
        VIDEO.kbps.map((kbps) => [kbps, 'h264', 50, 180]),
      );
      // Size and order of times of each segment.
      for (const segment of session.segments) {
        const name = `chunk-stream${segment.level}-${String(segment.segment + 1).padStart(5, '0')}.m4s`;
        const sent = media.find(({ path, complete }) => path.endsWith(name) && complete);
        assert.equal(
          segment.size_bytes,
          sent?.parts.reduce((sum, { bytes }) => sum + bytes, 0),
          name,
        );
        assert.ok(segment.asked_s <= segment.first_byte_s && segment.first_byte_s <= segment.arrived_s);
      }
      assert.deepEqual(
        [...new Set(session.segments.map(({ segment }) => segment))].sort((a, b) => a - b),
        Array.from({ length: VIDEO.seconds }, (_, index) => index),
      );
      const arrived = session.segments.map(({ arrived_s }) => arrived_s);
      assert.deepEqual(
        arrived,
        arrived.toSorted((a, b) => a - b),
      );
    });
  });

  test('steps of the wall clock change no time in the record but its start', async () => {
    await visit(async (page, server) => {
      await page.addInitScript(() => {
        const SystemDate = Date;
        const clock = Object.assign(globalThis, { clockOffsetMs: 0 });
        globalThis.Date = class extends SystemDate {
          constructor(...given: unknown[]) {
            super(...((given.length === 0 ? [SystemDate.now() + clock.clockOffsetMs] : given) as [number]));
          }
          static override now() {
            return SystemDate.now() + clock.clockOffsetMs;
          }
        } as DateConstructor;
      });
      server.profile = (path) => (path.includes('chunk-') ? { delayMs: 50, kbps: 3000 } : {});
      await page.goto(`${server.origin}/?maxBuffer=4`);
      // The page has been open during a suspend, which `performance.now()` does not count.
      const before = (await page.evaluate('(globalThis.clockOffsetMs = 3_600_000, Date.now())')) as number;
      await page.getByLabel('Address of').fill(`${server.origin}${MANIFEST}`);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 2);
      const after = (await page.evaluate('Date.now()')) as number;
      await page.evaluate('globalThis.clockOffsetMs -= 2000');
      const session = await postedSession(page, server);
      const started = Date.parse(session.started_at);
      assert.ok(before <= started && started <= after, session.started_at);
      assert.equal(new Set(session.segments.map(({ segment }) => segment)).size, VIDEO.seconds);
      assert.notEqual(session.kpis.mean_bitrate_kbps, null);
      const times = session.segments.map(({ asked_s, first_byte_s, arrived_s }) => [asked_s, first_byte_s, arrived_s]);
      for (const inOrder of [...times, times.map(([, , arrived]) => arrived ?? 0)])
        assert.deepEqual(
          inOrder,
          inOrder.toSorted((a, b) => a - b),
          JSON.stringify(times),
        );
    });
  });

  test('record is saved as JSON and as P.1203 input', async () => {
    await visit(async (page, server) => {
      await play(page, server, MANIFEST);
      const session = await postedSession(page, server);
      const save = async (name: string) => {
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name }).click(),
        ]);
        return JSON.parse(await readFile(await download.path(), 'utf8')) as unknown;
      };
      assert.deepEqual(await save('Save as JSON'), session);
      const input = (await save('Save as P.1203 input')) as P1203;
      const length = input.I13.segments.reduce((sum, { duration }) => sum + duration, 0);
      assert.ok(Math.abs(length - VIDEO.seconds) < 0.3, `${length} of ${VIDEO.seconds} s`);
      assert.deepEqual(input.I23.stalling[0], [0, session.kpis.initial_load_s]);
      assert.equal(input.I23.stalling.length, 1 + session.stalls.length);
      assert.equal(input.I13.segments[0]?.resolution, '320x180');
    });
  });

  test('plain file is played and measured', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        server.profile = (path) => (path.endsWith('.mp4') ? INTERRUPTED : {});
        const readObservation = await observeScreen(page);
        await play(page, server, '/video/whole.mp4');
        const session = await postedSession(page, server);
        const truth = await readObservation();
        assert.equal(session.video.kind, 'file');
        assert.equal(session.video.duration_s, VIDEO.seconds);
        assertAgreement(session, truth, server, 20);
      }),
    );
  });

  test('YouTube video is played and measured by the reports of its player', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        await mockYouTube(page);
        server.profile = (path) => (path.endsWith('.mp4') ? INTERRUPTED : {});
        const readObservation = await observeScreen(page);
        await page.goto(server.origin);
        await page.getByLabel('Address of').fill('https://youtu.be/onXpKXbnbE0?t=1');
        await page.getByRole('button', { name: 'Play', exact: true }).click();
        await page.locator('video[data-video-id=onXpKXbnbE0]').waitFor();
        await page.getByText('Size 240p, chosen by YouTube; offered: 240p, 360p, 480p.').waitFor();
        const session = await postedSession(page, server);
        const truth = await readObservation();
        assert.equal(session.video.kind, 'youtube');
        assert.equal(session.video.url, 'https://www.youtube.com/watch?v=onXpKXbnbE0');
        assert.equal(session.video.duration_s, VIDEO.seconds);
        assert.equal(session.complete, true);
        assert.deepEqual(session.segments, []);
        assertAgreement(session, truth, server, STEP_MS + 2 * DELAY_MS + 20);
      }),
    );
  });

  test('pause and seek in the YouTube player are not stalls', async (t) => {
    await timedTrial(t, () =>
      visit(async (page, server) => {
        await mockYouTube(page);
        await page.goto(server.origin);
        await page.getByLabel('Address of').fill('https://www.youtube.com/watch?v=onXpKXbnbE0');
        await page.getByRole('button', { name: 'Play', exact: true }).click();
        const media = (act: string) => page.evaluate(`document.querySelector('#youtube video').${act}`);
        await page.waitForFunction(
          () => (document.querySelector<HTMLVideoElement>('#youtube video')?.currentTime ?? 0) > 1.5,
        );
        await media('pause()');
        await page.waitForTimeout(800);
        await media('play()');
        await page.waitForFunction(
          () => (document.querySelector<HTMLVideoElement>('#youtube video')?.currentTime ?? 0) > 3,
        );
        await media('currentTime = 10');
        const session = await postedSession(page, server);
        assert.equal(session.pauses.length, 1);
        assert.equal(session.seeks.length, 1);
        assertNoStallNear(session);
        assert.ok(Math.abs((session.seeks[0]?.to_s ?? 0) - 10) < 0.3);
      }),
    );
  });

  test('unreachable YouTube API ends the session with an error message', async () => {
    await visit(async (page, server) => {
      await page.route(API_URL, (route) => route.abort());
      await page.goto(`${server.origin}/?kind=youtube`);
      await page.getByLabel('Address of').fill('onXpKXbnbE0');
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.getByText('YouTube player API unreachable').waitFor();
      const session = await postedSession(page, server);
      assert.equal(session.errors[0]?.fatal, true);
    });
  });

  test('title of the catalogue is found and played by keyboard', async () => {
    await visit(async (page, server) => {
      const videos = [
        { title: 'Pelícano', url: 'video/none.mpd' },
        { title: 'Test pattern', url: 'video/manifest.mpd', description: '12 s, two bitrates', duration_s: 12 },
        { title: 'title without an address' },
      ];
      server.put('/catalogue.json', 'application/json', JSON.stringify({ videos }));
      await page.goto(server.origin);
      await page.getByText('2 titles').waitFor();
      await page.getByLabel('Search the catalogue').focus();
      await page.keyboard.type('pelicano');
      await page.getByText('1 title', { exact: true }).waitFor();
      await page.getByLabel('Search the catalogue').fill('bitrates TEST');
      await page.getByText('1 title', { exact: true }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.locator('#phase[data-phase=playing]').waitFor();
      assert.match(await page.locator('#announce').innerText(), /Playing/);
      // Arrow keys move the cursor of the chart.
      await page.locator('#buffer-chart svg').focus();
      await page.waitForTimeout(1200);
      await page.keyboard.press('ArrowLeft');
      assert.match(await page.locator('#buffer-chart figcaption').innerText(), /^at \d+\.\d s, buffer [\d.]+ s/);
      assert.match(
        (await page.locator('#buffer-chart svg').getAttribute('aria-label')) ?? '',
        /^Buffer over .* s\. buffer: /,
      );
      await page.getByRole('button', { name: 'End session' }).click();
      assert.equal((await postedSession(page, server)).video.title, 'Test pattern');
    });
  });

  test('invalid address shows an error at the field', async () => {
    await visit(async (page, server) => {
      await page.goto(server.origin);
      await page.getByLabel('Address of').fill('http://user:secret@host/a.mpd');
      await page.keyboard.press('Enter');
      const field = page.getByLabel('Address of');
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      assert.match(await page.locator('#url-error').innerText(), /password/);
      assert.equal(await page.evaluate('document.activeElement?.id'), 'url');
    });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`phone layout in ${colorScheme} mode fits the screen and has readable contrast`, async () => {
      await visit(
        async (page, server) => {
          server.put('/catalogue.json', 'application/json', '{"videos": [{"title": "A title", "url": "x.mpd"}]}');
          await play(page, server, MANIFEST);
          await page.locator('#phase[data-phase=playing]').waitFor();
          await page.getByText('Settings').click();
          await page.waitForTimeout(600);
          const width = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          assert.deepEqual(width, [390, 390]);
          assert.deepEqual(await page.evaluate(lowContrastTexts), []);
        },
        { viewport: { width: 390, height: 844 }, colorScheme },
      );
    });
  }
});

/** Answers the request for YouTube's script with a mock player, which plays a file. */
async function mockYouTube(page: Page): Promise<void> {
  const body = mockApiScript('/video/whole.mp4');
  await page.route(API_URL, (route) => route.fulfill({ contentType: 'text/javascript', body }));
}

/** Runs in the page: returns texts below the contrast of WCAG 2.2, level AA (4.5 to 1). */
function lowContrastTexts(): string[] {
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
      const value = Number(part) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element: Element | null): string => {
    if (element === null) return 'rgb(255, 255, 255)';
    const colour = getComputedStyle(element).backgroundColor;
    return colour === 'rgba(0, 0, 0, 0)' ? ground(element.parentElement) : colour;
  };
  const found: string[] = [];
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const text = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim());
    const svg = element instanceof SVGElement;
    if (!text || (!svg && element.offsetParent === null)) continue;
    const style = getComputedStyle(element);
    const [a, b] = [luminance(svg ? style.fill : style.color), luminance(ground(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`${element.textContent?.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}

/** Fails if a stall touches a pause or a seek. A busy machine may stall elsewhere. */
function assertNoStallNear({ stalls, pauses, seeks }: Session): void {
  for (const { start_s, end_s } of [...pauses, ...seeks])
    for (const stall of stalls)
      assert.ok(
        stall.end_s < start_s - 0.01 || stall.start_s > end_s + 0.01,
        JSON.stringify({ stalls, pauses, seeks }),
      );
}

/** Fails unless both interruptions caused stalls, each as long as the freeze of the pixels. */
function assertAgreement(session: Session, truth: Observation, server: TestServer, toleranceMs: number): void {
  const started = truth.origin + truth.pressed;
  const hadData = ({ position, start, end }: Freeze) =>
    end[1] - start[0] < MAX_HICCUP_MS && sentFraction(server, started + start[0]) * VIDEO.seconds > position + MARGIN_S;
  const tolerances = { frameMs: 1000 / VIDEO.fps, toleranceMs };
  const stalls = withoutHiccups(matchStalls(session.stalls, truth, tolerances, hadData));
  assert.ok(stalls.length >= INTERRUPTED.interruptions.length, `${stalls.length} long stalls: interruptions missed`);
  for (const [index, { stall, freeze }] of stalls.entries()) {
    const length = lengthBetween(freeze.start, freeze.end);
    assertWithin(stall.end_s - stall.start_s, length, toleranceMs, `stall ${index + 1}`);
  }
}

/** Margin for the variable bitrate when bytes sent are converted to a position (s). */
const MARGIN_S = 0.3;

/** Returns the fraction of the file that the server had sent by a time. */
function sentFraction(server: TestServer, by: number): number {
  const files = server.responses.filter(({ path }) => path.endsWith('.mp4'));
  const reached = (until: number) =>
    files.map(({ headers, parts }) => {
      const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
      const sent = parts.filter(({ at }) => at <= until);
      return sent.length === 0 ? 0 : sent.reduce((sum, { bytes }) => sum + bytes, from);
    });
  return Math.max(...reached(by)) / Math.max(...reached(Number.POSITIVE_INFINITY));
}
