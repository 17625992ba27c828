/** What a viewer does with the page, in real Chromium. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { P1203 } from '../../src/measure/p1203.ts';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium, launch, open, play, posted } from './browser.ts';
import {
  between,
  HICCUP_MS,
  observe,
  pairs,
  type Standstill,
  standstills,
  type Watched,
  waited,
  within,
} from './observer.ts';
import { TestServer } from './server.ts';
import { hasFfmpeg, type Recipe, video } from './video.ts';
import { iframeApi, LATE_MS, STEP_MS } from './youtube.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

const RECIPE: Recipe = { seconds: 12, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false };
const MANIFEST = '/video/manifest.mpd';
/** Fails at once; of a manifest that is not there dash.js asks again some times. */
const NO_FILE = '/video/none.mp4';

/** A file comes somewhat faster than it plays, and twice nothing of it for a while. */
const BREAKS = {
  kbps: 900,
  breaks: [
    { at: 0.3, ms: 6000 },
    { at: 0.7, ms: 5000 },
  ],
};

describe('the page', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  let folder: string;
  before(async () => {
    folder = await video(RECIPE);
    browser = await launch();
  });
  after(() => browser?.close());

  /** A page and a server of its own. What went wrong in the page fails the test. */
  async function visit(act: (page: Page, server: TestServer) => Promise<void>, options = {}): Promise<void> {
    const server = await TestServer.start({ '/video/': folder, '/': 'dist' });
    const { page, context, errors } = await open(browser, options);
    try {
      await act(page, server);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      await server.stop();
    }
  }

  test('a stall that is open when the viewer ends the session is closed there and marked', async () => {
    await visit(async (page, server) => {
      server.manner = (path) => (/-0*4\.m4s$/.test(path) ? { hold: 60_000 } : {});
      await play(page, server, MANIFEST);
      await page.locator('#phase[data-phase=stalled]').waitFor();
      await page.waitForTimeout(700);
      await page.getByRole('button', { name: 'End session' }).click();
      const session = await posted(page, server);
      const [stall, ...more] = session.stalls;
      assert.deepEqual(more, []);
      assert.equal(stall?.open, true);
      assert.equal(stall?.end_s, session.duration_s);
      assert.ok(Math.abs((stall?.position_s ?? 0) - 3) < 0.05, `at ${stall?.position_s} of 3 s`);
      assert.ok(session.kpis.stalled_s >= 0.7);
      assert.equal(session.complete, false);
      assert.equal(session.kpis.initial_load_open, false);
    });
  });

  test('a session without a picture is all initial load time', async () => {
    await visit(async (page, server) => {
      await play(page, server, '/video/none.mpd');
      const session = await posted(page, server);
      assert.equal(session.kpis.initial_load_open, true);
      assert.equal(session.kpis.initial_load_s, session.duration_s);
      assert.equal(session.kpis.stalls, 0);
      assert.equal(session.errors.at(-1)?.fatal, true);
      assert.match(await page.getByRole('alert').innerText(), /cannot go on/);
    });
  });

  test('a pause and a seek are no stalls, and are told', async () => {
    await visit(async (page, server) => {
      server.manner = (path) => (/-0*11\.m4s$/.test(path) ? { hold: 900 } : {});
      const watched = await observe(page);
      await play(page, server, MANIFEST, { maxBuffer: '4' });
      const media = (act: string) => page.evaluate(`document.querySelector('video').${act}`);
      await page.waitForFunction("document.querySelector('video').currentTime > 1.5");
      await media('pause()');
      await page.waitForTimeout(1000);
      await media('play()');
      await page.waitForFunction("document.querySelector('video').currentTime > 3");
      const left = (await page.evaluate(
        "(({ currentTime }, media) => { media.currentTime = 10.2; return currentTime; })(...Array(2).fill(document.querySelector('video')))",
      )) as number;
      const session = await posted(page, server);
      const stood = standstills(await watched(), 1000 / RECIPE.fps);

      // A player that is short of time may seek once more by itself.
      assert.ok(session.pauses.length >= 1 && session.seeks.length >= 1, JSON.stringify(session.seeks));
      const [paused] = session.pauses;
      const [sought] = session.seeks;
      apart(session);
      assert.ok(paused !== undefined && sought !== undefined);
      const during = ({ start_s, end_s }: { start_s: number; end_s: number }) =>
        stood.find(({ start, end }) => start[0] < end_s * 1000 && end[1] > start_s * 1000);
      const [pause, seek] = [during(paused), during(sought)];
      assert.ok(pause !== undefined && seek !== undefined);
      // Of a pause and a seek the clock tells, which stops before its picture has had its time.
      within(paused.end_s - paused.start_s, between(pause.start, pause.end), 60, 'the pause');
      within(sought.end_s - sought.start_s, between(seek.start, seek.end), 60, 'the seek');
      assert.ok(Math.abs(sought.from_s - left) < 0.1 && Math.abs(sought.to_s - 10.2) < 0.01, JSON.stringify(sought));
      assert.equal(session.complete, true);
    });
  });

  test('requests carry CMCD with the id of the session, and the record tells what the server sent', async () => {
    await visit(async (page, server) => {
      server.manner = (path) => (path.includes('chunk-') ? { kbps: 3000 } : {});
      await play(page, server, MANIFEST, { label: 'a test', rule: 'throughput' });
      const session = await posted(page, server);
      const media = server.answers.filter(({ path }) => path.includes('chunk-'));
      for (const { query } of media) {
        const cmcd = new URLSearchParams(query).get('CMCD') ?? '';
        assert.match(cmcd, new RegExp(`sid="${session.id}"`));
        assert.match(cmcd, /br=(200|600)/);
        assert.match(cmcd, /bl=\d+/);
      }
      assert.equal(session.label, 'a test');
      assert.equal(session.rule, 'throughput');
      assert.equal(session.video.duration_s, RECIPE.seconds);
      assert.deepEqual(
        session.video.levels.map(({ bitrate_kbps, codec, fps, height }) => [bitrate_kbps, codec, fps, height]),
        RECIPE.kbps.map((kbps) => [kbps, 'h264', 50, 180]),
      );
      // Each segment with its size, and no sooner or later than the server sent it.
      for (const segment of session.segments) {
        const name = `chunk-stream${segment.level}-${String(segment.segment + 1).padStart(5, '0')}.m4s`;
        const sent = media.find(({ path, whole }) => path.endsWith(name) && whole);
        assert.equal(
          segment.size_bytes,
          sent?.parts.reduce((sum, { bytes }) => sum + bytes, 0),
          name,
        );
        assert.ok(segment.asked_s <= segment.first_byte_s && segment.first_byte_s <= segment.arrived_s);
      }
      assert.deepEqual(
        [...new Set(session.segments.map(({ segment }) => segment))].sort((a, b) => a - b),
        Array.from({ length: RECIPE.seconds }, (_, index) => index),
      );
      const arrived = session.segments.map(({ arrived_s }) => arrived_s);
      assert.deepEqual(
        arrived,
        arrived.toSorted((a, b) => a - b),
      );
    });
  });

  test('the record is saved as JSON and as input of P.1203', async () => {
    await visit(async (page, server) => {
      await play(page, server, MANIFEST);
      const session = await posted(page, server);
      const save = async (name: string) => {
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name }).click(),
        ]);
        return JSON.parse(await readFile(await download.path(), 'utf8')) as unknown;
      };
      assert.deepEqual(await save('Save as JSON'), session);
      const input = (await save('Save as input of P.1203')) as P1203;
      const length = input.I13.segments.reduce((sum, { duration }) => sum + duration, 0);
      assert.ok(Math.abs(length - RECIPE.seconds) < 0.3, `${length} of ${RECIPE.seconds} s`);
      assert.deepEqual(input.I23.stalling[0], [0, session.kpis.initial_load_s]);
      assert.equal(input.I23.stalling.length, 1 + session.stalls.length);
      assert.equal(input.I13.segments[0]?.resolution, '320x180');
    });
  });

  test('a collector that is lost gets the record when it is back, once', async () => {
    await visit(async (page, server) => {
      server.collector = 'gone';
      await play(page, server, NO_FILE);
      await page.getByText('1 session is kept in this browser').waitFor();
      server.collector = 503;
      await page.reload();
      await page.getByText('1 session is kept in this browser').waitFor();
      assert.deepEqual(
        server.posted.filter(({ status }) => status < 300),
        [],
      );
      server.collector = 'there';
      // Nobody presses anything.
      await page.getByText('kept in this browser').waitFor({ state: 'hidden', timeout: 30_000 });
      const there = server.posted.filter(({ status }) => status < 300);
      assert.deepEqual(
        there.map(({ status }) => status),
        [201],
      );
      await page.reload();
      await page.waitForTimeout(500);
      assert.equal(server.posted.filter(({ status }) => status < 300).length, 1);
    });
  });

  test('a record that the collector refuses is kept and not sent again', async () => {
    await visit(async (page, server) => {
      server.collector = 422;
      await play(page, server, NO_FILE);
      await page.getByText('kept which the collector refused').waitFor();
      server.collector = 'there';
      await page.reload();
      await page.getByText('kept which the collector refused').waitFor();
      assert.deepEqual(
        server.posted.map(({ status }) => status),
        [422],
      );
    });
  });

  test('a collector that asks for a token gets it, also from a page that goes away', async () => {
    await visit(async (page, server) => {
      server.token = 'a secret';
      await play(page, server, NO_FILE);
      await page.getByText('1 session is kept in this browser').waitFor();
      await page.getByText('Settings').click();
      await page.getByLabel('Token of the collector').fill('a secret');
      await page.keyboard.press('Tab');
      await page.getByText('The collector has this session').waitFor();
      await page.getByLabel('Address of').fill(`${server.origin}${MANIFEST}`);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.locator('#phase[data-phase=playing]').waitFor();
      await page.goto('about:blank');
      const there = () => server.posted.filter(({ status }) => status === 201).length;
      while (there() < 2) await page.waitForTimeout(50);
      await page.goto(server.origin);
      assert.equal(await page.getByLabel('Token of the collector').inputValue(), '');
    });
  });

  test('a page that is closed in mid-play sends its record, and the next one sends the same again', async () => {
    await visit(async (page, server) => {
      await play(page, server, MANIFEST);
      await page.waitForFunction("document.querySelector('video').currentTime > 1");
      await page.goto('about:blank');
      while (server.posted.length === 0) await page.waitForTimeout(50);
      const [first] = server.posted;
      const session = JSON.parse(first?.body ?? '') as Session;
      assert.equal(first?.status, 201);
      assert.equal(session.complete, false);
      assert.ok(session.played_s > 0.9, `${session.played_s} s played`);
      await page.goto(server.origin);
      while (server.posted.length === 1) await page.waitForTimeout(50);
      assert.equal(server.posted[1]?.status, 200);
      assert.equal(server.posted[1]?.body, first?.body);
    });
  });

  test('a plain file is played and measured', async () => {
    await visit(async (page, server) => {
      server.manner = (path) => (path.endsWith('.mp4') ? BREAKS : {});
      const watched = await observe(page);
      await play(page, server, '/video/whole.mp4');
      const session = await posted(page, server);
      const truth = await watched();
      assert.equal(session.video.kind, 'file');
      assert.equal(session.video.duration_s, RECIPE.seconds);
      agree(session, truth, server, 20);
    });
  });

  test('a video of YouTube is played and measured by what its player tells', async () => {
    await visit(async (page, server) => {
      server.put('/iframe_api', 'text/javascript', iframeApi('/video/whole.mp4'));
      server.manner = (path) => (path.endsWith('.mp4') ? BREAKS : {});
      const watched = await observe(page);
      await page.goto(`${server.origin}/?youtube-api=/iframe_api`);
      await page.getByLabel('Address of').fill('https://youtu.be/onXpKXbnbE0?t=1');
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.locator('video[data-video-id=onXpKXbnbE0]').waitFor();
      const session = await posted(page, server);
      const truth = await watched();
      assert.equal(session.video.kind, 'youtube');
      assert.equal(session.video.url, 'https://www.youtube.com/watch?v=onXpKXbnbE0');
      assert.equal(session.video.duration_s, RECIPE.seconds);
      assert.equal(session.complete, true);
      assert.deepEqual(session.segments, []);
      agree(session, truth, server, STEP_MS + 2 * LATE_MS + 20);
    });
  });

  test('a pause and a seek in the player of YouTube are no stalls', async () => {
    await visit(async (page, server) => {
      server.put('/iframe_api', 'text/javascript', iframeApi('/video/whole.mp4'));
      await page.goto(`${server.origin}/?youtube-api=/iframe_api`);
      await page.getByLabel('Address of').fill('https://www.youtube.com/watch?v=onXpKXbnbE0');
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      const media = (act: string) => page.evaluate(`document.querySelector('#youtube video').${act}`);
      await page.waitForFunction("document.querySelector('#youtube video')?.currentTime > 1.5");
      await media('pause()');
      await page.waitForTimeout(800);
      await media('play()');
      await page.waitForFunction("document.querySelector('#youtube video').currentTime > 3");
      await media('currentTime = 10');
      const session = await posted(page, server);
      assert.equal(session.pauses.length, 1);
      assert.equal(session.seeks.length, 1);
      apart(session);
      assert.ok(Math.abs((session.seeks[0]?.to_s ?? 0) - 10) < 0.3);
    });
  });

  test('an API of YouTube that cannot be reached ends the session with a word on it', async () => {
    await visit(async (page, server) => {
      await page.goto(`${server.origin}/?youtube-api=/not-there&kind=youtube`);
      await page.getByLabel('Address of').fill('onXpKXbnbE0');
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.getByText('the player API of YouTube cannot be reached').waitFor();
      const session = await posted(page, server);
      assert.equal(session.errors[0]?.fatal, true);
    });
  });

  test('a title of the catalogue is found and played with the keyboard alone', async () => {
    await visit(async (page, server) => {
      const videos = [
        { title: 'Pelícano', url: 'video/none.mpd' },
        { title: 'Test picture', url: 'video/manifest.mpd', description: '12 s, two bitrates', duration_s: 12 },
        { title: 'no address' },
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
      // From here the arrow keys read the chart.
      await page.locator('#buffer-chart svg').focus();
      await page.waitForTimeout(1200);
      await page.keyboard.press('ArrowLeft');
      assert.match(await page.locator('#buffer-chart figcaption').innerText(), /^at \d+\.\d s, buffer [\d.]+ s/);
      assert.match(
        (await page.locator('#buffer-chart svg').getAttribute('aria-label')) ?? '',
        /^Buffer over .* s\. buffer: /,
      );
      await page.getByRole('button', { name: 'End session' }).click();
      assert.equal((await posted(page, server)).video.title, 'Test picture');
    });
  });

  test('what is no address is said beside the field', async () => {
    await visit(async (page, server) => {
      await page.goto(server.origin);
      await page.getByLabel('Address of').fill('http://user:secret@host/a.mpd');
      await page.keyboard.press('Enter');
      const field = page.getByLabel('Address of');
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      assert.match(await page.locator('#url-problem').innerText(), /password/);
      assert.equal(await page.evaluate('document.activeElement?.id'), 'url');
    });
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`on a phone in ${colorScheme} everything has its place and can be read`, async () => {
      await visit(
        async (page, server) => {
          server.put('/catalogue.json', 'application/json', '{"videos": [{"title": "A title", "url": "x.mpd"}]}');
          await play(page, server, MANIFEST);
          await page.locator('#phase[data-phase=playing]').waitFor();
          await page.getByText('Settings').click();
          await page.waitForTimeout(600);
          const width = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
          assert.deepEqual(width, [390, 390]);
          assert.deepEqual(await page.evaluate(faint), []);
        },
        { viewport: { width: 390, height: 844 }, colorScheme },
      );
    });
  }
});

