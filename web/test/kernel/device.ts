/**
 * On the device of the test bed: its half of the proxy, and Chromium, whose TCP goes through it. Plays once and
 * prints what the page and the observer have to say, as JSON.
 */

import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { launch, open, play } from '../e2e/browser.ts';
import { observe } from '../e2e/observer.ts';
import { PLAYS } from './plays.ts';

const [tandem = '', far = '', content = '', file = ''] = process.argv.slice(2);
const NEAR = 1080;

const proxy = spawn(tandem, ['proxy', '--upstream', far, '--listen', `127.0.0.1:${NEAR}`], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
await listens(NEAR);
const browser = await launch(`http://127.0.0.1:${NEAR}`);
const { page, errors } = await open(browser);
const watched = await observe(page);
await play(page, content, file, { maxBuffer: '4', label: 'two subflows' });
await page.waitForFunction("document.querySelector('video').currentTime > 1", undefined, {
  polling: 200,
  timeout: 150_000,
});
console.log(PLAYS);
await page.locator('#phase', { hasText: 'ended' }).waitFor({ timeout: 150_000 });
await page.getByText('The collector has this session').waitFor({ timeout: 60_000 });
const truth = await watched();
const log: unknown = await page.evaluate(async () => (await fetch('/log')).json());
// For the README: `TANDEM_SCREENSHOT=FILE.png`.
const picture = process.env.TANDEM_SCREENSHOT;
if (picture !== undefined) {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: picture, fullPage: true });
}
await browser.close();
proxy.kill();
console.log(JSON.stringify({ truth, errors, log }));

async function listens(port: number): Promise<void> {
  for (;;) {
    const there = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('connect', () => socket.destroy());
      socket.on('error', () => resolve(false));
    });
    if (there) return;
    await sleep(50);
  }
}
