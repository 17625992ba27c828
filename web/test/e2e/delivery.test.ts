/** Delivery of records from the page to a collector that fails, refuses or changes, in Chromium. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import type { Session } from '../../src/measure/record.ts';
import { hasChromium, launch, play, type Visit, visitPage } from './browser.ts';
import { TestServer } from './test-server.ts';
import { hasFfmpeg, testVideo } from './test-video.ts';

const skip = hasChromium && hasFfmpeg ? false : 'needs Chromium and ffmpeg';

const MANIFEST = '/video/manifest.mpd';
/** Fails at once, while dash.js retries a missing manifest. */
const MISSING_FILE = '/video/none.mp4';

describe('delivery', { skip, concurrency: 2 }, () => {
  let browser: Browser;
  let folder: string;
  before(async () => {
    folder = await testVideo({ seconds: 12, segmentSeconds: 1, fps: 50, kbps: [200, 600], audio: false });
    browser = await launch();
  });
  after(() => browser?.close());

  const visit = (act: Visit) => visitPage(browser, { '/video/': folder, '/': 'dist' }, act);

  test('collector gets the record once after an outage', async () => {
    await visit(async (page, server) => {
      server.collector = 'down';
      await play(page, server, MISSING_FILE);
      await page.getByText('1 session stored in this browser').waitFor();
      server.collector = 503;
      await page.reload();
      await page.getByText('1 session stored in this browser').waitFor();
      assert.deepEqual(
        server.posted.filter(({ status }) => status < 300),
        [],
      );
      server.collector = 'up';
      // The page retries by itself.
      await page.getByText('stored in this browser').waitFor({ state: 'hidden', timeout: 30_000 });
      const accepted = server.posted.filter(({ status }) => status < 300);
      assert.deepEqual(
        accepted.map(({ status }) => status),
        [201],
      );
      await page.reload();
      await page.waitForTimeout(500);
      assert.equal(server.posted.filter(({ status }) => status < 300).length, 1);
    });
  });

  test('record of a page without a database outlives the page and is sent once', async () => {
    await visit(async (page, server) => {
      await page.addInitScript(() => {
        indexedDB.open = () => {
          throw new DOMException('no database', 'UnknownError');
        };
      });
      server.collector = 503;
      await play(page, server, MISSING_FILE);
      await page.getByText('1 session stored in this browser').waitFor();
      server.collector = 'up';
      server.posted.length = 0;
      await page.reload();
      while (server.posted.length === 0) await page.waitForTimeout(50);
      await page.waitForFunction(() => !Object.keys(localStorage).some((key) => key.startsWith('tandem.session.')));
      assert.deepEqual(
        server.posted.map(({ status }) => status),
        [201],
      );
    });
  });

  test('refused record stays stored and is not sent again', async () => {
    await visit(async (page, server) => {
      server.collector = 422;
      await play(page, server, MISSING_FILE);
      await page.getByText('refused by the collector').waitFor();
      server.collector = 'up';
      await page.reload();
      await page.getByText('refused by the collector').waitFor();
      assert.deepEqual(
        server.posted.map(({ status }) => status),
        [422],
      );
    });
  });

  test('record refused by a collector is sent to another one, and again on request', async () => {
    await visit(async (page, server) => {
      const other = await TestServer.start({});
      other.allowsOrigins = true;
      other.collector = 422;
      try {
        server.collector = 413;
        await play(page, server, MISSING_FILE);
        await page.getByText('refused by the collector').waitFor();
        await page.getByText('Settings').click();
        await page.getByLabel('Session collector').fill(`${other.origin}/api/sessions`);
        await page.keyboard.press('Tab');
        await page.getByText('refused by the collector, stored in this browser (422').waitFor();
        other.collector = 'up';
        await page.getByRole('button', { name: 'Send stored sessions' }).click();
        await page.getByText('Session delivered to the collector').waitFor();
        const statuses = [server, other].map(({ posted }) => posted.map(({ status }) => status));
        assert.deepEqual(statuses, [[413], [422, 201]]);
      } finally {
        await other.stop();
      }
    });
  });

  test('collector that a person removes on one page gets no session of another page', async () => {
    await visit(async (page, server) => {
      server.collector = 'down';
      await play(page, server, MISSING_FILE);
      await page.getByText('1 session stored in this browser; delivery is retried').waitFor();
      const other = await page.context().newPage();
      await other.goto(server.origin);
      await other.getByText('Settings').click();
      await other.getByLabel('Session collector').fill('');
      await other.keyboard.press('Tab');
      await page.getByText('1 session stored in this browser; no collector is set').waitFor();
      assert.equal(await page.getByLabel('Session collector').inputValue(), '');
      server.collector = 'up';
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.getByText('2 sessions stored in this browser; no collector is set').waitFor();
      assert.deepEqual(server.posted, []);
    });
  });

  test('page whose storage is full delivers its session, and the next page does', async () => {
    await visit(async (page, server) => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Storage.overrideQuotaForOrigin', { origin: server.origin, quotaSize: 1 });
      const problem = page.getByText('Browser storage failed');
      server.collector = 503;
      await play(page, server, MISSING_FILE);
      await problem.waitFor();
      server.collector = 'up';
      await page.getByText('Session delivered to the collector').waitFor();
      await problem.waitFor({ state: 'hidden' });
      server.collector = 'down';
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await problem.waitFor();
      server.collector = 'up';
      server.posted.length = 0;
      await page.reload();
      while (server.posted.length === 0) await page.waitForTimeout(50);
      assert.equal(server.posted[0]?.status, 201);
      await page.waitForFunction(() => !Object.keys(localStorage).some((key) => key.startsWith('tandem.session.')));
    });
  });

  test('an unknown host name is a temporary refusal, as it can be allowed', async () => {
    await visit(async (page, server) => {
      server.collector = 421;
      await play(page, server, MISSING_FILE);
      await page.getByText('1 session stored in this browser; delivery is retried').waitFor();
      server.collector = 'up';
      await page.getByText('Session delivered to the collector').waitFor();
    });
  });

  /** Plays until the session has a checkpoint, and returns its id. */
  async function playUntilCheckpoint(page: Page, server: TestServer): Promise<string> {
    await play(page, server, MANIFEST);
    const id = await page.waitForFunction(() =>
      Object.keys(localStorage)
        .find((key) => key.startsWith('tandem.session.'))
        ?.slice('tandem.session.'.length),
    );
    return (await id.jsonValue()) as string;
  }

  /** Opens another page, for which the last checkpoint was written minutes ago. */
  async function openMinutesLater(page: Page, server: TestServer): Promise<void> {
    const later = await page.context().newPage();
    await later.addInitScript(() => {
      const systemNow = Date.now;
      Date.now = () => systemNow() + 600_000;
    });
    await later.goto(server.origin);
  }

  test('session of a page that sleeps for minutes is not taken for abandoned', async () => {
    await visit(async (page, server) => {
      const id = await playUntilCheckpoint(page, server);
      // Ids are sent in order, so the other page sends this one last.
      await page.evaluate(() => {
        const crashed = { at: Date.now(), last: false, record: '{"id":"z-crashed"}' };
        localStorage.setItem('tandem.session.z-crashed', JSON.stringify(crashed));
      });
      await openMinutesLater(page, server);
      while (server.posted.length === 0) await page.waitForTimeout(50);
      await page.getByRole('button', { name: 'End session' }).click();
      await page.getByText('Session delivered to the collector').waitFor();
      assert.deepEqual(
        server.posted.map(({ id, status }) => [id, status]),
        [
          ['z-crashed', 201],
          [id, 201],
        ],
      );
    });
  });

  test('session that was taken for abandoned, without Web Locks, goes on with a new id', async () => {
    await visit(async (page, server) => {
      // As on an origin of plain HTTP.
      await page.context().addInitScript('delete Navigator.prototype.locks');
      const id = await playUntilCheckpoint(page, server);
      await openMinutesLater(page, server);
      while (server.posted.length === 0) await page.waitForTimeout(50);
      await page.getByRole('button', { name: 'End session' }).click();
      await page.getByText('Session delivered to the collector').waitFor();
      const [recovered, ended] = server.posted;
      assert.deepEqual([recovered?.id, recovered?.status, ended?.status], [id, 201, 201]);
      assert.notEqual(ended?.id, id);
      assert.equal((JSON.parse(ended?.body ?? '') as Session).state, 'left');
    });
  });

  test('page without storage plays and delivers its session', async () => {
    await visit(async (page, server) => {
      await page.addInitScript(() => {
        for (const name of ['localStorage', 'indexedDB'])
          Object.defineProperty(window, name, {
            get: () => {
              throw new DOMException('denied', 'SecurityError');
            },
          });
      });
      await play(page, server, MISSING_FILE);
      await page.getByText('Session delivered to the collector').waitFor();
    });
  });

  test('collector gets its token, also from an unloading page', async () => {
    await visit(async (page, server) => {
      server.token = 'a secret';
      await play(page, server, MISSING_FILE);
      await page.getByText('1 session stored in this browser').waitFor();
      await page.getByText('Settings').click();
      await page.getByLabel('Collector token').fill('a secret');
      await page.keyboard.press('Tab');
      await page.getByText('Session delivered to the collector').waitFor();
      await page.getByLabel('Address of').fill(`${server.origin}${MANIFEST}`);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.locator('#phase[data-phase=playing]').waitFor();
      await page.goto('about:blank');
      const acceptedCount = () => server.posted.filter(({ status }) => status === 201).length;
      while (acceptedCount() < 2) await page.waitForTimeout(50);
      await page.goto(server.origin);
      assert.equal(await page.getByLabel('Collector token').inputValue(), '');
    });
  });

  test('page closed during playback sends its record, and the next page repeats it', async () => {
    await visit(async (page, server) => {
      await play(page, server, MANIFEST);
      await page.waitForFunction(() => (document.querySelector('video')?.currentTime ?? 0) > 1);
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
});