/** In the page: texts with less contrast than WCAG 2.2 asks for at level AA (4.5 to 1). */
function faint(): string[] {
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

/** No stall is next to a pause or a seek. A machine that is busy may stall elsewhere. */
function apart({ stalls, pauses, seeks }: Session): void {
  for (const { start_s, end_s } of [...pauses, ...seeks])
    for (const stall of stalls)
      assert.ok(
        stall.end_s < start_s - 0.01 || stall.start_s > end_s + 0.01,
        JSON.stringify({ stalls, pauses, seeks }),
      );
}

/** Both breaks made a stall, and each is as long as the picture stood. */
function agree(session: Session, truth: Watched, server: TestServer, tolerance: number): void {
  const began = truth.origin + truth.pressed;
  const had = ({ position, start, end }: Standstill) =>
    end[1] - start[0] < HICCUP_MS && sent(server, began + start[0]) * RECIPE.seconds > position + AHEAD_S;
  const found = waited(pairs(session.stalls, truth, 1000 / RECIPE.fps, tolerance, had));
  assert.ok(found.length >= BREAKS.breaks.length, `${found.length} long stalls: the breaks were not felt`);
  for (const [index, { stall, stood }] of found.entries()) {
    within(stall.end_s - stall.start_s, between(stood.start, stood.end), tolerance, `stall ${index + 1}`);
  }
}

/** A file of which so much more was sent (s) has the next pictures in it, though not every second is as long in bytes. */
const AHEAD_S = 0.3;

/** How much of the file the server had sent by then: a part of the whole. */
function sent(server: TestServer, by: number): number {
  const files = server.answers.filter(({ path }) => path.endsWith('.mp4'));
  const reached = (until: number) =>
    files.map(({ headers, parts }) => {
      const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
      const there = parts.filter(({ at }) => at <= until);
      return there.length === 0 ? 0 : there.reduce((sum, { bytes }) => sum + bytes, from);
    });
  return Math.max(...reached(by)) / Math.max(...reached(Number.POSITIVE_INFINITY));
}
