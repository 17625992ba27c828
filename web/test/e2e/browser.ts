/** Headless Chromium, and actions on the page. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Session } from '../../src/measure/record.ts';
import { schemaErrors } from '../session-schema.ts';
import { TestServer } from './test-server.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export const hasChromium = CHROMIUM !== undefined;

const OPTIONS = {
  ...(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM }),
  args: [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--mute-audio',
  ],
};

/** @param rules host names with other addresses, as in `MAP name.test 127.0.0.1` */
export function launch(proxy?: string, rules?: string): Promise<Browser> {
  const more = proxy === undefined ? [] : [`--proxy-server=${proxy}`];
  if (rules !== undefined) more.push(`--host-resolver-rules=${rules}`);
  return chromium.launch({ ...OPTIONS, args: [...OPTIONS.args, ...more] });
}

/** Opens a browser that keeps a profile: installation is not possible in a private window. */
export function launchProfile(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { ...OPTIONS, viewport: { width: 1280, height: 900 } });
}

/** Opens a page in a new context; `errors` collects its uncaught exceptions. */
export async function open(browser: Browser, options: Parameters<Browser['newContext']>[0] = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.stack ?? error.message));
  return { context, page, errors };
}

export interface Opened {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly errors: string[];
}

export type Visit = (page: Page, server: TestServer) => Promise<void>;

/**
 * Runs a test with its own server and page; an uncaught exception in the page fails the test.
 *
 * @param folders those of the server
 */
export async function visitPage(
  browser: Browser,
  folders: { readonly [path: string]: string },
  act: Visit,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<void> {
  const server = await TestServer.start(folders);
  const { page, context, errors } = await open(browser, options);
  // A directive of the page's policy that blocks its own work is an error too.
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) errors.push(message.text());
  });
  try {
    await act(page, server);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
    await server.stop();
  }
}

/** Opens the player's page and plays a video. */
export async function play(
  page: Page,
  server: { readonly origin: string } | string,
  video: string,
  settings: { readonly [name: string]: string } = {},
): Promise<void> {
  const origin = typeof server === 'string' ? server : server.origin;
  await page.goto(`${origin}/?${new URLSearchParams(settings)}`);
  await page.getByLabel('Address of').fill(new URL(video, origin).href);
  await page.getByRole('button', { name: 'Play', exact: true }).click();
}

/** Waits for the end of the session, and returns the record posted to the collector. */
export async function postedSession(page: Page, server: TestServer): Promise<Session> {
  const states = ['finished', 'left', 'failed'].map((state) => `#phase[data-phase=${state}]`);
  await page.locator(states.join(', ')).waitFor({ timeout: 120_000 });
  await page.getByText('Session delivered to the collector').waitFor({ timeout: 30_000 });
  const accepted = server.posted.findLast(({ status }) => status < 300);
  if (accepted === undefined) throw new Error('no record was posted');
  const session = JSON.parse(accepted.body) as Session;
  assert.deepEqual(schemaErrors(session), [], 'the record conforms to its schema');
  return session;
}
