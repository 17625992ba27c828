/** Installation of the page as an app in Chromium, its use offline, and its updates. */

import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { hasChromium, launchProfile } from './browser.ts';
import { TestServer } from './test-server.ts';

const skip = hasChromium ? false : 'needs Chromium';

/** Runs a test with a copy of the built page, and a browser that keeps a profile. */
async function visit(act: (page: Page, server: TestServer, site: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tandem-install-'));
  const site = join(folder, 'site');
  await cp('dist', site, { recursive: true });
  const server = await TestServer.start({ '/content/': 'test/e2e', '/': site });
  let context: BrowserContext | undefined;
  try {
    context = await launchProfile(join(folder, 'profile'));
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) errors.push(message.text());
    });
    await act(page, server, site);
    assert.deepEqual(errors, []);
  } finally {
    await context?.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits until a condition holds, for a minute at most. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let polls = 0; !(await holds()); polls += 1) {
    assert.ok(polls < 600, `${what} within a minute`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const activeWorker = (page: Page) =>
  page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated', undefined, {
    polling: 100,
  });

const cacheNames = (page: Page) => page.evaluate(() => caches.keys());

const cachedPaths = (page: Page, name: string) =>
  page.evaluate(async (name) => {
    const requests = await (await caches.open(name)).keys();
    return requests.map(({ url }) => new URL(url).pathname);
  }, name);

test('Chromium accepts the manifest and finds nothing that prevents an installation', { skip }, () =>
  visit(async (page, server) => {
    await page.goto(server.origin);
    const devtools = await page.context().newCDPSession(page);
    const manifest = await devtools.send('Page.getAppManifest');
    assert.equal(manifest.url, `${server.origin}/manifest.webmanifest`);
    assert.deepEqual(manifest.errors, []);
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
    assert.deepEqual(installabilityErrors, []);
    // Each icon has the size that the manifest names.
    const { icons } = JSON.parse(manifest.data ?? '') as { icons: { src: string; sizes: string }[] };
    const sizes = await page.evaluate(
      (sources) =>
        Promise.all(
          sources.map(async (source) => {
            const image = new Image();
            image.src = source;
            await image.decode();
            return `${image.naturalWidth}x${image.naturalHeight}`;
          }),
        ),
      icons.map(({ src }) => src),
    );
    assert.deepEqual(
      sizes,
      icons.map((icon) => icon.sizes),
    );
  }),
);

test('page works offline, and its cache has its own files only', { skip }, () =>
  visit(async (page, server) => {
    server.put('/catalogue.json', 'application/json', '{"videos": [{"title": "A title", "url": "content/x.mpd"}]}');
    await page.goto(`${server.origin}/?label=one`);
    await activeWorker(page);
    // Requests of the page through its worker.
    await page.reload();
    await page.getByText('1 title').waitFor();
    await page.evaluate(async () => {
      for (const path of ['/content/browser.ts', '/api/sessions', '/sessions', '/catalogue.json'])
        await (await fetch(path)).text();
    });
    const [name = '', ...others] = await cacheNames(page);
    assert.deepEqual(others, []);
    assert.deepEqual((await cachedPaths(page, name)).sort(), [
      '/',
      '/icon-192.png',
      '/icon-512.png',
      '/icon-maskable-512.png',
      '/licences.txt',
      '/manifest.webmanifest',
      '/player.js',
      '/style.css',
    ]);
    const { origin } = server;
    await server.stop();
    // Other parameters: the page is one file.
    await page.goto(`${origin}/?label=two&src=/video.mpd`);
    await page.reload();
    assert.equal(await page.getByLabel('Address of').inputValue(), '/video.mpd');
    assert.match(await page.locator('#kpis').innerText(), /Initial load time/);
    await page.getByText('Settings').click();
    assert.equal(await page.getByLabel('Session label').inputValue(), 'two');
    const content = await page.evaluate(() =>
      fetch('/content/browser.ts').then(
        () => 'answered',
        () => 'failed',
      ),
    );
    assert.equal(content, 'failed');
    await assert.rejects(page.goto(`${origin}/sessions`));
  }),
);

test('an update of the page arrives with the next visit and replaces the cache', { skip }, () =>
  visit(async (page, server, site) => {
    await page.goto(server.origin);
    await activeWorker(page);
    const [before = ''] = await cacheNames(page);
    assert.match(before, /^tandem-page-./);
    // As a build with another text of the page: its digest is in the worker.
    const digest = async (text: string) =>
      page.evaluate(async (text) => {
        const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
        return btoa(String.fromCharCode(...new Uint8Array(hash)));
      }, text);
    const [html, worker] = [join(site, 'index.html'), join(site, 'service-worker.js')];
    const old = await readFile(html, 'utf8');
    const changed = old.replace('<title>Tandem player', '<title>Tandem player, updated');
    const [from, to] = [await digest(old), await digest(changed)];
    const script = await readFile(worker, 'utf8');
    assert.ok(script.includes(from));
    await writeFile(html, changed);
    await page.goto(server.origin);
    assert.equal(await page.title(), 'Tandem player, updated');
    // The worker of the new build has another name for its cache.
    const build = before.replace('tandem-page-', '');
    await writeFile(worker, script.replace(from, to).replace(build, 'next'));
    await page.goto(server.origin);
    // Only the names: to open a cache that the worker has just deleted would create it again.
    await until(
      'the new worker replaces the cache',
      async () => (await cacheNames(page)).join() === 'tandem-page-next',
    );
    await server.stop();
    await page.reload();
    assert.equal(await page.title(), 'Tandem player, updated');
  }),
);

test('files other than those of the build are not cached', { skip }, () =>
  visit(async (page, server, site) => {
    const style = join(site, 'style.css');
    await writeFile(style, `${await readFile(style, 'utf8')}\n/* by a proxy on the way */\n`);
    await page.goto(server.origin);
    await page.evaluate(async () => {
      await navigator.serviceWorker.register('service-worker.js');
    });
    // A registration whose first worker cannot be installed is removed.
    await until('the installation fails', () =>
      page.evaluate(async () => (await navigator.serviceWorker.getRegistration()) === undefined),
    );
    assert.equal(await page.evaluate(() => navigator.serviceWorker.controller), null);
  }),
);
