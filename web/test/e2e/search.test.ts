/**
 * Search for YouTube videos in Chromium. The answers in youtube-data/ were written for these tests in
 * the form of the API's reference; the real service is out of their reach.
 */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { hasChromium, launch, open } from './browser.ts';
import { TestServer } from './test-server.ts';
import { mockApiScript } from './youtube-mock.ts';

const KEY = 'a key of this test';
/** A valid image of one pixel. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

const answer = (name: string) => readFile(join(process.cwd(), `test/e2e/youtube-data/${name}.json`), 'utf8');

/** Requests that reached the stand-in. */
interface StandIn {
  readonly searches: URLSearchParams[];
  readonly thumbnails: string[];
  /** Status and file of the next answers to searches. */
  search: { status: number; file: string };
}

describe('YouTube search', { skip: hasChromium ? false : 'needs Chromium' }, () => {
  let browser: Browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());

  async function visit(act: (page: Page, standIn: StandIn, origin: string) => Promise<void>, options = {}) {
    const server = await TestServer.start({ '/': 'dist' });
    const { page, context, errors } = await open(browser, options);
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) errors.push(message.text());
    });
    const standIn: StandIn = { searches: [], thumbnails: [], search: { status: 200, file: 'search' } };
    await page.route('https://www.googleapis.com/youtube/v3/**', async (route) => {
      const { pathname, searchParams } = new URL(route.request().url());
      assert.equal(searchParams.get('key'), KEY);
      const isSearch = pathname.endsWith('/search');
      if (isSearch) standIn.searches.push(searchParams);
      const { status, file } = isSearch ? standIn.search : { status: 200, file: 'videos' };
      const headers = { 'Access-Control-Allow-Origin': '*' };
      await route.fulfill({ status, headers, contentType: 'application/json', body: await answer(file) });
    });
    await page.route('https://i.ytimg.com/**', async (route) => {
      standIn.thumbnails.push(new URL(route.request().url()).pathname);
      await route.fulfill({ contentType: 'image/gif', body: PIXEL });
    });
    await page.route('https://www.youtube.com/iframe_api', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: mockApiScript('/none.mp4') }),
    );
    try {
      await act(page, standIn, server.origin);
      assert.deepEqual(errors, []);
    } finally {
      await context.close();
      await server.stop();
    }
  }

  async function enterKey(page: Page): Promise<void> {
    await page.getByText('Search YouTube').click();
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Tab');
  }

  test('videos are found and played by keyboard', () =>
    visit(async (page, standIn, origin) => {
      await page.goto(origin);
      await enterKey(page);
      await page.getByLabel('Words').focus();
      await page.keyboard.type('two paths');
      await page.keyboard.press('Enter');
      await page.getByText('3 videos').waitFor();
      const shown = await page.locator('#youtube-results li').allInnerTexts();
      assert.deepEqual(
        shown.map((text) => text.replace(/\s+/g, ' ').trim()),
        [
          'Two paths <b>& one</b> film Films about networks · 4:05 · HD',
          'A lecture on handover Lectures · 1:02:03',
          'Harbour, live Camera of a harbour · live',
        ],
      );
      assert.equal(standIn.searches[0]?.get('q'), 'two paths');
      assert.deepEqual(standIn.thumbnails.slice(0, 2), [
        '/vi/tandem_aaa1/mqdefault.jpg',
        '/vi/tandem_bbb2/mqdefault.jpg',
      ]);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowUp');
      assert.equal(await page.evaluate('document.activeElement.id'), 'youtube-words');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('End');
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.locator('video[data-video-id=tandem_bbb2]').waitFor({ state: 'attached' });
      assert.equal(await page.getByLabel('Address of').inputValue(), 'https://www.youtube.com/watch?v=tandem_bbb2');
    }));

  test('definition is passed on, and a refusal is explained', () =>
    visit(async (page, standIn, origin) => {
      await page.goto(origin);
      await enterKey(page);
      await page.getByLabel('Words').fill('film');
      await page.getByLabel('Definition').selectOption('high');
      standIn.search = { status: 403, file: 'quota-exceeded' };
      await page.getByRole('button', { name: 'Search', exact: true }).click();
      await page.getByText("The key's quota for today is used up.").waitFor();
      assert.equal(standIn.searches[0]?.get('videoDefinition'), 'high');
      await page.route('https://www.googleapis.com/**', (route) => route.abort());
      await page.keyboard.press('Enter');
      await page.getByText('YouTube cannot be reached.').waitFor();
    }));

  test('key stays in the browser, and no link sets it or starts a search', () =>
    visit(async (page, standIn, origin) => {
      const parameters = ['key', 'youtube-key', 'youtubeKey', 'q', 'words', 'youtube-words', 'search'];
      const link = `${origin}/?${new URLSearchParams(parameters.map((name) => [name, 'x']))}`;
      await page.goto(link);
      await page.getByText('Search YouTube').click();
      assert.equal(await page.getByLabel('API key').inputValue(), '');
      assert.equal(await page.getByLabel('Words').inputValue(), '');
      await page.getByLabel('Words').fill('film');
      await page.keyboard.press('Enter');
      await page.getByText('Enter an API key').waitFor();
      await page.getByLabel('API key').fill(KEY);
      await page.keyboard.press('Tab');
      await page.goto(link);
      await page.waitForTimeout(300);
      await page.getByText('Search YouTube').click();
      assert.equal(await page.getByLabel('API key').inputValue(), KEY);
      assert.deepEqual(standIn.searches, []);
      await page.getByLabel('API key').fill('');
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate("localStorage.getItem('tandem.youtube-key')"), null);
    }));

  test('results fit a phone', () =>
    visit(
      async (page, _, origin) => {
        await page.goto(origin);
        await enterKey(page);
        await page.getByLabel('Words').fill('film');
        await page.keyboard.press('Enter');
        await page.getByText('3 videos').waitFor();
        assert.deepEqual(await page.evaluate('[document.documentElement.scrollWidth, innerWidth]'), [390, 390]);
        const picture = process.env.TANDEM_SEARCH_SCREENSHOT;
        if (picture !== undefined) await page.screenshot({ path: picture });
      },
      { viewport: { width: 390, height: 844 } },
    ));
});

test('shipped page has no key and no stand-in', { skip: hasChromium ? false : 'needs a built page' }, async () => {
  const script = await readFile(join(process.cwd(), 'dist/player.js'), 'utf8');
  assert.ok(script.includes('googleapis.com/youtube/v3'));
  assert.doesNotMatch(script, /tandem_aaa1|AIza[0-9A-Za-z_-]{35}/);
});
