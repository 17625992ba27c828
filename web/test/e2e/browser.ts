/** Debian's Chromium, headless, and the page in it. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Session } from '../../src/measure/record.ts';
import { misfits } from '../schema.ts';
import type { TestServer } from './server.ts';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

export const hasChromium = CHROMIUM !== undefined;

export function launch(proxy?: string): Promise<Browser> {
  return chromium.launch({
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
      ...(proxy === undefined ? [] : [`--proxy-server=${proxy}`]),
    ],
  });
}

/** A context of its own, and a page in it whose errors fail the test. */
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

/** Opens the page and presses Play on this video. */
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

/** Waits for the session to end, and for its record at the collector. */
export async function posted(page: Page, server: TestServer): Promise<Session> {
  await page.locator('#phase', { hasText: 'ended' }).waitFor({ timeout: 120_000 });
  await page.getByText('The collector has this session').waitFor({ timeout: 30_000 });
  const last = server.posted.findLast(({ status }) => status < 300);
  if (last === undefined) throw new Error('nothing was posted');
  const session = JSON.parse(last.body) as Session;
  assert.deepEqual(misfits(session), [], 'the record has the form of docs/reference/session.md');
  return session;
}
